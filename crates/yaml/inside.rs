//! Maps places in a string to places of its file.
//!
//! Reading a string changes its white space (indentation, folding, line breaks) and its escapes, never the
//! order of the rest. So a byte of the text is found in the file by counting what is not white space,
//! whatever the string's style.

use super::file::YamlFile;

impl YamlFile {
    /// The byte of this file for a byte of a string's text; `start` is the beginning of the string's node. A
    /// byte that is not found maps to the beginning of the string.
    pub fn offset_inside(&self, start: usize, text: &str, offset: usize) -> usize {
        let Some(raw) = self.text().get(start..) else { return start };
        let before = text.get(..offset).unwrap_or(text);
        let wanted = before.chars().filter(|c| !c.is_whitespace()).count();
        let content = StringContent::of(raw);
        content.marks().nth(wanted).map_or(start, |at| start + at)
    }
}

/// How a string is written, and where its content begins.
struct StringContent<'r> {
    raw: &'r str,
    begin: usize,
    quote: Option<char>,
}

impl<'r> StringContent<'r> {
    fn of(raw: &'r str) -> Self {
        let mut begin = 0;
        // An anchor or a tag precedes the string.
        while let Some(rest) = raw.get(begin..).filter(|rest| rest.starts_with(['&', '!'])) {
            let word = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let blank = rest[word..].find(|c: char| !c.is_whitespace()).unwrap_or_default();
            begin += word + blank.max(1);
        }
        let rest = raw.get(begin..).unwrap_or_default();
        match rest.chars().next() {
            Some('|' | '>') => {
                let line = rest.find('\n').map_or(rest.len(), |line| line + 1);
                Self { raw, begin: begin + line, quote: None }
            }
            Some(quote @ ('"' | '\'')) => Self { raw, begin: begin + 1, quote: Some(quote) },
            _ => Self { raw, begin, quote: None },
        }
    }

    /// The bytes that are not white space.
    fn marks(&self) -> impl Iterator<Item = usize> + 'r {
        let (raw, quote) = (self.raw, self.quote);
        let mut at = self.begin;
        std::iter::from_fn(move || {
            loop {
                let rest = raw.get(at..)?;
                let first = rest.chars().next()?;
                let here = at;
                let (decoded, length) = match (quote, first) {
                    (Some('"'), '\\') => escaped(&rest[1..]),
                    (Some('\''), '\'') if rest[1..].starts_with('\'') => ('\'', 2),
                    (Some(quote), first) if first == quote => return None,
                    _ => (first, first.len_utf8()),
                };
                at += length;
                if !decoded.is_whitespace() {
                    return Some(here);
                }
            }
        })
    }
}

/// What an escape means, the backslash gone before it, and how many bytes it takes with the backslash
/// (<https://yaml.org/spec/1.2.2/#57-escaped-characters>).
fn escaped(rest: &str) -> (char, usize) {
    let code = |digits: usize| {
        let number = rest.get(1..=digits).and_then(|text| u32::from_str_radix(text, 16).ok());
        (number.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER), digits + 2)
    };
    match rest.chars().next() {
        Some('n' | 't' | 'r' | 'v' | 'f' | 'N' | '_' | 'L' | 'P') => (' ', 2),
        Some('x') => code(2),
        Some('u') => code(4),
        Some('U') => code(8),
        // A line that continues.
        Some(c) => (c, 1 + c.len_utf8()),
        None => (' ', 1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::YamlFile;

    /// The place of `here` in the file, after it was found in the string's text.
    fn position(file: &str, here: &str) -> (u32, u32) {
        let file = YamlFile::read(file).unwrap();
        let node = file.documents()[0].root.get("values").unwrap();
        let text = node.as_str().unwrap();
        let at = file.offset_inside(node.span.start, text, text.find(here).unwrap());
        let position = file.position(at);
        (position.line, position.column)
    }

    #[test]
    fn a_place_in_a_string_of_any_style_is_a_place_of_the_file() {
        for (file, line, column) in [
            ("values: |\n  a: 1\n\n  b:\n    c: 29.1.0\n", 5, 8),
            ("values: |2-  # kept\n    a: 1\n    c: 29.1.0\n", 3, 8),
            ("values: &x !!str |\n  c: 29.1.0\n", 2, 6),
            ("values: >\n  c:\n\n  29.1.0\n", 4, 3),
            ("values: \"a: 1\\nc: \\u0032\\x20 29.1.0\\n\"\n", 1, 30),
            ("values: \"a: 1\\n\\\n  c: 29.1.0\"\n", 2, 6),
            ("values: 'it''s: 29.1.0'\n", 1, 17),
            ("other: 1\nvalues: c 29.1.0\n", 2, 11),
        ] {
            assert_eq!(position(file, "29.1.0"), (line, column), "{file}");
        }
    }
}
