//! Templated scalars ([U3]): binding variables, substituting values. [`capstan_envsubst`] says what an expression is,
//! and computes it.
//!
//! | file | idea |
//! |---|---|
//! | [`bindings`] | what variables stand for in a cluster, and how that is known |
//! | [`substitute`] | values into parsed scalars |
//! | [`reader`] | who reads a text, and so what `${V}` may mean in it |
//! | [`troubles`] | what has no value |
//!
//! # U3
//!
//! A scalar is a sequence of texts, expressions (`${V}`, `${V:=default}`, …) and escapes (`$${V}`), in both
//! releases and in the cluster alike. A variable's value is, first found:
//!
//! | from | |
//! |---|---|
//! | `variables:` in the release's own `capstan.yaml` | release-owned: in each release its own value, never bound from the cluster |
//! | `variables:` in the cluster's `capstan.yaml` | |
//! | Flux's post-build substitution, as the repository shows it | not in objects that ask Flux to pass them over; values of Secrets are never read |
//! | the cluster's objects, laid over by the old release (the new one where the old is unknown) | only where a place has one unknown; a value that equals the default binds nothing |
//! | the expression's default | |
//!
//! | case | comes to |
//! |---|---|
//! | the cluster's object still holds the release's expressions | it is a template: tokens are copied, only release-owned variables are substituted; so it is with new objects beside it |
//! | two places of the objects give two values | bound by neither, `variable-contradiction` |
//! | no value in a new object or a changed field | `unbound-variable` (error), and the upgrade blocks: a token never replaces a value |
//! | Flux has the value, from a Secret | stays as it is written, `secret-variable` |
//! | an expression that Capstan does not compute | `unsupported-substitution`, and the upgrade blocks |
//! | no value, in a text that a shell or the machine at boot reads ([`reader`]), and Flux does not substitute | stays as it is written, without a finding |
//! | Flux substitutes | `$${V}` stays so, since Flux takes the escape away |
//! | a variable alone in a flow sequence (`[${KEYS}]`) | a list |
//!
//! Values go into parsed scalars, never into text, and `$${V}` becomes `${V}`.
//!
//! [U3]: self#u3

pub(crate) mod bindings;
pub(crate) mod reader;
mod substitute;
mod troubles;
mod unify;

use std::collections::BTreeMap;

pub(crate) use bindings::{Bindings, BoundValue, Flux};
pub(crate) use capstan_envsubst::{TextBudget, TextToken, Variable, VariableOperation, may_hold_tokens};
pub(crate) use substitute::{
    Substitution, SubstitutionError, SubstitutionExtent, SubstitutionScope, is_collection,
};
pub(crate) use troubles::{Missing, expressions, expressions_of_fields, expressions_within, unescaped};

use capstan_envsubst::{Dialect, may_hold_expressions};

use crate::flux::PostBuild;
use capstan_yaml::{Node, NodeKind};

/// How texts are read and computed: it is unknown whether clusterctl, Flux or Capstan alone substitutes in them.
const DIALECT: Dialect = Dialect::SCALARS;

/// What the expressions of all texts that share it may take together.
pub(crate) const fn budget() -> TextBudget {
    TextBudget::of(&DIALECT)
}

/// The tokens of a scalar's text.
pub(crate) fn tokens(text: &str) -> Vec<TextToken<'_>> {
    capstan_envsubst::tokens(text, &DIALECT)
}

/// The same where Flux alone reads the text: it knows no white space round names.
pub(crate) fn tokens_to_flux(text: &str) -> Vec<TextToken<'_>> {
    capstan_envsubst::tokens(text, &Dialect::FLUX)
}

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
    let scope =
        SubstitutionScope { own: &BTreeMap::new(), bindings: &bindings, substitution: Substitution::FULL };
    scope.text(text)
}
