//! Clusters whose manifests are in a folder of their own.

use super::*;

#[test]
fn base_and_overlay_need_no_patterns() {
    takes_all(
        &[
            ("aws/v1.0.0/base/cluster.yaml", named(CLUSTER, "${CLUSTER_NAME}")),
            ("gauss/peu01/base/cluster.yaml", cluster("peu01")),
            (
                "gauss/peu01/overlay/kustomization.yaml",
                kustomization("resources: [../base]\npatches: [{path: patch.yaml}]\n"),
            ),
            ("gauss/peu01/overlay/patch.yaml", cluster("peu01")),
            ("gauss/peu02/base/pool.yaml", named(POOL, "peu02")),
            ("apps/web/base/web.yaml", APP.to_owned()),
        ],
        "\n# Clusters are found by their shape, a folder with `base/` and perhaps `overlay/`: 2 clusters today.\n",
        &[("gauss/peu01", ""), ("gauss/peu02", "")],
    );
}

#[test]
fn a_provider_set_is_not_a_cluster_and_needs_no_patterns() {
    // The operator's own objects are in a group below Cluster API's.
    let provider =
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {name: cluster-api}\n";
    takes_all(
        &[
            ("infra/capi-operator/base/core.yaml", provider.to_owned()),
            ("fleet/a/base/cluster.yaml", cluster("a")),
            ("fleet/b/base/cluster.yaml", cluster("b")),
        ],
        "
# Clusters are found by their shape, a folder with `base/` and perhaps `overlay/`: 2 clusters today.

# Provider sets are found by their shape, too: folders whose `base/` holds provider objects of the Cluster API operator.
#   \"infra/capi-operator\"
# Which management cluster runs one, and who applies it, is written so:
#
# managementClusters:
#   - name: NAME
#     uid: UID  # kubectl get namespace kube-system -o jsonpath={.metadata.uid}
#     providers: {path: \"infra/capi-operator\", by: others}
",
        &[("fleet/a", ""), ("fleet/b", "")],
    );
}

