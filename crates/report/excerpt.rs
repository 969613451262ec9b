//! Where long values differ: of texts with the same beginning, the part that differs, with some context.
//! Secret values are described in words.

use capstan_model::object::{FieldPath, ObjectId};
use capstan_plan::upgrade::Shown;
use capstan_yaml::Value;

/// The part of a value that is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    pub text: String,
    pub form: ExcerptForm,
}

/// What an excerpt shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExcerptForm {
    /// The text of a string.
    Text,
    Json,
    /// No part of the value: words that give its length.
    Words,
}

/// Characters shown around a difference.
const AROUND: usize = 12;
const GAP: &str = "…";

/// Several sides of one value, without secrets, each in about `max` characters; `None` for a side that is
/// absent.
pub fn excerpts(
    object: &ObjectId,
    path: &FieldPath,
    sides: &[Option<&Value>],
    max: usize,
) -> Vec<Option<Excerpt>> {
    let first = sides.iter().copied().flatten().next();
    let mut shown: Vec<Option<Excerpt>> = sides
        .iter()
        .map(|side| {
            let value = (*side)?;
            Some(match Shown::of(object, path, value, first) {
                Shown::Words(text) => Excerpt { text, form: ExcerptForm::Words },
                Shown::Value(Value::String(text)) => Excerpt { text, form: ExcerptForm::Text },
                Shown::Value(other) => Excerpt { text: other.to_string(), form: ExcerptForm::Json },
            })
        })
        .collect();
    let readable = shown.iter_mut().flatten().filter(|side| side.form != ExcerptForm::Words);
    let mut texts: Vec<&mut String> = readable.map(|side| &mut side.text).collect();
    if texts.iter().any(|text| is_longer(text, max)) {
        lines_that_differ(&mut texts);
        differing_part(&mut texts, max);
    }
    for text in texts {
        if is_longer(text, max) {
            *text = text.chars().take(max.saturating_sub(1)).chain(GAP.chars()).collect();
        }
    }
    shown
}

fn is_longer(text: &str, max: usize) -> bool {
    text.chars().nth(max).is_some()
}

/// Of texts of several lines, the lines that are not in all of them.
fn lines_that_differ(texts: &mut [&mut String]) {
    let all: Vec<String> = texts.iter().map(|text| (**text).clone()).collect();
    let is_common = |line: &str| all.iter().all(|text| text.lines().any(|other| other == line));
    let kept: Vec<String> = all
        .iter()
        .map(|text| {
            let mut kept: Vec<&str> = Vec::new();
            for line in text.lines() {
                if !is_common(line) {
                    kept.push(line);
                } else if kept.last() != Some(&GAP) {
                    kept.push(GAP);
                }
            }
            kept.join("\n")
        })
        .collect();
    // Where only the order of lines differs, nothing would be left to see.
    if kept.iter().any(|text| *text != kept[0]) {
        texts.iter_mut().zip(kept).for_each(|(text, kept)| **text = kept);
    }
}

