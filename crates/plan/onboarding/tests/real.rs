//! The shapes of real public GitOps repositories: their folders, who applies what in them, and objects of the same
//! kinds and names with nothing else in them. Capstan finds a cluster or reports something in each of them.

use super::*;

/// A repository, and what Capstan reports about it.
#[derive(Default)]
struct Repository {
    name: &'static str,
    files: Vec<(&'static str, String)>,
    /// The clusters, and who applies each.
    clusters: &'static [(&'static str, &'static str)],
    /// How each report begins.
    told: &'static [&'static str],
    /// The same, for templates that are not filled in there.
    templates: &'static [&'static str],
}

/// As `clusterctl generate cluster` prints one: the cluster, and its workers.
fn generated(name: &str) -> String {
    format!("{}---\n{}", cluster(name), named(POOL, name))
}

fn application(name: &str, path: &str) -> String {
    argo("Application", name, &format!("  source: {{repoURL: here, path: {path}}}\n"))
}

/// An ApplicationSet with these generators, each a line, over this path.
fn set(name: &str, generators: &str, path: &str) -> String {
    let spec = format!(
        "  generators:\n{generators}  template:\n    metadata: {{name: '{{{{name}}}}'}}\n    spec:\n      source:\n        \
         repoURL: here\n        path: '{path}'\n"
    );
    argo("ApplicationSet", name, &spec)
}

/// A chart's template, which is not YAML until helm fills it in.
const CHARTED: &str = "{{- range .Values.workers }}\n---\napiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: {{ $.Values.name }}\n{{- end }}\n";
const CHART: &str = "apiVersion: v2\nname: capi\nversion: 0.1.0\n";

