//! The lines of a comment that GitHub shows as its author's own words.
//!
//! Follows CommonMark (<https://spec.commonmark.org/0.31.2/>) and GitHub's additions to it as far as it matters for a
//! line's start: code, HTML and what it encloses, comments, block quotes with their lazy continuation lines, link
//! definitions, and whatever else begins on an earlier line of a paragraph and ends on a later one. Indented code never
//! begins at a line's start. In doubt a line is passed over: whoever is not heard writes the command on a line of its
//! own, with a blank line above it.

mod elements;
mod paragraph;

use elements::{Elements, HtmlBlock};

/// What the scanner is inside of.
enum Inside {
    Text,
    /// A fence of that character and length.
    Fence(char, usize),
    /// A block quote's paragraph, until a blank line; with how many elements were open before it.
    Quote(usize),
    /// A block of HTML, until its end.
    Html(HtmlBlock),
}

/// Lines without trailing blank space, HTML comments taken out.
pub(super) fn visible_lines(body: &str) -> Vec<String> {
    // Each of these ends a line.
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    let mut scanner = Scanner {
        inside: Inside::Text,
        paragraph: Vec::new(),
        elements: Elements::default(),
        visible: Vec::new(),
    };
    for line in body.split('\n') {
        scanner.line(line);
    }
    scanner.end_paragraph();
    scanner.visible
}

struct Scanner<'a> {
    inside: Inside,
    /// The lines of the paragraph that is being read.
    paragraph: Vec<&'a str>,
    /// Elements of HTML that were opened and not closed: what they enclose may be hidden.
    elements: Elements,
    visible: Vec<String>,
}

impl<'a> Scanner<'a> {
    fn line(&mut self, line: &'a str) {
        let is_blank = line.trim().is_empty();
        match &self.inside {
            Inside::Fence(mark, length) => {
                if fence(line).is_some_and(|(closing, found, info)| {
                    closing == *mark && found >= *length && info.is_empty()
                }) {
                    self.inside = Inside::Text;
                }
            }
            Inside::Html(block) => {
                let ends = block.ends_with(line);
                self.elements.read(block.tags_of(line));
                if ends {
                    self.inside = Inside::Text;
                }
            }
            Inside::Quote(depth) if is_blank => {
                self.elements.leave(*depth);
                self.inside = Inside::Text;
            }
            Inside::Quote(_) if fence(line).is_none() => self.enclosed(line),
            Inside::Quote(_) | Inside::Text => self.begin(line, is_blank),
        }
    }

    /// A line outside of everything.
    fn begin(&mut self, line: &'a str, is_blank: bool) {
        self.inside = Inside::Text;
        if is_blank {
            self.end_paragraph();
            return;
        }
        if let Some((mark, length, info)) = fence(line)
            && (mark == '~' || !info.contains('`'))
        {
            self.end_paragraph();
            self.inside = Inside::Fence(mark, length);
            return;
        }
        let (content, is_quote) = content_of(line);
        if is_quote {
            self.end_paragraph();
            self.inside = Inside::Quote(self.elements.depth());
            self.enclosed(line);
            return;
        }
        if block_start(line).is_none() && self.paragraph.is_empty() {
            return;
        }
        if let Some(block) = HtmlBlock::begun_by(content, !self.paragraph.is_empty()) {
            self.end_paragraph();
            self.html(block, content);
            return;
        }
        self.paragraph.push(line);
    }

    /// A line of a quotation: what it opens may hide more than the quotation.
    fn enclosed(&mut self, line: &str) {
        let (content, _) = content_of(line);
        match HtmlBlock::begun_by(content, true) {
            Some(block) if block.outlasts_its_paragraph() => self.html(block, content),
            _ => drop(paragraph::visible(&[content], &mut self.elements)),
        }
    }

    fn html(&mut self, block: HtmlBlock, content: &str) {
        self.elements.read(block.tags_of(content));
        let closes_at_once = block.outlasts_its_paragraph() && block.ends_after_its_start(content);
        if !closes_at_once {
            self.inside = Inside::Html(block);
        }
    }

    fn end_paragraph(&mut self) {
        let lines = std::mem::take(&mut self.paragraph);
        if !lines.is_empty() {
            self.visible.extend(paragraph::visible(&lines, &mut self.elements));
        }
    }
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

/// A line without the marks of the lists and quotations that it begins, however deep, and whether there is a quotation
/// among these.
fn content_of(line: &str) -> (&str, bool) {
    let (mut content, mut is_quote) = (line.trim_start(), false);
    loop {
        content = if let Some(rest) = content.strip_prefix('>') {
            is_quote = true;
            rest.trim_start()
        } else if let Some(rest) = list_item(content) {
            rest.trim_start()
        } else {
            return (content, is_quote);
        };
    }
}

/// What follows a list's mark: `-`, `*`, `+`, `1.` or `1)`, and a blank.
fn list_item(text: &str) -> Option<&str> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let rest = match digits {
        0 => text.strip_prefix(['-', '*', '+'])?,
        1..=9 => text[digits..].strip_prefix(['.', ')'])?,
        _ => return None,
    };
    rest.starts_with([' ', '\t']).then_some(rest)
}
