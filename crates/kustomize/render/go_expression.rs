//! Regular expressions as Go reads them, spelled for this engine.
//!
//! Kustomize's expressions are Go's: RE2 in the spelling of Perl
//! (<https://github.com/golang/go/blob/master/src/regexp/syntax/parse.go>). Both engines match alike; they differ in
//! what they read. Every letter is written out here, so that nothing has a meaning that Go does not give it.

use std::fmt::Write as _;

/// The most that a repetition may count to, those within it multiplied.
const MOST_REPEATED: u64 = 1_000;

/// How deep groups may lie within one another.
const DEEPEST: usize = 200;

/// Names of classes of letters.
const POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// An expression of Go's in this engine's spelling; why Go takes it for none.
pub(super) fn spelled(text: &str) -> Result<String, String> {
    let mut reader = ExpressionReader { rest: text, out: String::with_capacity(text.len() + 8), end: 0 };
    reader.alternatives(0)?;
    match reader.rest {
        "" => Ok(reader.out),
        _ => Err("a closing parenthesis closes nothing".to_owned()),
    }
}

struct ExpressionReader<'t> {
    rest: &'t str,
    out: String,
    /// The end of the last item: flags may follow, which cannot be repeated.
    end: usize,
}

/// The last item of a sequence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SequenceEnd {
    /// Nothing that could be repeated.
    Nothing,
    /// Something whose repetitions count to this.
    Item(u64),
    /// A repetition, which cannot be repeated by itself.
    Repeated(u64),
}

impl<'t> ExpressionReader<'t> {
    fn next(&mut self) -> Option<char> {
        let letter = self.rest.chars().next()?;
        self.rest = &self.rest[letter.len_utf8()..];
        Some(letter)
    }

    fn skip(&mut self, what: &str) -> bool {
        let rest = self.rest.strip_prefix(what);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// What is in a group, or the whole; how far its repetitions count.
    fn alternatives(&mut self, depth: usize) -> Result<u64, String> {
        if depth > DEEPEST {
            return Err("groups are nested too deep".to_owned());
        }
        let (mut last, mut most) = (SequenceEnd::Nothing, 1);
        while !self.rest.is_empty() && !self.rest.starts_with(')') {
            if self.skip("|") {
                self.out.push('|');
                last = SequenceEnd::Nothing;
                continue;
            }
            match self.piece(last, depth)? {
                Some(next) => {
                    last = next;
                    self.end = self.out.len();
                }
                None if matches!(last, SequenceEnd::Repeated(_)) => last = SequenceEnd::Item(most),
                None => {}
            }
            if let SequenceEnd::Item(times) | SequenceEnd::Repeated(times) = last {
                most = most.max(times);
            }
        }
        Ok(most)
    }

    /// The next item; `None` for flags, which cannot be repeated.
    fn piece(&mut self, last: SequenceEnd, depth: usize) -> Result<Option<SequenceEnd>, String> {
        let before = self.rest;
        match self.next() {
            Some('(') => return self.group(depth),
            Some('[') => self.class()?,
            Some('\\') => self.escape()?,
            Some(plain @ ('.' | '^' | '$')) => self.out.push(plain),
            Some('*' | '+' | '?') => return self.repeat(last, before, &before[..1], None).map(Some),
            Some('{') => match bounds(before) {
                None => self.literal('{'),
                Some((length, low, high)) => {
                    self.rest = &before[length..];
                    return self.repeat(last, before, &before[..length], Some((low, high))).map(Some);
                }
            },
            Some(letter) => self.literal(letter),
            None => return Ok(None),
        }
        Ok(Some(SequenceEnd::Item(1)))
    }

    /// A repetition, which is read already, of the last item.
    fn repeat(
        &mut self,
        last: SequenceEnd,
        before: &str,
        operator: &str,
        bounds: Option<(u64, Option<u64>)>,
    ) -> Result<SequenceEnd, String> {
        let wrong = |why: &str| Err(format!("{why} at `{before}`"));
        let inner = match last {
            SequenceEnd::Nothing => return wrong("there is nothing to repeat"),
            SequenceEnd::Repeated(_) => return wrong("a repetition cannot be repeated"),
            SequenceEnd::Item(times) => times,
        };
        let mut times = inner;
        if let Some((low, high)) = bounds {
            let most = high.unwrap_or(low);
            times = most.saturating_mul(inner.max(1));
            let is_backwards = high.is_some_and(|high| high < low);
            let is_long = (low >= 2 || most >= 2) && times > MOST_REPEATED;
            if is_backwards || is_long || low > MOST_REPEATED || most > MOST_REPEATED {
                return wrong("the repetition counts too far, or backwards");
            }
        }
        let lazy = if self.skip("?") { "?" } else { "" };
        self.out.insert_str(self.end, &format!("{operator}{lazy}"));
        Ok(SequenceEnd::Repeated(times))
    }

    /// A group whose parenthesis is read; `None` for flags, which change how the rest is read.
    fn group(&mut self, depth: usize) -> Result<Option<SequenceEnd>, String> {
        let before = self.rest;
        if !self.skip("?") {
            self.out.push_str("(?:");
            return self.close(depth);
        }
        if self.skip("P<") || self.skip("<") {
            let end = self.rest.find('>').unwrap_or_default();
            let name = &self.rest[..end];
            if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err(format!("a group's name is wrong at `({before}`"));
            }
            self.rest = &self.rest[end + 1..];
            self.out.push_str("(?:");
            return self.close(depth);
        }
        let mut flags = String::new();
        while let Some(letter) = self.next() {
            match letter {
                'i' | 'm' | 's' | 'U' => flags.push(letter),
                '-' if !flags.contains('-') => flags.push(letter),
                ':' | ')' if !flags.ends_with('-') => {
                    if letter == ':' {
                        let _written = write!(self.out, "(?{flags}:");
                        return self.close(depth);
                    }
                    if !flags.is_empty() {
                        let _written = write!(self.out, "(?{flags})");
                    }
                    return Ok(None);
                }
                _ => break,
            }
        }
        Err(format!("Go does not know the group `({before}`"))
    }

