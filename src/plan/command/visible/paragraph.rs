//! Which lines of a paragraph are seen: none that begins within code, a comment, a tag, a link, an image or a formula
//! of several lines, and none of a link definition.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::content_of;
use super::elements::{Elements, tag_at};

/// The lines that are seen, without trailing blank space, HTML comments taken out.
pub(super) fn visible(lines: &[&str], elements: &mut Elements) -> Vec<String> {
    let text = lines.join("\n");
    let mut scan = Scan::new(&text);
    scan.run(elements);
    let defines = definitions(lines);
    let mut found = Vec::new();
    let mut start = 0;
    for line in &lines[..defines] {
        if !scan.hides(start) {
            found.push(scan.without_comments(start..start + line.len()));
        }
        start += line.len() + 1;
    }
    found
}

/// The index of the first line that may begin a link definition or a footnote, beyond the last where there is none.
/// The label, the address and the title of one may stand on several lines each.
fn definitions(lines: &[&str]) -> usize {
    let last = lines.iter().rposition(|line| line.contains("]:"));
    let begins = |line: &&str| content_of(line).0.starts_with('[');
    let first = last.and_then(|last| lines[..=last].iter().position(begins));
    first.unwrap_or(lines.len())
}

struct Scan<'a> {
    text: &'a str,
    /// What begins within one of these is not seen; in their order.
    ranges: Vec<Range<usize>>,
    /// Nor what begins within one of these.
    links: Vec<Range<usize>>,
    /// In their order.
    comments: Vec<Range<usize>>,
    /// Starts of lines that an element encloses.
    enclosed: BTreeSet<usize>,
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        let links = [link(text, "[", "]"), link(text, "](", ")")].into_iter().flatten().collect();
        Self { text, ranges: Vec::new(), links, comments: Vec::new(), enclosed: BTreeSet::new() }
    }

    fn hides(&self, line_start: usize) -> bool {
        let holds = |range: &Range<usize>| range.start < line_start && line_start < range.end;
        self.enclosed.contains(&line_start)
            || self.links.iter().any(holds)
            || self.comments.iter().any(holds)
            || self
                .ranges
                .get(self.ranges.partition_point(|range| range.end <= line_start))
                .is_some_and(holds)
    }

    fn without_comments(&self, line: Range<usize>) -> String {
        let mut shown = String::new();
        let mut at = line.start;
        let first = self.comments.partition_point(|comment| comment.end <= line.start);
        for comment in self.comments[first..].iter().take_while(|comment| comment.start < line.end) {
            shown.push_str(self.text.get(at..comment.start).unwrap_or_default());
            at = comment.end.max(at);
        }
        shown.push_str(self.text.get(at..line.end).unwrap_or_default());
        shown.trim_end().to_owned()
    }

    fn run(&mut self, elements: &mut Elements) {
        let text = self.text;
        let ticks = runs_of_ticks(text);
        let (last_tag, last_comment) = (text.rfind('>'), text.rfind("-->"));
        let mut at = 0;
        if elements.may_hide() {
            self.enclosed.insert(0);
        }
        while let Some(c) = text[at..].chars().next() {
            let rest = &text[at..];
            let tag = || if last_tag > Some(at) { tag_at(rest) } else { None };
            let end = match c {
                '\\' => {
                    at + 1 + rest[1..].chars().next().filter(|next| *next != '\n').map_or(0, char::len_utf8)
                }
                '`' => self.code(at, &ticks),
                '<' if rest.starts_with("<!--") => self.comment(at, last_comment),
                '<' => match tag() {
                    Some((tag, length)) => {
                        elements.take(tag);
                        self.ranges.push(at..at + length);
                        at + length
                    }
                    None => at + 1,
                },
                '$' if rest.starts_with("$$") => match rest[2..].find("$$") {
                    Some(length) => {
                        self.ranges.push(at..at + 2 + length + 2);
                        at + 2 + length + 2
                    }
                    None => at + 2,
                },
                c => at + c.len_utf8(),
            };
            // What begins within a code span or a tag is hidden already.
            if c == '\n' && elements.may_hide() {
                self.enclosed.insert(end);
            }
            at = end;
        }
    }

    /// A code span, or ticks that begin none.
    fn code(&mut self, at: usize, ticks: &BTreeMap<usize, Vec<usize>>) -> usize {
        let length = self.text[at..].bytes().take_while(|byte| *byte == b'`').count();
        let of_length = ticks.get(&length).map(Vec::as_slice).unwrap_or_default();
        match of_length.get(of_length.partition_point(|start| *start <= at)) {
            Some(close) => {
                self.ranges.push(at..close + length);
                close + length
            }
            None => at + length,
        }
    }

    /// A comment. Whether one without an end, or with as little as `<!-->`, is one at all depends on the reader: it
    /// hides what a comment would hide, and shows what one would not.
    fn comment(&mut self, at: usize, last_end: Option<usize>) -> usize {
        let is_open = last_end.is_none_or(|last| last < at + 4);
        let found = if is_open { None } else { self.text[at + 4..].find("-->") };
        let end = found.map_or(self.text.len() + 1, |length| at + 4 + length + 3);
        if self.comments.last().is_none_or(|last| last.end <= at) {
            self.comments.push(at..end);
        }
        let is_odd = self.text[at + 4..].starts_with('>') || self.text[at + 4..].starts_with("->");
        if found.is_none() || is_odd { at + 4 } else { end }
    }
}

/// What a link or an image may span: from the first mark to the last.
fn link(text: &str, open: &str, close: &str) -> Option<Range<usize>> {
    let (start, end) = (text.find(open)?, text.rfind(close)?);
    (start < end).then_some(start..end + 1)
}

/// Where runs of ticks begin, by their length.
fn runs_of_ticks(text: &str) -> BTreeMap<usize, Vec<usize>> {
    let mut runs: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut at = 0;
    while let Some(found) = text[at..].find('`') {
        let start = at + found;
        let length = text[start..].bytes().take_while(|byte| *byte == b'`').count();
        runs.entry(length).or_default().push(start);
        at = start + length;
    }
    runs
}
