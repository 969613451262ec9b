//! What was tried and needs no second try: the same manifest beside the same live object.
//!
//! A dry run costs an API server far more than a read, and a fleet at rest would ask for thousands of them
//! every few minutes to hear the same. So it is remembered of an object which manifest was tried beside which
//! content without a difference; while both are the same, nothing differs. *Guarantee*: content is all of the
//! object that an apply could change (everything but status and the API server's own bookkeeping), and which
//! of its fields Capstan owns. *Caveat*: defaults and webhooks may change without the object; so what was
//! remembered is forgotten after an hour, and a restart forgets all.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use capstan_live::applying::sent;
use capstan_live::live_objects::MANAGER;
use capstan_model::object::ObjectId;
use capstan_plan::templates::SpecDigest;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// How long a try counts.
const COUNTS: SignedDuration = SignedDuration::from_mins(60);

/// What was tried without a difference.
#[derive(Debug, Default)]
pub struct DryRunCache {
    tried: Mutex<BTreeMap<ObjectId, CachedDryRun>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CachedDryRun {
    manifest: SpecDigest,
    content: SpecDigest,
    at: Timestamp,
}

impl DryRunCache {
    /// Whether that manifest was tried beside that content a while ago, and nothing differed.
    pub(crate) fn knows(&self, id: &ObjectId, manifest: &Value, live: &Value, now: Timestamp) -> bool {
        self.recent(id, now).is_some() && self.knows_digest(id, SpecDigest::of(manifest), live, now)
    }

    /// [`Self::knows`], of a manifest whose digest is at hand.
    pub(crate) fn knows_digest(
        &self,
        id: &ObjectId,
        manifest: SpecDigest,
        live: &Value,
        now: Timestamp,
    ) -> bool {
        self.recent(id, now).is_some_and(|tried| tried.manifest == manifest && tried.content == content(live))
    }

    fn recent(&self, id: &ObjectId, now: Timestamp) -> Option<CachedDryRun> {
        let tried = self.tried.lock().unwrap_or_else(PoisonError::into_inner).get(id).copied();
        tried.filter(|tried| now.duration_since(tried.at) < COUNTS)
    }

    /// [`Self::note`], where that is not known already: its hour runs on.
    pub(crate) fn note_once(&self, id: &ObjectId, manifest: &Value, live: &Value, now: Timestamp) {
        if !self.knows(id, manifest, live, now) {
            self.note(id, manifest, live, now);
        }
    }

    /// That manifest was tried beside that content, and nothing differed; or it was applied, and this came of it.
    pub(crate) fn note(&self, id: &ObjectId, manifest: &Value, live: &Value, now: Timestamp) {
        self.note_digest(id, SpecDigest::of(manifest), live, now);
    }

    /// [`Self::note`], of a manifest whose digest is at hand.
    pub(crate) fn note_digest(&self, id: &ObjectId, manifest: SpecDigest, live: &Value, now: Timestamp) {
        let tried = CachedDryRun { manifest, content: content(live), at: now };
        self.tried.lock().unwrap_or_else(PoisonError::into_inner).insert(id.clone(), tried);
    }

    /// Forgets an object that Capstan no longer applies.
    pub(crate) fn forget(&self, id: &ObjectId) {
        self.tried.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}

/// All of a live object that an apply could change, and what of it is Capstan's.
fn content(live: &Value) -> SpecDigest {
    let managed = live.pointer("/metadata/managedFields").and_then(Value::as_array);
    let own: Vec<&Value> = managed
        .into_iter()
        .flatten()
        .filter(|entry| entry.get("manager").and_then(Value::as_str) == Some(MANAGER))
        .filter_map(|entry| entry.get("fieldsV1"))
        .collect();
    let own = Value::Array(own.into_iter().cloned().collect());
    let uid = live.pointer("/metadata/uid").cloned().unwrap_or_default();
    SpecDigest::of(&Value::Array(vec![sent(live), own, uid]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn live(key: &str, version: &str, fields: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "u",
            "resourceVersion": version, "managedFields": [{"manager": "capstan", "fieldsV1": fields},
            {"manager": "other", "time": version}]}, "data": {"key": key}, "status": {"seen": version}})
    }

    #[test]
    fn only_the_same_manifest_beside_the_same_content_counts() {
        let (dry_run_cache, now) = (DryRunCache::default(), Timestamp::from_second(1_800_000_000).unwrap());
        let id =
            ObjectId { group: String::new(), kind: "ConfigMap".into(), namespace: None, name: "a".into() };
        let (manifest, fields) = (json!({"data": {"key": "1"}}), json!({"f:data": {}}));
        dry_run_cache.note(&id, &manifest, &live("1", "7", fields.clone()), now);

        // Status and bookkeeping move without it being news.
        assert!(dry_run_cache.knows(&id, &manifest, &live("1", "8", fields.clone()), now));
        assert!(!dry_run_cache.knows(&id, &manifest, &live("2", "8", fields.clone()), now));
        assert!(!dry_run_cache.knows(
            &id,
            &json!({"data": {"key": "2"}}),
            &live("1", "7", fields.clone()),
            now
        ));
        // Somebody took a field away from Capstan, with the same value.
        assert!(!dry_run_cache.knows(&id, &manifest, &live("1", "7", json!({})), now));
        let later = now + SignedDuration::from_mins(61);
        assert!(!dry_run_cache.knows(&id, &manifest, &live("1", "7", fields.clone()), later));
        dry_run_cache.forget(&id);
        assert!(!dry_run_cache.knows(&id, &manifest, &live("1", "7", fields), now));
    }
}
