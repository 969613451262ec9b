//! What variables stand for in one cluster, and how that is known ([U3]).
//!
//! In this order: the cluster's own `variables:`, Flux's post-build substitution, and the values that follow from
//! laying the old release over the cluster's objects. A variable that two places of the objects bind to two values is
//! bound by neither. The release's own variables are not bindings: see [`Scope`](super::Scope).
//!
//! [U3]: crate::substitution#u3

use std::collections::BTreeMap;

use crate::flux::PostBuild;
use capstan_model::object::FieldPath;

/// What variables stand for in one cluster.
#[derive(Debug, Clone, Default)]
pub(crate) struct Bindings {
    /// From the settings: they bind whatever the objects say.
    declared: BTreeMap<String, String>,
    /// From Flux.
    flux: PostBuild,
    /// From unifying the old release with the cluster.
    pub(super) found: BTreeMap<String, BoundValue>,
    /// Found with two values: bound by neither.
    contradicting: BTreeMap<String, (BoundValue, BoundValue)>,
}

/// Whether Flux substitutes in an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flux {
    /// It does, where it does so at all.
    Substitutes,
    /// The object asks it not to.
    PassesOver,
}

/// A value and the place in the cluster that gives it, as in the file of the repository: in the API version that the
/// object has there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BoundValue {
    pub(crate) value: String,
    /// Index of the object.
    pub(crate) object: usize,
    pub(crate) path: FieldPath,
    /// Byte offset in the object's file.
    pub(crate) at: usize,
}

impl Bindings {
    pub(crate) fn new(declared: &BTreeMap<String, String>, flux: &PostBuild) -> Self {
        Self { declared: declared.clone(), flux: flux.clone(), ..Self::default() }
    }

    /// The variable's value in an object.
    pub(crate) fn value(&self, name: &str, flux: Flux) -> Option<&str> {
        self.given(name, flux).or_else(|| {
            let found = self.found.get(name).filter(|_| !self.contradicting.contains_key(name));
            found.map(|found| found.value.as_str())
        })
    }

    /// What somebody wrote down for the variable.
    pub(super) fn given(&self, name: &str, flux: Flux) -> Option<&str> {
        let declared = self.declared.get(name).map(String::as_str);
        declared.or_else(|| self.flux.value(name).filter(|_| flux == Flux::Substitutes))
    }

    pub(crate) const fn flux(&self) -> &PostBuild {
        &self.flux
    }

    /// Variables that two places of the cluster's objects bind to two values.
    pub(crate) fn contradictions(&self) -> impl Iterator<Item = (&str, &BoundValue, &BoundValue)> {
        self.contradicting.iter().map(|(name, (one, other))| (name.as_str(), one, other))
    }

    /// Learns a value; a second one of another place binds neither.
    pub(super) fn bind(&mut self, name: &str, found: BoundValue) {
        match self.found.get(name) {
            None => {
                self.found.insert(name.to_owned(), found);
            }
            Some(known) if known.value == found.value => {}
            Some(known) => {
                let known = known.clone();
                self.contradicting.entry(name.to_owned()).or_insert_with(|| (known, found));
            }
        }
    }
}
