//! `topology-version`

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{PlacedValue, RenderedObject};
use capstan_model::chained_upgrade::{Disorder, first_disorder};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{KindRole, is_cluster, names, role_of};
use capstan_model::object::FieldPath;
use capstan_model::version::KubernetesVersion;

pub(super) struct TopologyVersion;

static ABOUT: About =
    About::new(rules::TOPOLOGY_VERSION, include_str!("../../../docs/rules/topology-version.md"));

impl PolicyRule for TopologyVersion {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        let classes = cluster.objects.iter().filter(|object| role_of(&object.id) == Some(KindRole::Class));
        verdicts.extend(classes.filter_map(disorder));
        for object in cluster.objects.iter().filter(|object| is_cluster(&object.id)) {
            let Some(topology) = object.placed.at(&["spec", "topology"]).filter(|value| value.is_mapping())
            else {
                continue;
            };
            let path = FieldPath::root().key("spec").key("topology");
            let verdict = |message: String, at: &PlacedValue, path: &FieldPath| {
                Finding::new(rules::TOPOLOGY_VERSION, message).object(&object.id).path(path).place(&at.place)
            };
            let Some(version) = topology.field("version") else {
                let message =
                    format!("{} has a topology without `version`: set the version of Kubernetes", object.id);
                verdicts.push(verdict(message, topology, &path));
                continue;
            };
            let path = path.key("version");
            let Some(text) = version.as_str() else {
                let message = format!(
                    "the topology's version of {} is not a string: write the full version, like `v1.30.2`",
                    object.id
                );
                verdicts.push(verdict(message, version, &path));
                continue;
            };
            if text.contains("${") {
                continue;
            }
            if semver::Version::parse(text.strip_prefix('v').unwrap_or(text)).is_err() {
                let message =
                    format!("`{text}` of {} is not a full version: write it like `v1.30.2`", object.id);
                verdicts.push(verdict(message, version, &path));
                continue;
            }
            let offered = offered(cluster, topology);
            if !offered.is_empty() && !offered.contains(&text) {
                let message = format!(
                    "the class of {} does not offer {text}, only {}: use one of those",
                    object.id,
                    offered.join(", ")
                );
                verdicts.push(verdict(message, version, &path));
            }
        }
    }
}

/// A ClusterClass whose list of versions the API server refuses.
fn disorder(class: &RenderedObject) -> Option<Finding> {
    let path = FieldPath::of_keys(["spec", "kubernetesVersions"]);
    let items = class.placed.at(&["spec", "kubernetesVersions"])?.items();
    let listed: Option<Vec<KubernetesVersion>> =
        items.iter().map(|item| KubernetesVersion::parse(item.as_str()?)).collect();
    let (at, disorder) = first_disorder(&listed?)?;
    let item = items.get(at)?;
    let why = match disorder {
        Disorder::Falls(before) => format!("is not newer than {before} before it"),
        Disorder::Gap(minor) => format!("has no version of {minor} before it"),
    };
    let message = format!(
        "{} of `kubernetesVersions` of {} {why}, and the API server refuses such a list: write the versions in ascending order, and skip no minor",
        item.as_str().unwrap_or_default(),
        class.id
    );
    let verdict = Finding::new(rules::TOPOLOGY_VERSION, message).object(&class.id).path(&path.index(at));
    Some(verdict.place(&item.place))
}

/// A topology's class, where the folder renders it.
pub(super) fn class_of<'a>(
    cluster: &ClusterEvidence<'a>,
    topology: &PlacedValue,
) -> Option<&'a RenderedObject> {
    let name = topology.text_at(&["class"]).or_else(|| topology.text_at(&["classRef", "name"]))?;
    cluster.named(names::CLUSTER_CLASS, name).next()
}

/// The versions that a topology's class lists, where the folder renders the class and it lists any.
fn offered<'a>(cluster: &ClusterEvidence<'a>, topology: &PlacedValue) -> Vec<&'a str> {
    let class = class_of(cluster, topology);
    let versions = class.and_then(|class| class.placed.at(&["spec", "kubernetesVersions"]));
    versions.map(PlacedValue::items).unwrap_or_default().iter().filter_map(PlacedValue::as_str).collect()
}
