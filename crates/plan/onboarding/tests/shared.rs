//! Bases that several overlays build, and templates that are filled in.

use super::*;
use crate::settings::Track;

#[test]
fn overlays_of_one_base_are_the_clusters_and_the_base_is_not() {
    let overlay = |name: &str| kustomization(&format!("resources: [../../base]\nnamePrefix: {name}-\n"));
    takes_all(
        &[
            ("capi/base/kustomization.yaml", kustomization("resources: [cluster.yaml]\n")),
            ("capi/base/cluster.yaml", cluster("workload")),
            ("capi/overlays/dev/kustomization.yaml", overlay("dev")),
            ("capi/overlays/prod/kustomization.yaml", overlay("prod")),
            (
                "flux/capi.yaml",
                format!(
                    "{}---\n{}",
                    flux("dev", "./capi/overlays/dev", ""),
                    flux("prod", "./capi/overlays/prod", "")
                ),
            ),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 2 clusters today.
  paths: [\"capi/overlays/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
  rules:
    # Their objects are in bases that several clusters build, so an upgrade of one cluster cannot change them. Nothing is
    # offered to these until each has manifests of its own (`capstan render CLUSTER` prints them).
    - {match: \"capi/overlays/*\", track: none}
",
        &[
            ("capi/overlays/dev", "Flux Kustomization flux-system/dev"),
            ("capi/overlays/prod", "Flux Kustomization flux-system/prod"),
        ],
    );
}

/// To these nothing is offered: a rule that is read otherwise would have an upgrade make a second cluster.
#[test]
fn the_rules_of_shared_bases_find_hostile_names() {
    for name in ["*", "[!a]", "{a,b}", "!x", "a: b", "a\"b", "a\nb", "a\u{202e}b", "# forged", "null"] {
        let overlay = format!("odd/{name}/kustomization.yaml");
        let build =
            |prefix: &str| kustomization(&format!("resources: [../../base]\nnamePrefix: {prefix}-\n"));
        let proposed = proposed(&[
            ("base/kustomization.yaml", kustomization("resources: [cluster.yaml]\n")),
            ("base/cluster.yaml", cluster("workload")),
            (&overlay, build("one")),
            ("odd/two/kustomization.yaml", build("two")),
            ("odd/own/cluster.yaml", cluster("own")),
        ]);
        let tracks: Vec<(&str, Track)> = proposed
            .clusters
            .iter()
            .map(|(id, _)| {
                let settings = proposed.settings.for_target(&id.clone().into(), None, None).unwrap();
                (id.as_str(), settings.track)
            })
            .collect();
        let one = format!("odd/{name}");
        let mut expected =
            vec![(one.as_str(), Track::None), ("odd/own", Track::Any), ("odd/two", Track::None)];
        expected.sort_by_key(|(id, _)| *id);
        assert_eq!(tracks, expected, "{}", proposed.text);
    }
}

#[test]
fn a_base_behind_flavours_is_followed_to_its_end() {
    let takes = |what: &str| kustomization(&format!("resources: [{what}]\ncommonLabels: {{a: b}}\n"));
    takes_all(
        &[
            ("parts/cluster/cluster.yaml", cluster("x")),
            ("flavours/small/kustomization.yaml", takes("../../parts/cluster/cluster.yaml")),
            ("flavours/large/kustomization.yaml", takes("../../parts/cluster/cluster.yaml")),
            ("envs/a/kustomization.yaml", takes("../../flavours/small")),
            ("envs/b/kustomization.yaml", takes("../../flavours/small")),
            ("envs/c/kustomization.yaml", takes("../../flavours/large")),
            // Lists all of them, and changes nothing.
            ("mgmt/kustomization.yaml", kustomization("resources: [../envs/a, ../envs/b, ../envs/c]\n")),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 3 clusters today.
  paths: [\"envs/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
  rules:
    # Their objects are in bases that several clusters build, so an upgrade of one cluster cannot change them. Nothing is
    # offered to these until each has manifests of its own (`capstan render CLUSTER` prints them).
    - {match: \"envs/*\", track: none}
",
        &[("envs/a", ""), ("envs/b", ""), ("envs/c", "")],
    );
}

#[test]
fn a_template_that_kustomizations_complete() {
    let overlay = kustomization("resources: [../../templates/metal3]\npatches:\n- path: cluster.yaml\n");
    takes_all(
        &[
            ("templates/metal3/kustomization.yaml", kustomization("resources: [cluster.yaml]\n")),
            ("templates/metal3/cluster.yaml", named(CLUSTER, "${CLUSTER_NAME}")),
            ("sites/hamburg/kustomization.yaml", overlay.clone()),
            ("sites/hamburg/cluster.yaml", cluster("${CLUSTER_NAME}")),
            ("sites/munich/kustomization.yaml", overlay),
            ("sites/munich/cluster.yaml", cluster("${CLUSTER_NAME}")),
            (
                "flux/sites.yaml",
                format!(
                    "{}---\n{}",
                    flux(
                        "hamburg",
                        "./sites/hamburg",
                        "  postBuild: {substitute: {CLUSTER_NAME: hamburg}}\n"
                    ),
                    flux("munich", "./sites/munich", "  postBuild: {substitute: {CLUSTER_NAME: munich}}\n")
                ),
            ),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 2 clusters today.
  paths: [\"sites/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
  rules:
    # Their objects are in bases that several clusters build, so an upgrade of one cluster cannot change them. Nothing is
    # offered to these until each has manifests of its own (`capstan render CLUSTER` prints them).
    - {match: \"sites/*\", track: none}
",
        &[
            ("sites/hamburg", "Flux Kustomization flux-system/hamburg"),
            ("sites/munich", "Flux Kustomization flux-system/munich"),
        ],
    );
}

#[test]
fn a_folder_that_flux_fills_in_once_is_a_cluster_and_more_than_once_is_reported() {
    let given = |name: &str| {
        flux(name, "./capi/workload", &format!("  postBuild: {{substitute: {{NAME: {name}}}}}\n"))
    };
    let template = ("capi/workload/cluster.yaml", named(CLUSTER, "${NAME}"));
    let text = "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 1 cluster today.
  paths: [\"capi/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
";
    takes_all(
        &[template.clone(), ("flux/a.yaml", given("a"))],
        text,
        &[("capi/workload", "Flux Kustomization flux-system/a")],
    );
    let several = proposed(&[template, ("flux/a.yaml", given("a")), ("flux/b.yaml", given("b"))]);
    assert!(several.clusters.is_empty());
    assert_eq!(
        left_lines(&several),
        [
            "capi/workload/cluster.yaml:1:1: this folder becomes several clusters: `a` and `b` each give its variables values. A cluster is a folder: give each its own folder, with a kustomization that builds this one"
        ]
    );
}

#[test]
fn a_cluster_in_parts_that_its_own_kustomization_lists() {
    takes_all(
        &[
            ("clusters/kustomization.yaml", kustomization("resources: [alpha, beta]\n")),
            ("clusters/alpha/kustomization.yaml", kustomization("resources: [cluster, addons]\n")),
            ("clusters/alpha/cluster/cluster.yaml", cluster("alpha")),
            ("clusters/alpha/addons/cni.yaml", APP.to_owned()),
            ("clusters/beta/kustomization.yaml", kustomization("resources: [cluster, addons]\n")),
            ("clusters/beta/cluster/cluster.yaml", cluster("beta")),
            ("clusters/beta/addons/cni.yaml", APP.to_owned()),
            ("flux/clusters.yaml", flux("clusters", "./clusters", "")),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 2 clusters today.
  paths: [\"clusters/*\"]
  # The folder of a cluster's manifests, inside its folder.
  base: cluster
",
        &[
            ("clusters/alpha", "Flux Kustomization flux-system/clusters"),
            ("clusters/beta", "Flux Kustomization flux-system/clusters"),
        ],
    );
}

#[test]
fn more_overlays_than_rules_are_kept_from_upgrades_by_one_rule() {
    let paths: Vec<String> = (0..201).map(|at| format!("fleet/c{at}/kustomization.yaml")).collect();
    let overlay = kustomization("resources: [../../capi/base]\nnamePrefix: x-\n");
    let mut files: Vec<(&str, String)> = paths.iter().map(|path| (path.as_str(), overlay.clone())).collect();
    files.push(("capi/base/cluster.yaml", cluster("workload")));
    // A cluster without a shared base, so that no pattern fits exactly the others.
    files.push(("fleet/own/cluster.yaml", cluster("own")));
    let proposed = proposed(&files);
    assert_eq!(proposed.clusters.len(), 202);
    assert!(proposed.text.ends_with("\n    - {match: \"**\", track: none}\n"), "{}", proposed.text);
}