#[test]
fn one_file_of_a_cluster_in_a_folder_for_each_provider() {
    // As `clusterctl generate cluster` writes it, beside clusterctl's own settings; Flux applies other folders.
    takes_all(
        &[
            ("aws/tenant-demo.yaml", format!("{}---\n{}", cluster("demo"), named(POOL, "demo"))),
            ("aws/clusterctl.yaml", "AWS_REGION: eu-central-1\n".to_owned()),
            ("gcp/tenant-demo.yaml", cluster("demo")),
            ("clusters/aws/mgmt/flux-system/gotk-sync.yaml", flux("flux-system", "./clusters/aws/mgmt", "")),
            ("infrastructure/aws/mgmt/kustomization.yaml", kustomization("resources: []\n")),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 2 clusters today.
  paths: [\"aws\", \"gcp\"]
  # Their manifests are directly in these folders.
  base: \".\"
",
        &[("aws", ""), ("gcp", "")],
    );
}

#[test]
fn flux_applies_a_folder_for_each_cluster() {
    takes_all(
        &[
            ("clusters/mgmt/flux-system/gotk-sync.yaml", flux("flux-system", "./clusters/mgmt", "")),
            (
                "clusters/mgmt/workloads.yaml",
                format!(
                    "{}---\n{}",
                    flux("dev", "./workloads/dev", ""),
                    flux("prod", "./workloads/prod", "")
                ),
            ),
            ("clusters/mgmt/apps.yaml", flux("apps", "./apps", "")),
            ("workloads/dev/kustomization.yaml", kustomization("resources: [cluster.yaml, workers.yaml]\n")),
            ("workloads/dev/cluster.yaml", cluster("dev")),
            ("workloads/dev/workers.yaml", named(POOL, "dev")),
            ("workloads/prod/cluster.yaml", cluster("prod")),
            ("apps/web.yaml", APP.to_owned()),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 2 clusters today.
  paths: [\"workloads/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
",
        &[
            ("workloads/dev", "Flux Kustomization flux-system/dev"),
            ("workloads/prod", "Flux Kustomization flux-system/prod"),
        ],
    );
}

#[test]
fn one_flux_kustomization_for_everything_below_its_folder() {
    takes_all(
        &[
            ("kubernetes/main/flux/cluster.yaml", flux("cluster", "./kubernetes/main/apps", "")),
            ("kubernetes/main/apps/capi/cluster-a/cluster.yaml", cluster("a")),
            ("kubernetes/main/apps/capi/cluster-b/cluster.yaml", cluster("b")),
            ("kubernetes/main/apps/web/web.yaml", APP.to_owned()),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 2 clusters today.
  paths: [\"kubernetes/main/apps/capi/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
",
        &[
            ("kubernetes/main/apps/capi/cluster-a", "Flux Kustomization flux-system/cluster"),
            ("kubernetes/main/apps/capi/cluster-b", "Flux Kustomization flux-system/cluster"),
        ],
    );
}

#[test]
fn an_app_of_apps_of_argo_cd() {
    takes_all(
        &[
            (
                "argocd/root.yaml",
                argo("Application", "root", "  source: {repoURL: here, path: argocd/apps}\n"),
            ),
            (
                "argocd/apps/c1.yaml",
                argo("Application", "c1", "  source: {repoURL: here, path: ./fleet/c1}\n"),
            ),
            (
                "argocd/apps/c2.yaml",
                argo("Application", "c2", "  sources:\n  - {repoURL: here, path: fleet/c2}\n"),
            ),
            ("fleet/c1/cluster.yaml", cluster("c1")),
            ("fleet/c2/cluster.yaml", cluster("c2")),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 2 clusters today.
  paths: [\"fleet/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
",
        &[("fleet/c1", "Argo CD Application c1"), ("fleet/c2", "Argo CD Application c2")],
    );
}

#[test]
fn an_application_set_over_folders() {
    let generators = "  generators:\n  - git:\n      directories:\n      - path: clusters/*/capi\n      - {path: clusters/old/capi, exclude: true}\n  \
                      template:\n    spec:\n      source: {path: '{{path}}'}\n";
    takes_all(
        &[
            ("bootstrap/clusters.yaml", argo("ApplicationSet", "clusters", generators)),
            ("clusters/one/capi/cluster.yaml", cluster("one")),
            ("clusters/one/addons/cni.yaml", APP.to_owned()),
            ("clusters/two/capi/cluster.yaml", cluster("two")),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 2 clusters today.
  paths: [\"clusters/*\"]
  # The folder of a cluster's manifests, inside its folder.
  base: capi
",
        &[
            ("clusters/one", "Argo CD ApplicationSet clusters"),
            ("clusters/two", "Argo CD ApplicationSet clusters"),
        ],
    );
}

#[test]
fn a_folder_for_each_kind_of_objects_is_one_cluster() {
    let of = |name: &str| {
        [
            (format!("locations/loc-1/site-1/{name}/clusters/{name}.yaml"), cluster(name)),
            (format!("locations/loc-1/site-1/{name}/machinedeployments/md-0.yaml"), named(POOL, name)),
            (
                format!("locations/loc-1/site-1/{name}/templates/md-0.yaml"),
                format!(
                    "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1\nkind: VSphereMachineTemplate\nmetadata: {{name: {name}-md-0}}\n"
                ),
            ),
        ]
    };
    let files: Vec<(String, String)> = of("customer-a-1").into_iter().chain(of("customer-b-1")).collect();
    let files: Vec<(&str, String)> = files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    takes_all(
        &files,
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 2 clusters today.
  paths: [\"locations/loc-1/site-1/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
",
        &[("locations/loc-1/site-1/customer-a-1", ""), ("locations/loc-1/site-1/customer-b-1", "")],
    );
}

#[test]
fn stages_and_regions_of_several_depths() {
    takes_all(
        &[
            ("regions/eu/dev/c1/c.yaml", cluster("c1")),
            ("regions/eu/prod/c2/c.yaml", cluster("c2")),
            ("regions/us/prod/c3/c.yaml", cluster("c3")),
            ("regions/us/shared/addons/a.yaml", APP.to_owned()),
            ("mgmt/seed/c.yaml", cluster("seed")),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 4 clusters today.
  paths: [\"mgmt/*\", \"regions/eu/*/*\", \"regions/us/prod/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
",
        &[
            ("mgmt/seed", ""),
            ("regions/eu/dev/c1", ""),
            ("regions/eu/prod/c2", ""),
            ("regions/us/prod/c3", ""),
        ],
    );
}

#[test]
fn many_clusters_beside_one_other_folder() {
    let names: Vec<String> = (0..12).map(|at| format!("clusters/production-{at:02}/cluster.yaml")).collect();
    let mut files: Vec<(&str, String)> = names.iter().map(|path| (path.as_str(), cluster("c"))).collect();
    files.push(("clusters/common/cni.yaml", APP.to_owned()));
    let proposed = proposed(&files);
    assert_eq!(proposed.clusters.len(), 12);
    let list: Vec<&str> = proposed.text.lines().filter(|line| line.starts_with("    - ")).collect();
    assert_eq!(list.len(), 12, "{}", proposed.text);
    assert_eq!(list[11], "    - \"clusters/production-11\"");
    files.pop();
    assert!(super::proposed(&files).text.contains("  paths: [\"clusters/*\"]\n"));
}

#[test]
fn another_cluster_beside_the_machines_keeps_the_folder_above_from_being_one() {
    let app = |name: &str| {
        format!(
            "apiVersion: application.giantswarm.io/v1alpha1\nkind: App\nmetadata: {{name: {name}}}\nspec: {{name: cluster-aws, version: 2.0.0}}\n"
        )
    };
    let proposed = proposed(&[
        ("site/x/clusters/a.yaml", cluster("one")),
        ("site/x/clusters/b.yaml", app("b")),
        ("site/x/clusters/c.yaml", app("c")),
        ("site/x/pools/md-0.yaml", named(POOL, "one")),
        ("site/x/zeta/cluster.yaml", cluster("zeta")),
    ]);
    let found: Vec<&str> = proposed.clusters.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(found, ["site/x/clusters", "site/x/zeta"]);
    assert_eq!(left_lines(&proposed), [""; 0]);
}
