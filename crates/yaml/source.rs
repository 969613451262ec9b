//! The text under edit: lines, columns, line ends, and splices into it.

use super::comments;
use std::ops::Range;

/// A text whose last line is ended, be it by a line feed that is taken away again after the edit: so
/// that no edit needs a case for the end of the file.
pub(super) struct TerminatedText {
    text: String,
    /// The text's own line end.
    eol: &'static str,
    /// Whether the last line end is not the file's own.
    added: bool,
}

/// Bytes to replace, and with what (line feeds, not the file's own line ends).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Splice {
    pub(super) range: Range<usize>,
    pub(super) text: String,
}

impl Splice {
    /// `None` where nothing would happen.
    pub(super) fn of(range: Range<usize>, text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        (!range.is_empty() || !text.is_empty()).then_some(Self { range, text })
    }
}

impl TerminatedText {
    pub(super) fn new(text: &str) -> Self {
        let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let added = !text.is_empty() && !text.ends_with('\n');
        let mut text = text.to_owned();
        if added {
            text.push_str(eol);
        }
        Self { text, eol, added }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The line end that the file's last line lacks.
    pub(super) const fn missing_end(&self) -> Option<&'static str> {
        if self.added { Some(self.eol) } else { None }
    }

    /// The offset of the line's first byte (behind a byte order mark).
    pub(super) fn line_start(&self, offset: usize) -> usize {
        match self.text[..offset].rfind('\n') {
            Some(feed) => feed + 1,
            None if self.text.starts_with('\u{feff}') => '\u{feff}'.len_utf8().min(offset),
            None => 0,
        }
    }

    /// The offset of the line's end: its `\n` or `\r\n`.
    pub(super) fn line_end(&self, offset: usize) -> usize {
        match self.text[offset..].find('\n') {
            Some(feed) if self.text[..offset + feed].ends_with('\r') => offset + feed - 1,
            Some(feed) => offset + feed,
            None => self.text.len(),
        }
    }

    /// The offset of the next line's first byte.
    pub(super) fn next_line(&self, offset: usize) -> usize {
        self.text[offset..].find('\n').map_or(self.text.len(), |feed| offset + feed + 1)
    }

    /// Whether the line is the file's last and has no line end of its own.
    pub(super) fn is_unfinished(&self, offset: usize) -> bool {
        self.added && self.next_line(offset) == self.text.len()
    }

    /// How many bytes stand before it on its line.
    pub(super) fn column(&self, offset: usize) -> usize {
        offset - self.line_start(offset)
    }

    /// Where the lines of a key or item of a block collection begin, the comments directly above it
    /// included; `floor` is where what is before it ends.
    pub(super) fn own_lines(&self, start: usize, floor: usize) -> usize {
        comments::above(&self.text, self.line_start(start), self.column(start), floor)
    }

    /// Whether only blanks precede it on its line.
    pub(super) fn starts_line(&self, offset: usize) -> bool {
        self.text[self.line_start(offset)..offset].bytes().all(|byte| byte == b' ')
    }

    /// Where a key's `:` ends; `None` for a key without one (`{a, b}`).
    pub(super) fn after_colon(&self, key_end: usize) -> Option<usize> {
        let rest = &self.text[key_end..];
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        rest[blank..].starts_with(':').then_some(key_end + blank + 1)
    }

    /// The text after all splices; `None` where two of them touch the same bytes.
    pub(super) fn apply(&self, splices: &mut [Splice]) -> Option<String> {
        // At one place additions come first, in the order they were made.
        splices.sort_by_key(|splice| (splice.range.start, !splice.range.is_empty()));
        let mut out = String::with_capacity(self.text.len() + 256);
        let mut done = 0;
        for splice in splices.iter() {
            if splice.range.start < done || splice.range.end > self.text.len() {
                return None;
            }
            out.push_str(&self.text[done..splice.range.start]);
            if self.eol == "\n" {
                out.push_str(&splice.text);
            } else {
                out.push_str(&splice.text.replace('\n', self.eol));
            }
            done = splice.range.end;
        }
        out.push_str(&self.text[done..]);
        if self.added && out.ends_with(self.eol) {
            out.truncate(out.len() - self.eol.len());
        }
        Some(out)
    }
}
