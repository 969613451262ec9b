//! What a scalar says before its variables have values: text, escapes, expressions.
//!
//! The grammar is that of `drone/envsubst`, which clusterctl uses
//! (<https://github.com/drone/envsubst/blob/master/parse/parse.go>) and of which Flux has a fork
//! (<https://github.com/fluxcd/pkg/blob/main/envsubst/parse/parse.go>):
//!
//! | written | means |
//! |---|---|
//! | `${V}`, `${ V }` (clusterctl alone) | the value |
//! | `${V:=d}` `${V:-d}` `${V=d}` | the value, or `d` where it is unset or empty; `d` may hold expressions |
//! | `${V,}` `${V,,}` `${V^}` `${V^^}` | first letter, all letters, in lower or upper case |
//! | `${V:p}` `${V:p:n}` | from byte `p` on, at most `n` bytes; a negative `p` counts from the end |
//! | `${V/a/b}` `${V//a/b}` `${V/#a/b}` `${V/%a/b}` | first, every, leading, trailing `a` replaced |
//! | `${V#g}` `${V##g}` `${V%g}` `${V%%g}` | shortest, longest start, end that fits `g` (`*`, `?`) cut off |
//! | `${#V}` | length in bytes |
//! | `$$` | `$`; hence `$${V}` is the text `${V}` |
//!
//! Not understood, and said so where one is needed ([`Trouble`](super::Trouble)): `${V:+d}` and `${V:?d}`, which both tools
//! take for defaults and no shell does; expressions inside of the arguments of functions; brackets
//! and backslashes in `g`. `${V-d}`, `${}`, `${V` are errors to both tools. `$V` is text.

use super::function::Function;

/// Expressions in defaults deeper than this are refused: no template needs them.
const DEEPEST: usize = 16;

/// A part of a scalar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// Literal text.
    Text(&'t str),
    /// `$$`: a literal `$`, which is given here.
    Escaped(&'t str),
    /// An expression.
    Variable(Variable<'t>),
    /// What begins like an expression and is none to the tools that substitute.
    Malformed(&'t str),
}

/// An expression: one variable, and what is made of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Variable<'t> {
    /// Its name.
    pub(crate) name: &'t str,
    pub(crate) operation: Operation<'t>,
    /// As written.
    pub(crate) raw: &'t str,
}

/// What is made of a variable's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Operation<'t> {
    /// The value.
    Value,
    /// The value; this where it is unset or empty.
    Default {
        /// `:=`, `:-` or `=`.
        operator: &'t str,
        /// The default.
        tokens: Vec<Token<'t>>,
    },
    /// A function of the value.
    Function(Function<'t>),
    /// Something that the tools accept and Capstan does not.
    Unsupported,
}

/// Whether a text may hold more than literals, as a quick look.
pub(crate) fn may_hold_tokens(text: &str) -> bool {
    has_dollar_before(text, |next| next == b'{' || next == b'$')
}

/// Whether a text holds what begins an expression: `${`. Asked of every scalar of a release for every cluster,
/// and most have no `$` at all.
pub(crate) fn may_hold_expressions(text: &str) -> bool {
    has_dollar_before(text, |next| next == b'{')
}

fn has_dollar_before(text: &str, is_wanted: impl Fn(u8) -> bool) -> bool {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| *byte == b'$') {
        rest = rest.get(at + 1..).unwrap_or_default();
        if rest.first().copied().is_some_and(&is_wanted) {
            return true;
        }
    }
    false
}

/// The tokens of a scalar's text.
pub(crate) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut out = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = text[at..].find('$') {
        let dollar = at + found;
        let (token, end) = match text.as_bytes().get(dollar + 1) {
            Some(b'$') => (Token::Escaped(&text[dollar + 1..dollar + 2]), dollar + 2),
            Some(b'{') => match Reader::at(text, dollar).variable(0) {
                Ok((variable, end)) => (Token::Variable(variable), end),
                Err(Broken { at }) => {
                    let end = text[at..].find('}').map_or(text.len(), |brace| at + brace + 1);
                    (Token::Malformed(&text[dollar..end]), end)
                }
            },
            _ => {
                at = dollar + 1;
                continue;
            }
        };
        if start < dollar {
            out.push(Token::Text(&text[start..dollar]));
        }
        out.push(token);
        (start, at) = (end, end);
    }
    if start < text.len() {
        out.push(Token::Text(&text[start..]));
    }
    out
}

