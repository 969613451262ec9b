//! `kubernetes-version-unsupported`

use super::cluster_api::{Verdict as Support, supports};
use super::evidence::Survey;
use super::rule::{About, Example, Rule};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::is_cluster;
use capstan_model::version::LooseVersion;

pub(super) struct KubernetesVersionUnsupported;

static ABOUT: About = About {
    entry: rules::KUBERNETES_VERSION_UNSUPPORTED,
    summary: "Cluster API's support matrix excludes a Kubernetes version that a cluster asks for.",
    reason: "Each release of Cluster API is tested with some minors of Kubernetes; with others, kubeadm's \
             configuration or the order of an upgrade may be wrong, and nobody fixes it. Some patches are excluded \
             too: 1.23.0 to 1.23.2 lose patches of a ClusterClass. Which Cluster API is in use is read from the \
             repository's `CoreProvider`, its clusterctl configuration, or the release's component `cluster-api`; \
             where none says it, nothing is found.",
    source: "https://cluster-api.sigs.k8s.io/reference/versions#supported-versions-matrix-by-provider-or-component",
    bad: Example::Tree(&[("management/capi/core.yaml", CORE), ("peu01/base/control-plane.yaml", TOO_NEW)]),
    good: Example::Tree(&[("management/capi/core.yaml", CORE), ("peu01/base/control-plane.yaml", SUPPORTED)]),
};

const CORE: &str = "\
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {name: cluster-api, namespace: capi-system}
spec: {version: v1.8.3}
";
const TOO_NEW: &str = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: peu01, namespace: org}
spec:
  version: v1.33.1 # <--
";
const SUPPORTED: &str = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: peu01, namespace: org}
spec:
  version: v1.31.4
";

impl Rule for KubernetesVersionUnsupported {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &Survey<'_>, verdicts: &mut Vec<Finding>) {
        for wanted in &cluster.versions {
            let minor = wanted.version.minor();
            let core = cluster.cluster_api.as_ref();
            let support = core.map_or(Support::Supported, |core| supports(core, minor));
            let topology = is_cluster(wanted.object);
            let why = match (support, core) {
                (Support::OutOf { first, last }, Some(core)) => format!(
                    "Cluster API {core} supports 1.{first} to 1.{last}: take one of those, or another Cluster API first"
                ),
                (Support::NeedsPatch(patch), Some(core)) => format!(
                    "Cluster API {core} supports {minor} only from its patch {patch} on: upgrade Cluster API first"
                ),
                _ if topology && loses_class_patches(wanted.version.as_str()) => {
                    "1.23.0 to 1.23.2 lose patches of a ClusterClass: take 1.23.3 or newer".to_owned()
                }
                _ => continue,
            };
            let message = format!("{} asks for Kubernetes {}, but {why}", wanted.object, wanted.version);
            verdicts.push(
                Finding::new(rules::KUBERNETES_VERSION_UNSUPPORTED, message)
                    .object(wanted.object)
                    .path(&wanted.path())
                    .place(&wanted.placed.place),
            );
        }
    }
}

/// <https://github.com/kubernetes-sigs/cluster-api/issues/5990>
fn loses_class_patches(version: &str) -> bool {
    let version = LooseVersion::new(version);
    let at_least =
        |other: &str| version.compare(&LooseVersion::new(other)).is_some_and(std::cmp::Ordering::is_ge);
    at_least("1.23.0") && !at_least("1.23.3")
}
