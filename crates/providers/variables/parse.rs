//! Reading expressions: the scanner and parser of `drone/envsubst`
//! (<https://github.com/drone/envsubst/blob/master/parse/parse.go>), token by token.

use std::borrow::Cow;

/// Expressions in expressions deeper than this are refused: no components need them.
const DEEPEST: usize = 32;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    /// Text as it is.
    Text(String),
    /// A variable, and what is made of its value; the operator is empty where nothing is.
    Function { variable: String, operator: String, arguments: Vec<Node> },
}

/// Why a text is not read, and at which byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Broken {
    pub(super) at: usize,
    pub(super) message: &'static str,
}

/// `${ V }` is `${V}` to clusterctl: white space round a name of letters, digits, `_` and `$` goes.
pub(super) fn without_blanks(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut copied, mut at) = (0, 0);
    while let Some(found) = text[at..].find("${") {
        let open = at + found + 2;
        at = open;
        let rest = &text[open..];
        let is_blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c');
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let name = rest.trim_start_matches(is_blank);
        let behind = name.trim_start_matches(is_name);
        let end = behind.trim_start_matches(is_blank);
        let name = &name[..name.len() - behind.len()];
        let length = rest.len() - end.len();
        if !name.is_empty() && end.starts_with('}') && length > name.len() {
            out.push_str(&text[copied..open]);
            out.push_str(name);
            copied = open + length;
            at = copied;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Reads a whole text.
pub(super) fn parse(text: &str) -> Result<Vec<Node>, Broken> {
    let mut scanner = Scanner { text, at: 0 };
    let mut nodes = Vec::new();
    loop {
        let mode = Mode { expressions: true, escapes: Escapes::Dollar, ..Mode::default() };
        match scanner.scan(mode, |_, _| true) {
            Token::End => return Ok(nodes),
            Token::Open => nodes.push(scanner.function(0)?),
            Token::Word(text) => nodes.push(Node::Text(text)),
            Token::Close | Token::Illegal => return scanner.broken("it is malformed"),
        }
    }
}

enum Token {
    End,
    /// `${`
    Open,
    /// `}`
    Close,
    Word(String),
    Illegal,
}

/// What the scanner knows besides words.
#[derive(Clone, Copy, Default)]
struct Mode {
    expressions: bool,
    closing: bool,
    no_words: bool,
    escapes: Escapes,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Escapes {
    #[default]
    None,
    /// `$$`
    Dollar,
    /// `$$`, `\/` and `\\`
    All,
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl Scanner<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn broken<T>(&self, message: &'static str) -> Result<T, Broken> {
        Err(Broken { at: self.at, message })
    }

    fn opens(&self) -> bool {
        self.text[self.at..].starts_with("${")
    }

    /// Whether an escape begins here; it stands for its second character.
    fn is_escape(&self, escapes: Escapes) -> bool {
        matches!(
            (escapes, &self.text.as_bytes()[self.at..]),
            (Escapes::Dollar | Escapes::All, [b'$', b'$', ..]) | (Escapes::All, [b'\\', b'/' | b'\\', ..])
        )
    }

    /// The next token. A word is all characters that are accepted, each asked for with its number in the word.
    fn scan(&mut self, mode: Mode, accept: impl Fn(char, usize) -> bool) -> Token {
        let Some(first) = self.peek() else { return Token::End };
        if mode.expressions && self.opens() {
            self.at += 2;
            return Token::Open;
        }
        if mode.closing && first == '}' {
            self.at += 1;
            return Token::Close;
        }
        if mode.no_words {
            return Token::Illegal;
        }
        let mut word = String::new();
        let mut count = 0;
        while let Some(next) = self.peek() {
            if mode.expressions && self.opens() {
                break;
            }
            count += 1;
            if self.is_escape(mode.escapes) {
                word.extend(self.text[self.at + 1..].chars().next());
                self.at += 2;
            } else if accept(next, count) {
                word.push(next);
                self.at += next.len_utf8();
            } else {
                break;
            }
        }
        if word.is_empty() { Token::Illegal } else { Token::Word(word) }
    }

    fn word(&mut self, accept: impl Fn(char, usize) -> bool) -> Option<String> {
        match self.scan(Mode::default(), accept) {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    /// An expression behind its `${`.
    fn function(&mut self, depth: usize) -> Result<Node, Broken> {
        if depth > DEEPEST {
            return self.broken("it is nested too deeply");
        }
        if self.peek() == Some('#') {
            self.at += 1;
            let Some(variable) = self.word(is_name) else { return self.broken("no name follows `${#`") };
            self.close()?;
            return Ok(Node::Function { variable, operator: "#".to_owned(), arguments: Vec::new() });
        }
        let Some(variable) = self.word(is_name) else { return self.broken("no name follows `${`") };
        let (operator, arguments) = match self.peek() {
            Some(':') if self.text[self.at + 1..].starts_with(['=', '-', '?', '+']) => {
                self.default_of(depth)?
            }
            Some('=') => self.default_of(depth)?,
            Some(':') => self.substring(depth)?,
            Some(',' | '^') => {
                let operator = self.word(|c, count| (c == ',' || c == '^') && count < 3).unwrap_or_default();
                self.close()?;
                (operator, Vec::new())
            }
            Some('/') => self.replacement(depth)?,
            Some(sign @ ('#' | '%')) => {
                let operator = self.word(|c, count| c == sign && count < 3).unwrap_or_default();
                let argument = self.argument(depth, Escapes::None, |c| c != '}')?;
                self.close()?;
                (operator, vec![argument])
            }
            _ => {
                self.close()?;
                (String::new(), Vec::new())
            }
        };
        Ok(Node::Function { variable, operator, arguments })
    }

    fn close(&mut self) -> Result<(), Broken> {
        match self.scan(Mode { closing: true, no_words: true, ..Mode::default() }, |_, _| false) {
            Token::Close => Ok(()),
            _ => self.broken("its closing brace is missing, or its operator is unknown"),
        }
    }

    /// One word or one expression.
    fn argument(
        &mut self,
        depth: usize,
        escapes: Escapes,
        accept: impl Fn(char) -> bool,
    ) -> Result<Node, Broken> {
        let mode = Mode { expressions: true, escapes, ..Mode::default() };
        match self.scan(mode, |c, _| accept(c)) {
            Token::Open => self.function(depth + 1),
            Token::Word(text) => Ok(Node::Text(text)),
            _ => self.broken("an argument is missing or malformed"),
        }
    }

    /// Words and expressions up to the brace.
    fn default_of(&mut self, depth: usize) -> Result<(String, Vec<Node>), Broken> {
        let length = if self.peek() == Some('=') { 1 } else { 2 };
        let operator = self.text[self.at..self.at + length].to_owned();
        self.at += length;
        let mut arguments = Vec::new();
        while self.peek() != Some('}') {
            arguments.push(self.argument(depth, Escapes::None, |c| c != '}')?);
        }
        self.close()?;
        Ok((operator, arguments))
    }

    fn substring(&mut self, depth: usize) -> Result<(String, Vec<Node>), Broken> {
        self.at += 1;
        let mut arguments = vec![self.argument(depth, Escapes::None, |c| c != ':' && c != '}')?];
        match self.scan(Mode { closing: true, ..Mode::default() }, |c, _| c == ':') {
            Token::Close => {}
            Token::Word(_) => {
                arguments.push(self.argument(depth, Escapes::None, |c| c != '}')?);
                self.close()?;
            }
            _ => return self.broken("its closing brace is missing"),
        }
        Ok((":".to_owned(), arguments))
    }

    fn replacement(&mut self, depth: usize) -> Result<(String, Vec<Node>), Broken> {
        let operator = self
            .word(|c, count| match count {
                1 => c == '/',
                2 => matches!(c, '/' | '#' | '%'),
                _ => false,
            })
            .unwrap_or_default();
        let mut arguments = vec![self.argument(depth, Escapes::All, |c| c != '/')?];
        if self.word(|c, _| c == '/').is_none() {
            return self.broken("the second `/` of a replacement is missing");
        }
        if self.peek() != Some('}') {
            arguments.push(self.argument(depth, Escapes::All, |c| c != '}')?);
        }
        self.close()?;
        Ok((operator, arguments))
    }
}

/// Part of a variable's name, for Go.
fn is_name(c: char, _: usize) -> bool {
    c.is_alphabetic() || c.is_numeric() || c == '_'
}