/// Where an expression stopped being one.
struct Broken {
    at: usize,
}

#[derive(Clone, Copy)]
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    const fn at(text: &'t str, at: usize) -> Self {
        Self { text, at }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn broken<T>(&self) -> Result<T, Broken> {
        Err(Broken { at: self.at })
    }

    fn skip(&mut self, what: &str) -> bool {
        let is = self.rest().starts_with(what);
        if is {
            self.at += what.len();
        }
        is
    }

    fn name(&mut self) -> Result<&'t str, Broken> {
        let is_part = |c: char| c.is_alphabetic() || c.is_ascii_digit() || c == '_';
        let rest = self.rest();
        let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        if length == 0 {
            return self.broken();
        }
        self.at += length;
        Ok(&rest[..length])
    }

    /// An expression that begins here with `${`, and where it ends.
    fn variable(mut self, depth: usize) -> Result<(Variable<'t>, usize), Broken> {
        let start = self.at;
        self.at += 2;
        if depth > DEEPEST {
            return self.broken();
        }
        if self.skip("#") {
            let name = self.name()?;
            return self.close(start, name, Operation::Function(Function::Length));
        }
        let blank = self.blank();
        let name = self.name()?;
        if self.blank() || blank {
            return self.close(start, name, Operation::Value);
        }
        let operator = [":=", ":-", "="].into_iter().find(|operator| self.rest().starts_with(operator));
        let operation = match (operator, self.rest().as_bytes().first()) {
            (Some(operator), _) => {
                let written = &self.rest()[..operator.len()];
                self.at += operator.len();
                Operation::Default { operator: written, tokens: self.default_tokens(depth)? }
            }
            (None, Some(b'}')) => Operation::Value,
            (None, Some(b':' | b',' | b'^' | b'/' | b'#' | b'%')) => {
                let (function, length) = match Function::read(self.rest()) {
                    Some(read) => read,
                    None => return self.broken(),
                };
                self.at += length;
                function.map_or(Operation::Unsupported, Operation::Function)
            }
            _ => return self.broken(),
        };
        self.close(start, name, operation)
    }

    fn blank(&mut self) -> bool {
        let length = self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
        self.at += length;
        length > 0
    }

    fn close(
        mut self,
        start: usize,
        name: &'t str,
        operation: Operation<'t>,
    ) -> Result<(Variable<'t>, usize), Broken> {
        if !self.skip("}") {
            return self.broken();
        }
        Ok((Variable { name, operation, raw: &self.text[start..self.at] }, self.at))
    }

    /// A default up to its brace. There are no escapes in it.
    fn default_tokens(&mut self, depth: usize) -> Result<Vec<Token<'t>>, Broken> {
        let mut out = Vec::new();
        loop {
            let rest = self.rest();
            let Some(brace) = rest.find('}') else {
                self.at = self.text.len();
                return self.broken();
            };
            let inner = rest[..brace].find("${");
            let end = inner.unwrap_or(brace);
            if end > 0 {
                out.push(Token::Text(&rest[..end]));
                self.at += end;
            }
            if inner.is_none() {
                return Ok(out);
            }
            let (variable, end) = self.variable(depth + 1)?;
            out.push(Token::Variable(variable));
            self.at = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value<'t>(name: &'t str, raw: &'t str) -> Token<'t> {
        Token::Variable(Variable { name, operation: Operation::Value, raw })
    }

    fn with_default<'t>(name: &'t str, operator: &'t str, tokens: Vec<Token<'t>>, raw: &'t str) -> Token<'t> {
        Token::Variable(Variable { name, operation: Operation::Default { operator, tokens }, raw })
    }

    #[test]
    fn a_quick_look_finds_what_begins_like_a_token() {
        for (text, expression, token) in [
            ("", false, false),
            ("$", false, false),
            ("a$b", false, false),
            ("a$b${c}", true, true),
            ("a$$", false, true),
            ("$${a}", true, true),
            ("ü${", true, true),
        ] {
            assert_eq!((may_hold_expressions(text), may_hold_tokens(text)), (expression, token), "{text}");
        }
    }

    #[test]
    fn a_scalar_is_read_into_literals_and_variables() {
        assert_eq!(
            tokens("${CLUSTER}-md-${N:=0}"),
            [
                value("CLUSTER", "${CLUSTER}"),
                Token::Text("-md-"),
                with_default("N", ":=", vec![Token::Text("0")], "${N:=0}"),
            ]
        );
        assert_eq!(tokens("${A:-x y}"), [with_default("A", ":-", vec![Token::Text("x y")], "${A:-x y}")]);
        assert_eq!(tokens("${A=x}"), [with_default("A", "=", vec![Token::Text("x")], "${A=x}")]);
        assert_eq!(tokens("${A:=}"), [with_default("A", ":=", vec![], "${A:=}")]);
        assert_eq!(tokens("$A costs $"), [Token::Text("$A costs $")]);
        assert_eq!(tokens("${ A }${1}"), [value("A", "${ A }"), value("1", "${1}")]);
    }

    #[test]
    fn two_dollars_are_one_wherever_they_stand() {
        assert_eq!(tokens("a $${B} c"), [Token::Text("a "), Token::Escaped("$"), Token::Text("{B} c")]);
        assert_eq!(tokens("$$${B}"), [Token::Escaped("$"), value("B", "${B}")]);
        assert_eq!(tokens("pid $$"), [Token::Text("pid "), Token::Escaped("$")]);
    }

    #[test]
    fn defaults_nest() {
        let inner = with_default("B", ":=", vec![Token::Text("x")], "${B:=x}");
        assert_eq!(
            tokens("${A:=pre-${B:=x}-post}"),
            [with_default(
                "A",
                ":=",
                vec![Token::Text("pre-"), inner, Token::Text("-post")],
                "${A:=pre-${B:=x}-post}"
            )]
        );
        // No escape in a default: a dollar, and the value of B.
        assert_eq!(
            tokens("${A:=$${B}}"),
            [with_default("A", ":=", vec![Token::Text("$"), value("B", "${B}")], "${A:=$${B}}")]
        );
    }

    #[test]
    fn what_the_tools_refuse_is_malformed_and_the_text_goes_on_behind_its_brace() {
        assert_eq!(tokens("${A-x} b"), [Token::Malformed("${A-x}"), Token::Text(" b")]);
        assert_eq!(tokens("${}"), [Token::Malformed("${}")]);
        assert_eq!(
            tokens("${arr[@]} ${B}"),
            [Token::Malformed("${arr[@]}"), Token::Text(" "), value("B", "${B}")]
        );
        assert_eq!(tokens("${A"), [Token::Malformed("${A")]);
        assert_eq!(tokens("${A:=${B"), [Token::Malformed("${A:=${B")]);
        assert_eq!(tokens("${!A}"), [Token::Malformed("${!A}")]);
    }

    #[test]
    fn what_a_shell_reads_otherwise_than_the_tools_is_not_guessed() {
        for text in ["${A:+x}", "${A:?x}", "${A/${B}/x}", "${A#[ab]}", "${A,^}"] {
            let read = tokens(text);
            let [Token::Variable(variable)] = read.as_slice() else { panic!("{text}: {read:?}") };
            assert_eq!((variable.name, &variable.operation), ("A", &Operation::Unsupported), "{text}");
        }
    }

    /// What real templates write is understood, but for scripts of a shell that is not meant to be
    /// substituted in.
    #[test]
    fn expressions_of_real_cluster_templates_are_understood() {
        let Some(files) = capstan_test_support::shared_data::files("manifests") else { return };
        let (mut read, mut refused) = (0, std::collections::BTreeSet::new());
        for (path, bytes) in &files {
            let name = path.rsplit('/').next().unwrap();
            if !name.starts_with("cluster-template") || !name.ends_with(".yaml") {
                continue;
            }
            for token in tokens(std::str::from_utf8(bytes).unwrap()) {
                match token {
                    Token::Variable(Variable { operation: Operation::Unsupported, raw, .. })
                    | Token::Malformed(raw) => {
                        refused.insert(raw.to_owned());
                    }
                    Token::Variable(_) => read += 1,
                    Token::Text(_) | Token::Escaped(_) => {}
                }
            }
        }
        println!("{read} expressions");
        assert!(read > 100, "{read}");
        assert_eq!(refused.into_iter().collect::<Vec<_>>(), Vec::<String>::new());
    }

    #[test]
    fn hostile_nesting_ends() {
        let deep = "${a:=".repeat(100_000);
        assert_eq!(tokens(&deep).len(), 1);
        let closed = format!("{}{}", "${a:=".repeat(1_000), "}".repeat(1_000));
        assert!(matches!(tokens(&closed)[0], Token::Malformed(_)));
        assert_eq!(tokens(&"$".repeat(100_001)).len(), 50_001);
    }
}
