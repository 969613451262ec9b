//! To which versions of its kind an object can be brought: those that are built in, else those of definitions at hand.

use super::convert::version;
use super::providers::{self, ServedSince};
use crate::schema::{Schemas, TypeFields};
use capstan_model::kinds::is_provider;
use capstan_model::object::{api_group, api_version, version_age};

/// The versions (`group/version`) that objects of a kind can come to from this one, older ones first. Where the kind's
/// definition is at hand, those alone that it serves.
pub fn versions_after(kind: &str, from: &str, schemas: &Schemas) -> Vec<String> {
    let (group, own) = (api_group(from), version(from));
    let served = schemas.served(kind, group);
    let mut found = built_in(group, kind, own);
    if found.is_empty() {
        found = served.iter().copied().filter(|other| version_age(other) > version_age(own)).collect();
        found.sort_by_key(|version| version_age(version));
    }
    found.retain(|version| served.is_empty() || served.contains(version));
    found.into_iter().map(|version| api_version(group, version)).collect()
}

/// From which release of its provider on an API version (`group/version`) of a kind is served; `None` where that is not
/// known here, or every release in use does.
pub fn served_since(kind: &str, api_version: &str) -> Option<ServedSince> {
    let (group, own) = (api_group(api_version), version(api_version));
    let has = |version: &str| TypeFields::of(kind, &format!("{group}/{version}")).is_some();
    if has("v1beta1") && has("v1beta2") {
        return if own == "v1beta2" { ServedSince::release("cluster-api", "v1.11.0") } else { None };
    }
    providers::served_since(group, kind, own)
}

fn built_in<'v>(group: &str, kind: &str, own: &str) -> Vec<&'v str> {
    let has = |version: &str| TypeFields::of(kind, &api_version(group, version)).is_some();
    if is_provider(group, kind) {
        return if own == "v1alpha1" { vec!["v1alpha2"] } else { Vec::new() };
    }
    if has("v1beta1") && has("v1beta2") {
        return if version_age(own) < version_age("v1beta2") { vec!["v1beta2"] } else { Vec::new() };
    }
    providers::versions_after(group, kind, own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::SchemaFile;
    use capstan_model::tree::RepoPath;

    #[test]
    fn a_version_is_served_from_a_release_of_its_provider_on() {
        let since = |kind: &str, api_version: &str| {
            served_since(kind, api_version).map(|since| (since.provider, since.release, since.is_final))
        };
        let openstack = "infrastructure-openstack";
        for (kind, api_version, expected) in [
            ("Cluster", "cluster.x-k8s.io/v1beta2", Some(("cluster-api", "v1.11.0", true))),
            (
                "KubeadmControlPlane",
                "controlplane.cluster.x-k8s.io/v1beta2",
                Some(("cluster-api", "v1.11.0", true)),
            ),
            ("Cluster", "cluster.x-k8s.io/v1beta1", None),
            (
                "OpenStackCluster",
                "infrastructure.cluster.x-k8s.io/v1beta2",
                Some((openstack, "v0.15.0-alpha.0", false)),
            ),
            (
                "OpenStackCluster",
                "infrastructure.cluster.x-k8s.io/v1beta1",
                Some((openstack, "v0.10.0", true)),
            ),
            (
                "VSphereMachineTemplate",
                "vmware.infrastructure.cluster.x-k8s.io/v1beta2",
                Some(("infrastructure-vsphere", "v1.16.0", true)),
            ),
            ("RackCluster", "infrastructure.cluster.x-k8s.io/v1beta2", None),
        ] {
            assert_eq!(since(kind, api_version), expected, "{kind} {api_version}");
        }
    }

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

    /// A definition of racks in these versions.
    fn racks(path: &str, versions: &[&str]) -> SchemaFile {
        let versions = versions.iter().map(|version| {
            format!("  - {{name: {version}, served: true, storage: false, schema: {{openAPIV3Schema: {{type: object}}}}}}\n")
        });
        let text = format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: racks.metal.example.org}}\nspec:\n  group: metal.example.org\n  names: {{kind: Rack, plural: racks}}\n  scope: Namespaced\n  versions:\n{}",
            versions.collect::<String>()
        );
        SchemaFile { path: RepoPath::parse(path).unwrap(), bytes: Ok(text.into_bytes().into()) }
    }

    /// Two management clusters bring the definition; their versions count once.
    #[test]
    fn of_definitions_every_newer_version_counts_and_a_stable_one_is_newer_than_any_beta() {
        let all = ["v2", "v2beta1", "v1", "v1beta1"];
        let schemas = Schemas::read([racks("a/racks.yaml", &all), racks("b/racks.yaml", &all)]);
        let of_group = |version: &str| format!("metal.example.org/{version}");
        let cases: [(&str, &[&str]); 4] =
            [("v1beta1", &["v2beta1", "v1", "v2"]), ("v2beta1", &["v1", "v2"]), ("v1", &["v2"]), ("v2", &[])];
        for (own, expected) in cases {
            let expected: Vec<String> = expected.iter().map(|version| of_group(version)).collect();
            assert_eq!(versions_after("Rack", &of_group(own), &schemas), expected, "{own}");
        }
    }
}
