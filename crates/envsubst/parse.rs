//! Texts into tokens. The grammar is the parser's of `drone/envsubst`
//! (<https://github.com/drone/envsubst/blob/master/parse/parse.go>); white space round names is clusterctl's
//! (<https://github.com/kubernetes-sigs/cluster-api/blob/v1.12.10/cmd/clusterctl/client/yamlprocessor/simple_processor.go>).

use std::borrow::Cow;
use std::convert::Infallible;

use crate::dialect::{Blanks, Dialect, Strange};
use crate::expression::{
    Argument, Function, LetterCase, Letters, Match, Occurrence, TextToken, TrimEnd, Variable,
    VariableOperation,
};

/// Why a text is not read, and at which byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpressionError {
    /// The byte.
    pub at: usize,
    /// Why, to be read behind a colon.
    pub message: &'static str,
    /// Behind the innermost name: the next brace ends what is malformed.
    behind_name: usize,
}

/// The tokens of a text. Text that begins like an expression and is not valid is one token, up to a brace.
pub fn tokens<'t>(text: &'t str, dialect: &Dialect) -> Vec<TextToken<'t>> {
    let behind_brace = |broken: ExpressionError| {
        let rest = &text[broken.behind_name..];
        Ok::<_, Infallible>(rest.find('}').map_or(text.len(), |brace| broken.behind_name + brace + 1))
    };
    match scan(text, dialect, behind_brace) {
        Ok(tokens) => tokens,
        Err(never) => match never {},
    }
}

/// The tokens of a text without any that is malformed.
///
/// # Errors
/// The first that is.
pub fn read<'t>(text: &'t str, dialect: &Dialect) -> Result<Vec<TextToken<'t>>, ExpressionError> {
    scan(text, dialect, Err)
}

/// The tokens; `end_of` says where an invalid expression ends.
fn scan<'t, E>(
    text: &'t str,
    dialect: &Dialect,
    end_of: impl Fn(ExpressionError) -> Result<usize, E>,
) -> Result<Vec<TextToken<'t>>, E> {
    let mut scanner = Scanner { text, at: 0, behind_name: 0, dialect };
    let mut out = Vec::new();
    let mut start = 0;
    while let Some(found) = text[scanner.at..].find('$') {
        let dollar = scanner.at + found;
        let next = text.as_bytes().get(dollar + 1);
        if !matches!(next, Some(b'$' | b'{')) {
            scanner.at = dollar + 1;
            continue;
        }
        if start < dollar {
            out.push(TextToken::Text(&text[start..dollar]));
        }
        scanner.at = dollar;
        if next == Some(&b'$') {
            out.push(TextToken::Escaped(&text[dollar + 1..dollar + 2]));
            scanner.at = dollar + 2;
            if let Some((name, end)) = scanner.padded_behind_escape() {
                out.extend([TextToken::Text("{"), TextToken::Text(name)]);
                scanner.at = end;
            }
        } else {
            match scanner.expression(0) {
                Ok(variable) => out.push(TextToken::Variable(variable)),
                Err(broken) => {
                    scanner.at = end_of(broken)?;
                    out.push(TextToken::Malformed(&text[dollar..scanner.at]));
                }
            }
        }
        start = scanner.at;
    }
    if start < text.len() {
        out.push(TextToken::Text(&text[start..]));
    }
    Ok(out)
}

const MISSING: &str = "an argument is missing or malformed";

/// White space to clusterctl.
const BLANKS: [char; 5] = [' ', '\t', '\n', '\r', '\x0c'];

struct Scanner<'t, 'd> {
    text: &'t str,
    at: usize,
    /// See [`ExpressionError`].
    behind_name: usize,
    dialect: &'d Dialect,
}

