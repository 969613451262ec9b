//! Which templates name which: that they are there, without a circle, and not too deep.

use std::collections::BTreeMap;

use capstan_model::finding::{Finding, Position, rules};
use capstan_model::spelling::hint;

use super::judge::Named;
use super::{INCLUDES, TemplateFile};

/// Line and column of a byte of a text.
pub(super) fn position_in(text: &str, offset: usize) -> Position {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Position {
        line: number(before.bytes().filter(|byte| *byte == b'\n').count() + 1),
        column: number(before[start..].chars().count() + 1),
    }
}

/// What is wrong with the names that templates name.
pub(super) fn judge(files: &BTreeMap<String, (TemplateFile, Vec<Named>)>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, named) in files.values() {
        for one in named.iter().filter(|one| !one.may_miss && !files.contains_key(&one.name)) {
            let known: Vec<&str> = files.keys().map(String::as_str).collect();
            let message = format!(
                "there is no template `{}`: names are paths below `templates/` of this release{}",
                one.name,
                hint(&one.name, &known)
            );
            findings.push(Finding::new(rules::TEMPLATE_ERROR, message).place(file.place(one.offset)));
        }
    }
    if findings.is_empty() {
        for name in files.keys() {
            let mut way = vec![name.as_str()];
            if let Some(finding) = follow(files, &mut way) {
                findings.push(finding);
                break;
            }
        }
    }
    findings
}

fn follow<'f>(
    files: &'f BTreeMap<String, (TemplateFile, Vec<Named>)>,
    way: &mut Vec<&'f str>,
) -> Option<Finding> {
    let (file, named) = files.get(*way.last()?)?;
    for one in named {
        let at = || file.place(one.offset);
        if way.contains(&one.name.as_str()) {
            let message = format!("a template reads itself: {} -> {}", way.join(" -> "), one.name);
            return Some(Finding::new(rules::TEMPLATE_LIMIT, message).place(at()));
        }
        if way.len() > INCLUDES {
            let message =
                format!("templates read one another more than {INCLUDES} deep: {}", way.join(" -> "));
            return Some(Finding::new(rules::TEMPLATE_LIMIT, message).place(at()));
        }
        way.push(one.name.as_str());
        if let Some(finding) = follow(files, way) {
            return Some(finding);
        }
        way.pop();
    }
    None
}
