//! `capstan rules [ID]`

use std::fmt::Write;

use capstan_domain::finding::Severity;
use capstan_domain::policy::{self, About, Change, Example};
use serde_json::{Value, json};

use super::arguments::Rules;
use super::{Failure, Format, Outcome, output, text};

pub(super) fn run(command: &Rules) -> Result<Outcome, Failure> {
    let rules: Vec<&About> = match &command.id {
        Some(id) => vec![policy::rule(id).ok_or_else(|| unknown(id))?.about()],
        None => policy::catalogue().iter().map(|rule| rule.about()).collect(),
    };
    match (command.output, &command.id) {
        (Format::Text, None) => {
            let rows: Vec<Vec<String>> = rules
                .iter()
                .map(|rule| vec![rule.id.to_owned(), severity(rule).to_owned(), rule.summary.to_owned()])
                .collect();
            output::print(&text::table(&["rule", "severity", "finds"], &rows))?;
        }
        (Format::Text | Format::Markdown, _) => {
            for rule in rules {
                output::print(&page(rule))?;
            }
        }
        (Format::Json, _) => output::print_json(&Value::Array(rules.into_iter().map(to_json).collect()))?,
        (Format::Yaml, _) => output::print_yaml(&Value::Array(rules.into_iter().map(to_json).collect()))?,
        (Format::Diff, _) => {
            return Err(output::unsupported("rules", Format::Diff, "text, markdown, json or yaml"));
        }
    }
    Ok(Outcome::Done)
}

fn unknown(id: &str) -> Failure {
    let nearest = capstan_domain::spelling::nearest(id, policy::ids());
    let hint = nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
    Failure::Usage(format!("there is no rule `{id}`{hint} (`capstan rules` lists them)"))
}

const fn severity(rule: &About) -> &'static str {
    match (rule.severity, rule.change) {
        (_, Change::Never) => "error, always",
        (Severity::Error, Change::Free) => "error",
        (Severity::Warning, Change::Free) => "warning",
    }
}

fn page(rule: &About) -> String {
    let mut text = format!(
        "# {}\n\nSeverity: {}\n\n{}\n\n{}\n\nSource: {}\n",
        rule.id,
        severity(rule),
        rule.summary,
        rule.reason,
        rule.source
    );
    example(&mut text, "Bad", &rule.bad);
    example(&mut text, "Good", &rule.good);
    text.push('\n');
    text
}

fn example(text: &mut String, word: &str, example: &Example) {
    for (when, files) in [
        (" (before)", example.before),
        (if example.before.is_empty() { "" } else { " (after)" }, example.after),
    ] {
        for (path, content) in files {
            let _ = write!(text, "\n{word}{when}: `{path}`\n```yaml\n{}\n```\n", content.trim_end());
        }
    }
}

fn to_json(rule: &About) -> Value {
    json!({
        "id": rule.id,
        "severity": rule.severity,
        "mayChange": rule.change == Change::Free,
        "summary": rule.summary,
        "reason": rule.reason,
        "source": rule.source,
    })
}
