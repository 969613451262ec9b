//! Provider objects: every field of `spec`, typed. What v1alpha1 says is read as what v1alpha2 says.
//!
//! The source is the operator's own types
//! (<https://github.com/kubernetes-sigs/cluster-api-operator/blob/v0.28.0/api/v1alpha2/provider_types.go>) and its
//! definitions; a test holds the fields against those.

mod older;
mod parts;
mod read;
mod workload;

pub(crate) use workload::{AdditionalDeployment, Container, Deployment, LeaderElection, Manager};

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::render::PlacedValue;
use capstan_model::finding::Place;

use super::kind::ProviderKind;
use super::refusal::Refusal;
use super::selector::ProviderSelector;

/// A provider object.
#[derive(Debug, Clone)]
pub struct Provider {
    pub kind: ProviderKind,
    /// Its name, which is the provider's.
    pub name: String,
    /// Its namespace, which its components go to.
    pub namespace: String,
    /// The UID that an API server gave it, where it was read from one.
    pub(crate) uid: Option<String>,
    /// The places of feature gates in it, by their names.
    pub(crate) gate_places: BTreeMap<String, Place>,
    /// Where it is written.
    pub place: Place,
    pub(crate) spec: Spec,
}

impl Provider {
    /// Reads an object of the group.
    ///
    /// # Errors
    /// An unknown kind or version, a field that the kind has not or that is of another type, and what the rules of
    /// the definition refuse: with file and line.
    pub(crate) fn read(object: &PlacedValue) -> Result<Self, Refusal> {
        read::provider(object)
    }

    /// The value of the label `cluster.x-k8s.io/provider`.
    pub fn label(&self) -> String {
        self.kind.label(&self.name)
    }

    /// The feature gates that it sets, and where.
    pub(crate) fn feature_gates(&self) -> BTreeMap<String, Option<Place>> {
        let place = |gate: &String| self.gate_places.get(gate).cloned();
        self.spec.feature_gates().into_iter().map(|gate| (gate.clone(), place(&gate))).collect()
    }

    /// What it is called in messages: `InfrastructureProvider capa-system/aws`.
    pub fn subject(&self) -> String {
        format!("{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// What a provider object asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Spec {
    pub(crate) version: Option<String>,
    pub(crate) manager: Option<Manager>,
    pub(crate) deployment: Option<Deployment>,
    pub(crate) config_secret: Option<SpecReference>,
    pub(crate) source: Option<FetchSource>,
    pub(crate) additional_manifests: Option<SpecReference>,
    pub(crate) patches: Patches,
    pub(crate) additional_deployments: BTreeMap<String, AdditionalDeployment>,
}

impl Spec {
    /// The feature gates that it sets, in `manager` and in arguments of containers.
    pub(crate) fn feature_gates(&self) -> BTreeSet<String> {
        let additional = self.additional_deployments.values();
        let managers = self.manager.iter().chain(additional.clone().filter_map(|one| one.manager.as_ref()));
        let deployments = self.deployment.iter().chain(additional.filter_map(|one| one.deployment.as_ref()));
        let named = managers.flat_map(|manager| manager.feature_gates.keys().cloned());
        let arguments = deployments.flat_map(|deployment| &deployment.containers).flat_map(|one| &one.args);
        let written = arguments.filter(|(name, _)| name.trim_start_matches('-') == "feature-gates");
        let written = written.flat_map(|(_, gates)| gates.split(',')).filter_map(|gate| gate.split_once('='));
        named.chain(written.map(|(gate, _)| gate.to_owned())).collect()
    }
}

/// An object by name and namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpecReference {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl std::fmt::Display for SpecReference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// `fetchConfig`: exactly one of them.
#[derive(Debug, Clone)]
pub(crate) enum FetchSource {
    /// ConfigMaps with these labels.
    Selector(ProviderSelector),
    /// An OCI artifact.
    Oci(String),
    /// Releases of GitHub, packages of GitLab.
    Url(String),
}

/// `patches` or `manifestPatches`, never both.
#[derive(Debug, Clone, Default)]
pub(crate) enum Patches {
    #[default]
    None,
    /// Merge patches that name their objects.
    Manifests(Vec<PatchText>),
    /// Merge or JSON patches with targets.
    Targeted(Vec<Patch>),
}

/// The text of a patch, and its place.
#[derive(Debug, Clone)]
pub(crate) struct PatchText {
    pub(crate) text: String,
    pub(crate) place: Place,
}

/// An entry of `patches`.
#[derive(Debug, Clone)]
pub(crate) struct Patch {
    pub(crate) patch: PatchText,
    /// What it is for; `None` = every object.
    pub(crate) target: Option<SpecPatchTarget>,
}

/// Which objects a patch is for: empty parts say nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct SpecPatchTarget {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: String,
    /// In kubectl's words: `a=b,!c`.
    pub(crate) labels: String,
}
