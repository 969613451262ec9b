//! `kubernetes-version-unsupported`

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_model::cluster_api::{ClusterRole, KubernetesSupport as Support, supports};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::is_cluster;
use capstan_model::version::LooseVersion;

pub(super) struct KubernetesVersionUnsupported;

static ABOUT: About = About::new(
    rules::KUBERNETES_VERSION_UNSUPPORTED,
    include_str!("../../../docs/rules/kubernetes-version-unsupported.md"),
);

impl PolicyRule for KubernetesVersionUnsupported {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for wanted in &cluster.versions {
            let minor = wanted.version.minor();
            let core = cluster.cluster_api.as_ref();
            let support =
                core.map_or(Support::Supported, |core| supports(core, ClusterRole::Workload, minor));
            let topology = is_cluster(wanted.object);
            let why = match (support, core) {
                (Support::OutOf { first, last }, Some(core)) => format!(
                    "Cluster API {core} supports 1.{first} to 1.{last}: use one of those, or upgrade Cluster API first"
                ),
                (Support::NeedsPatch(patch), Some(core)) => format!(
                    "Cluster API {core} supports {minor} only from patch {patch} on: upgrade Cluster API first"
                ),
                _ if topology && loses_class_patches(wanted.version.as_str()) => {
                    "1.23.0 to 1.23.2 lose patches of a ClusterClass: use 1.23.3 or newer".to_owned()
                }
                _ => continue,
            };
            let message = format!("{} asks for Kubernetes {}, but {why}", wanted.object, wanted.version);
            verdicts.push(wanted.finding(rules::KUBERNETES_VERSION_UNSUPPORTED, message));
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