    fn close(&mut self, depth: usize) -> Result<Option<SequenceEnd>, String> {
        let times = self.alternatives(depth + 1)?;
        if !self.skip(")") {
            return Err("a parenthesis is not closed".to_owned());
        }
        self.out.push(')');
        Ok(Some(SequenceEnd::Item(times)))
    }

    fn literal(&mut self, letter: char) {
        if letter.is_ascii_alphanumeric() || !letter.is_ascii() {
            self.out.push(letter);
        } else {
            let _written = write!(self.out, "\\x{{{:x}}}", u32::from(letter));
        }
    }

    /// What follows a backslash outside of brackets.
    fn escape(&mut self) -> Result<(), String> {
        let rest = self.rest;
        match rest.chars().next() {
            Some('A') => self.out.push_str("\\A"),
            Some('b') => self.out.push_str("(?-u:\\b)"),
            Some('B') => self.out.push_str("\\B"),
            Some('z') => self.out.push_str("\\z"),
            Some('Q') => {
                let (quoted, behind) = rest[1..].split_once("\\E").unwrap_or((&rest[1..], ""));
                quoted.chars().for_each(|letter| self.literal(letter));
                self.rest = behind;
                return Ok(());
            }
            _ => {
                if !self.known_class()? {
                    let letter = self.escaped_letter()?;
                    self.literal(letter);
                }
                return Ok(());
            }
        }
        self.rest = &rest[1..];
        Ok(())
    }

