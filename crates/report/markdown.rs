//! GitHub-flavoured Markdown made from untrusted text.

use super::pages::is_address;
use capstan_model::wording::{fitting, is_unfit};

/// GitHub's limit of a body, in characters.
pub(super) const MAX_BODY_CHARACTERS: usize = 65_536;
/// Our limit of a text, in bytes: at least as many as its characters.
pub const MAX_BODY: usize = 65_000;

/// One line of at most `max` characters: control and direction-changing characters are made visible.
pub fn one_line(text: &str, max: usize) -> String {
    let mut line = String::with_capacity(text.len().min(max.saturating_mul(4)));
    for (index, c) in text.chars().enumerate() {
        if index >= max {
            line.push('…');
            break;
        }
        line.push(match c {
            '\n' => '⏎',
            '\t' => ' ',
            c if is_unfit(c) => '\u{fffd}',
            c => c,
        });
    }
    line
}

/// A name in a title or a commit's message, which no Markdown escapes: mentions and references are broken by a
/// zero-width blank, so that a folder called `fixes #1` closes nothing.
pub fn plain(text: &str, max: usize) -> String {
    let line = one_line(text, max);
    let mut plain = String::with_capacity(line.len());
    for c in line.chars() {
        if c == '-' && plain.to_ascii_lowercase().ends_with("gh") {
            plain.push('\u{200b}');
        }
        plain.push(c);
        if matches!(c, '#' | '@') {
            plain.push('\u{200b}');
        }
    }
    plain
}

/// A code span: nothing inside it is a link, a mention or a tag.
pub fn code(text: &str, max: usize) -> String {
    let line = one_line(text, max);
    if line.trim().is_empty() {
        // GitHub shows a code span of blanks as nothing at all.
        return if line.is_empty() { "`\"\"`".to_owned() } else { format!("`\"{line}\"`") };
    }
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad =
        if line.starts_with('`') || line.ends_with('`') || (line.starts_with(' ') && line.ends_with(' ')) {
            " "
        } else {
            ""
        };
    format!("{fence}{pad}{line}{pad}{fence}")
}

/// A code span in a table's cell, where a bar ends the cell even inside a span.
pub fn code_cell(text: &str, max: usize) -> String {
    code(text, max).replace('|', "\\|")
}

/// Running text: every character that Markdown or HTML reads is escaped; mentions, references and
/// links are broken by a zero-width blank.
pub fn text(text: &str, max: usize) -> String {
    let line = one_line(text, max);
    let mut escaped = String::with_capacity(line.len() + 16);
    for c in line.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '!' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '@' | '#' => {
                escaped.push(c);
                escaped.push('\u{200b}');
            }
            ':' => escaped.push_str(":\u{200b}"),
            c => escaped.push(c),
        }
    }
    // `GH-12` and `www.` are links of their own.
    escaped.replace("GH-", "GH\u{200b}-").replace("www.", "www\u{200b}.").replace(":\u{200b} ", ": ")
}

/// Text written by Capstan itself that quotes names in single backticks: the quoted parts become code
/// spans, or a link where it is the address of a page of Capstan's documentation; the rest is escaped.
pub fn prose(message: &str, max: usize) -> String {
    let mut out = String::new();
    for (index, part) in one_line(message, max).split('`').enumerate() {
        if index % 2 == 0 {
            out.push_str(&text(part, usize::MAX));
        } else if is_address(part) {
            out.push_str(&format!("<{part}>"));
        } else if !part.is_empty() {
            out.push_str(&code(part, usize::MAX));
        }
    }
    out
}

/// [`prose`] in a table's cell or a list item that must not contain a bare bar.
pub fn prose_cell(message: &str, max: usize) -> String {
    let escaped = prose(message, max);
    let mut out = String::with_capacity(escaped.len());
    let mut before = ' ';
    for c in escaped.chars() {
        if c == '|' && before != '\\' {
            out.push('\\');
        }
        out.push(c);
        before = c;
    }
    out
}

/// How many rows of a table did not fit, below it: `… and 1 more cluster.`
pub(super) fn more_below(left: usize, one: &str, many: &str) -> String {
    format!("\n… and {}.\n", more(left, one, many))
}

