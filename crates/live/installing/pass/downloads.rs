//! Which downloaded components are kept: of each provider the version that is asked for, and two at most in all.

use std::collections::BTreeMap;

use capstan_model::version::ReleaseVersion;
use serde_json::Value;

use crate::live_objects::{label, text};

/// How many versions of a provider are kept.
const KEPT: usize = 2;

const NAME: &str = "provider.cluster.x-k8s.io/name";
const TYPE: &str = "provider.cluster.x-k8s.io/type";
const VERSION: &str = "provider.cluster.x-k8s.io/version";
const MANAGED: &str = "managed-by.operator.cluster.x-k8s.io";

/// The ConfigMaps among these that hold downloads which are not needed any more. `is_needed` gets type word, name and
/// version, and says whether a provider asks for that version or has it installed. A ConfigMap without a version is not
/// a download.
pub fn superseded<'m>(
    config_maps: &'m [Value],
    is_needed: impl Fn(&str, &str, &str) -> bool,
) -> Vec<&'m Value> {
    type Download<'m> = (bool, ReleaseVersion, &'m Value);
    let mut all: BTreeMap<[&str; 3], Vec<Download<'m>>> = BTreeMap::new();
    for map in config_maps {
        let labels = (label(map, TYPE), label(map, NAME), label(map, VERSION), label(map, MANAGED));
        let (Some(kind), Some(name), Some(version), Some("true")) = labels else { continue };
        let Some(parsed) = ReleaseVersion::parse(version) else { continue };
        let namespace = text(map, "/metadata/namespace").unwrap_or_default();
        let needed = is_needed(kind, name, version);
        all.entry([namespace, kind, name]).or_default().push((needed, parsed, map));
    }
    let mut found = Vec::new();
    for mut versions in all.into_values() {
        versions.sort_by(|a, b| (b.0, &b.1).cmp(&(a.0, &a.1)));
        found.extend(versions.into_iter().skip(KEPT).filter(|(needed, ..)| !needed).map(|(_, _, map)| map));
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn download(name: &str, version: &str) -> Value {
        json!({"metadata": {"namespace": "capi-system", "name": format!("core-{name}-{version}"), "labels": {
            NAME: name, TYPE: "core", VERSION: version, MANAGED: "true"}}})
    }

    #[test]
    fn what_is_asked_for_stays_and_two_at_most_in_all() {
        let mut maps: Vec<Value> = ["v1.9.0", "v1.10.0", "v1.12.8", "v1.13.4"]
            .iter()
            .map(|version| download("cluster-api", version))
            .collect();
        maps.push(download("other", "v0.1.0"));
        maps.push(
            json!({"metadata": {"namespace": "capi-system", "name": "own", "labels": {VERSION: "v0.1.0"}}}),
        );
        let left = |needed: &'static [&'static str]| {
            let gone = superseded(&maps, |_, _, version| needed.contains(&version));
            gone.iter().map(|map| map["metadata"]["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(left(&["v1.13.4"]), ["core-cluster-api-v1.10.0", "core-cluster-api-v1.9.0"]);
        assert_eq!(left(&["v1.9.0"]), ["core-cluster-api-v1.12.8", "core-cluster-api-v1.10.0"]);
        assert_eq!(left(&["v1.9.0", "v1.10.0", "v1.12.8"]), ["core-cluster-api-v1.13.4"]);
    }
}
