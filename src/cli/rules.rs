//! `capstan rules [ID]`

use std::fmt::Write;

use capstan_model::finding::{Change, Severity};
use capstan_plan::policy::{self, About, Example, Files};
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
                .map(|rule| {
                    vec![rule.entry.id().to_owned(), severity(rule).to_owned(), rule.summary.to_owned()]
                })
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
    let nearest = capstan_model::spelling::nearest(id, policy::ids());
    let hint = nearest.map(|nearest| format!("; did you mean `{nearest}`?")).unwrap_or_default();
    Failure::Usage(format!("there is no rule `{id}`{hint} (`capstan rules` lists them)"))
}

const fn severity(rule: &About) -> &'static str {
    match (rule.entry.severity(), rule.entry.change()) {
        (_, Change::Never) => "error, always",
        (Severity::Error, Change::Free) => "error",
        (Severity::Warning, Change::Free) => "warning",
    }
}

fn page(rule: &About) -> String {
    let mut text = format!(
        "# {}\n\nSeverity: {}\n\n{}\n\n{}\n\nSource: {}\n",
        rule.entry.id(),
        severity(rule),
        rule.summary,
        rule.reason,
        rule.source
    );
    text.push_str("\nThe comment `# <--` marks what the finding names.\n");
    let mut shown = Vec::new();
    for (word, example) in [("Bad", &rule.bad), ("Good", &rule.good)] {
        for (when, files) in parts(example) {
            // The good one most often starts from the same files as the bad one.
            if files.is_empty() || shown.contains(&files) {
                continue;
            }
            shown.push(files);
            let _ = write!(text, "\n## {word}{when}\n");
            files.iter().for_each(|file| write_file(&mut text, file));
        }
    }
    text.push('\n');
    text
}

fn parts(example: &Example) -> [(&'static str, Files); 2] {
    match example {
        Example::Tree(files) => [("", files), ("", &[])],
        Example::Change { before, after } => [(" (before)", before), (" (after)", after)],
        Example::Upgrade(files) => [(" (upgraded to its newest release)", files), ("", &[])],
    }
}

fn write_file(text: &mut String, (path, content): &(&str, &str)) {
    let _ = match content.trim_end() {
        // A symbolic link has no content of its own.
        "" => write!(text, "\n`{path}`\n"),
        content => write!(text, "\n`{path}`:\n\n```yaml\n{content}\n```\n"),
    };
}

fn to_json(rule: &About) -> Value {
    json!({
        "id": rule.entry.id(),
        "severity": rule.entry.severity(),
        "mayChange": rule.entry.change() == Change::Free,
        "summary": rule.summary,
        "reason": rule.reason,
        "source": rule.source,
    })
}
