//! What was seen of the objects of providers. It is kept from step to step of a pass, and to the next pass where
//! watches reported all changes meanwhile. So each object is read once. It is read again only when it was written, when
//! a watch reports a change, or while it is about to change.
//!
//! *Guarantee*: what is decided on is at most [`COUNTS`] old. An unseen change does no harm: writes carry the version
//! that was seen, and a conflict counts as a reported change.

use std::collections::BTreeMap;

use capstan_live::applying::RefusalKind;
use capstan_live::installing::WorkloadHealth;
use capstan_live::installing::pass::{InstallPhase, ObjectFit, SeenObject, installers, is_definition};
use capstan_model::object::ObjectId;
use capstan_plan::templates::SpecDigest;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::record::text;

/// How long anything that was seen counts.
const COUNTS: SignedDuration = SignedDuration::from_mins(9);

/// What an object was held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SightQuestion {
    /// What is rendered; `None` of what is in the inventory alone.
    pub manifest: Option<SpecDigest>,
    /// How far its provider was.
    pub phase: InstallPhase,
}

impl SightQuestion {
    /// Whether what is rendered is tried. While it is applied, what is not known to be as rendered is applied untried.
    pub const fn tries(&self) -> bool {
        !matches!(self.phase, InstallPhase::Applying | InstallPhase::Pruning | InstallPhase::Removing)
    }
}

/// What was seen of one object.
#[derive(Debug, Clone)]
pub struct SeenProviderObject {
    /// What is decided on.
    pub seen: SeenObject,
    /// What a write takes of it, where it is there.
    pub live: Option<Live>,
    /// What sort of answer a refusal was.
    pub refusal: Option<RefusalKind>,
    /// What it was held against.
    pub question: SightQuestion,
    /// When.
    pub at: Timestamp,
}

/// What a write takes of a live object.
#[derive(Debug, Clone)]
pub struct Live {
    /// Its identity and version, and whether it has a status.
    pub object: Value,
    /// The managers whose fields Capstan takes.
    pub installers: Vec<String>,
}

impl Live {
    /// What a write takes of it.
    pub fn of(live: &Value) -> Self {
        let metadata = |key: &str| live.get("metadata").and_then(|all| all.get(key)).cloned();
        let mut object = json!({"apiVersion": live["apiVersion"], "kind": live["kind"], "metadata": {}});
        for key in ["name", "namespace", "uid", "resourceVersion"] {
            if let Some(value) = metadata(key) {
                object["metadata"][key] = value;
            }
        }
        if live.get("status").is_some() {
            object["status"] = json!({});
        }
        Self { object, installers: installers(live) }
    }

    fn version(&self) -> &str {
        text(&self.object, "/metadata/resourceVersion")
    }
}

impl SeenProviderObject {
    /// Whether it answers a question still.
    fn answers(&self, id: &ObjectId, question: SightQuestion, now: Timestamp) -> bool {
        if self.question.manifest != question.manifest || now.duration_since(self.at) >= COUNTS {
            return false;
        }
        let is_prepared = |phase: InstallPhase| phase == InstallPhase::Preparing;
        let seen = &self.seen;
        let is_on_its_way = match &seen.health {
            Some(WorkloadHealth::Available { .. } | WorkloadHealth::Absent) | None => false,
            Some(_) => true,
        };
        if is_on_its_way || is_definition(id) && self.live.is_some() && !seen.is_established {
            return false;
        }
        // Pods and stored versions matter only while a provider is prepared, and change by themselves.
        let is_stopped = id.group == "apps" && id.kind == "Deployment";
        if (is_stopped || is_definition(id))
            && is_prepared(question.phase) != is_prepared(self.question.phase)
        {
            return false;
        }
        if is_prepared(question.phase) && (is_stopped && seen.replicas == Some(0) || !seen.going.is_empty()) {
            return false;
        }
        match seen.fit {
            ObjectFit::Same => true,
            ObjectFit::Absent | ObjectFit::Differs => self.question.tries() || !question.tries(),
            // This may change without a report of a watch.
            ObjectFit::Later | ObjectFit::Refused(_) | ObjectFit::Terminating => false,
        }
    }
}

/// What was seen, by object and by provider.
#[derive(Debug, Default)]
pub struct Sights {
    known: BTreeMap<ObjectId, BTreeMap<ObjectId, SeenProviderObject>>,
}

impl Sights {
    /// What is known of a provider's object, where that answers the question.
    pub fn answer(
        &self,
        provider: &ObjectId,
        id: &ObjectId,
        question: SightQuestion,
        now: Timestamp,
    ) -> Option<&SeenProviderObject> {
        self.known.get(id)?.get(provider).filter(|sight| sight.answers(id, question, now))
    }

    /// It was seen so.
    pub fn note(&mut self, provider: &ObjectId, id: &ObjectId, sight: SeenProviderObject) {
        self.known.entry(id.clone()).or_default().insert(provider.clone(), sight);
    }

    /// The object is read again before anything is decided on it.
    pub fn forget(&mut self, id: &ObjectId) {
        self.known.remove(id);
    }

    /// Everything is read again.
    pub fn forget_all(&mut self) {
        self.known.clear();
    }

    /// The live object, as it was seen.
    pub fn live(&self, provider: &ObjectId, id: &ObjectId) -> Option<&Live> {
        self.known.get(id)?.get(provider)?.live.as_ref()
    }

    /// What sort of answer the refusal of a provider's object was.
    pub fn refusal(&self, provider: &ObjectId, id: &ObjectId) -> Option<RefusalKind> {
        self.known.get(id)?.get(provider)?.refusal
    }

    /// Takes in a change of an object that a watch reports; whether it is news, or an echo of what was seen.
    pub fn hear(&mut self, id: &ObjectId, version: &str) -> bool {
        let Some(known) = self.known.get(id) else { return false };
        let is_news = known.values().any(|sight| match &sight.live {
            Some(live) => is_later(version, live.version()),
            None => true,
        });
        if is_news {
            self.forget(id);
        }
        is_news
    }
}

/// Whether one resource version is later than another. They are compared as numbers, which they have to be
/// (<https://kubernetes.io/docs/reference/using-api/api-concepts/#resource-versions>). If one is not a number, a
/// different version counts as later.
pub fn is_later(version: &str, than: &str) -> bool {
    match (version.parse::<u64>(), than.parse::<u64>()) {
        (Ok(version), Ok(than)) => version > than,
        _ => version != than || version.is_empty(),
    }
}