/// What is between the beginning and the end that all of them share.
fn differing_part(texts: &mut [&mut String], max: usize) {
    let all: Vec<Vec<char>> = texts.iter().map(|text| text.chars().collect()).collect();
    let Some((first, others)) = all.split_first() else { return };
    if others.iter().all(|other| other == first) || all.iter().all(|text| text.len() <= max) {
        return;
    }
    let shortest = all.iter().map(Vec::len).min().unwrap_or_default();
    let alike = |at: &usize| others.iter().all(|other| other[*at] == first[*at]);
    let before = (0..shortest).take_while(alike).count();
    let alike_from_end =
        |at: &usize| others.iter().all(|other| other[other.len() - 1 - at] == first[first.len() - 1 - at]);
    let behind = (0..shortest - before).take_while(alike_from_end).count();
    for (text, chars) in texts.iter_mut().zip(&all) {
        let start = before.saturating_sub(AROUND);
        let end = (chars.len() - behind + AROUND).min(chars.len());
        // A gap of one character saves nothing.
        let (start, end) =
            (if start <= 1 { 0 } else { start }, if end + 1 >= chars.len() { chars.len() } else { end });
        let lead = if start > 0 { GAP } else { "" };
        let tail = if end < chars.len() { GAP } else { "" };
        **text = format!("{lead}{}{tail}", chars[start..end].iter().collect::<String>());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(sides: &[&Value]) -> Vec<String> {
        let object =
            ObjectId { group: String::new(), kind: "ConfigMap".into(), namespace: None, name: "x".into() };
        let sides: Vec<Option<&Value>> = sides.iter().copied().map(Some).collect();
        let shown = excerpts(&object, &FieldPath::root().key("data"), &sides, 40);
        shown.into_iter().flatten().map(|side| side.text).collect()
    }

    #[test]
    fn short_values_are_shown_whole_and_long_ones_where_they_differ() {
        assert_eq!(shown(&[&json!("v1.16.8"), &json!(3)]), ["v1.16.8", "3"]);
        let long = |what: &str| json!(format!("{}{what}{}", "kubelet --a=b ".repeat(8), " --last".repeat(9)));
        assert_eq!(
            shown(&[&long("--x=1"), &long("--x=2"), &long("--x=34")]),
            ["…t --a=b --x=1 --last --la…", "…t --a=b --x=2 --last --la…", "…t --a=b --x=34 --last --la…"]
        );
        let begin = |end: &str| json!(format!("{}{end}", "x".repeat(60)));
        assert_eq!(shown(&[&begin("a"), &begin("b")]), ["…xxxxxxxxxxxxa", "…xxxxxxxxxxxxb"]);
    }

    #[test]
    fn of_several_lines_those_are_shown_that_differ() {
        let text = |one: &str, other: &str| {
            json!(format!("#!/bin/sh\nset -e\n{one}\necho done with all of it\n{other}\n"))
        };
        assert_eq!(
            shown(&[&text("a", "x"), &text("b", "x"), &text("a", "y")]),
            ["…\na\n…\nx", "…\nb\n…\nx", "…\na\n…\ny"]
        );
    }

    #[test]
    fn collections_are_shown_where_they_differ_and_what_differs_throughout_is_cut() {
        let list = |last: &str| json!([{"name": "a-long-name", "value": "a-long-value"}, {"name": last}]);
        assert_eq!(shown(&[&list("x"), &list("y")]), ["…\"},{\"name\":\"x\"}]", "…\"},{\"name\":\"y\"}]"]);
        let (one, other) = ("1".repeat(50), "2".repeat(50));
        assert_eq!(
            shown(&[&json!(one), &json!(other)]),
            [format!("{}…", "1".repeat(39)), format!("{}…", "2".repeat(39))]
        );
    }

    #[test]
    fn a_secret_value_is_described_in_words() {
        let object = ObjectId {
            group: String::new(),
            kind: "KubeadmConfig".into(),
            namespace: None,
            name: "x".into(),
        };
        let said = |path: &str, sides: &[Value]| -> Vec<String> {
            let sides: Vec<Option<&Value>> = sides.iter().map(Some).collect();
            let shown = excerpts(&object, &FieldPath::parse(path).unwrap(), &sides, 200);
            shown.into_iter().flatten().map(|side| side.text).collect()
        };
        assert_eq!(
            said("/spec/files/0/content", &[json!("a\nb\nc\n"), json!("a\nB\nc\nd\n"), json!("a\nb\nC\n")]),
            [
                "a hidden text of 3 lines",
                "a hidden text of 4 lines, 2 of which differ",
                "a hidden text of 3 lines, 1 of which differs"
            ]
        );
        assert_eq!(said("/spec/files/0/content", &[json!("s3cret")]), ["a hidden value"]);
        assert_eq!(
            said("/spec/files", &[json!([{"content": "a\nb\n"}])]),
            [r#"[{"content":"a hidden text of 2 lines"}]"#]
        );
    }

    #[test]
    fn what_only_one_side_has_is_cut_at_its_end() {
        assert_eq!(shown(&[&json!("y".repeat(50))]), [format!("{}…", "y".repeat(39))]);
    }
}
