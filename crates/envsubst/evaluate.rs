//! Evaluates expressions. Values are inserted and not read: an expression in a value stays as it is.

use std::fmt;
use std::ops::Range;

use crate::dialect::{Dialect, TextBudget, Unset};
use crate::expression::{Argument, Function, TextToken, Variable, VariableOperation};
use crate::function::{FunctionError, cased, places, substring, trimmed};

/// What is known of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value<'v> {
    /// Its value.
    Set(&'v str),
    /// It has none.
    Unset,
    /// It has one that is never read, so that no default takes its place.
    Secret,
}

/// Why an expression has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvaluationError<'t> {
    /// The variable of this name has none.
    Unset(&'t str),
    /// That of this variable is never read.
    Secret(&'t str),
    /// It is not computed.
    NotComputed {
        /// The variable.
        name: &'t str,
        /// The innermost expression, as written.
        raw: &'t str,
        /// Why.
        why: FunctionError,
    },
}

impl fmt::Display for EvaluationError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset(name) => write!(f, "the variable `{name}` has no value"),
            Self::Secret(name) => write!(f, "the value of the variable `{name}` is secret"),
            Self::NotComputed { name, why, .. } => why.say_of(name, f),
        }
    }
}

/// A text with values in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Substituted<N> {
    /// The text.
    pub text: String,
    /// The bytes that came from values, in order, with the variables' names.
    pub values: Vec<(Range<usize>, N)>,
}

impl<N> Substituted<N> {
    /// The same with names of another type.
    pub fn named<M: From<N>>(self) -> Substituted<M> {
        let values = self.values.into_iter().map(|(range, name)| (range, name.into())).collect();
        Substituted { text: self.text, values }
    }
}

/// Where expressions are written as they come to something.
type Out<'t> = Substituted<&'t str>;

type EvaluationResult<'t> = Result<(), EvaluationError<'t>>;

/// Puts values into texts.
#[derive(Clone, Copy)]
pub struct Evaluator<'a, 'v> {
    dialect: &'a Dialect,
    values: &'a dyn Fn(&str) -> Value<'v>,
    budget: &'a TextBudget,
}

impl<'a, 'v> Evaluator<'a, 'v> {
    /// In this dialect, with these values, while there is a budget.
    pub const fn new(
        dialect: &'a Dialect,
        values: &'a dyn Fn(&str) -> Value<'v>,
        budget: &'a TextBudget,
    ) -> Self {
        Self { dialect, values, budget }
    }