fn repositories() -> Vec<Repository> {
    let other = |api: &str, kind: &str, name: &str| {
        format!("apiVersion: {api}\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{}}\n")
    };
    vec![
        Repository {
            name: "RatanVMistry/gitops-capi-argocd-lab",
            files: vec![
                ("clusters/dev.yaml", generated("dev")),
                ("clusters/hub.yaml", generated("hub")),
                ("clusters/qa.yaml", generated("qa")),
                (
                    "clusters/addons/calico-clusterresourceset.yaml",
                    other("addons.cluster.x-k8s.io/v1beta1", "ClusterResourceSet", "calico"),
                ),
                (
                    "platform/app-capi-clusters.yaml",
                    set(
                        "capi-clusters",
                        "  - git:\n      files:\n      - path: clusters/*.yaml\n      - {path: clusters/addons/*.yaml, exclude: true}\n",
                        "clusters",
                    ),
                ),
            ],
            told: &[
                "clusters/dev.yaml:1:1: `clusters` has 3 clusters, but a cluster is a folder: move the files of `dev` to clusters/dev/",
                "clusters/hub.yaml:1:1: `clusters` has 3 clusters",
                "clusters/qa.yaml:1:1: `clusters` has 3 clusters",
            ],
            ..Repository::default()
        },
        Repository {
            name: "ams0/capi-gitops",
            files: vec![
                ("charts/capi-aks/Chart.yaml", CHART.to_owned()),
                ("charts/capi-aks/templates/cluster.yaml", CHARTED.to_owned()),
                ("charts/capi-vcluster/Chart.yaml", CHART.to_owned()),
                ("charts/capi-vcluster/templates/cluster.yaml", CHARTED.to_owned()),
                (
                    "manifests/templates/aks-cluster-identity.yaml",
                    other("infrastructure.cluster.x-k8s.io/v1beta1", "AzureClusterIdentity", "identity"),
                ),
                (
                    "gitops/management/clusters/capz/appset-capz.yaml",
                    argo(
                        "ApplicationSet",
                        "capz-appset",
                        "  generators:\n  - list:\n      elements:\n      - {workload-cluster: aksminion1}\n  template:\n    spec:\n      source: {repoURL: elsewhere, chart: capi-aks}\n",
                    ),
                ),
            ],
            told: &["manifests/templates/aks-cluster-identity.yaml:1:1: there is a `AzureClusterIdentity` here"],
            templates: &[
                "charts/capi-aks/templates/cluster.yaml: this is a template of a Helm chart that makes clusters. Capstan \
                 upgrades manifests, not templates. Render each cluster into its own folder (`mkdir -p clusters/NAME && helm template NAME \
                 charts/capi-aks > clusters/NAME/cluster.yaml`",
                "charts/capi-vcluster/templates/cluster.yaml: this is a template of a Helm chart",
            ],
            ..Repository::default()
        },
        Repository {
            name: "aws-samples/eks-ec2-clusterapi-gitops",
            files: vec![
                ("capi-cluster/aws-ec2/aws-ec2.yaml", generated("ec2")),
                ("capi-cluster/aws-eks/capi-eks.yaml", generated("eks")),
                ("management/argocd-ec2-app.yaml", application("ec2-cluster", "capi-cluster/aws-ec2")),
                ("management/argocd-eks-app.yaml", application("eks-cluster", "capi-cluster/aws-eks")),
                ("workload/aws-ec2/nginx-deployment.yaml", APP.to_owned()),
                ("workload/aws-eks/nginx-deployment.yaml", APP.to_owned()),
            ],
            clusters: &[
                ("capi-cluster/aws-ec2", "Argo CD Application ec2-cluster"),
                ("capi-cluster/aws-eks", "Argo CD Application eks-cluster"),
            ],
            ..Repository::default()
        },
        Repository {
            name: "azuretar/clusterapi-gitops",
            files: vec![
                ("clusters/azuretar-reactor-1.yaml", generated("azuretar-reactor-1")),
                ("clusters-examples/azuretar-reactor-1.yaml", generated("azuretar-reactor-1")),
                ("workloads/azure-vote.yaml", APP.to_owned()),
            ],
            clusters: &[("clusters", "")],
            told: &["clusters-examples/azuretar-reactor-1.yaml:1:1: it is below `clusters-examples`, and neither Flux nor Argo CD"],
            ..Repository::default()
        },
        Repository {
            name: "charlie-haley/flux-capi-multi-tenant-demo",
            files: vec![
                ("clusters/kustomization.yaml", kustomization("resources: [cluster0.yaml, cluster1.yaml]\n")),
                ("clusters/cluster0.yaml", generated("cluster0")),
                ("clusters/cluster1.yaml", generated("cluster1")),
                ("manifests/management/flux-system/sync/clusters.yaml", flux("clusters", "./clusters", "")),
                ("manifests/management/flux-system/sync/cluster0.yaml", flux("cluster0", "./manifests/cluster0", "")),
                ("manifests/cluster0/kustomization.yaml", kustomization("resources: [foo-namespace]\n")),
            ],
            told: &[
                "clusters/cluster0.yaml:1:1: `clusters` has 2 clusters, but a cluster is a folder: move the files of `cluster0` to clusters/cluster0/",
                "clusters/cluster1.yaml:1:1: `clusters` has 2 clusters",
            ],
            ..Repository::default()
        },
        Repository {
            name: "christianh814/argocd-capi-demo",
            files: vec![
                ("capi/Chart.yaml", CHART.to_owned()),
                ("capi/templates/cluster-api-template.yaml", CHARTED.to_owned()),
                ("capi/values-cluster1.yaml", "name: cluster1\n".to_owned()),
                (
                    "argocd/applicationsets/capi-clusters-appset.yaml",
                    set(
                        "capi-clusters",
                        "  - list:\n      elements:\n      - {clusterName: cluster1, appPath: capi}\n      - {clusterName: cluster2, appPath: capi}\n",
                        "{{appPath}}",
                    ),
                ),
            ],
            told: &[
                "capi/templates/cluster-api-template.yaml: this is a template of a Helm chart that makes clusters. Capstan upgrades manifests, not templates. Render each cluster into its own folder (`mkdir -p clusters/NAME && helm template NAME capi > clusters/NAME/cluster.yaml`, with its values), and apply that instead",
            ],
            ..Repository::default()
        },
        Repository {
            name: "cloudhippie/clusterapi-kosmotron",
            files: vec![(
                "template.yaml",
                format!(
                    "{}---\n{}",
                    named(CLUSTER, "${CLUSTER_NAME}"),
                    other("infrastructure.cluster.x-k8s.io/v1beta1", "HCloudRemediationTemplate", "worker-remediation-request")
                ),
            )],
            told: &["template.yaml:7:1: there is a `HCloudRemediationTemplate` here"],
            templates: &[
                "template.yaml:1:1: this is a template of a cluster: its name is a variable without a value in this repository. Generate each cluster into its own folder (`mkdir -p clusters/NAME && clusterctl generate cluster NAME --from \
                 template.yaml > clusters/NAME/cluster.yaml`)",
            ],
            ..Repository::default()
        },
        Repository {
            name: "danieldn-aramada/bm-capi-gitops-demo",
            files: vec![
                ("capi-cluster/worker/worker.yaml", generated("worker")),
                ("management/argo-worker-app.yaml", application("worker-cluster", "capi-cluster/worker")),
            ],
            clusters: &[("capi-cluster/worker", "Argo CD Application worker-cluster")],
            ..Repository::default()
        },
        Repository {
            name: "danielr1996/clusterapi-hcloud",
            files: vec![
                ("chart/Chart.yaml", CHART.to_owned()),
                ("chart/templates/cluster.yaml", CHARTED.to_owned()),
                ("chart/templates/addons/gitops/flux/flux.yaml", CHARTED.to_owned()),
                ("dashboards/kubernetescluster.json", "{}\n".to_owned()),
            ],
            templates: &["chart/templates/addons/gitops/flux/flux.yaml: this is a template of a Helm chart"],
            ..Repository::default()
        },
        Repository {
            name: "giantswarm/gitops-template",
            files: vec![
                ("bases/clusters/capa/template/kustomization.yaml", kustomization("resources: [cluster.yaml]\n")),
                (
                    "bases/clusters/capa/template/cluster.yaml",
                    "apiVersion: application.giantswarm.io/v1alpha1\nkind: App\nmetadata: {name: '${cluster_name}'}\nspec: {name: cluster-aws, version: 2.0.0}\n".to_owned(),
                ),
                (
                    "management-clusters/MC_NAME/organizations/ORG_NAME/workload-clusters/WC_NAME.yaml",
                    flux(
                        "clusters-capi-wc-name",
                        "./management-clusters/MC_NAME/organizations/ORG_NAME/workload-clusters/WC_NAME",
                        "  postBuild: {substitute: {cluster_name: wc}}\n",
                    ),
                ),
                (
                    "management-clusters/MC_NAME/organizations/ORG_NAME/workload-clusters/WC_NAME/mapi/kustomization.yaml",
                    kustomization("resources: [cluster]\n"),
                ),
                (
                    "management-clusters/MC_NAME/organizations/ORG_NAME/workload-clusters/WC_NAME/mapi/cluster/kustomization.yaml",
                    kustomization("resources: [../../../../../../../../bases/clusters/capa/template]\nnamespace: org-a\n"),
                ),
                (
                    "tests/ats/assertions/exists/organizations/workload-clusters/hello-app-dev-1/apps.yaml",
                    "apiVersion: application.giantswarm.io/v1alpha1\nkind: App\nmetadata: {name: hello}\nspec: {name: cluster-aws, version: 2.0.0}\n".to_owned(),
                ),
            ],
            clusters: &[(
                "management-clusters/MC_NAME/organizations/ORG_NAME/workload-clusters/WC_NAME",
                "Flux Kustomization flux-system/clusters-capi-wc-name",
            )],
            told: &[
                "tests/ats/assertions/exists/organizations/workload-clusters/hello-app-dev-1/apps.yaml:1:1: it is below `tests`",
            ],
            ..Repository::default()
        },
        Repository {
            name: "hoangndst/clusterapi-gitops",
            files: vec![
                ("capi-cluster/cluster.yaml", generated("capi-gitops")),
                ("capi-quickstart.yaml", generated("capi-quickstart")),
                ("capi-cluster.yaml", "apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\n".to_owned()),
                ("managment/cluster-app.yaml", application("capi-gitops", "capi-cluster")),
                ("workload/nginx-deployment.yaml", APP.to_owned()),
            ],
            clusters: &[("capi-cluster", "Argo CD Application capi-gitops")],
            told: &["capi-quickstart.yaml:1:1: the repository's root cannot be a cluster's folder"],
            ..Repository::default()
        },
        Repository {
            name: "jasonumiker/gke-autopilot-capi-argocd-example",
            files: vec![
                ("clusters/capi-manager/capi-manager-prod.yaml", generated("capi-manager-prod")),
                ("clusters/dept1/dept1-prod.yaml", generated("dept1-prod")),
                ("clusters/dept2/dept2-prod.yaml", generated("dept2-prod")),
                ("argo-apps/prod/cert-manager/cert-manager-app.yaml", application("cert-manager", "app-manifests/prod/cert-manager")),
                ("app-manifests/prod/cnpg-demo/cluster.yaml", other("postgresql.cnpg.io/v1", "Cluster", "db")),
                ("cluster-argo-apps/dept1-prod/kustomization.yaml", kustomization("resources: [../../argo-apps/prod/cert-manager]\n")),
            ],
            clusters: &[("clusters/capi-manager", ""), ("clusters/dept1", ""), ("clusters/dept2", "")],
            ..Repository::default()
        },
        Repository {
            name: "johnlam90/clusterapi-gitops-helm",
            files: vec![
                ("capv/Chart.yaml", CHART.to_owned()),
                ("capv/values.yaml", "name: a\n".to_owned()),
                ("capv/templates/deployment.yaml", CHARTED.to_owned()),
                ("argo-capv-app.yaml", application("capv", "capv")),
            ],
            told: &["capv/templates/deployment.yaml: this is a template of a Helm chart"],
            ..Repository::default()
        },
        Repository {
            name: "localleon/hetzner-clusterapi-demos",
            files: vec![
                ("hetzner-capi-kubeadm-demo.yaml", generated("kubeadm-demo")),
                ("hetzner-capi-rke2-demo.yaml", generated("rke2-demo")),
                ("capi-conf-templates/microk8s.yaml", named(CLUSTER, "${CLUSTER_NAME}")),
                ("templates/cilium.yaml", APP.to_owned()),
            ],
            told: &[
                "hetzner-capi-kubeadm-demo.yaml:1:1: the repository's root cannot be a cluster's folder: move the files of this cluster",
                "hetzner-capi-rke2-demo.yaml:1:1: the repository's root cannot be a cluster's folder",
            ],
            ..Repository::default()
        },
        Repository {
            name: "lreimer/k8s-fleet-capi-gitops",
            files: vec![
                ("aws/capi-tenant-demo.yaml", generated("capi-tenant-demo")),
                ("gcp/capi-tenant-demo.yaml", generated("capi-tenant-demo")),
                ("vcluster/capi-tenant-demo.yaml", generated("capi-tenant-demo")),
                ("vcluster/tenant-01.yaml", generated("tenant-01")),
                (
                    "infrastructure/gcp/capi-mgmt-cluster/cluster-api/gcp-provider.yaml",
                    other("operator.cluster.x-k8s.io/v1alpha2", "InfrastructureProvider", "gcp"),
                ),
                (
                    "clusters/gcp/capi-mgmt-cluster/flux-system/gotk-sync.yaml",
                    flux("flux-system", "./clusters/gcp/capi-mgmt-cluster", ""),
                ),
            ],
            clusters: &[("aws", ""), ("gcp", "")],
            told: &[
                "vcluster/capi-tenant-demo.yaml:1:1: `vcluster` has 2 clusters, but a cluster is a folder: move the files of `capi-tenant-demo`",
                "vcluster/tenant-01.yaml:1:1: `vcluster` has 2 clusters",
            ],
            ..Repository::default()
        },
        Repository {
            name: "m-over/capi-argocd-bootstrap",
            files: vec![
                ("cluster/capi-mgm/cluster.yaml", generated("capi-mgm")),
                ("cluster/fsn1-app01/cluster.yaml", generated("fsn1-app01")),
                ("cluster/nbg1-app01/cluster.yaml", generated("nbg1-app01")),
                ("apps/kyverno/argo.yaml", application("kyverno", "apps/kyverno/chart")),
                (
                    "init-argo.yaml",
                    format!(
                        "{}---\n{}",
                        set("init-apps", "  - git:\n      directories:\n      - path: apps/*\n", "apps/{{path[1]}}"),
                        set(
                            "init-cluster",
                            "  - git:\n      directories:\n      - path: cluster/*\n      - path: cluster/capi-mgm\n        exclude: true\n",
                            "cluster/{{path[1]}}",
                        )
                    ),
                ),
            ],
            clusters: &[
                ("cluster/capi-mgm", ""),
                ("cluster/fsn1-app01", "Argo CD ApplicationSet init-cluster"),
                ("cluster/nbg1-app01", "Argo CD ApplicationSet init-cluster"),
            ],
            ..Repository::default()
        },
        Repository {
            name: "networkop/flux-capi",
            files: vec![
                ("capd/cluster.yaml", generated("capi-quickstart")),
                ("capd/metadata.yaml", "apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3\nkind: Metadata\n".to_owned()),
                ("kind.yaml", "apiVersion: kind.x-k8s.io/v1alpha4\nkind: Cluster\n".to_owned()),
                ("manifests/networking/metallb.yaml", APP.to_owned()),
            ],
            clusters: &[("capd", "")],
            ..Repository::default()
        },
        Repository {
            name: "olga-mir/k8s-flux-capi",
            files: vec![
                ("clusters/cluster-mgmt/kustomization.yaml", kustomization("resources: [platform.yaml, cluster-01]\n")),
                ("clusters/cluster-mgmt/flux-system/gotk-sync.yaml", flux("flux-system", "./clusters/cluster-mgmt", "")),
                ("clusters/cluster-mgmt/cluster-01/kustomization.yaml", kustomization("resources: [capi-cluster.yaml]\n")),
                ("clusters/cluster-mgmt/cluster-01/capi-cluster.yaml", generated("cluster-01")),
                ("clusters/tmp-mgmt/kustomization.yaml", kustomization("resources: [cluster-mgmt]\n")),
                ("clusters/tmp-mgmt/flux-system/gotk-sync.yaml", flux("flux-system", "./clusters/tmp-mgmt", "")),
                (
                    "clusters/tmp-mgmt/cluster-mgmt/kustomization.yaml",
                    kustomization("resources: [capi-cluster.yaml]\npatches: [{path: patch.yaml, target: {kind: HelmChartProxy}}]\n"),
                ),
                ("clusters/tmp-mgmt/cluster-mgmt/patch.yaml", "- {op: add, path: /metadata/namespace, value: a}\n".to_owned()),
                ("clusters/tmp-mgmt/cluster-mgmt/capi-cluster.yaml", generated("cluster-mgmt")),
                ("templates/aws/cluster.yaml", named(CLUSTER, "${CLUSTER_NAME}")),
            ],
            clusters: &[
                ("clusters/cluster-mgmt/cluster-01", "Flux Kustomization flux-system/flux-system"),
                ("clusters/tmp-mgmt/cluster-mgmt", "Flux Kustomization flux-system/flux-system"),
            ],
            ..Repository::default()
        },
        Repository {
            name: "piomin/sample-kubernetes-cluster-api-argocd",
            files: vec![
                ("mgmt/Chart.yaml", CHART.to_owned()),
                ("mgmt/values-c1.yaml", "cluster: {name: c1}\n".to_owned()),
                ("mgmt/templates/cluster-api-template.yaml", CHARTED.to_owned()),
                ("workload/demo.yaml", APP.to_owned()),
            ],
            templates: &["mgmt/templates/cluster-api-template.yaml: this is a template of a Helm chart"],
            ..Repository::default()
        },
        Repository {
            name: "rohitasva/eks-clusterapi-argo",
            files: vec![
                (
                    "clusters/aws-eks/base/eks-machinepool/kustomization.yaml",
                    kustomization("resources: [./cluster.yaml, ./machinepool.yaml]\n"),
                ),
                ("clusters/aws-eks/base/eks-machinepool/cluster.yaml", named(CLUSTER, "${CLUSTER_NAME}")),
                ("clusters/aws-eks/base/eks-machinepool/machinepool.yaml", named(POOL, "${CLUSTER_NAME}")),
                (
                    "clusters/aws-eks/overlays/us-west-2-management/kustomization.yaml",
                    kustomization(
                        "resources: [../../base/eks-machinepool]\npatches:\n- target: {kind: Cluster}\n  patch: '[{op: replace, path: /metadata/name, value: us-west-2-management}]'\n",
                    ),
                ),
                (
                    "argocd/clusters/us-west-2-management.yaml",
                    application("us-west-2-management", "clusters/aws-eks/overlays/us-west-2-management"),
                ),
            ],
            clusters: &[(
                "clusters/aws-eks/overlays/us-west-2-management",
                "Argo CD Application us-west-2-management",
            )],
            ..Repository::default()
        },
        Repository {
            name: "sleepingforest8799/clusterapi-capmox-talos",
            files: vec![
                ("prod-cluster.yaml", generated("prod")),
                ("test-cluster.yaml", generated("test")),
                ("templates.yaml", other("infrastructure.cluster.x-k8s.io/v1alpha1", "ProxmoxMachineTemplate", "worker")),
            ],
            told: &[
                "prod-cluster.yaml:1:1: the repository's root cannot be a cluster's folder",
                "test-cluster.yaml:1:1: the repository's root cannot be a cluster's folder",
            ],
            ..Repository::default()
        },
        Repository {
            name: "stealthybox/capi-flux-demo",
            files: vec![
                ("config/capi-mgmt/flux-system/gotk-sync.yaml", flux("flux-system", "./config/capi-mgmt", "")),
                ("config/capi-mgmt/flux-system/kustomization.yaml", kustomization("resources: [gotk-sync.yaml]\n")),
                ("config/capi-mgmt/flux-system-apply/child-cluster.yaml", generated("child")),
                ("config/capi-mgmt/flux-system-apply/child-apply.yaml", flux("child-apply", "./config/child/", "")),
                ("config/child/kube-system/kindnet.yaml", APP.to_owned()),
            ],
            clusters: &[("config/capi-mgmt/flux-system-apply", "Flux Kustomization flux-system/flux-system")],
            ..Repository::default()
        },
    ]
}

