//! What a text says before its variables have values: words, escapes, expressions. Nothing is lost: each part is a piece
//! of the text as it is written.

use std::borrow::Cow;

/// A part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextToken<'t> {
    /// Literal text.
    Text(&'t str),
    /// `$$`: a literal `$`, which is given here.
    Escaped(&'t str),
    /// An expression.
    Variable(Variable<'t>),
    /// Text that begins like an expression and is not valid.
    Malformed(&'t str),
}

/// An expression: one variable, and what is made of its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable<'t> {
    /// Its name.
    pub name: &'t str,
    /// What is made of it.
    pub operation: VariableOperation<'t>,
    /// As written.
    pub raw: &'t str,
}

/// What is made of a variable's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VariableOperation<'t> {
    /// The value.
    Value,
    /// The value; this where it is unset or empty.
    Default {
        /// `:=`, `:-`, `=`, `:?` or `:+`.
        operator: &'t str,
        /// The default.
        tokens: Vec<TextToken<'t>>,
    },
    /// A function of the value.
    Function(Function<'t>),
    /// Something that the tools accept and the dialect does not compute.
    Unsupported,
}

/// A function with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Function<'t> {
    /// `${#V}`
    Length,
    /// `${V,}` and `${V^}`: the first letter; `${V,,}` and `${V^^}`: all.
    Case { case: LetterCase, letters: Letters },
    /// `${V:position}` and `${V:position:length}`.
    Substring { position: Argument<'t>, length: Option<Argument<'t>> },
    /// `${V/what/with}` and its kin.
    Replace { place: Occurrence, what: Argument<'t>, with: Option<Argument<'t>> },
    /// `${V#pattern}` and its kin.
    Trim { end: TrimEnd, match_: Match, pattern: Argument<'t> },
}

/// An argument of a function: one word or one expression.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument<'t> {
    /// A word, without its escapes.
    Word(Cow<'t, str>),
    /// An expression.
    Variable(Box<Variable<'t>>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LetterCase {
    Lower,
    Upper,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Letters {
    First,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occurrence {
    First,
    Every,
    Start,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrimEnd {
    Start,
    End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    Shortest,
    Longest,
}

impl Variable<'_> {
    /// Whether arguments follow the operator. clusterctl takes that for a default, whatever the operator, and
    /// requires no value.
    pub const fn has_arguments(&self) -> bool {
        match &self.operation {
            VariableOperation::Value | VariableOperation::Unsupported => false,
            VariableOperation::Default { tokens, .. } => !tokens.is_empty(),
            VariableOperation::Function(function) => {
                !matches!(function, Function::Length | Function::Case { .. })
            }
        }
    }
}

impl VariableOperation<'_> {
    /// Whether a shell reads it otherwise than the tools.
    pub(crate) fn is_strange(&self) -> bool {
        let is_expression = |argument: &Argument<'_>| matches!(argument, Argument::Variable(_));
        match self {
            Self::Value | Self::Unsupported => false,
            Self::Default { operator, .. } => matches!(*operator, ":?" | ":+"),
            Self::Function(Function::Length | Function::Case { .. }) => false,
            Self::Function(Function::Substring { position, length }) => {
                is_expression(position) || length.as_ref().is_some_and(is_expression)
            }
            Self::Function(Function::Replace { what, with, .. }) => {
                is_expression(what) || with.as_ref().is_some_and(is_expression)
            }
            Self::Function(Function::Trim { pattern: Argument::Word(pattern), .. }) => {
                pattern.contains(['[', '\\'])
            }
            Self::Function(Function::Trim { .. }) => true,
        }
    }
}

/// Whether a text may hold more than literals, as a quick look.
pub fn may_hold_tokens(text: &str) -> bool {
    has_dollar_before(text, |next| next == b'{' || next == b'$')
}

/// Whether a text holds what begins an expression: `${`. Asked of every scalar of a release for every cluster,
/// and most have no `$` at all.
pub fn may_hold_expressions(text: &str) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