impl<'t> Scanner<'t, '_> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn begins(&self, what: &str) -> bool {
        self.rest().starts_with(what)
    }

    const fn broken<T>(&self, message: &'static str) -> Result<T, ExpressionError> {
        Err(ExpressionError { at: self.at, message, behind_name: self.behind_name })
    }

    /// As many of this sign as stand here, `most` at most.
    fn signs(&mut self, sign: char, most: usize) -> usize {
        let count = self.rest().chars().take(most).take_while(|next| *next == sign).count();
        self.at += count * sign.len_utf8();
        count
    }

    /// An expression that begins here with `${`.
    fn expression(&mut self, depth: usize) -> Result<Variable<'t>, ExpressionError> {
        let start = self.at;
        self.at += 2;
        self.behind_name = self.at;
        if depth > self.dialect.bounds.depth {
            return self.broken("it is nested too deeply");
        }
        let padded = if self.dialect.blanks == Blanks::Refused { None } else { self.padded(self.at) };
        let (name, operation) = match padded.filter(|(name, _)| !name.contains('$')) {
            Some((name, end)) => {
                self.at = end;
                (name, VariableOperation::Value)
            }
            None if self.begins("#") => {
                self.at += 1;
                (self.name("no name follows `${#`")?, VariableOperation::Function(Function::Length))
            }
            None => (self.name("no name follows `${`")?, self.operation(depth)?),
        };
        if !self.begins("}") {
            return self.broken("its closing brace is missing, or its operator is unknown");
        }
        self.at += 1;
        let is_computed = self.dialect.strange == Strange::Computed || !operation.is_strange();
        let operation = if is_computed { operation } else { VariableOperation::Unsupported };
        Ok(Variable { name, operation, raw: &self.text[start..self.at] })
    }

    fn name(&mut self, message: &'static str) -> Result<&'t str, ExpressionError> {
        let is_part = |c: char| c.is_alphabetic() || c.is_ascii_digit() || c == '_';
        let rest = self.rest();
        let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        if name.is_empty() {
            return self.broken(message);
        }
        self.at += name.len();
        self.behind_name = self.at;
        Ok(name)
    }

    /// A name with white space on one side or both, and the position of its brace. It may contain `$`, and is
    /// not a name then.
    fn padded(&self, at: usize) -> Option<(&'t str, usize)> {
        let rest = &self.text[at..];
        let name = rest.trim_start_matches(BLANKS);
        let behind = name.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$');
        let end = behind.trim_start_matches(BLANKS);
        let name = &name[..name.len() - behind.len()];
        let length = rest.len() - end.len();
        (!name.is_empty() && end.starts_with('}') && length > name.len()).then_some((name, at + length))
    }

    /// The same after `$$`, where it is not an expression and the white space is removed nevertheless.
    fn padded_behind_escape(&self) -> Option<(&'t str, usize)> {
        let goes = self.dialect.blanks == Blanks::GoEverywhere && self.begins("{");
        if goes { self.padded(self.at + 1) } else { None }
    }

    /// The text between a name and its brace.
    fn operation(&mut self, depth: usize) -> Result<VariableOperation<'t>, ExpressionError> {
        match *self.rest().as_bytes() {
            [b':', b'=' | b'-' | b'?' | b'+', ..] => self.default_of(2, depth),
            [b'=', ..] => self.default_of(1, depth),
            // The tools lose their place before a character of several bytes.
            [b':', next, ..] if !next.is_ascii() => self.broken(MISSING),
            [b':', ..] => self.substring(depth).map(VariableOperation::Function),
            [b',' | b'^', ..] => Ok(self.casing()),
            [b'/', ..] => self.replacement(depth).map(VariableOperation::Function),
            [b'#', ..] => self.trimming(TrimEnd::Start, '#', depth).map(VariableOperation::Function),
            [b'%', ..] => self.trimming(TrimEnd::End, '%', depth).map(VariableOperation::Function),
            _ => Ok(VariableOperation::Value),
        }
    }

    /// Words and expressions up to the brace. There are no escapes in them.
    fn default_of(&mut self, length: usize, depth: usize) -> Result<VariableOperation<'t>, ExpressionError> {
        let operator = &self.rest()[..length];
        self.at += length;
        let mut tokens = Vec::new();
        while !self.begins("}") {
            if self.begins("${") {
                tokens.push(TextToken::Variable(self.expression(depth + 1)?));
                continue;
            }
            match self.plain(b"}") {
                "" => return self.broken(MISSING),
                word => tokens.push(TextToken::Text(word)),
            }
        }
        Ok(VariableOperation::Default { operator, tokens })
    }

    fn casing(&mut self) -> VariableOperation<'t> {
        let signs = self.rest().bytes().take(2).take_while(|sign| matches!(sign, b',' | b'^')).count();
        let operator = &self.rest()[..signs];
        self.at += signs;
        let (case, letters) = match operator {
            "," => (LetterCase::Lower, Letters::First),
            ",," => (LetterCase::Lower, Letters::All),
            "^" => (LetterCase::Upper, Letters::First),
            "^^" => (LetterCase::Upper, Letters::All),
            // No function to the tools, which then leave the value as it is.
            _ if self.dialect.strange == Strange::Refused => return VariableOperation::Unsupported,
            _ => return VariableOperation::Value,
        };
        VariableOperation::Function(Function::Case { case, letters })
    }

    fn substring(&mut self, depth: usize) -> Result<Function<'t>, ExpressionError> {
        self.at += 1;
        let position = self.argument(b":}", Escapes::None, depth)?;
        let has_length = self.signs(':', usize::MAX) > 0;
        let length = has_length.then(|| self.argument(b"}", Escapes::None, depth)).transpose()?;
        Ok(Function::Substring { position, length })
    }

    fn replacement(&mut self, depth: usize) -> Result<Function<'t>, ExpressionError> {
        self.at += 1;
        let place = match self.rest().as_bytes().first() {
            Some(b'/') => Occurrence::Every,
            Some(b'#') => Occurrence::Start,
            Some(b'%') => Occurrence::End,
            _ => Occurrence::First,
        };
        self.at += usize::from(place != Occurrence::First);
        let what = self.argument(b"/", Escapes::All, depth)?;
        if self.signs('/', usize::MAX) == 0 {
            return self.broken("the second `/` of a replacement is missing");
        }
        let has_more = !self.begins("}");
        let with = has_more.then(|| self.argument(b"}", Escapes::All, depth)).transpose()?;
        Ok(Function::Replace { place, what, with })
    }

    fn trimming(&mut self, end: TrimEnd, sign: char, depth: usize) -> Result<Function<'t>, ExpressionError> {
        let match_ = if self.signs(sign, 2) == 2 { Match::Longest } else { Match::Shortest };
        Ok(Function::Trim { end, match_, pattern: self.argument(b"}", Escapes::None, depth)? })
    }

    /// One word, which ends before one of these signs, or one expression.
    fn argument(
        &mut self,
        until: &[u8],
        escapes: Escapes,
        depth: usize,
    ) -> Result<Argument<'t>, ExpressionError> {
        if self.begins("${") {
            return Ok(Argument::Variable(Box::new(self.expression(depth + 1)?)));
        }
        let word = match escapes {
            Escapes::None => Cow::Borrowed(self.plain(until)),
            Escapes::All => self.unescaped(until),
        };
        if word.is_empty() {
            return self.broken(MISSING);
        }
        Ok(Argument::Word(word))
    }

    /// The text before one of these signs, an expression or the end.
    fn plain(&mut self, until: &[u8]) -> &'t str {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let ends = |at: &usize| until.contains(&bytes[*at]) || bytes[*at..].starts_with(b"${");
        let word = &rest[..(0..bytes.len()).find(ends).unwrap_or(bytes.len())];
        self.at += word.len();
        word
    }

    /// The same without escapes: of each, the second sign is taken literally.
    fn unescaped(&mut self, until: &[u8]) -> Cow<'t, str> {
        let mut out = String::new();
        let (start, mut copied) = (self.at, self.at);
        loop {
            match &self.text.as_bytes()[self.at..] {
                [] | [b'$', b'{', ..] => break,
                [sign @ b'$', b'$', ..] | [sign @ b'\\', b'/' | b'\\', ..] => {
                    out.push_str(&self.text[copied..self.at]);
                    copied = self.at + 1;
                    self.at += 2;
                    if *sign == b'$'
                        && let Some((name, end)) = self.padded_behind_escape()
                    {
                        out.push_str("${");
                        out.push_str(name);
                        (self.at, copied) = (end, end);
                    }
                }
                [sign, ..] if until.contains(sign) => break,
                _ => self.at += 1,
            }
        }
        if copied == start {
            return Cow::Borrowed(&self.text[start..self.at]);
        }
        out.push_str(&self.text[copied..self.at]);
        Cow::Owned(out)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Escapes {
    None,
    /// `$$`, `\/` and `\\`
    All,
}

#[cfg(test)]
mod tests;
