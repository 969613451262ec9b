//! Clusters that a chart makes, and Giant Swarm's layout.

use super::*;

const CHART: &str = "apiVersion: application.giantswarm.io/v1alpha1\nkind: App\nmetadata:\n  name: NAME\n  namespace: org-acme\nspec: {name: cluster-aws, version: 2.0.0}\n";

#[test]
fn workload_clusters_below_management_clusters_and_organisations() {
    let mut files = vec![
        ("bases/clusters/capa/template/kustomization.yaml", kustomization("resources: [cluster.yaml]\n")),
        ("bases/clusters/capa/template/cluster.yaml", named(CHART, "${cluster_name}")),
        ("management-clusters/gauss/gauss.yaml", flux("gauss", "./management-clusters/gauss", "")),
    ];
    let base = "management-clusters/gauss/organizations";
    let takes = kustomization(
        "resources: [../../../../../../../../bases/clusters/capa/template]\nconfigMapGenerator: [{name: config, files: [values.yaml]}]\n",
    );
    let mut more = Vec::new();
    for (organization, name) in [("acme", "peu01"), ("acme", "peu02"), ("euler", "prod")] {
        let folder = format!("{base}/{organization}/workload-clusters/{name}");
        let given = format!("  postBuild: {{substitute: {{cluster_name: {name}}}}}\n");
        more.push((
            format!("{base}/{organization}/workload-clusters/{name}.yaml"),
            flux(&format!("clusters-{name}"), &format!("./{folder}"), &given),
        ));
        more.push((format!("{folder}/kustomization.yaml"), kustomization("resources: [mapi]\n")));
        more.push((
            format!("{folder}/mapi/kustomization.yaml"),
            kustomization("resources: [cluster, apps]\n"),
        ));
        more.push((format!("{folder}/mapi/cluster/kustomization.yaml"), takes.clone()));
        more.push((
            format!("{folder}/mapi/cluster/values.yaml"),
            "global:\n  release: {version: 34.0.0}\n".to_owned(),
        ));
        more.push((format!("{folder}/mapi/apps/kustomization.yaml"), kustomization("resources: []\n")));
    }
    files.extend(more.iter().map(|(path, text)| (path.as_str(), text.clone())));
    takes_all(
        &files,
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 3 clusters today.
  paths: [\"management-clusters/gauss/organizations/*/workload-clusters/*\"]
  # The folder of a cluster's manifests, inside its folder.
  base: mapi/cluster
",
        &[
            (
                "management-clusters/gauss/organizations/acme/workload-clusters/peu01",
                "Flux Kustomization flux-system/clusters-peu01",
            ),
            (
                "management-clusters/gauss/organizations/acme/workload-clusters/peu02",
                "Flux Kustomization flux-system/clusters-peu02",
            ),
            (
                "management-clusters/gauss/organizations/euler/workload-clusters/prod",
                "Flux Kustomization flux-system/clusters-prod",
            ),
        ],
    );
}

#[test]
fn a_helm_release_of_a_cluster_chart() {
    let release = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: NAME}\nspec:\n  chart: {spec: {chart: cluster-vsphere, version: 1.0.0}}\n  \
                   values: {global: {release: {version: 31.0.0}}}\n";
    let other = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: web}\nspec:\n  chart: {spec: {chart: web, version: 1.0.0}}\n";
    takes_all(
        &[
            ("clusters/a/helmrelease.yaml", named(release, "a")),
            ("clusters/b/helmrelease.yaml", named(release, "b")),
            ("apps/web/helmrelease.yaml", other.to_owned()),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 2 clusters today.
  paths: [\"clusters/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
",
        &[("clusters/a", ""), ("clusters/b", "")],
    );
}

#[test]
fn topologies_beside_their_class_and_control_planes_of_other_providers() {
    let class =
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: ClusterClass\nmetadata: {name: quick}\nspec: {}\n";
    let topology = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: NAME}\nspec: {topology: {classRef: {name: quick}, version: v1.31.0}}\n";
    let talos = "apiVersion: controlplane.cluster.x-k8s.io/v1alpha3\nkind: TalosControlPlane\nmetadata: {name: NAME-cp}\nspec: {}\n";
    takes_all(
        &[
            ("clusterclasses/quick/class.yaml", class.to_owned()),
            ("clusters/one/cluster.yaml", named(topology, "one")),
            ("clusters/two/cluster.yaml", named(topology, "two")),
            ("clusters/metal/cluster.yaml", format!("{}---\n{}", cluster("metal"), named(talos, "metal"))),
            ("clusters/virt/list.yaml", "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, metadata: {name: virt}}\n".to_owned()),
        ],
        "
clusters:
  # Each folder that one of these patterns matches is a cluster, by its path: 4 clusters today.
  paths: [\"clusters/*\"]
  # Their manifests are directly in these folders.
  base: \".\"
",
        &[("clusters/metal", ""), ("clusters/one", ""), ("clusters/two", ""), ("clusters/virt", "")],
    );
}

#[test]
fn a_charts_own_templates_are_not_clusters() {
    let template =
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: {{ .Release.Name }}\n";
    let proposed = proposed(&[
        ("charts/capi-cluster/Chart.yaml", "name: capi-cluster\nversion: 0.1.0\n".to_owned()),
        ("charts/capi-cluster/values.yaml", "global: {release: {version: latest}}\n".to_owned()),
        ("charts/capi-cluster/templates/cluster.yaml", template.to_owned()),
    ]);
    assert!(!proposed.is_worth_it(), "{proposed:?}");
}
