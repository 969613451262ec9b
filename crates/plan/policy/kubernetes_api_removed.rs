//! `kubernetes-api-removed`

use std::collections::HashSet;

use super::evidence::ClusterEvidence;
use super::kubeadm::{KubeadmField, kubeadm_config};
use super::kubernetes::Role;
use super::removed_apis::removed;
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{PlacedValue, RenderedObject, SourceOffset};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::FieldPath;
use capstan_model::version::KubernetesMinor;
use capstan_yaml::YamlFile;

pub(super) struct KubernetesApiRemoved;

static ABOUT: About =
    About::new(rules::KUBERNETES_API_REMOVED, include_str!("../../../docs/rules/kubernetes-api-removed.md"));

impl PolicyRule for KubernetesApiRemoved {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        let Some(target) = target(cluster) else { return };
        let brought = brought(cluster);
        // The cluster's own objects go to the management cluster, which has a Kubernetes of its own.
        for object in cluster.inside {
            let place = object.placed.field("apiVersion").unwrap_or(&object.placed);
            let path = FieldPath::root().key("apiVersion");
            let used = UsedApi {
                object,
                version: &object.api_version,
                kind: &object.id.kind,
                path: &path,
                place: &place.place,
            };
            judge(&used, target, verdicts);
        }
        for object in cluster.objects {
            if brought.contains(&(object.id.kind.as_str(), object.id.name.as_str())) {
                for field in ["data", "stringData"] {
                    for (key, value) in
                        object.placed.field(field).map(PlacedValue::entries).unwrap_or_default()
                    {
                        inside(object, value, target, &FieldPath::root().key(field).key(key), verdicts);
                    }
                }
            }
            for content in kubeadm_config(object).iter().flat_map(KubeadmField::files) {
                inside(object, content.placed, target, &content.path, verdicts);
            }
        }
    }
}

/// The newest Kubernetes that a control plane of the folder asks for, else the newest of its machines.
fn target(cluster: &ClusterEvidence<'_>) -> Option<KubernetesMinor> {
    let of = |role: Role| {
        cluster
            .versions
            .iter()
            .filter(|wanted| wanted.role == role)
            .map(|wanted| wanted.version.minor())
            .max()
    };
    of(Role::ControlPlane).or_else(|| of(Role::Workers))
}

/// ConfigMaps and Secrets whose content a ClusterResourceSet applies to the cluster.
fn brought<'a>(cluster: &ClusterEvidence<'a>) -> HashSet<(&'a str, &'a str)> {
    let sets = cluster.objects.iter().filter(|object| role_of(&object.id) == Some(KindRole::ResourceSet));
    let resources = sets.filter_map(|set| set.placed.at(&["spec", "resources"])).flat_map(PlacedValue::items);
    resources
        .filter_map(|resource| Some((resource.text_at(&["kind"])?, resource.text_at(&["name"])?)))
        .collect()
}

/// The documents in a string.
fn inside(
    object: &RenderedObject,
    value: &PlacedValue,
    target: KubernetesMinor,
    path: &FieldPath,
    verdicts: &mut Vec<Finding>,
) {
    let Some(text) = value.as_str() else { return };
    let may_be_old = text.contains("apiVersion") && (text.contains("beta") || text.contains("alpha"));
    if !may_be_old {
        return;
    }
    let Ok(file) = YamlFile::read(text) else { return };
    let mut said = HashSet::new();
    for document in file.documents() {
        let field = |key: &str| document.root.get(key).and_then(|node| Some((node, node.as_str()?)));
        let (Some((at, version)), Some((_, kind))) = (field("apiVersion"), field("kind")) else { continue };
        if said.insert((version, kind)) {
            let place = value.place.inside(file.clone(), at.span.start);
            judge(&UsedApi { object, version, kind, path, place: &place }, target, verdicts);
        }
    }
}

/// A document of an API's version, and where an object has it.
struct UsedApi<'a> {
    object: &'a RenderedObject,
    version: &'a str,
    kind: &'a str,
    path: &'a FieldPath,
    place: &'a SourceOffset,
}

fn judge(used: &UsedApi<'_>, target: KubernetesMinor, verdicts: &mut Vec<Finding>) {
    let UsedApi { object, version, kind, path, place } = *used;
    let Some(removed) = removed(version, kind) else { return };
    if target < (KubernetesMinor { major: 1, minor: removed.since }) {
        return;
    }
    let advice = match removed.instead {
        "" => "nothing replaces it, so remove it".to_owned(),
        instead => format!("write `{instead}`"),
    };
    let message = format!(
        "{} uses {kind} of `{version}`, which Kubernetes {target} no longer serves (removed in 1.{}): {advice}",
        object.id, removed.since
    );
    verdicts.push(
        Finding::new(rules::KUBERNETES_API_REMOVED, message).object(&object.id).path(path).place(place),
    );
}
