//! `reference-mismatch`

use super::evidence::ClusterEvidence;
use super::references::{FieldReference, api_group_alone};
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{PlacedValue, RenderedObject};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{KindRole, is_cluster, role_of};
use capstan_model::object::FieldPath;

pub(super) struct ReferenceMismatch;

static ABOUT: About =
    About::new(rules::REFERENCE_MISMATCH, include_str!("../../../docs/rules/reference-mismatch.md"));

impl PolicyRule for ReferenceMismatch {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        let clusters: Vec<&RenderedObject> =
            cluster.objects.iter().filter(|object| is_cluster(&object.id)).collect();
        for object in cluster.objects {
            let role = role_of(&object.id);
            if role.is_some_and(KindRole::is_worker) || role == Some(KindRole::HealthCheck) {
                cluster_name(object, &clusters, verdicts);
            }
        }
        for (object, named) in cluster.references() {
            verdicts.extend(versioned_group(object, named));
            namespace(object, named, cluster, verdicts);
        }
    }
}

/// An `apiGroup` holds a group alone.
fn versioned_group(owner: &RenderedObject, named: &FieldReference<'_>) -> Option<Finding> {
    let (field, text) = (named.value.field("apiGroup")?, named.versioned_group()?);
    let message = format!(
        "`apiGroup` of the reference from {} to {} {} is `{text}`, a group with a version: write `{}` alone",
        owner.id,
        named.kind,
        named.name,
        api_group_alone(text),
    );
    let path = named.path.key("apiGroup");
    Some(Finding::new(rules::REFERENCE_MISMATCH, message).object(&owner.id).path(&path).place(&field.place))
}

/// The cluster that machines name is one of the folder, and both places name the same.
fn cluster_name(object: &RenderedObject, clusters: &[&RenderedObject], verdicts: &mut Vec<Finding>) {
    let path = FieldPath::root().key("spec").key("clusterName");
    let Some(field) = object.placed.at(&["spec", "clusterName"]) else { return };
    let Some(name) = field.as_str().filter(|name| is_bound(name)) else { return };
    let all_bound = clusters.iter().all(|cluster| is_bound(&cluster.id.name));
    if let [first, ..] = clusters
        && all_bound
        && !clusters.iter().any(|cluster| cluster.id.name == name)
    {
        let message = format!(
            "{} belongs to the cluster `{name}`, but this folder has {}: correct one of the two",
            object.id, first.id
        );
        verdicts.push(
            Finding::new(rules::REFERENCE_MISMATCH, message)
                .object(&object.id)
                .path(&path)
                .place(&field.place),
        );
        return;
    }
    let keys = ["spec", "template", "spec", "clusterName"];
    if let Some(inner) = object.placed.at(&keys)
        && let Some(other) = inner.as_str().filter(|other| is_bound(other) && *other != name)
    {
        let message = format!(
            "{} belongs to the cluster `{name}`, but its machines to `{other}`. The API server refuses that: write the same name",
            object.id
        );
        let path = FieldPath::of_keys(keys);
        verdicts.push(
            Finding::new(rules::REFERENCE_MISMATCH, message)
                .object(&object.id)
                .path(&path)
                .place(&inner.place),
        );
    }
}

/// References stay in their owner's namespace.
fn namespace(
    owner: &RenderedObject,
    named: &FieldReference<'_>,
    cluster: &ClusterEvidence<'_>,
    verdicts: &mut Vec<Finding>,
) {
    let Some(own) = owner.id.namespace.as_deref().filter(|own| is_bound(own)) else { return };
    // Classes are shared across namespaces.
    if named.is_class() {
        return;
    }
    let verdict = |message: String, path: FieldPath, at: &PlacedValue| {
        Finding::new(rules::REFERENCE_MISMATCH, message).object(&owner.id).path(&path).place(&at.place)
    };
    if let Some(field) = named.value.field("namespace") {
        let written = field.as_str().filter(|other| is_bound(other) && *other != own);
        if let Some(other) = written {
            let message = format!(
                "{} names {} {} in the namespace `{other}`, but is itself in `{own}`: references must stay in the namespace of their owner",
                owner.id, named.kind, named.name
            );
            verdicts.push(verdict(message, named.path.key("namespace"), field));
            return;
        }
    }
    let mut found =
        cluster.named(named.kind, named.name).filter(|other| other.id.group == named.group).peekable();
    if found.peek().is_none() {
        return;
    }
    let elsewhere: Option<Vec<&str>> = found
        .map(|other| other.id.namespace.as_deref().filter(|other| is_bound(other) && *other != own))
        .collect();
    if let Some(elsewhere) = elsewhere {
        let message = format!(
            "{} names {} {}, which this folder has only in the namespace `{}`: put both into one namespace",
            owner.id,
            named.kind,
            named.name,
            elsewhere.join("`, `")
        );
        verdicts.push(verdict(message, named.path.key("name"), named.at));
    }
}

/// Whether a text is what it will be: not one that variables are still to be put into.
fn is_bound(text: &str) -> bool {
    !text.contains("${")
}
