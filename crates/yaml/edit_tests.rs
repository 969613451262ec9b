//! Text before, edits, text after, as written by hand in `edit_cases.txt`, whose head says how.

use super::*;
use crate::Edit;

const CASES: &str = include_str!("edit_cases.txt");

fn parse_document_edit(line: &str) -> DocumentEdit {
    if let Some(rest) = line.strip_prefix("document ") {
        let (document, edit) = rest.split_once(' ').unwrap();
        return DocumentEdit::Edit { document: document.parse().unwrap(), edit: parse_edit(edit) };
    }
    if let Some(rest) = line.strip_prefix("drop ") {
        return DocumentEdit::RemoveDocument { document: rest.parse().unwrap() };
    }
    if let Some(rest) = line.strip_prefix("append ") {
        return DocumentEdit::Append { text: rest.replace('␤', "\n") };
    }
    DocumentEdit::Edit { document: 0, edit: parse_edit(line) }
}

fn path(text: &str) -> FieldPath {
    FieldPath::parse(if text == "·" { "" } else { text }).unwrap()
}

fn node(text: &str) -> Node {
    YamlFile::read(&text.replace('␤', "\n")).unwrap().documents()[0].root.clone()
}

fn parse_edit(line: &str) -> Edit {
    let (verb, rest) = line.split_once(' ').unwrap();
    let (first, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    match verb {
        "set" => Edit::Set { path: path(first), node: node(rest) },
        "remove" => Edit::Remove { path: path(first) },
        "insert" => {
            let (key, rest) = rest.split_once(' ').unwrap();
            let (value, after) = rest
                .rsplit_once(" after ")
                .map_or((rest, None), |(value, after)| (value, Some(after.to_owned())));
            Edit::Insert { parent: path(first), key: key.to_owned(), node: node(value), after }
        }
        "item" => {
            let (index, value) = rest.split_once(' ').unwrap();
            Edit::InsertItem { list: path(first), index: index.parse().unwrap(), node: node(value) }
        }
        "within" => {
            let (document, edit) = rest.split_once(' ').unwrap();
            let edit = parse_edit(edit.strip_prefix('(').unwrap().strip_suffix(')').unwrap());
            Edit::Within { path: path(first), document: document.parse().unwrap(), edits: vec![edit] }
        }
        other => panic!("no edit: {other}"),
    }
}

struct Case {
    name: String,
    before: String,
    edits: Vec<DocumentEdit>,
    after: Result<String, String>,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for block in CASES.split("\n=== ").skip(1) {
        let (name, body) = block.split_once('\n').unwrap();
        let written = |lines: &[&str]| {
            let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
            if name.contains("[no final newline]") {
                text.pop();
            }
            if name.contains("[crlf]") {
                text = text.replace('\n', "\r\n");
            }
            if name.contains("[bom]") { format!("\u{feff}{text}") } else { text }
        };
        let lines: Vec<&str> = body.lines().collect();
        let is_edit = |line: &&str| line.starts_with(">>> ");
        let first = lines.iter().position(is_edit).unwrap_or_else(|| panic!("{name}: no edit"));
        let last = lines.iter().rposition(is_edit).unwrap();
        let mut after = &lines[last + 1..];
        // The blank line that sets cases apart.
        if after.last() == Some(&"") {
            after = &after[..after.len() - 1];
        }
        cases.push(Case {
            name: name.to_owned(),
            before: written(&lines[..first]),
            edits: lines[first..=last].iter().map(|line| parse_document_edit(&line[4..])).collect(),
            after: match after {
                [line] if line.starts_with("!!! ") => Err(line[4..].to_owned()),
                _ => Ok(written(after)),
            },
        });
    }
    cases
}

#[test]
fn the_cases_come_out_as_written() {
    let mut failures = String::new();
    let cases = cases();
    for Case { name, before, edits, after } in &cases {
        let file = YamlFile::read(before).unwrap_or_else(|error| panic!("{name}: {error}"));
        match (edit(&file, edits), after) {
            (Ok(edited), Ok(after)) if edited.text() == after => {}
            (Err(refused), Err(reason)) if refused.to_string().contains(reason.as_str()) => {}
            (Ok(edited), Ok(after)) => {
                failures += &format!("== {name}\n-- wanted\n{after}\n-- got\n{}\n", edited.text());
            }
            (Ok(edited), Err(reason)) => {
                failures += &format!("== {name}\n-- wanted a refusal: {reason}\n-- got\n{}\n", edited.text());
            }
            (Err(refused), wanted) => {
                failures +=
                    &format!("== {name}\n-- wanted {wanted:?}\n-- refused: {refused} ({refused:?})\n");
            }
        }
    }
    assert!(cases.len() >= 80, "{} cases were found", cases.len());
    assert!(failures.is_empty(), "\n{failures}");
}

#[test]
fn refusals_name_document_path_and_place() {
    let text = "a: 1\n---\nd: &x {k: 1}\nb:\n  <<: *x\n";
    let file = YamlFile::read(text).unwrap();
    let edits = [DocumentEdit::Edit {
        document: 1,
        edit: Edit::Remove { path: FieldPath::root().key("b").key("k") },
    }];
    let refused = edit(&file, &edits).unwrap_err();
    assert_eq!(refused.document, 1);
    assert_eq!(refused.path.to_string(), "/b");
    assert_eq!(refused.position, Position { line: 5, column: 3 });
    assert_eq!(file.text(), text);
}
