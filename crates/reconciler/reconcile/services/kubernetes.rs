//! A control plane waits while a service inside the cluster does not allow the minor of Kubernetes that it is to have.
//!
//! The proposal is a draft then, and its check fails; if it was merged nevertheless, it is held here. An entry in Git
//! allows it, as for the proposal: then the control plane gets its version. Meanwhile no machine rolls on its account,
//! so that services may change.

use std::collections::BTreeMap;

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::ApplyPlan;
use capstan_model::kinds::{VersionRole, pointer, version_fields};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::version::KubernetesVersion;
use capstan_plan::services::not_allowing;
use capstan_plan::settings::Service;
use serde_json::Value;

use crate::reconcile::blocking::where_blocking_is_allowed;
use crate::reconcile::observation::Observation;
use capstan_reconciler_core::reason::{KUBERNETES_NOT_ALLOWED, Reason};

/// How many checks are named.
const MOST_NAMED: usize = 5;

/// Takes out of a plan the control planes that are to have another minor of Kubernetes than they have, where a service
/// does not allow that one: what waits, in words, and why.
pub(super) async fn hold_kubernetes(
    observed: &Observation,
    services: &[Service],
    plan: &mut ApplyPlan,
) -> (Vec<String>, Vec<Reason>) {
    let due = plan.steps.iter().flat_map(|step| &step.objects);
    let coming: BTreeMap<ObjectId, KubernetesVersion> =
        due.filter_map(|id| Some((id.clone(), coming_version(observed, id)?))).collect();
    let (mut held, mut why) = (BTreeMap::new(), Vec::new());
    for (id, version) in coming {
        let (services, asked) = (services.to_vec(), version.clone());
        let told = where_blocking_is_allowed(move || {
            let refused = not_allowing(&services, &asked).into_iter().take(MOST_NAMED);
            refused.map(|one| (one.name.to_owned(), one.text.to_string())).collect::<Vec<_>>()
        });
        for (service, check) in told.await {
            let message = format!(
                "service {service} does not allow Kubernetes {version}: the check `{check}` is false. The control plane \
                 waits until its entry in the cluster's capstan.yaml allows that version"
            );
            held.entry(id.clone()).or_insert_with(|| format!("{id}: {message}"));
            let reason = match observed.objects.iter().find(|object| object.id == id) {
                Some(object) => {
                    Reason::of_object(KUBERNETES_NOT_ALLOWED, message, object, &FieldPath::root())
                }
                None => Reason::plain(KUBERNETES_NOT_ALLOWED, message),
            };
            why.push(reason);
        }
    }
    for step in &mut plan.steps {
        step.objects.retain(|id| !held.contains_key(id));
    }
    plan.steps.retain(|step| !step.objects.is_empty());
    (held.into_values().collect(), why)
}

/// The version that a control plane is to have, where that is of another minor than the live one wants.
fn coming_version(observed: &Observation, id: &ObjectId) -> Option<KubernetesVersion> {
    let live = observed.live.get(id)?;
    let rendered = |object: &&RenderedObject| object.id == *id;
    let wanted = &observed.objects.iter().find(rendered)?.value;
    let of_control_plane =
        version_fields(&id.group, &id.kind).filter(|(role, _)| *role == VersionRole::ControlPlane);
    let pointers: Vec<String> = of_control_plane.map(|(_, keys)| pointer(keys)).collect();
    let version = |object: &Value| {
        let mut texts = pointers.iter().filter_map(|pointer| object.pointer(pointer)?.as_str());
        texts.find_map(KubernetesVersion::parse)
    };
    let (now, coming) = (version(live)?, version(wanted)?);
    (now.minor() != coming.minor()).then_some(coming)
}
