//! Expressions in texts (`${NAME}`), as clusterctl and Flux read and compute them.
//!
//! clusterctl uses `drone/envsubst` (<https://github.com/drone/envsubst>), and Flux has a fork of it with the
//! same parser and the same functions (<https://github.com/fluxcd/pkg/tree/main/envsubst>). So this package
//! has one parser and one evaluator, and a value for the differences: [`Dialect`].
//!
//! | written | comes to |
//! |---|---|
//! | `${V}` | the value |
//! | `${ V }` | the same to clusterctl, whose own step before takes white space round a name away; an error to Flux |
//! | `${V:=d}` `${V=d}` `${V:-d}` `${V:?d}` `${V:+d}` | the value, or `d` where it is unset or empty; `d` may hold expressions |
//! | `${V,}` `${V,,}` `${V^}` `${V^^}` | first letter, all letters, in lower or upper case: one letter for one |
//! | `${V:p}` `${V:p:n}` | from byte `p` on, at most `n` bytes; a negative `p` counts from the end |
//! | `${#V}` | the length in bytes |
//! | `${V/a/b}` `${V//a/b}` `${V/#a/b}` `${V/%a/b}` | first, every, leading, trailing `a` replaced; without `b`, the last two do nothing |
//! | `${V#g}` `${V##g}` `${V%g}` `${V%%g}` | shortest, longest start or end that fits `g` (`*`, `?`, `[a-z]`) cut off |
//! | `$$` | `$`, so `$${V}` is the text `${V}` |
//! | `$V` | itself |
//! | `${V-d}` `${V+d}` `${}` `${V` | no expression |
//!
//! An argument of a function is one word or one expression. What the tools crash on, or make half a character of, is not
//! computed. Of names that are not ASCII, digits are refused and letters taken as Rust has them: no value has such a name.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`dialect`] | in what those who substitute differ, bounds, and what is left of them | nothing |
//! | [`expression`] | what a text says: words, escapes, expressions | nothing |
//! | [`parse`] | texts into that | `dialect`, `expression` |
//! | [`glob`] | patterns of what is cut off | `dialect` |
//! | [`function`] | functions of a value | `dialect`, `expression`, `glob` |
//! | [`evaluate`] | what expressions come to, and which bytes came from values | `dialect`, `expression`, `function` |

#![warn(missing_docs)]

mod dialect;
mod evaluate;
mod expression;
mod function;
mod glob;
mod parse;

pub use dialect::{Blanks, Dialect, Strange, TextBounds, TextBudget, Unset};
pub use evaluate::{EvaluationError, Evaluator, Substituted, Value};
pub use expression::{TextToken, Variable, VariableOperation, may_hold_expressions, may_hold_tokens};
pub use function::FunctionError;
pub use parse::{ExpressionError, read, tokens};
