//! `api-version-not-served`

use super::cluster_api::CoreVersion;
use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_kustomize::conversion::{ServedUntil, served_until};
use capstan_kustomize::render::RenderedObject;
use capstan_kustomize::schema::SchemaOrigin;
use capstan_model::finding::{Finding, rules};
use capstan_model::object::FieldPath;
use capstan_providers::CORE_PROVIDER;

pub(super) struct ApiVersionNotServed;

static ABOUT: About =
    About::new(rules::API_VERSION_NOT_SERVED, include_str!("../../../docs/rules/api-version-not-served.md"));

/// The groups of Cluster API itself and of its kubeadm providers.
const GROUPS: [&str; 2] = ["cluster.x-k8s.io", "addons.cluster.x-k8s.io"];
const KUBEADM: [&str; 4] =
    ["KubeadmConfig", "KubeadmConfigTemplate", "KubeadmControlPlane", "KubeadmControlPlaneTemplate"];
/// Which minor of Cluster API 1 stopped serving what; 0: none ever did.
const GONE: [(&str, u64); 3] = [("v1alpha2", 0), ("v1alpha3", 5), ("v1alpha4", 6)];

/// The end of an object's version, if the Cluster API that the repository installs is beyond it.
fn ended(object: &RenderedObject, core: Option<&CoreVersion>) -> Option<ServedUntil> {
    let until = served_until(&object.id.kind, &object.api_version)?;
    let first = CoreVersion::parse(until.release)?;
    (until.provider == CORE_PROVIDER && core.is_some_and(|core| *core >= first)).then_some(until)
}

impl PolicyRule for ApiVersionNotServed {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        for object in cluster.objects {
            let id = &object.id;
            let path = FieldPath::root().key("apiVersion");
            let place = object.placed.field("apiVersion").unwrap_or(&object.placed);
            if let Some((origin, served)) = cluster.schemas.not_served(&id.kind, &object.api_version) {
                let instead = match served.as_slice() {
                    [] => "no version is served, so use a current definition".to_owned(),
                    served => format!("write it in {}", served.join(" or ")),
                };
                let message = format!(
                    "{id} uses `{}`, which its definition{} does not serve (`served: false`): {instead}",
                    object.api_version,
                    match origin {
                        SchemaOrigin::Repository(at) | SchemaOrigin::Capstan(at) =>
                            format!(" in {} line {}", at.file(), at.line().unwrap_or(1)),
                        SchemaOrigin::BuiltIn => String::new(),
                    }
                );
                verdicts.push(
                    Finding::new(rules::API_VERSION_NOT_SERVED, message)
                        .object(id)
                        .path(&path)
                        .place(&place.place),
                );
                continue;
            }
            if let Some(until) = ended(object, cluster.cluster_api.as_ref()) {
                let message = format!(
                    "{id} uses `{}`, which Cluster API {} and newer do not serve: write it in `{}/v1beta2`",
                    object.api_version, until.release, id.group
                );
                let finding = Finding::new(rules::API_VERSION_NOT_SERVED, message).object(id);
                verdicts.push(finding.path(&path).place(&place.place));
                continue;
            }
            let own = GROUPS.contains(&id.group.as_str()) || KUBEADM.contains(&id.kind.as_str());
            let Some((_, version)) = object.api_version.rsplit_once('/').filter(|_| own) else { continue };
            let Some((_, since)) = GONE.iter().find(|(gone, _)| *gone == version) else { continue };
            // An old Cluster API may still serve it, where the repository says that it is in use.
            let serves = |core: &CoreVersion| core.major() == 1 && core.minor() < *since;
            if cluster.cluster_api.as_ref().is_some_and(serves) {
                continue;
            }
            let message = format!(
                "{id} uses `{}`, which Cluster API 1.{since} and newer do not serve: write it in `{}/v1beta1` or newer",
                object.api_version, id.group
            );
            verdicts.push(
                Finding::new(rules::API_VERSION_NOT_SERVED, message)
                    .object(id)
                    .path(&path)
                    .place(&place.place),
            );
        }
    }
}
