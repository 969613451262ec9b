//! A provider set at one state: what each provider asks for, and what its components come to, or why that is unknown.
//!
//! Plain values. [`RenderedSet::read`] makes them of provider objects in Git; another source (a live
//! management cluster) makes them itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_model::finding::Place;
use capstan_model::object::ObjectId;
use serde_json::Value;

use super::kind::{GROUP, ProviderKind};
use super::refusal::{Refusal, RefusalCause};
use super::rendering::{Gaps, Inputs, RenderTraces, RenderedObjects, Variable, render_with};
use super::source;
use super::spec::Provider;
use super::variables::VariableValues;

/// The providers of a management cluster at one state, in clusterctl's order of kinds and by name.
#[derive(Debug, Clone, Default)]
pub struct RenderedSet {
    /// One a label.
    pub members: Vec<SetMember>,
}

/// A provider of a set.
#[derive(Debug, Clone)]
pub struct SetMember {
    pub kind: ProviderKind,
    /// Its name, without the kind: `aws`.
    pub name: String,
    /// Its namespace, which its components go to.
    pub namespace: String,
    /// Where the provider object is written; `None` where it was read from a cluster.
    pub place: Option<Place>,
    /// `spec.version`, as it is written.
    pub asked: Option<String>,
    /// Feature gates that the provider object sets, by its own words, not those of its components; and where.
    pub gates: BTreeMap<String, Option<Place>>,
    /// The contract of its version; `None` where no metadata is at hand that says it.
    pub contract: Option<String>,
    /// The versions that are at hand, with the contract of each; in no order.
    pub at_hand: Vec<ProviderRelease>,
    /// What its components come to.
    pub components: ComponentsState,
}

/// A version of a provider, and the contract of Cluster API that it keeps.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProviderRelease {
    /// `v1.12.8`
    pub version: String,
    /// `v1beta2`
    pub contract: String,
}

/// Whether a provider's components are known.
#[derive(Debug, Clone)]
pub enum ComponentsState {
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
    /// Values of variables: they may occur in objects, and are never shown.
    pub values: VariableValues,
    /// What of the objects may be otherwise in truth, one sentence each.
    pub doubts: Vec<String>,
}

impl RenderedSet {
    /// Renders every provider of a set. An error of a provider is in its member, and hides no other.
    /// Variables without value or default are left empty there, and named in
    /// [`RenderedComponents::variables`].
    pub fn read(inputs: Inputs<'_>) -> Self {
        Self { members: inputs.set.providers().iter().map(|provider| member(provider, inputs)).collect() }
    }

    /// The provider with that label.
    pub fn member(&self, label: &str) -> Option<&SetMember> {
        self.members.iter().find(|member| member.label() == label)
    }
}

impl SetMember {
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
            ComponentsState::Rendered(rendered) => Some(rendered),
            ComponentsState::Unknown(_) | ComponentsState::Refused(_) => None,
        }
    }

    /// The version that it comes to: that of its components, else the one it asks for.
    pub fn version(&self) -> Option<&str> {
        self.rendered().map(|rendered| rendered.version.as_str()).or(self.asked.as_deref())
    }
}

fn member(provider: &Provider, inputs: Inputs<'_>) -> SetMember {
    let known = source::releases(inputs.tree, inputs.set, provider).unwrap_or_default();
    let components = match render_with(provider, inputs, Gaps::Empty) {
        Ok(rendered) => ComponentsState::Rendered(Arc::new(components(provider, inputs, rendered))),
        Err(refusal) if refusal.cause() == RefusalCause::NotAtHand => {
            ComponentsState::Unknown(refusal.message().to_owned())
        }
        Err(refusal) => ComponentsState::Refused(refusal),
    };
    let contract = match &components {
        ComponentsState::Rendered(rendered) => Some(rendered.contract.clone()),
        ComponentsState::Unknown(_) | ComponentsState::Refused(_) => known.asked,
    };
    let release = |(version, contract)| ProviderRelease { version, contract };
    SetMember {
        kind: provider.kind,
        name: provider.name.clone(),
        namespace: provider.namespace.clone(),
        place: Some(provider.place.clone()),
        asked: provider.spec.version.clone(),
        gates: provider.feature_gates(),
        contract,
        at_hand: known.at_hand.into_iter().map(release).collect(),
        components,
    }
}

fn components(provider: &Provider, inputs: Inputs<'_>, rendered: RenderedObjects) -> RenderedComponents {
    let RenderedObjects { version, contract, objects, traces, .. } = rendered;
    let RenderTraces { sha256, listed_gates, variables, values } = traces;
    let secret = provider.spec.config_secret.as_ref();
    let unseen = secret.filter(|secret| inputs.set.secret_names(secret).is_none());
    let doubts = unseen.map(|secret| {
        format!("Secret {secret} is not here, so variables that it may set have their defaults")
    });
    RenderedComponents {
        version,
        contract,
        sha256,
        objects,
        listed_gates,
        variables,
        values,
        doubts: doubts.into_iter().collect(),
    }
}
