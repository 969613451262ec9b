//! To which versions of its kind an object can be brought: those that are built in, else those of definitions at hand.

use super::convert::version;
use super::providers;
use crate::schema::{Fields, Schemas};
use capstan_model::kinds::is_provider;
use capstan_model::object::api_group;

/// The versions (`group/version`) that objects of a kind can come to from this one, older ones first. Where the kind's
/// definition is at hand, those alone that it serves.
pub fn versions_after(kind: &str, api_version: &str, schemas: &Schemas) -> Vec<String> {
    let group = api_group(api_version);
    let own = version(api_version);
    let served = schemas.served(kind, group);
    let mut found = built_in(group, kind, own);
    if found.is_empty() {
        found = served.iter().copied().filter(|other| rank(other) > rank(own)).collect();
        found.sort_by_key(|version| rank(version));
    }
    found.retain(|version| served.is_empty() || served.contains(version));
    found.into_iter().map(|version| format!("{group}/{version}")).collect()
}

fn built_in<'v>(group: &str, kind: &str, own: &str) -> Vec<&'v str> {
    let has = |version: &str| Fields::of(kind, &format!("{group}/{version}")).is_some();
    if is_provider(group, kind) {
        return if own == "v1alpha1" { vec!["v1alpha2"] } else { Vec::new() };
    }
    if has("v1beta1") && has("v1beta2") {
        return if rank(own) < rank("v1beta2") { vec!["v1beta2"] } else { Vec::new() };
    }
    providers::versions_after(group, kind, own)
}

/// How new a version is: `v2` after `v1`, which comes after `v1beta2`, `v1beta1` and `v1alpha4`.
fn rank(version: &str) -> Option<(u32, u8, u32)> {
    let rest = version.strip_prefix('v')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at(end);
    let (stage, minor) = match rest {
        "" => (2, "0"),
        _ => rest
            .strip_prefix("beta")
            .map(|minor| (1, minor))
            .or_else(|| Some((0, rest.strip_prefix("alpha")?)))?,
    };
    Some((major.parse().ok()?, stage, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_conversions_say_how_far_a_kind_goes() {
        let after = |kind: &str, version: &str| versions_after(kind, version, Schemas::built_in());
        assert_eq!(after("Cluster", "cluster.x-k8s.io/v1alpha4"), ["cluster.x-k8s.io/v1beta2"]);
        assert_eq!(after("Cluster", "cluster.x-k8s.io/v1beta2"), [""; 0]);
        let infrastructure = |version| format!("infrastructure.cluster.x-k8s.io/{version}");
        let oldest = infrastructure("v1alpha6");
        let after_oldest = ["v1alpha7", "v1beta1", "v1beta2"].map(infrastructure);
        assert_eq!(after("OpenStackMachineTemplate", &oldest), after_oldest);
        assert_eq!(after("RackCluster", &oldest), [""; 0]);
        assert_eq!(
            after("CoreProvider", "operator.cluster.x-k8s.io/v1alpha1"),
            ["operator.cluster.x-k8s.io/v1alpha2"]
        );
        assert_eq!(after("Deployment", "apps/v1beta1"), [""; 0]);
    }

    #[test]
    fn versions_are_ordered_as_kubernetes_orders_them() {
        let mut versions = ["v1", "v1alpha4", "v2beta1", "v1beta2", "v1beta10", "v1alpha10"];
        versions.sort_by_key(|version| rank(version));
        assert_eq!(versions, ["v1alpha4", "v1alpha10", "v1beta2", "v1beta10", "v1", "v2beta1"]);
        assert_eq!(rank("latest"), None);
    }
}
