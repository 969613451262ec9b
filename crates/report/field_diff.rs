//! Changes of fields as a diff: removed and added values, and their origin. Values are those of the plan, in
//! which secrets are redacted already.

use capstan_model::wording::count;
use capstan_plan::upgrade::{Change, Upgrade, ValueOrigin, is_hidden};
use capstan_yaml::{Node, Value, write};

use super::markdown::one_line;
use super::tables::origins_in_words;
use super::values;

/// Characters of a line.
const LINE: usize = 200;
/// Lines of one side of a value.
const LINES: usize = 12;

/// The changes of an upgrade as a diff of at most `budget` bytes, in a fence; nothing where it changes nothing.
pub(super) fn changes(upgrade: &Upgrade, budget: usize) -> String {
    let (text, left) = plain(upgrade, budget);
    if text.is_empty() {
        return match left {
            0 => String::new(),
            left => format!("\n{}.\n", count(left, "change", "changes")),
        };
    }
    let fence = "`".repeat(3.max(longest_run(&text) + 1));
    let more = match left {
        0 => String::new(),
        left => format!("\n… and {}.\n", count(left, "more change", "more changes")),
    };
    format!("\n{fence}diff\n{text}{fence}\n{more}")
}

/// The same as lines, and how many changes have no room among them.
pub(super) fn plain(upgrade: &Upgrade, budget: usize) -> (String, usize) {
    let origins = values::brought(upgrade).map(|values| values.origins.as_slice()).unwrap_or_default();
    let of = |at: usize| origins.get(at).map(Vec::as_slice).unwrap_or_default();
    let parts: Vec<String> =
        upgrade.changes.iter().enumerate().map(|(at, change)| one(change, of(at))).collect();
    let mut text = String::new();
    let mut file = None;
    let mut shown = 0;
    for (change, part) in upgrade.changes.iter().zip(&parts) {
        let head = if file == Some(change.place.file()) {
            String::new()
        } else {
            format!("# {}\n", one_line(change.place.file().as_str(), LINE))
        };
        if text.len() + head.len() + part.len() > budget {
            break;
        }
        text.push_str(&head);
        text.push_str(part);
        file = Some(change.place.file());
        shown += 1;
    }
    (text, parts.len() - shown)
}

fn one(change: &Change, origins: &[ValueOrigin]) -> String {
    let line = change.place.line().map_or_else(String::new, |line| format!("line {line}, "));
    let field = if change.path.is_root() { String::new() } else { format!(" {}", change.path) };
    let mut text = format!("@@ {} @@\n", one_line(&format!("{line}{}{field}", change.object), LINE));
    if !origins.is_empty() {
        text.push_str(&format!("# {}\n", one_line(&origins_in_words(origins, ToString::to_string), LINE)));
    }
    for (sign, side) in [('-', &change.old), ('+', &change.new)] {
        if let Some(value) = side {
            text.push_str(&lines(sign, value));
        }
    }
    text
}

fn lines(sign: char, value: &Value) -> String {
    let written = match value {
        hidden if is_hidden(hidden) => "a hidden value".to_owned(),
        Value::String(text) if !text.contains('\n') => text.clone(),
        _ => write(&Node::from_value(value)),
    };
    let all: Vec<&str> = written.lines().collect();
    let mut text: String =
        all.iter().take(LINES).map(|line| format!("{sign}{}\n", one_line(line, LINE))).collect();
    if all.len() > LINES {
        text.push_str(&format!("# … and {}\n", count(all.len() - LINES, "more line", "more lines")));
    }
    if all.is_empty() {
        text.push_str(&format!("{sign}\n"));
    }
    text
}

/// The longest run of backticks, which a fence has to be longer than.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_one_line_or_yaml_and_nothing_of_it_ends_the_fence() {
        assert_eq!(lines('-', &Value::from("v1.33.4")), "-v1.33.4\n");
        assert_eq!(lines('+', &Value::from(3)), "+3\n");
        assert_eq!(lines('+', &serde_json::json!({"a": [1, "x"]})), "+a:\n+- 1\n+- x\n");
        assert_eq!(lines('+', &Value::from("")), "+\n");
        assert_eq!(lines('+', &serde_json::json!({"redacted": true})), "+a hidden value\n");
        let long = Value::from((0..20).map(Value::from).collect::<Vec<_>>());
        assert!(lines('-', &long).ends_with("-- 11\n# … and 8 more lines\n"));
        assert_eq!(longest_run("a ```` b ``"), 4);
    }
}
