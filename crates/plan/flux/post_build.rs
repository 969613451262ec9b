//! Variables that Flux substitutes after the build: their values, and whether all are known.

use std::collections::BTreeMap;
use std::fmt;

use capstan_model::finding::Place;
use serde::{Deserialize, Serialize};

/// What Flux substitutes in one cluster's objects.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PostBuild {
    pub(super) values: BTreeMap<String, PlacedVariable>,
    /// Given two values by two Kustomizations: bound by neither.
    pub(super) disagreements: Vec<Disagreement>,
    /// What is given under a key that cannot be a name: Flux fails on it.
    pub(super) misnamed: Vec<(String, PlacedVariable)>,
    pub(super) knowledge: Knowledge,
}

/// How much of the substitution the repository shows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Knowledge {
    /// No Kustomization with post-build substitution applies the cluster.
    #[default]
    Nothing,
    /// Some of what it takes values from is not in the repository.
    Partly,
    /// Every name.
    Everything,
}

/// What is given for a variable, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedVariable {
    /// The value; `None` if it is in a Secret, or encrypted.
    pub text: Option<String>,
    /// Where.
    pub place: Place,
    /// Who gives it: `ConfigMap peu01-vars`.
    pub by: String,
}

impl fmt::Display for PlacedVariable {
    /// `ConfigMap peu01-vars (flux/vars.yaml:7)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.by, self.place.clone().without_column())
    }
}

/// Two values for one variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disagreement {
    /// The variable.
    pub name: String,
    /// One value.
    pub one: PlacedVariable,
    pub other: PlacedVariable,
}

impl PostBuild {
    /// The variable's value, where it is known.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values.get(name)?.text.as_deref()
    }

    /// What is given for the variable.
    pub fn given(&self, name: &str) -> Option<&PlacedVariable> {
        self.values.get(name)
    }

    /// Whether the variable has a value that is not to be known.
    pub fn is_secret(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|given| given.text.is_none())
    }

    /// Whether the variable has a value, known or not.
    pub fn gives(&self, name: &str) -> bool {
        self.values.contains_key(name) || self.disagreements.iter().any(|item| item.name == name)
    }

    /// Whether Flux substitutes here, and every name that it has a value for is known.
    pub fn is_complete(&self) -> bool {
        self.knowledge == Knowledge::Everything
    }

    /// Whether Flux substitutes here, even if no value is known.
    pub fn substitutes(&self) -> bool {
        self.knowledge != Knowledge::Nothing
    }

    /// Variables to which two Kustomizations give two values.
    pub fn disagreements(&self) -> &[Disagreement] {
        &self.disagreements
    }

    /// What is given under keys that cannot be names of variables.
    pub fn misnamed(&self) -> &[(String, PlacedVariable)] {
        &self.misnamed
    }
}

/// Whether Flux takes a key for the name of a variable.
pub(super) fn is_name(key: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    key.bytes().all(is_part) && key.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}
