//! The lines of a comment that GitHub shows as its author's own words.
//!
//! A parser of CommonMark with GitHub's extensions reads the Markdown. This module works out what the HTML hides.
//! An author's own words are in paragraphs, headings and lists. In doubt a line is skipped: the author can write
//! the command on a line of its own, with a blank line above it.

mod elements;

use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, Options, Parser, Tag, TagEnd};

use elements::Elements;

/// GitHub's additions to CommonMark.
const GITHUB: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_GFM)
    .union(Options::ENABLE_MATH);

/// Lines without trailing blank space, HTML comments taken out.
pub(super) fn visible_lines(body: &str) -> Vec<String> {
    // Each of these ends a line.
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    // A link or an image without a target is text. It counts as a link here, because a reader may take it for one.
    let nowhere = |_: BrokenLink<'_>| Some((CowStr::Borrowed(""), CowStr::Borrowed("")));
    let mut reader = VisibleReader { body: &body, ..VisibleReader::default() };
    for (event, range) in
        Parser::new_with_broken_link_callback(&body, GITHUB, Some(nowhere)).into_offset_iter()
    {
        reader.take(event, range);
    }
    reader.lines()
}

#[derive(Default)]
struct VisibleReader<'a> {
    body: &'a str,
    /// For each block and span that is open, whether what it holds are own words.
    open: Vec<Holds>,
    /// Where lines of own words begin.
    starts: Vec<usize>,
    /// HTML comments, in their order.
    comments: Vec<Range<usize>>,
    /// The block of HTML that is being read.
    html: String,
    /// Elements of HTML that were opened and not closed: what they enclose may be hidden.
    elements: Elements,
    /// How many elements were open before each quotation that is open.
    quotes: Vec<usize>,
    /// Where the last quotation ended.
    quoted_until: Option<usize>,
    /// The block has a `<!--`, which may begin a comment.
    perhaps_comment: bool,
    /// A block of HTML begins a comment, or the like, that it does not end.
    is_cut_off: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    OwnWords,
    Something,
}

impl VisibleReader<'_> {
    fn take(&mut self, event: Event<'_>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.begin(&tag, &range),
            Event::End(tag) => self.end(tag, &range),
            Event::Html(text) => self.html.push_str(&text),
            Event::InlineHtml(text) => {
                if text.starts_with("<!--") {
                    self.comments.push(range);
                } else {
                    self.elements.read(&text);
                }
            }
            Event::Text(_) => self.text(range),
            _ => {}
        }
    }

    fn begin(&mut self, tag: &Tag<'_>, range: &Range<usize>) {
        let holds = match tag {
            // A paragraph right below a quotation may be taken for a part of it.
            Tag::Paragraph | Tag::Heading { .. } if self.follows_quotation(range.start) => Holds::Something,
            Tag::Paragraph
            | Tag::Heading { .. }
            | Tag::List(_)
            | Tag::Item
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough => Holds::OwnWords,
            _ => Holds::Something,
        };
        match tag {
            Tag::BlockQuote(_) => self.quotes.push(self.elements.depth()),
            Tag::HtmlBlock => self.html.clear(),
            _ => {}
        }
        if matches!(tag, Tag::Paragraph | Tag::Heading { .. } | Tag::Item) {
            self.perhaps_comment = false;
        }
        self.open.push(holds);
    }

    fn end(&mut self, tag: TagEnd, range: &Range<usize>) {
        self.open.pop();
        match tag {
            TagEnd::BlockQuote(_) => {
                if let Some(depth) = self.quotes.pop() {
                    self.elements.leave(depth);
                }
                self.quoted_until = Some(range.end);
            }
            TagEnd::HtmlBlock => {
                let html = std::mem::take(&mut self.html);
                self.is_cut_off |= without_comments(&html, |shown| self.elements.read(shown)) == Ends::Open;
            }
            _ => {}
        }
    }

    /// Whether this follows a quotation without a blank line between them.
    fn follows_quotation(&self, start: usize) -> bool {
        let between = self.quoted_until.and_then(|end| self.body.get(end.min(start)..start));
        between.is_some_and(|between| between.trim().is_empty() && between.matches('\n').count() < 2)
            && !self.body[..start].ends_with("\n\n")
    }

    fn text(&mut self, range: Range<usize>) {
        let begins_line = range.start == 0 || self.body[..range.start].ends_with('\n');
        let is_own = self.open.iter().all(|holds| *holds == Holds::OwnWords);
        if begins_line && is_own && !self.perhaps_comment && !self.is_cut_off && !self.elements.may_hide() {
            self.starts.push(range.start);
        }
        let mut marks = self.body[range.clone()].match_indices('<');
        self.perhaps_comment |= marks.any(|(at, _)| self.body[range.start + at..].starts_with("<!--"));
    }

    fn lines(&self) -> Vec<String> {
        let mut lines = Vec::with_capacity(self.starts.len());
        for &start in &self.starts {
            let end = self.body[start..].find('\n').map_or(self.body.len(), |length| start + length);
            let mut shown = String::new();
            let mut at = start;
            let first = self.comments.partition_point(|comment| comment.end <= start);
            for comment in self.comments[first..].iter().take_while(|comment| comment.start < end) {
                shown.push_str(self.body.get(at..comment.start).unwrap_or_default());
                at = comment.end;
            }
            shown.push_str(self.body.get(at..end).unwrap_or_default());
            lines.push(shown.trim_end().to_owned());
        }
        lines
    }
}

/// Whether a block of HTML ends what it begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Closed,
    Open,
}

/// Reads the pieces of an HTML block that are outside of comments, CDATA, declarations and instructions.
fn without_comments(html: &str, mut read: impl FnMut(&str)) -> Ends {
    let mut rest = html;
    loop {
        let begins = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"), ("<!", ">")]
            .into_iter()
            .filter_map(|(start, end)| Some((rest.find(start)?, start, end)))
            .min_by_key(|(at, ..)| *at);
        let Some((at, start, end)) = begins else {
            read(rest);
            return Ends::Closed;
        };
        read(&rest[..at]);
        // `<!-->` is whole.
        let inside = if start == "<!--" { at + 2 } else { at + start.len() };
        match rest[inside..].find(end) {
            Some(length) => rest = &rest[inside + length + end.len()..],
            None => return Ends::Open,
        }
    }
}
