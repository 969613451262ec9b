//! What a release's scalar says of its variables, given the cluster's text in the same place ([U3]).
//!
//! [U3]: crate::substitution#u3

use std::collections::BTreeMap;

use super::bindings::{Bindings, BoundValue};
use super::reader::is_of_the_machine;
use super::substitute::{Substitution, SubstitutionScope};
use super::tokens;
use capstan_envsubst::{TextBudget, TextToken, VariableOperation, may_hold_expressions};

impl Bindings {
    /// Learns from a release's scalar and the cluster's text in the same place. Only one unknown in
    /// one place can be solved for; a value that equals the default binds nothing.
    pub(crate) fn unify(
        &mut self,
        own: &BTreeMap<String, String>,
        release: &str,
        cluster: BoundValue,
        budget: &TextBudget,
    ) {
        if !may_hold_expressions(release) {
            return;
        }
        let parts = tokens(release);
        let solved = {
            let scope = SubstitutionScope { own, bindings: self, substitution: Substitution::FULL };
            solve(&parts, &scope, &cluster.value, budget)
        };
        if let Some((name, value)) = solved {
            self.bind(name, BoundValue { value, ..cluster });
        }
    }
}

/// The one unknown of a scalar, solved for.
fn solve<'t>(
    parts: &[TextToken<'t>],
    scope: &SubstitutionScope<'_>,
    cluster: &str,
    budget: &TextBudget,
) -> Option<(&'t str, String)> {
    let (mut before, mut after) = (String::new(), String::new());
    let mut unknown = None;
    for token in parts {
        let is_solved_for = |name: &str| {
            !scope.own.contains_key(name)
                && scope.bindings.given(name, scope.substitution.flux).is_none()
                // A second place for the same variable is how contradictions are seen.
                && (parts.len() == 1 || !scope.bindings.found.contains_key(name))
        };
        let known = match token {
            TextToken::Text(text) | TextToken::Escaped(text) => Some((*text).to_owned()),
            TextToken::Malformed(_) => None,
            // The cluster has the machine's variables as they are written.
            TextToken::Variable(variable) if is_of_the_machine(variable.name) => {
                let value = scope.variable_within(variable, budget);
                Some(value.unwrap_or_else(|_| variable.raw.to_owned()))
            }
            TextToken::Variable(variable) => match &variable.operation {
                VariableOperation::Value | VariableOperation::Default { .. }
                    if is_solved_for(variable.name) =>
                {
                    if unknown.replace(variable).is_some() {
                        return None;
                    }
                    continue;
                }
                _ => scope.variable_within(variable, budget).ok(),
            },
        };
        if unknown.is_some() { &mut after } else { &mut before }.push_str(&known?);
    }
    let variable = unknown?;
    let value = cluster.strip_prefix(before.as_str())?.strip_suffix(after.as_str())?;
    let is_default = match &variable.operation {
        VariableOperation::Default { tokens, .. } => {
            let default = scope.tokens_within(tokens, budget);
            default.is_ok_and(|default| default == value || unquoted(&default) == Some(value))
        }
        _ => false,
    };
    (!value.is_empty() && !value.contains("${") && !is_default).then(|| (variable.name, value.to_owned()))
}

