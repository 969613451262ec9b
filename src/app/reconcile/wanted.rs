//! What one cluster folder asks for: its render with namespaces filled in, its tombstones, and the rights
//! with which it is applied.

use capstan_domain::cluster::ClusterId;
use capstan_domain::finding::Severity;
use capstan_domain::object::{FieldPath, ObjectId};
use capstan_domain::policy::{self, AppliedBy, Facts, Occasion};
use capstan_domain::render::{Content, Placed, Rendered, RenderedObject};
use capstan_domain::settings::Deletion;
use jiff::civil::Date;
use serde_json::Value;

use super::reason::Reason;
use super::resources::ServiceAccountSpec;
use super::revision::Revision;
use crate::app::generator::Refused;
use crate::app::ports::{ApiKind, As, LiveError, ManagementCluster, Scope, ServiceAccount};

/// What one cluster folder asks for.
#[derive(Debug)]
pub(super) struct Wanted {
    /// Its objects under the names in Git.
    pub(super) rendered: Rendered,
    /// Its `Cluster`, where it renders one.
    pub(super) cluster: Option<ObjectId>,
    /// The namespace of its `Cluster`, or the one that all its objects share.
    pub(super) namespace: String,
    /// What may be deleted.
    pub(super) tombstones: Deletion,
    /// With whose rights it is applied.
    pub(super) by: As,
}

/// Why a folder cannot be applied at all.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unwanted {
    /// For reasons that stand in Git.
    #[error("refused")]
    Refused(Vec<Reason>),
    /// The API server did not answer.
    #[error(transparent)]
    Live(#[from] LiveError),
}

impl From<Refused> for Unwanted {
    fn from(refused: Refused) -> Self {
        Self::Refused(vec![Reason::of_refused("RenderFailed", refused)])
    }
}

/// Renders a folder. To be called where blocking is allowed.
pub(super) fn render(
    revision: &Revision,
    id: &ClusterId,
    today: Date,
) -> Result<(Rendered, Deletion), Unwanted> {
    let fleet = &revision.fleet;
    let cluster = fleet.read_cluster(id)?;
    let rendered = fleet.render(id)?;
    if rendered.objects.is_empty() {
        return Err(Unwanted::Refused(vec![Reason::plain(
            "NothingRendered",
            format!("the folder {id} renders no objects: nothing is applied, and nothing is deleted"),
        )]));
    }
    let facts = Facts {
        folders: &policy::folders_of(&cluster.folder),
        before: &rendered,
        after: &rendered,
        applied_by: AppliedBy::Reconciler,
        occasion: Occasion::Revision,
        release: None,
        schemas: fleet.schemas(),
        cluster_api: None,
        today,
    };
    // A patch that finds no target is a customer's wish that would be lost without a word.
    let lost: Vec<Reason> = policy::judge(&facts, &fleet.settings().severities())
        .into_iter()
        .filter(|finding| finding.rule == "overlay-loses-target" && finding.severity == Severity::Error)
        .map(Reason::of_finding)
        .collect();
    if !lost.is_empty() {
        return Err(Unwanted::Refused(lost));
    }
    Ok((rendered, cluster.settings.map(|settings| settings.delete).unwrap_or_default()))
}

/// Fills in the namespaces that Git leaves out (U2), and says with whose rights the folder is applied.
pub(super) async fn settle(
    mut rendered: Rendered,
    tombstones: Deletion,
    account: &ServiceAccountSpec,
    live: &dyn ManagementCluster,
) -> Result<Wanted, Unwanted> {
    let Some(namespace) = own_namespace(&rendered.objects) else {
        return Err(Unwanted::Refused(vec![no_namespace(&rendered.objects)]));
    };
    let mut reasons = Vec::new();
    for object in &mut rendered.objects {
        let kind = ApiKind::of_version(&object.api_version, &object.id.kind);
        match live.scope(&kind).await? {
            Some(Scope::Cluster) => set_namespace(object, None),
            Some(Scope::Namespaced) if object.id.namespace.is_none() => {
                set_namespace(object, Some(&namespace));
            }
            Some(Scope::Namespaced) => {}
            None => reasons.push(Reason::of_object(
                "MissingKind",
                format!(
                    "this management cluster serves no {} in {}: install what defines it, or change the version",
                    object.id.kind, object.api_version
                ),
                object,
                &FieldPath::root().key("apiVersion"),
            )),
        }
    }
    if !reasons.is_empty() {
        return Err(Unwanted::Refused(reasons));
    }
    let by = As::Impersonated(ServiceAccount {
        namespace: account.namespace.clone().unwrap_or_else(|| namespace.clone()),
        name: account.name.clone(),
    });
    let cluster = rendered.objects.iter().find(|object| is_cluster(&object.id)).map(|object| object.id.clone());
    Ok(Wanted { rendered, cluster, namespace, tombstones, by })
}

/// Whether an identity is that of a `Cluster`.
pub(super) fn is_cluster(id: &ObjectId) -> bool {
    id.group == "cluster.x-k8s.io" && id.kind == "Cluster"
}

/// The namespace of the folder's `Cluster`, else the one that all its objects that name one share.
fn own_namespace(objects: &[RenderedObject]) -> Option<String> {
    let of_clusters = objects.iter().filter(|object| is_cluster(&object.id));
    let mut clusters = of_clusters.filter_map(|object| object.id.namespace.as_deref());
    let mut all = objects.iter().filter_map(|object| object.id.namespace.as_deref());
    let first = clusters.next().or_else(|| {
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    });
    first.map(str::to_owned)
}

fn no_namespace(objects: &[RenderedObject]) -> Reason {
    let message = "no namespace: neither the folder's `Cluster` nor all its objects together name one, and what \
                   is applied must lie somewhere; write `metadata.namespace` into the `Cluster`";
    let cluster = objects.iter().find(|object| is_cluster(&object.id)).or_else(|| objects.first());
    match cluster {
        Some(object) => Reason::of_object(
            "NoNamespace",
            message,
            object,
            &FieldPath::root().key("metadata").key("namespace"),
        ),
        None => Reason::plain("NoNamespace", message),
    }
}

fn set_namespace(object: &mut RenderedObject, namespace: Option<&str>) {
    object.id.namespace = namespace.map(str::to_owned);
    if let Some(metadata) = object.value.get_mut("metadata").and_then(Value::as_object_mut) {
        match namespace {
            Some(namespace) => metadata.insert("namespace".to_owned(), Value::from(namespace)),
            None => metadata.remove("namespace"),
        };
    }
    if let Some(metadata) = object.placed.get_mut(&FieldPath::root().key("metadata")) {
        let place = metadata.place.clone();
        if let Content::Mapping(entries) = &mut metadata.content {
            entries.retain(|(key, _)| key != "namespace");
            entries.extend(namespace.map(|namespace| {
                ("namespace".to_owned(), Placed::from_value(&Value::from(namespace), &place))
            }));
        }
    }
}