#[test]
fn proposals_for_real_repositories_list_clusters_or_what_to_do() {
    let repositories = repositories();
    assert!(repositories.len() >= 20, "{}", repositories.len());
    for Repository { name, files, clusters, told: expected, templates } in repositories {
        let proposed = proposed(&files);
        let found: Vec<(String, String)> = proposed
            .clusters
            .iter()
            .map(|(id, appliers)| {
                let names = appliers.iter().map(|one| format!("{} {}", one.with.in_words(), one.name));
                (id.to_string(), names.collect::<Vec<_>>().join(", "))
            })
            .collect();
        let wanted: Vec<(String, String)> =
            clusters.iter().map(|(id, by)| ((*id).to_owned(), (*by).to_owned())).collect();
        assert_eq!(found, wanted, "{name}");
        begin_so(name, &left_lines(&proposed), expected);
        let offered: Vec<String> = proposed.templates.iter().map(ToString::to_string).collect();
        begin_so(name, &offered, templates);
        assert!(!found.is_empty() || !expected.is_empty() || !templates.is_empty(), "{name} is told nothing");
        // Only who offers templates to others has nothing to set up.
        assert_eq!(proposed.is_worth_it(), !found.is_empty() || !expected.is_empty(), "{name}");
    }
}

fn begin_so(name: &str, told: &[String], expected: &[&str]) {
    assert_eq!(told.len(), expected.len(), "{name}: {told:#?}");
    for (told, begins) in told.iter().zip(expected) {
        assert!(told.starts_with(begins), "{name}:\n{told}\nbegins otherwise than\n{begins}");
    }
}
