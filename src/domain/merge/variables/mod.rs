//! Templated scalars (U3): reading expressions, binding variables, substituting values.
//!
//! | file | idea |
//! |---|---|
//! | [`expression`] | the grammar, that of clusterctl and Flux, and what of it is not understood |
//! | [`function`] | functions of a value |
//! | [`bindings`] | what variables stand for in a cluster, and how that is known |
//! | [`substitute`] | values into parsed scalars |

pub(crate) mod bindings;
mod expression;
mod function;
mod substitute;

use std::collections::BTreeMap;

pub(crate) use bindings::{Bindings, Found};
pub(crate) use expression::{Operation, Token, Variable, may_hold_tokens, tokens};
pub(crate) use substitute::{Extent, Flux, Scope, Substitution, Trouble, expressions};

use crate::flux::PostBuild;
use crate::yaml::{Node, NodeKind};

/// Whether any scalar or key below holds an expression or an escaped one.
pub(crate) fn is_templated(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Scalar(scalar) => scalar.text.contains("${"),
        NodeKind::Mapping(entries) => {
            entries.iter().any(|entry| entry.key.contains("${") || is_templated(&entry.value))
        }
        NodeKind::Sequence(items) => items.iter().any(is_templated),
    }
}

/// A text with these values substituted, as clusterctl would; what has no value stays as it is written.
pub fn substituted(text: &str, values: &BTreeMap<String, String>) -> String {
    let bindings = Bindings::new(values, &PostBuild::default());
    let scope = Scope { own: &BTreeMap::new(), bindings: &bindings, substitution: Substitution::FULL };
    scope.text(text)
}
