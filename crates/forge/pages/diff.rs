//! A unified diff as a table a file, with line numbers, colours, and annotations at their lines.

use std::fmt::Write as _;

use super::layout::escape;

/// A remark of a check on a line of a file.
pub(super) struct Annotation {
    pub(super) path: String,
    pub(super) line: u64,
    /// `notice`, `warning` or `failure`.
    pub(super) level: String,
    pub(super) title: String,
    pub(super) message: String,
}

struct DiffFile<'a> {
    path: &'a str,
    lines: Vec<&'a str>,
}

pub(super) fn render(diff: &str, annotations: &[Annotation]) -> String {
    let mut html = String::new();
    for file in files(diff) {
        let count = |sign: char| file.lines.iter().filter(|line| line.starts_with(sign)).count();
        write!(
            html,
            "<details class=\"box\" open><summary><code>{}</code> <span class=\"small\"><span class=\"plus\">+{}</span> \
             <span class=\"minus\">−{}</span></span></summary><div class=\"scroll\"><table class=\"diff\">",
            escape(file.path),
            count('+'),
            count('-')
        )
        .ok();
        rows(&mut html, &file, annotations);
        html.push_str("</table></div></details>");
    }
    html
}

fn files(diff: &str) -> Vec<DiffFile<'_>> {
    let mut files: Vec<DiffFile<'_>> = Vec::new();
    let mut in_head = false;
    for line in diff.lines() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            let path = names.split_once(" b/").map_or(names, |(_, path)| path);
            files.push(DiffFile { path, lines: Vec::new() });
            in_head = true;
            continue;
        }
        in_head &= !line.starts_with("@@");
        if let Some(file) = files.last_mut().filter(|_| !in_head) {
            file.lines.push(line);
        }
    }
    files
}

fn rows(html: &mut String, file: &DiffFile<'_>, annotations: &[Annotation]) {
    let (mut old, mut new) = (0_u64, 0_u64);
    for line in &file.lines {
        if line.starts_with("@@") {
            (old, new) = starts(line).unwrap_or((old, new));
            write!(html, "<tr class=\"hunk\"><td colspan=\"3\">{}</td></tr>", escape(line)).ok();
            continue;
        }
        let (class, left, right) = match line.as_bytes().first() {
            Some(b'+') => ("add", String::new(), new.to_string()),
            Some(b'-') => ("del", old.to_string(), String::new()),
            Some(b'\\') => ("", String::new(), String::new()),
            _ => ("", old.to_string(), new.to_string()),
        };
        let text = escape(line);
        write!(
            html,
            "<tr class=\"{class}\"><td class=\"n\">{left}</td><td class=\"n\">{right}</td><td>{text}</td></tr>"
        )
        .ok();
        if !right.is_empty() {
            notes(html, annotations.iter().filter(|note| note.path == file.path && note.line == new));
            new += 1;
        }
        if !left.is_empty() {
            old += 1;
        }
    }
}

fn notes<'a>(html: &mut String, notes: impl Iterator<Item = &'a Annotation>) {
    for note in notes {
        write!(
            html,
            "<tr class=\"note\"><td colspan=\"3\"><div class=\"box {}\"><b>{}</b><br>{}</div></td></tr>",
            escape(&note.level),
            escape(&note.title),
            escape(&note.message)
        )
        .ok();
    }
}

/// Where a hunk starts in the old and the new file: `@@ -6,17 +6,17 @@ …`
fn starts(hunk: &str) -> Option<(u64, u64)> {
    let mut words = hunk.split_whitespace().skip(1);
    let mut start = |sign| words.next()?.strip_prefix(sign)?.split(',').next()?.parse::<u64>().ok();
    Some((start('-')?, start('+')?))
}

#[cfg(test)]
mod tests {
    use super::{Annotation, render};

    const DIFF: &str = "diff --git a/x/y.yaml b/x/y.yaml\nindex 1..2 100644\n--- a/x/y.yaml\n+++ b/x/y.yaml\n@@ -4,3 +4,3 @@ spec:\n a: 1\n-b: <2>\n+b: 3\n c: 4\n";

    #[test]
    fn lines_carry_their_numbers_and_colours() {
        let html = render(DIFF, &[]);
        assert!(html.contains("<code>x/y.yaml</code>"), "{html}");
        assert!(
            html.contains(
                "<tr class=\"del\"><td class=\"n\">5</td><td class=\"n\"></td><td>-b: &lt;2&gt;</td></tr>"
            ),
            "{html}"
        );
        assert!(
            html.contains("<tr class=\"add\"><td class=\"n\"></td><td class=\"n\">5</td><td>+b: 3</td></tr>"),
            "{html}"
        );
        assert!(html.contains("<td class=\"n\">6</td><td class=\"n\">6</td><td> c: 4</td>"), "{html}");
        assert!(!html.contains("index 1..2"), "{html}");
    }

    #[test]
    fn an_annotation_appears_below_its_line() {
        let note = Annotation {
            path: "x/y.yaml".to_owned(),
            line: 5,
            level: "failure".to_owned(),
            title: "rule".to_owned(),
            message: "why & how".to_owned(),
        };
        let html = render(DIFF, &[note]);
        let line = html.find("+b: 3").expect("the line");
        let after = &html[line..];
        assert!(after.find("why &amp; how").expect("the note") < after.find("c: 4").expect("the next line"));
    }
}
