//! Markdown and diffs, as far as a terminal shows them.

const WIDTH: usize = 100;

/// Without comments and the marks of Markdown, and without what keeps GitHub from reading marks into a text.
pub(super) fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    while let Some((before, rest)) = text.split_once("<!--") {
        let after = rest.split_once("-->").map_or("", |(_, after)| after);
        text = format!("{before}{after}");
    }
    text.replace("**", "").replace("<br>", " ").replace(['`', '\\', '\u{200b}'], "").trim().to_owned()
}

/// The cells of a table's row, without the marks of Markdown; none where the line is not a row.
pub(super) fn cells(line: &str) -> Vec<String> {
    let Some(inside) = line.trim().strip_prefix('|').and_then(|rest| rest.strip_suffix('|')) else {
        return Vec::new();
    };
    // A bar with a backslash before it is text of its cell.
    let mut cells: Vec<String> = Vec::new();
    for part in inside.split('|') {
        match cells.last_mut().filter(|cell| cell.ends_with('\\')) {
            Some(cell) => cell.push_str(&format!("|{part}")),
            None => cells.push(part.to_owned()),
        }
    }
    cells.iter().map(|cell| plain(cell)).collect()
}

/// The second cell of the row with this first one.
pub(super) fn row(body: &str, first: &str) -> Option<String> {
    body.lines().map(cells).find_map(|cells| match cells.as_slice() {
        [name, value] if name == first => Some(value.clone()),
        _ => None,
    })
}

/// The text under the heading that begins so.
pub(super) fn section<'a>(body: &'a str, heading: &str) -> &'a str {
    let Some((_, after)) = body.split_once(&format!("\n### {heading}")) else { return "" };
    after.split_once("\n### ").map_or(after, |(section, _)| section)
}

/// The part of a unified diff about the file whose name ends so, at most so many lines, without its head.
pub(super) fn hunks(diff: &str, file: &str, at_most: usize) -> Vec<String> {
    let mut lines = diff.lines().skip_while(|line| !(line.starts_with("diff --git") && line.ends_with(file)));
    let own = lines.by_ref().skip(1).take_while(|line| !line.starts_with("diff --git"));
    let mut shown: Vec<String> = own.skip_while(|line| !line.starts_with("@@")).map(str::to_owned).collect();
    if shown.len() > at_most {
        let left = shown.len() - at_most;
        shown.truncate(at_most);
        shown.push(format!("… and {left} more lines in this file"));
    }
    shown
}

/// Wrapped and indented.
pub(super) fn indented(text: &str, by: usize) -> String {
    let mut lines = vec![" ".repeat(by)];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        let begun = line.len() > by;
        if begun && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(format!("{}{word}", " ".repeat(by)));
            continue;
        }
        if begun {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{cells, hunks, indented, plain, row, section};

    const BODY: &str = "Upgrades it.\n\n| | |\n|---|---|\n| Changes | 2 changes in `1` file |\n\n### Conflicts, and how\n\n| a | **b** |\n\n### Findings\n\nnone\n";

    #[test]
    fn tables_and_sections_of_a_body_are_found() {
        assert_eq!(row(BODY, "Changes").as_deref(), Some("2 changes in 1 file"));
        assert_eq!(row(BODY, "Findings"), None);
        assert_eq!(cells("| a | **b** |"), ["a", "b"]);
        assert_eq!(cells("|| `stop [REASON] \\| resume` | b |"), ["", "stop [REASON] | resume", "b"]);
        assert_eq!(plain("- <!-- {} -->`a`<!-- open **b**"), "- a");
        assert!(section(BODY, "Conflicts").contains("| a |"));
        assert!(!section(BODY, "Conflicts").contains("none"));
    }

    #[test]
    fn a_long_diff_is_cut_and_says_so() {
        let diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n";
        assert_eq!(hunks(diff, "x", 9), ["@@ -1 +1 @@", "-1", "+2"]);
        assert_eq!(hunks(diff, "y", 2), ["@@ -1,2 +1,2 @@", " a", "… and 2 more lines in this file"]);
    }

    #[test]
    fn long_lines_are_wrapped() {
        let text = "word ".repeat(30);
        assert!(indented(&text, 6).lines().all(|line| line.starts_with("      word") && line.len() <= 100));
    }
}