/// The same as the last item of a list: `- … and 1 more cluster`
pub(super) fn more_items(left: usize, one: &str, many: &str) -> String {
    format!("- … and {}\n", more(left, one, many))
}

/// `1 more cluster`
pub(super) fn more(left: usize, one: &str, many: &str) -> String {
    format!("{left} more {}", fitting(left, one, many))
}

/// A text that grows row by row within a budget, and counts what did not fit.
#[derive(Debug)]
pub struct Page {
    text: String,
    limit: usize,
}

impl Page {
    /// A page of at most `limit` bytes.
    pub const fn new(limit: usize) -> Self {
        Self { text: String::new(), limit }
    }

    /// Bytes still free.
    pub fn free(&self) -> usize {
        self.limit.saturating_sub(self.text.len())
    }

    /// Appends `part` if it fits.
    pub fn push(&mut self, part: &str) -> bool {
        let fits = part.len() <= self.free();
        if fits {
            self.text.push_str(part);
        }
        fits
    }

    /// Appends `head` and as many `rows` as fit into `budget` bytes, and then `more` of the number left out.
    /// Appends nothing where there are no rows.
    pub fn section(&mut self, head: &str, rows: &[String], budget: usize, more: impl Fn(usize) -> String) {
        if rows.is_empty() {
            return;
        }
        let budget = budget.min(self.free());
        let all = head.len() + rows.iter().map(String::len).sum::<usize>();
        let reserve = if all <= budget { 0 } else { more(rows.len()).len() };
        let mut part = String::from(head);
        let mut shown = 0;
        for row in rows {
            if part.len() + row.len() + reserve > budget {
                break;
            }
            part.push_str(row);
            shown += 1;
        }
        if shown < rows.len() {
            part.push_str(&more(rows.len() - shown));
        }
        self.push(&part);
    }

    /// The text.
    pub fn finish(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_spans_hold_whatever_is_put_into_them() {
        for (raw, shown) in [
            ("v1.16.8", "`v1.16.8`"),
            ("a`b", "``a`b``"),
            ("`a", "`` `a ``"),
            ("``", "``` `` ```"),
            ("", "`\"\"`"),
            ("a\nb", "`a⏎b`"),
            ("@acme/team <b>", "`@acme/team <b>`"),
            ("abc\u{202e}def", "`abc\u{fffd}def`"),
        ] {
            assert_eq!(code(raw, 100), shown, "{raw:?}");
        }
        assert_eq!(code_cell("a|b", 100), "`a\\|b`");
        assert_eq!(code("abcdef", 3), "`abc…`");
    }

    #[test]
    fn running_text_mentions_nobody_and_forges_nothing() {
        assert_eq!(
            text("ask @acme about #12 <img src=x>", 200),
            "ask @\u{200b}acme about #\u{200b}12 &lt;img src=x&gt;"
        );
        assert_eq!(text("[x](https://evil.example)", 200), "\\[x\\](https:\u{200b}//evil.example)");
        assert_eq!(text("**bold** | cell", 200), "\\*\\*bold\\*\\* \\| cell");
    }

    #[test]
    fn prose_keeps_capstans_own_quotes() {
        assert_eq!(prose("`a_b` is older than `@x`: no", 200), "`a_b` is older than `@x`: no");
        assert_eq!(prose_cell("`a|b` or c|d", 200), "`a\\|b` or c\\|d");
    }

    #[test]
    fn a_section_says_how_much_it_left_out() {
        let rows: Vec<String> = (0..10).map(|n| format!("row {n}\n")).collect();
        let mut page = Page::new(1000);
        page.section("Head\n", &rows, 30, |left| format!("and {left} more\n"));
        assert_eq!(page.finish(), "Head\nrow 0\nrow 1\nand 8 more\n");

        let mut page = Page::new(1000);
        page.section("Head\n", &rows[..2], 17, |left| format!("and {left} more\n"));
        assert_eq!(page.finish(), "Head\nrow 0\nrow 1\n");
    }
}
