//! A provider, as a pass found it: its object, what that comes to, and what is remembered of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_live::installing::pass::{
    DesiredProvider, GivenUp, InstallPhase, ProviderFacts, ProviderRecord, RenderedProvider, Revision,
};
use capstan_live::installing::{Deletion, InstallFailure};
use capstan_model::object::ObjectId;
use capstan_providers::ProviderKind;
use serde_json::Value;

use super::halted::Halted;
use super::prepared::{AppliedObject, Prepared};
use super::record::Remembered;

/// The finalizer that holds a provider object while what it brought is deleted: the operator's own.
pub const FINALIZER: &str = "provider.cluster.x-k8s.io";

/// The operator's mark on a provider object: what it applied last.
pub const APPLIED_SPEC_HASH: &str = "operator.cluster.x-k8s.io/applied-spec-hash";

/// The mark, where there is one.
pub fn mark(object: &Value) -> Option<&str> {
    object.pointer("/metadata/annotations")?.get(APPLIED_SPEC_HASH)?.as_str()
}

/// A provider, as a pass found it.
pub struct PassMember {
    /// Its identity.
    pub id: ObjectId,
    pub kind: ProviderKind,
    pub namespace: String,
    pub name: String,
    /// Its object; `None` where only its inventory is left.
    pub object: Option<Value>,
    /// The version that was chosen, where one could be.
    pub version: Option<String>,
    /// What is asked for.
    pub wanted: DesiredProvider,
    /// Why it is not gone on with.
    pub halted: Option<Halted>,
    /// Why a step of it could not be performed in this pass.
    pub failed: Option<String>,
    /// What it was rendered to, where it could be.
    pub prepared: Option<Arc<Prepared>>,
    /// What is remembered of it.
    pub remembered: Option<Remembered>,
    /// Where it is being deleted: whether it may go.
    pub deletion: Option<Deletion>,
    /// The version that another tool installed, where that is known and its object does not say it.
    pub installed_before: Option<String>,
    /// The config Secret that it is rendered from.
    pub secret: Option<String>,
    /// The labels of ConfigMaps that its components may be in, as `kubectl -l` takes them.
    pub selector: Option<String>,
    /// The ConfigMap that its additional manifests are in.
    pub manifests_map: Option<String>,
}

impl PassMember {
    /// The value of the label `cluster.x-k8s.io/provider`.
    pub fn label(&self) -> String {
        self.kind.label(&self.name)
    }

    /// What is decided on, without a look at its objects.
    pub fn facts(&self) -> ProviderFacts {
        ProviderFacts {
            id: self.id.clone(),
            kind: self.kind,
            wanted: self.wanted.clone(),
            record: self.record(),
            look: None,
            failed: self.failed.clone(),
        }
    }

    /// Whether its object stays until what it brought is gone.
    pub fn is_held(&self) -> bool {
        let finalizers = self.object.as_ref().and_then(|object| object.pointer("/metadata/finalizers"));
        finalizers.and_then(Value::as_array).is_some_and(|all| all.iter().any(|one| one == FINALIZER))
    }

    /// What is remembered of it. If another tool installed it: the version that its status names.
    pub fn record(&self) -> Option<ProviderRecord> {
        if let Some(remembered) = &self.remembered {
            return Some(remembered.record.clone());
        }
        let text = |key: &str| self.object.as_ref()?.get("status")?.get(key)?.as_str().map(str::to_owned);
        let of_object = text("installedVersion").filter(|version| !version.is_empty());
        let version = match of_object.or_else(|| self.installed_before.clone()) {
            Some(version) => version,
            // An object that was never installed may go, where it is this program that holds it, or the operator did.
            None if self.deletion == Some(Deletion::May) && self.is_held() => {
                return Some(ProviderRecord::default());
            }
            None => return None,
        };
        let contract = text("contract").unwrap_or_default();
        let installed = Some(Revision { version, contract, digest: String::new() });
        Some(ProviderRecord { installed, ..ProviderRecord::default() })
    }

    /// Whether its object and its sources alone say what becomes of it: nothing is in its way, or was left by others.
    pub fn is_plain(&self) -> bool {
        let given_up = self.remembered.as_ref().is_some_and(|one| one.record.given_up.is_some());
        let is_marked = self.object.as_ref().is_some_and(|object| mark(object).is_some());
        self.halted.is_none() && self.deletion.is_none() && !given_up && !is_marked
    }

    /// What was given up of it, where that is what it asks for still.
    pub fn given_up(&self) -> Option<(GivenUp, ProviderRecord)> {
        let record = &self.remembered.as_ref()?.record;
        let given_up = record.given_up.as_ref()?;
        let DesiredProvider::Components(components) = &self.wanted else { return None };
        (components.revision == given_up.revision).then(|| (given_up.clone(), record.clone()))
    }

    /// What it asks for was given up: what is installed comes back, or stays.
    pub fn goes_back(
        &mut self,
        given_up: &GivenUp,
        record: &ProviderRecord,
        installed: Option<Arc<Prepared>>,
    ) {
        if installed.is_none() && matches!(record.phase, InstallPhase::Applying | InstallPhase::Pruning) {
            // Some of its objects are replaced, and the components of the earlier version are not at hand. The
            // installation continues, and says what it waits for.
            return;
        }
        let before = record.installed.as_ref().map_or("what was before", |one| one.version.as_str());
        let why = format!(
            "{} was rolled back: {}. {before} runs again, or will soon: request another version, or this one with other settings",
            given_up.revision.version, given_up.why
        );
        self.halted = Some(Halted::Failed(InstallFailure::Timeout, why.clone()));
        self.wanted = match installed {
            Some(prepared) => DesiredProvider::Back { components: self.prepare(prepared), why },
            None => DesiredProvider::Halted(why),
        };
    }

    /// It comes to that.
    pub fn renders(&mut self, prepared: Arc<Prepared>) {
        self.version = Some(prepared.components.revision.version.clone());
        self.wanted = DesiredProvider::Components(self.prepare(prepared));
    }

    /// What this comes to; its objects are those that are applied.
    fn prepare(&mut self, prepared: Arc<Prepared>) -> RenderedProvider {
        let components = prepared.components.clone();
        self.prepared = Some(prepared);
        components
    }

    /// The objects that are applied.
    pub fn manifests(&self) -> &BTreeMap<ObjectId, AppliedObject> {
        static NONE: BTreeMap<ObjectId, AppliedObject> = BTreeMap::new();
        self.prepared.as_ref().map_or(&NONE, |prepared| &prepared.manifests)
    }
}
