//! The part of Go's text/template that is computed here: text, fields, strings, `if`, `range`, `with`, and some
//! functions. Everything else, and whatever Go would refuse, is not computed.
//!
//! | file | owns |
//! |---|---|
//! | `uncomputed` | that something is not computed |
//! | `tokens`, `pieces` | a template read: the words of an action; text and actions |
//! | `mentions` | which variables a template reads |
//! | `values` | what Go takes for true and equal, and how it writes a value |
//! | `semver_compare`, `functions` | functions of Go and of sprig |
//! | `expression` | what an action comes to |
//! | `run` | a template being run |

mod expression;
mod functions;
mod mentions;
mod pieces;
mod run;
mod semver_compare;
#[cfg(test)]
mod tests;
mod tokens;
mod uncomputed;
mod values;

pub(super) use self::mentions::{Mentions, mentions};
pub(super) use self::run::evaluate;
