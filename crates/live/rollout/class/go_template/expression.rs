//! What an action comes to: fields, strings, functions, pipelines.

use capstan_yaml::Value;

use super::functions::call;
use super::tokens::{TemplateToken, tokens};
use super::uncomputed::{Computed, Uncomputed};
use crate::rollout::class::value::{holds_uncomputed, holds_variable};

/// Deeper pipelines and blocks are not computed.
pub(super) const DEEPEST: usize = 32;

/// What names are of: `$` and `.`.
#[derive(Clone, Copy)]
pub(super) struct TemplateScope<'v> {
    pub(super) root: &'v Value,
    /// `range` and `with` change it.
    pub(super) dot: &'v Value,
}

/// The value of an action.
pub(super) fn expression(text: &str, scope: TemplateScope<'_>) -> Computed<Value> {
    let tokens = tokens(text)?;
    let mut rest = tokens.as_slice();
    let value = pipeline(&mut rest, scope, 0)?;
    if rest.is_empty() { Ok(value) } else { Err(Uncomputed) }
}

/// `command | function …`
fn pipeline(tokens: &mut &[TemplateToken], scope: TemplateScope<'_>, depth: usize) -> Computed<Value> {
    if depth > DEEPEST {
        return Err(Uncomputed);
    }
    let mut value = None;
    loop {
        value = Some(command(tokens, scope, value, depth)?);
        match tokens.split_first() {
            Some((TemplateToken::Pipe, rest)) => *tokens = rest,
            _ => return value.ok_or(Uncomputed),
        }
    }
}

fn command(
    tokens: &mut &[TemplateToken],
    scope: TemplateScope<'_>,
    piped: Option<Value>,
    depth: usize,
) -> Computed<Value> {
    let function = match tokens.split_first() {
        Some((TemplateToken::Word(word), rest)) if !["true", "false"].contains(&word.as_str()) => {
            *tokens = rest;
            Some(word.as_str())
        }
        _ => None,
    };
    let mut arguments = Vec::new();
    while let Some((token, rest)) = tokens.split_first() {
        if matches!(token, TemplateToken::Pipe | TemplateToken::Close) {
            break;
        }
        *tokens = rest;
        arguments.push(match token {
            TemplateToken::Field(path) => field(scope.dot, path)?,
            TemplateToken::RootField(path) if !path.is_empty() => field(scope.root, path)?,
            TemplateToken::Text(text) => Value::String(text.clone()),
            TemplateToken::Word(word) if word == "true" || word == "false" => Value::Bool(word == "true"),
            TemplateToken::Open => {
                let value = pipeline(tokens, scope, depth + 1)?;
                let Some((TemplateToken::Close, rest)) = tokens.split_first() else { return Err(Uncomputed) };
                *tokens = rest;
                value
            }
            _ => return Err(Uncomputed),
        });
    }
    match (function, piped) {
        (Some(function), piped) => {
            arguments.extend(piped);
            call(function, &arguments)
        }
        (None, None) if arguments.len() == 1 => arguments.pop().ok_or(Uncomputed),
        _ => Err(Uncomputed),
    }
}

/// A field of the variables; what is missing is null. What is live alone, or holds anything that is, is not
/// computed, nor is a field of something that has none: Go refuses that.
fn field(data: &Value, path: &[String]) -> Computed<Value> {
    let mut value = data;
    for (at, part) in path.iter().enumerate() {
        let below = value.as_object().ok_or(Uncomputed)?.get(part);
        match below {
            Some(below) => value = below,
            None if at + 1 == path.len() && path[0] != "builtin" => return Ok(Value::Null),
            None => return Err(Uncomputed),
        }
    }
    if holds_uncomputed(value) { Err(Uncomputed) } else { Ok(value.clone()) }
}

/// A value that decides something: what is substituted later may come to anything.
pub(super) fn known(value: Value) -> Computed<Value> {
    if holds_variable(&value) { Err(Uncomputed) } else { Ok(value) }
}