/// The text between the quotes of a default like `"1.23"`. Substituted into a plain scalar, the quotes are YAML's, so
/// the cluster's value is without them.
fn unquoted(default: &str) -> Option<&str> {
    let inside = |quote: char| default.strip_prefix(quote)?.strip_suffix(quote);
    inside('"').or_else(|| inside('\''))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flux::PostBuild;
    use crate::substitution::{Flux, budget};
    use capstan_model::object::FieldPath;

    fn found(value: &str) -> BoundValue {
        BoundValue { value: value.to_owned(), object: 0, path: FieldPath::root(), at: 0 }
    }

    fn learnt(pairs: &[(&str, &str)]) -> Bindings {
        let mut bindings = Bindings::default();
        for (release, cluster) in pairs {
            bindings.unify(&BTreeMap::new(), release, found(cluster), &budget());
        }
        bindings
    }

    #[test]
    fn one_unknown_is_solved_for() {
        let bindings = learnt(&[("${CLUSTER_NAME}-md-0", "peu01-md-0"), ("${A}${B}", "xy")]);
        assert_eq!(bindings.value("CLUSTER_NAME", Flux::Substitutes), Some("peu01"));
        assert_eq!(bindings.value("A", Flux::Substitutes), None);
        // What was found helps with the next.
        let bindings = learnt(&[("${A}", "x"), ("${A}-${B}", "x-y")]);
        assert_eq!(bindings.value("B", Flux::Substitutes), Some("y"));
    }

    #[test]
    fn a_value_that_equals_the_default_binds_nothing() {
        assert_eq!(learnt(&[("${COUNT:=3}", "3")]).value("COUNT", Flux::Substitutes), None);
        assert_eq!(learnt(&[("${COUNT:=3}", "5")]).value("COUNT", Flux::Substitutes), Some("5"));
        assert_eq!(learnt(&[("${CIS:-\"1.23\"}", "1.23")]).value("CIS", Flux::Substitutes), None);
        assert_eq!(learnt(&[("${CIS:-\"1.23\"}", "1.6")]).value("CIS", Flux::Substitutes), Some("1.6"));
        assert_eq!(learnt(&[("${A:=${B:=x}}", "x")]).value("A", Flux::Substitutes), None);
        assert_eq!(learnt(&[("${A:=${B:=x}}", "z")]).value("A", Flux::Substitutes), Some("z"));
    }

    #[test]
    fn two_values_bind_neither() {
        let bindings = learnt(&[("${N}", "one"), ("x-${N}", "x-one"), ("${N}", "two")]);
        assert_eq!(bindings.value("N", Flux::Substitutes), None);
        let found: Vec<_> = bindings
            .contradictions()
            .map(|(name, one, other)| (name, one.value.as_str(), other.value.as_str()))
            .collect();
        assert_eq!(found, [("N", "one", "two")]);
    }

    #[test]
    fn what_is_written_down_is_not_learnt_again() {
        let declared = BTreeMap::from([("N".to_owned(), "3".to_owned())]);
        let mut bindings = Bindings::new(&declared, &PostBuild::default());
        bindings.unify(&BTreeMap::new(), "${N}", found("5"), &budget());
        assert_eq!(bindings.value("N", Flux::Substitutes), Some("3"));
        assert_eq!(bindings.contradictions().count(), 0);
    }

    #[test]
    fn what_all_places_take_together_is_bounded() {
        // Nothing is cut off, after some 30 million steps; there are 67 million for all.
        let (value, pattern) = ("a".repeat(1_024), format!("*{}b", "a".repeat(60)));
        let declared = BTreeMap::from([("V".to_owned(), value.clone())]);
        let mut bindings = Bindings::new(&declared, &PostBuild::default());
        let budget = budget();
        for name in ["A", "B", "C", "D"] {
            let release = format!("${{V##{pattern}}}${{{name}}}");
            bindings.unify(&BTreeMap::new(), &release, found(&format!("{value}x")), &budget);
        }
        let bound = ["A", "B", "C", "D"].map(|name| bindings.value(name, Flux::Substitutes).is_some());
        assert_eq!(bound, [true, true, false, false]);
    }

    #[test]
    fn a_function_says_nothing_of_its_variable_and_helps_where_that_is_known() {
        assert_eq!(learnt(&[("${A,,}", "x")]).value("A", Flux::Substitutes), None);
        let bindings = learnt(&[("${A}", "AB"), ("${A,,}-${B}", "ab-c")]);
        assert_eq!(bindings.value("B", Flux::Substitutes), Some("c"));
    }
}
