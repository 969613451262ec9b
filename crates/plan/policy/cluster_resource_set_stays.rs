//! `cluster-resource-set-stays`

use super::evidence::Evidence;
use super::rule::{About, Rule};
use capstan_kustomize::render::{Placed, RenderedObject, diff_placed};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::YamlFile;
use capstan_yaml::manifest::identity;

pub(super) struct ClusterResourceSetStays;

static ABOUT: About = About::new(
    rules::CLUSTER_RESOURCE_SET_STAYS,
    include_str!("../../../docs/rules/cluster-resource-set-stays.md"),
);

impl Rule for ClusterResourceSetStays {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let is_set = |object: &&RenderedObject| role_of(&object.id) == Some(KindRole::ResourceSet);
        for old in change.before.objects.iter().filter(is_set) {
            let Some(new) = change.after.object(&old.id) else {
                let message = format!(
                    "{} is removed, but nothing deletes what it applied inside the cluster: delete that there by hand",
                    old.id
                );
                verdicts.push(
                    Finding::new(rules::CLUSTER_RESOURCE_SET_STAYS, message)
                        .object(&old.id)
                        .path(&FieldPath::root())
                        .place(old.origin()),
                );
                continue;
            };
            no_longer_listed(old, new, verdicts);
            let is_reconciled = new.placed.text_at(&["spec", "strategy"]) == Some("Reconcile");
            let told = if is_reconciled { dropped } else { applied_once };
            verdicts.extend(resources(new).iter().filter_map(|listed| told(change, new, listed)));
        }
    }
}

/// A resource that changes, though the set applies what it lists once.
fn applied_once(
    change: &Evidence<'_>,
    set: &RenderedObject,
    (kind, name): &(String, String),
) -> Option<Finding> {
    let of_set = |object: &&RenderedObject| object.id.namespace == set.id.namespace;
    let new = change.after.named(kind, name).find(of_set)?;
    let old = change.old(new)?;
    let is_content = |path: &FieldPath| {
        matches!(path.to_string().split('/').nth(1), Some("data" | "binaryData" | "stringData"))
    };
    let changed =
        diff_placed(&new.id, &old.placed, &new.placed).into_iter().find(|one| is_content(&one.path))?;
    let message = format!(
        "{} brings {kind} {name} with `strategy: ApplyOnce`, so clusters that have it keep the old content. Only `strategy: Reconcile` updates it. The strategy of a set is immutable: add a set with another name",
        set.id
    );
    let place = change.nearest_place(old, new, &changed.path);
    let verdict =
        Finding::new(rules::CLUSTER_RESOURCE_SET_STAYS, message).object(&new.id).path(&changed.path);
    Some(verdict.place(place))
}

/// A resource that loses a document, though the set deletes nothing.
fn dropped(change: &Evidence<'_>, set: &RenderedObject, (kind, name): &(String, String)) -> Option<Finding> {
    let of_set = |object: &&RenderedObject| object.id.namespace == set.id.namespace;
    let new = change.after.named(kind, name).find(of_set)?;
    let old = change.old(new)?;
    let kept = documents(new);
    let (path, gone) =
        documents(old).into_iter().find(|(_, id)| !kept.iter().any(|(_, other)| other == id))?;
    let message = format!(
        "{} brings {kind} {name}, which no longer has {gone}. `strategy: Reconcile` updates what is in it and deletes nothing: delete that there by hand",
        set.id
    );
    let place = change.nearest_place(old, new, &path);
    let verdict = Finding::new(rules::CLUSTER_RESOURCE_SET_STAYS, message).object(&new.id).path(&path);
    Some(verdict.place(place))
}

/// The objects in a resource, each with its field.
fn documents(resource: &RenderedObject) -> Vec<(FieldPath, ObjectId)> {
    let mut found = Vec::new();
    for field in ["data", "stringData"] {
        for (key, value) in resource.placed.field(field).map(Placed::entries).unwrap_or_default() {
            let Some(file) = value.as_str().and_then(|text| YamlFile::read(text).ok()) else { continue };
            let ids = file.documents().iter().filter_map(|document| identity(&document.root));
            found.extend(ids.map(|id| (FieldPath::of_keys([field, key]), id)));
        }
    }
    found
}

/// Kinds and names of what a set lists.
fn resources(set: &RenderedObject) -> Vec<(String, String)> {
    let list = set.placed.at(&["spec", "resources"]).map(Placed::items).unwrap_or_default();
    let text = |item: &Placed, key: &str| item.text_at(&[key]).map(str::to_owned).unwrap_or_default();
    list.iter().map(|item| (text(item, "kind"), text(item, "name"))).collect()
}

/// Resources that a set applied and lists no more.
fn no_longer_listed(old: &RenderedObject, new: &RenderedObject, verdicts: &mut Vec<Finding>) {
    let left = resources(new);
    for (kind, name) in resources(old).iter().filter(|resource| !left.contains(resource)) {
        let path = FieldPath::of_keys(["spec", "resources"]);
        let message = format!(
            "{} lists {kind} {name} no longer, and nothing deletes what it applied from there inside the cluster: delete that there by hand",
            new.id
        );
        let place = &new.placed.nearest(&path).place;
        verdicts.push(
            Finding::new(rules::CLUSTER_RESOURCE_SET_STAYS, message).object(&new.id).path(&path).place(place),
        );
    }
}
