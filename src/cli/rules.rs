//! `capstan rules [ID]`

use capstan_model::finding::{Severity, SeverityChange};
use capstan_model::spelling::suggestion;
use capstan_plan::policy::{self, About};
use capstan_report::Refusal;
use serde_json::{Value, json};

use super::arguments::Rules;
use super::{CommandFailure, CommandOutcome, RulesFormat, output, text};

pub(super) fn run(command: &Rules) -> Result<CommandOutcome, CommandFailure> {
    let rules: Vec<&About> = match &command.id {
        Some(id) => vec![policy::rule(id).ok_or_else(|| unknown(id))?.about()],
        None => policy::catalogue().iter().map(|rule| rule.about()).collect(),
    };
    match (command.output, &command.id) {
        (RulesFormat::Text, None) => {
            let rows: Vec<Vec<String>> = rules
                .iter()
                .map(|rule| vec![rule.entry.id().to_owned(), severity(rule).to_owned(), rule.summary()])
                .collect();
            output::print(&text::table(&["rule", "severity", "finds"], &rows))?;
        }
        (RulesFormat::Text | RulesFormat::Markdown, _) => {
            for rule in rules {
                output::print(&page(rule))?;
            }
        }
        (RulesFormat::Json, _) => {
            output::print_json(&Value::Array(rules.into_iter().map(to_json).collect()))?
        }
        (RulesFormat::Yaml, _) => {
            output::print_yaml(&Value::Array(rules.into_iter().map(to_json).collect()))?
        }
    }
    Ok(CommandOutcome::Done)
}

fn unknown(id: &str) -> CommandFailure {
    let hint = suggestion(id, policy::ids());
    CommandFailure::Usage(
        Refusal::NoSuchRule,
        format!("there is no rule `{id}`{hint} (`capstan rules` lists them)"),
    )
}

const fn severity(rule: &About) -> &'static str {
    match (rule.entry.severity(), rule.entry.change()) {
        (_, SeverityChange::Never) => "error, always",
        (Severity::Error, SeverityChange::Free) => "error",
        (Severity::Warning, SeverityChange::Free) => "warning",
    }
}

/// The rule's page, with what the catalogue knows besides.
fn page(rule: &About) -> String {
    let text = rule.page().split_once("\n\n").map_or_else(|| rule.page(), |(_heading, text)| text);
    format!(
        "# {}\n\nSeverity: {}\n\nPage: {}\n\n{text}\nThe comment `# <--` marks what the finding names.\n\n",
        rule.entry.id(),
        severity(rule),
        rule.page_path(),
    )
}

fn to_json(rule: &About) -> Value {
    json!({
        "id": rule.entry.id(),
        "severity": rule.entry.severity(),
        "mayChange": rule.entry.change() == SeverityChange::Free,
        "summary": rule.summary(),
        "reason": rule.reason(),
        "source": rule.source(),
        "page": rule.page_path(),
    })
}