    /// `\d`, `\pL`, `\p{Greek}` and their like, whose backslash is read.
    fn known_class(&mut self) -> Result<bool, String> {
        let rest = self.rest;
        let Some(letter) = rest.chars().next() else { return Ok(false) };
        let ascii = match letter {
            'd' => "[0-9]",
            'D' => "[^0-9]",
            's' => r"[\t\n\x0c\r\x20]",
            'S' => r"[^\t\n\x0c\r\x20]",
            'w' => "[0-9A-Za-z_]",
            'W' => "[^0-9A-Za-z_]",
            'p' | 'P' => {
                self.rest = &rest[1..];
                let unknown = || format!("Go knows no such letters: `\\{rest}`");
                let name = if self.skip("{") {
                    let end = self.rest.find('}').ok_or_else(unknown)?;
                    let name = &self.rest[..end];
                    self.rest = &self.rest[end + 1..];
                    name
                } else {
                    let before = self.rest;
                    let letter = self.next().ok_or_else(unknown)?;
                    &before[..letter.len_utf8()]
                };
                let (is_other, name) = name.strip_prefix('^').map_or((false, name), |name| (true, name));
                if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_') {
                    return Err(unknown());
                }
                let kind = if is_other == (letter == 'P') { 'p' } else { 'P' };
                let _written = write!(self.out, "\\{kind}{{{name}}}");
                return Ok(true);
            }
            _ => return Ok(false),
        };
        self.out.push_str(ascii);
        self.rest = &rest[1..];
        Ok(true)
    }

    /// The letter of an escape whose backslash is read.
    fn escaped_letter(&mut self) -> Result<char, String> {
        let rest = self.rest;
        let unknown =
            || format!("Go does not know the escape `\\{}`", rest.chars().next().unwrap_or_default());
        let letter = self.next().ok_or("there is a backslash at the end")?;
        let of_digits = |digits: &str, base: u32| {
            let is_number = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(base));
            let code = u32::from_str_radix(digits, base).ok().filter(|_| is_number);
            code.and_then(char::from_u32).ok_or_else(unknown)
        };
        match letter {
            '0'..='7' => {
                let digits = rest.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
                if letter != '0' && digits < 2 {
                    return Err(unknown());
                }
                self.rest = &rest[digits..];
                of_digits(&rest[..digits], 8)
            }
            'x' if self.skip("{") => {
                let end = self.rest.find('}').ok_or_else(unknown)?;
                let digits = &self.rest[..end];
                self.rest = &self.rest[end + 1..];
                of_digits(digits, 16)
            }
            'x' => {
                let digits = self.rest.get(..2).ok_or_else(unknown)?;
                self.rest = &self.rest[2..];
                of_digits(digits, 16)
            }
            'a' => Ok('\u{7}'),
            'f' => Ok('\u{c}'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\u{b}'),
            other if other.is_ascii() && !other.is_ascii_alphanumeric() => Ok(other),
            _ => Err(unknown()),
        }
    }

    /// A class whose bracket is read.
    fn class(&mut self) -> Result<(), String> {
        let open = || "a bracket is not closed".to_owned();
        self.out.push('[');
        if self.skip("^") {
            self.out.push('^');
        }
        let mut is_first = true;
        while is_first || !self.skip("]") {
            is_first = false;
            if let Some((name, rest)) = self.rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]")) {
                if !POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
                    return Err(format!("Go knows no such letters: `[:{name}:]`"));
                }
                let _written = write!(self.out, "[:{name}:]");
                self.rest = rest;
                continue;
            }
            if self.rest.starts_with('\\') {
                let before = self.rest;
                self.rest = &before[1..];
                if self.known_class()? {
                    continue;
                }
                self.rest = before;
            }
            let low = self.class_letter()?;
            let is_range = self.rest.starts_with('-') && !self.rest.starts_with("-]") && self.rest.len() > 1;
            let high = if is_range {
                self.rest = &self.rest[1..];
                self.class_letter()?
            } else {
                low
            };
            if high < low {
                return Err(format!("a range goes backwards, from `{low}` to `{high}`"));
            }
            let _written = write!(self.out, "\\x{{{:x}}}-\\x{{{:x}}}", u32::from(low), u32::from(high));
            if self.rest.is_empty() {
                return Err(open());
            }
        }
        self.out.push(']');
        Ok(())
    }

    fn class_letter(&mut self) -> Result<char, String> {
        match self.next() {
            Some('\\') => self.escaped_letter(),
            Some(letter) => Ok(letter),
            None => Err("a bracket is not closed".to_owned()),
        }
    }
}

/// `{2}`, `{2,}` or `{2,4}`: its length, and its bounds. Any other brace is a letter.
fn bounds(text: &str) -> Option<(usize, u64, Option<u64>)> {
    let (inside, _) = text.strip_prefix('{')?.split_once('}')?;
    // Go reads no number with a leading zero here, and takes one that is too large for one that is too large.
    let number = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty();
        let leads = text.len() > 1 && text.starts_with('0');
        (is_number && !leads).then(|| text.parse().unwrap_or(u64::MAX))
    };
    let length = inside.len() + 2;
    match inside.split_once(',') {
        None => number(inside).map(|times| (length, times, Some(times))),
        Some((low, "")) => number(low).map(|low| (length, low, None)),
        Some((low, high)) => Some((length, number(low)?, Some(number(high)?))),
    }
}

#[cfg(test)]
#[path = "go_expression_tests.rs"]
mod tests;
