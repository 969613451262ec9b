//! The lines of a comment that GitHub shows as its author's own words.
//!
//! Follows CommonMark (<https://spec.commonmark.org/0.31.2/>) as far as it matters for a line's start:
//! fenced code, `<pre>`, HTML comments, and block quotes with their lazy continuation lines. Indented
//! code never begins at a line's start. In doubt a line is passed over.

/// What the scanner is inside of.
enum Inside {
    Text,
    /// A fence of that character and length.
    Fence(char, usize),
    /// A block quote's paragraph, until a blank line.
    Quote,
    /// `<pre>`, until its end.
    Pre,
    /// An HTML comment that began a block, until its end.
    Comment,
    /// An HTML comment within a paragraph, until its end or a blank line.
    InlineComment,
}

/// Lines without trailing blank space, HTML comments taken out.
pub(super) fn visible_lines(body: &str) -> Vec<String> {
    let mut inside = Inside::Text;
    let mut visible = Vec::new();
    for line in body.lines() {
        let (shown, next) = step(inside, line);
        visible.extend(shown);
        inside = next;
    }
    visible
}

fn step(inside: Inside, line: &str) -> (Option<String>, Inside) {
    let is_blank = line.trim().is_empty();
    match inside {
        Inside::Fence(mark, length) => match fence(line) {
            Some((closing, closing_length, "")) if closing == mark && closing_length >= length => {
                (None, Inside::Text)
            }
            _ => (None, Inside::Fence(mark, length)),
        },
        Inside::Pre if line.to_ascii_lowercase().contains("</pre>") => (None, Inside::Text),
        Inside::Pre => (None, Inside::Pre),
        // What follows a comment's end on its line is still part of the HTML block.
        Inside::Comment if line.contains("-->") => (None, Inside::Text),
        Inside::Comment => (None, Inside::Comment),
        Inside::InlineComment if is_blank || line.contains("-->") => (None, Inside::Text),
        Inside::InlineComment => (None, Inside::InlineComment),
        Inside::Quote if is_blank => (None, Inside::Text),
        Inside::Quote if fence(line).is_none() => (None, Inside::Quote),
        Inside::Quote | Inside::Text => begin(line),
    }
}

/// A line outside of everything.
fn begin(line: &str) -> (Option<String>, Inside) {
    let Some(start) = block_start(line) else { return (None, Inside::Text) };
    if let Some((mark, length, info)) = fence(line)
        && (mark == '~' || !info.contains('`'))
    {
        return (None, Inside::Fence(mark, length));
    }
    if start.starts_with('>') {
        return (None, Inside::Quote);
    }
    let lower = start.to_ascii_lowercase();
    if lower.starts_with("<pre") && !lower.contains("</pre>") {
        return (None, Inside::Pre);
    }
    if start.starts_with("<!--") && !start.contains("-->") {
        return (None, Inside::Comment);
    }
    let (shown, is_open) = without_comments(line);
    (Some(shown), if is_open { Inside::InlineComment } else { Inside::Text })
}

/// A line without up to three blanks before it; `None` for indented code.
fn block_start(line: &str) -> Option<&str> {
    let start = line.trim_start_matches(' ');
    (line.len() - start.len() < 4 && !start.starts_with('\t')).then_some(start)
}

/// A fence's character and length, and what follows it.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let start = block_start(line)?;
    let mark = start.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = start.trim_start_matches(mark);
    let length = start.len() - rest.len();
    (length >= 3).then(|| (mark, length, rest.trim()))
}

/// The line without HTML comments, and whether one is left open. `<!--` in a code span is text.
fn without_comments(line: &str) -> (String, bool) {
    let mut shown = String::new();
    let mut rest = line;
    while let Some((before, comment)) = rest.split_once("<!--") {
        shown.push_str(before);
        if shown.matches('`').count() % 2 == 1 {
            shown.push_str("<!--");
            rest = comment;
            continue;
        }
        match comment.split_once("-->") {
            Some((_, after)) => rest = after,
            None => return (shown.trim_end().to_owned(), true),
        }
    }
    shown.push_str(rest);
    (shown.trim_end().to_owned(), false)
}
