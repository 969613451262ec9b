//! Which templates name which: that they are there, without a circle, and not too deep.

use std::collections::BTreeMap;

use capstan_model::finding::{Finding, Position, rules};
use capstan_model::spelling::hint;

use super::judge::TemplateReference;
use super::{INCLUDES, TemplateFile};

/// Where the lines of a text begin.
pub(super) fn lines_of(text: &str) -> Vec<usize> {
    std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect()
}

/// Line and column of a byte of a text, whose lines begin there.
pub(super) fn position_in(text: &str, lines: &[usize], offset: usize) -> Position {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let line = lines.partition_point(|begin| *begin <= offset).max(1);
    let start = lines.get(line - 1).copied().unwrap_or_default();
    let number = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    Position { line: number(line), column: number(text[start..offset].chars().count() + 1) }
}

/// What is wrong with the names that templates name.
pub(super) fn judge(files: &BTreeMap<String, (TemplateFile, Vec<TemplateReference>)>) -> Vec<Finding> {
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
        let mut deep = BTreeMap::new();
        for name in files.keys() {
            if let Err(finding) = follow(files, &mut vec![name.as_str()], &mut deep) {
                findings.push(*finding);
                break;
            }
        }
    }
    findings
}

/// How deep the templates below the last one of the way go. Each is followed once: `deep` knows those that were.
fn follow<'f>(
    files: &'f BTreeMap<String, (TemplateFile, Vec<TemplateReference>)>,
    way: &mut Vec<&'f str>,
    deep: &mut BTreeMap<&'f str, usize>,
) -> Result<usize, Box<Finding>> {
    let mut deepest = 0;
    let Some((name, (file, named))) = way.last().and_then(|name| Some((*name, files.get(*name)?))) else {
        return Ok(0);
    };
    for one in named {
        let at = || file.place(one.offset);
        if way.contains(&one.name.as_str()) {
            let message = format!("a template reads itself: {} -> {}", way.join(" -> "), one.name);
            return Err(Box::new(Finding::new(rules::TEMPLATE_LIMIT, message).place(at())));
        }
        let known = deep.get(one.name.as_str()).copied();
        if way.len() + known.unwrap_or_default() > INCLUDES {
            let message =
                format!("templates read one another more than {INCLUDES} deep: {}", way.join(" -> "));
            return Err(Box::new(Finding::new(rules::TEMPLATE_LIMIT, message).place(at())));
        }
        let below = match known {
            Some(below) => below,
            None => {
                way.push(one.name.as_str());
                let below = follow(files, way, deep)?;
                way.pop();
                below
            }
        };
        deepest = deepest.max(below + 1);
    }
    deep.insert(name, deepest);
    Ok(deepest)
}
