//! Templated scalars (U3): reading expressions, binding variables, substituting values.
//!
//! | file | idea |
//! |---|---|
//! | [`expression`] | the grammar, that of clusterctl and Flux, and what of it is not understood |
//! | [`function`] | functions of a value |
//! | [`bindings`] | what variables stand for in a cluster, and how that is known |
//! | [`substitute`] | values into parsed scalars |
//! | [`reader`] | who reads a text, and hence what `${V}` may mean in it |
//! | [`troubles`] | what has no value |

pub(crate) mod bindings;
mod expression;
mod function;
pub(crate) mod reader;
mod substitute;
mod troubles;

use std::collections::BTreeMap;

pub(crate) use bindings::{Bindings, Found};
pub(crate) use expression::{Operation, Token, Variable, may_hold_tokens, tokens};
pub(crate) use substitute::{Extent, Flux, Scope, Substitution, is_collection};
pub(crate) use troubles::{Missing, Trouble, expressions, expressions_of_fields, unescaped};

use expression::may_hold_expressions;

use crate::flux::PostBuild;
use capstan_yaml::{Node, NodeKind};

/// Whether any scalar or key below holds an expression or an escaped one.
pub(crate) fn is_templated(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Scalar(scalar) => may_hold_expressions(&scalar.text),
        NodeKind::Mapping(entries) => {
            entries.iter().any(|entry| may_hold_expressions(&entry.key) || is_templated(&entry.value))
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
