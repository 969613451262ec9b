//! What Events warn of: the last words of controllers on single objects.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::object::{ObjectId, api_group};
use serde_json::Value;

use crate::live_objects::{shortened, text};

/// How many warnings one object has at most.
const OF_ONE: usize = 2;
/// How many warnings there are at most.
const MOST: usize = 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// What it is about.
    pub object: ObjectId,
    /// Its reason and its message, at most 512 characters.
    pub words: String,
}

/// The last warnings on these objects, the newest of each object first; ordered by object, and without times and counts,
/// so that the same trouble gives the same words. Events of `v1` and of `events.k8s.io/v1`.
pub fn last_warnings(events: &[Value], about: &BTreeSet<ObjectId>) -> Vec<Warning> {
    let mut of: BTreeMap<ObjectId, Vec<(String, String)>> = BTreeMap::new();
    for event in events.iter().filter(|event| text(event, "/type") == Some("Warning")) {
        let Some(object) = object_of(event).filter(|object| about.contains(object)) else { continue };
        let message = text(event, "/message").or_else(|| text(event, "/note")).unwrap_or_default();
        let words = match text(event, "/reason") {
            Some(reason) => format!("{reason}: {}", message.trim()),
            None => message.trim().to_owned(),
        };
        of.entry(object).or_default().push((time_of(event), shortened(&words)));
    }
    let told = of.into_iter().flat_map(|(object, mut said)| {
        said.sort_by(|a, b| b.cmp(a));
        let mut words: Vec<String> = Vec::new();
        for (_, one) in said {
            if !words.contains(&one) {
                words.push(one);
            }
        }
        words.into_iter().take(OF_ONE).map(move |words| Warning { object: object.clone(), words })
    });
    told.take(MOST).collect()
}

fn object_of(event: &Value) -> Option<ObjectId> {
    let named = event.get("involvedObject").or_else(|| event.get("regarding"))?;
    Some(ObjectId {
        group: api_group(text(named, "/apiVersion").unwrap_or_default()).to_owned(),
        kind: text(named, "/kind")?.to_owned(),
        namespace: text(named, "/namespace").map(str::to_owned),
        name: text(named, "/name")?.to_owned(),
    })
}

/// When it was last seen; RFC 3339 sorts as it is.
fn time_of(event: &Value) -> String {
    let times = ["/series/lastObservedTime", "/lastTimestamp", "/deprecatedLastTimestamp", "/eventTime"];
    let found = times.iter().find_map(|pointer| text(event, pointer));
    found.or_else(|| text(event, "/metadata/creationTimestamp")).unwrap_or_default().to_owned()
}