    /// What tokens come to.
    ///
    /// # Errors
    /// The first expression without a value. The content of `out` is useless then.
    pub fn tokens<'t>(&self, tokens: &[TextToken<'t>], out: &mut Out<'t>) -> EvaluationResult<'t> {
        self.within("", tokens, out)
    }

    /// What an expression comes to.
    ///
    /// # Errors
    /// It has no value. The content of `out` is useless then.
    pub fn variable<'t>(&self, variable: &Variable<'t>, out: &mut Out<'t>) -> EvaluationResult<'t> {
        let Variable { name, raw, .. } = *variable;
        let most = self.dialect.bounds.text;
        let value = match (self.values)(name) {
            Value::Set(value) if value.len() > most => {
                return Err(refused(variable, FunctionError::LongValue(most)));
            }
            value => value,
        };
        match (&variable.operation, value) {
            (VariableOperation::Unsupported, _) => Err(refused(variable, FunctionError::Strange)),
            (VariableOperation::Default { tokens, .. }, Value::Set(value)) if !value.is_empty() => {
                // The tools compute a default first, needed or not: what they crash on there is refused.
                if let Err(crash @ EvaluationError::NotComputed { why: FunctionError::NoPart, .. }) =
                    self.within(raw, tokens, &mut Out::default())
                {
                    return Err(crash);
                }
                self.put(value, variable, out)
            }
            (_, Value::Secret) => Err(EvaluationError::Secret(name)),
            (VariableOperation::Default { tokens, .. }, _) => self.within(raw, tokens, out),
            (_, Value::Unset) if self.dialect.unset == Unset::Refused => Err(EvaluationError::Unset(name)),
            (VariableOperation::Value, Value::Unset) => Ok(()),
            (VariableOperation::Value, Value::Set(value)) => self.put(value, variable, out),
            (VariableOperation::Function(function), Value::Unset) => {
                self.function(function, variable, "", out)
            }
            (VariableOperation::Function(function), Value::Set(value)) => {
                self.function(function, variable, value, out)
            }
        }
    }

    /// Tokens of the text or of a default within `raw`.
    fn within<'t>(&self, raw: &'t str, tokens: &[TextToken<'t>], out: &mut Out<'t>) -> EvaluationResult<'t> {
        for token in tokens {
            match token {
                TextToken::Text(text) | TextToken::Escaped(text) => self.literal(text, raw, out)?,
                TextToken::Malformed(raw) => {
                    return Err(EvaluationError::NotComputed {
                        name: "",
                        raw,
                        why: FunctionError::Malformed,
                    });
                }
                TextToken::Variable(variable) => self.variable(variable, out)?,
            }
        }
        Ok(())
    }

    fn function<'t>(
        &self,
        function: &Function<'t>,
        variable: &Variable<'t>,
        value: &str,
        out: &mut Out<'t>,
    ) -> EvaluationResult<'t> {
        let refused = |why| refused(variable, why);
        let argument = |argument| self.argument(argument, variable.raw);
        match function {
            Function::Length => self.put(&value.len().to_string(), variable, out),
            Function::Case { case, letters } => self.put(&cased(*case, *letters, value), variable, out),
            Function::Substring { position, length } => {
                let position = argument(position)?.text;
                let length = length.as_ref().map(argument).transpose()?.map(|length| length.text);
                let part = substring(value, &position, length.as_deref());
                self.put(part.ok_or_else(|| refused(FunctionError::NoPart))?, variable, out)
            }
            Function::Replace { place, what, with } => {
                let what = argument(what)?.text;
                let with = with.as_ref().map(argument).transpose()?;
                let places = places(value, *place, &what, with.as_ref().map(|with| with.text.as_str()));
                let most = self.dialect.bounds.text;
                let added = with.as_ref().map_or(0, |with| with.text.len());
                if places.len().saturating_mul(added) > most {
                    return Err(refused(FunctionError::LongValue(most)));
                }
                // The value's parts are the value's, what is put in between is the text's.
                let mut copied = 0;
                for at in places {
                    self.put(&value[copied..at], variable, out)?;
                    if let Some(with) = &with {
                        self.append(with, variable.raw, out)?;
                    }
                    copied = at + what.len();
                }
                self.put(&value[copied..], variable, out)
            }
            Function::Trim { end, match_, pattern } => {
                let pattern = argument(pattern)?.text;
                let bounds = &self.dialect.bounds;
                let rest = trimmed(value, *end, *match_, &pattern, bounds, self.budget).map_err(refused)?;
                self.put(&rest, variable, out)
            }
        }
    }

    fn argument<'t>(&self, argument: &Argument<'t>, raw: &'t str) -> Result<Out<'t>, EvaluationError<'t>> {
        let mut out = Out::default();
        match argument {
            Argument::Word(word) => self.literal(word, raw, &mut out)?,
            Argument::Variable(variable) => self.variable(variable, &mut out)?,
        }
        Ok(out)
    }

    fn literal<'t>(&self, text: &str, raw: &'t str, out: &mut Out<'t>) -> EvaluationResult<'t> {
        let most = self.dialect.bounds.text;
        if out.text.len() + text.len() > most {
            return Err(EvaluationError::NotComputed { name: "", raw, why: FunctionError::LongText(most) });
        }
        out.text.push_str(text);
        Ok(())
    }

    /// Bytes that came of a variable's value.
    fn put<'t>(&self, text: &str, variable: &Variable<'t>, out: &mut Out<'t>) -> EvaluationResult<'t> {
        let begin = out.text.len();
        self.literal(text, variable.raw, out)?;
        if !text.is_empty() {
            out.values.push((begin..out.text.len(), variable.name));
        }
        Ok(())
    }

    fn append<'t>(&self, other: &Out<'t>, raw: &'t str, out: &mut Out<'t>) -> EvaluationResult<'t> {
        let begin = out.text.len();
        self.literal(&other.text, raw, out)?;
        let moved = other.values.iter().map(|(range, name)| (begin + range.start..begin + range.end, *name));
        out.values.extend(moved);
        Ok(())
    }
}

const fn refused<'t>(variable: &Variable<'t>, why: FunctionError) -> EvaluationError<'t> {
    EvaluationError::NotComputed { name: variable.name, raw: variable.raw, why }
}
