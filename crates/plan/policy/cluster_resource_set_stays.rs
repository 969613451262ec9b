//! `cluster-resource-set-stays`

use std::borrow::Cow;
use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::evidence::{ClusterEvidence, Evidence};
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{PlacedValue, RenderedObject, diff_placed};
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

impl PolicyRule for ClusterResourceSetStays {
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
            let kept = kept(&change.after, new);
            no_longer_listed(change, old, new, kept.as_ref(), verdicts);
            if new.placed.text_at(&["spec", "strategy"]) == Some("Reconcile") {
                let kept = kept.as_ref();
                verdicts.extend(kept.into_iter().flat_map(|kept| dropped(change, new, kept)));
            } else {
                verdicts.extend(resources(new).iter().filter_map(|listed| applied_once(change, new, listed)));
            }
        }
    }
}

/// A resource that changes, though the set applies what it lists once.
fn applied_once(change: &Evidence<'_>, set: &RenderedObject, listed: &(String, String)) -> Option<Finding> {
    let (kind, name) = listed;
    let new = resource(&change.after, set, listed)?;
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

/// Resources that lose a document which no resource of the set has any more, though the set deletes nothing.
fn dropped(change: &Evidence<'_>, set: &RenderedObject, kept: &HashSet<ObjectId>) -> Vec<Finding> {
    let each = resources(set).into_iter().filter_map(|listed| {
        let new = resource(&change.after, set, &listed)?;
        let old = change.old(new)?;
        let (path, gone) = documents(old).into_iter().flatten().find(|(_, id)| !kept.contains(id))?;
        let message = format!(
            "{} brings {} {}, which no longer has {gone}. `strategy: Reconcile` updates what is in it and deletes nothing: delete that there by hand",
            set.id, new.id.kind, new.id.name
        );
        let place = change.nearest_place(old, new, &path);
        let verdict = Finding::new(rules::CLUSTER_RESOURCE_SET_STAYS, message).object(&new.id).path(&path);
        Some(verdict.place(place))
    });
    each.collect()
}

/// What all resources of a set bring; `None` where one of them is not known, or not readable: anything may be in there.
fn kept(cluster: &ClusterEvidence<'_>, set: &RenderedObject) -> Option<HashSet<ObjectId>> {
    let mut found = HashSet::new();
    for listed in resources(set) {
        for document in documents(resource(cluster, set, &listed)?) {
            found.insert(document?.1);
        }
    }
    Some(found)
}

/// A resource that a set lists.
fn resource<'a>(
    cluster: &ClusterEvidence<'a>,
    set: &RenderedObject,
    (kind, name): &(String, String),
) -> Option<&'a RenderedObject> {
    cluster.named(kind, name).find(|object| object.id.namespace == set.id.namespace)
}

/// The objects in a resource, each with its field; `None` for what cannot be read, or is no object.
fn documents(resource: &RenderedObject) -> Vec<Option<(FieldPath, ObjectId)>> {
    let mut found = Vec::new();
    for field in ["data", "stringData"] {
        let is_encoded = field == "data" && resource.id.kind == "Secret";
        for (key, value) in resource.placed.field(field).map(PlacedValue::entries).unwrap_or_default() {
            let text =
                value.as_str().and_then(|text| if is_encoded { decoded(text) } else { Some(text.into()) });
            let Some(file) = text.and_then(|text| YamlFile::read(&text).ok()) else {
                found.push(None);
                continue;
            };
            let objects = file.documents().iter().filter(|document| !document.root.value().is_null());
            let path = FieldPath::of_keys([field, key]);
            found.extend(objects.map(|document| Some((path.clone(), identity(&document.root)?))));
        }
    }
    found
}

fn decoded(text: &str) -> Option<Cow<'_, str>> {
    let letters: String = text.split_whitespace().collect();
    String::from_utf8(STANDARD.decode(letters).ok()?).ok().map(Cow::Owned)
}

/// Kinds and names of what a set lists, each once.
fn resources(set: &RenderedObject) -> Vec<(String, String)> {
    let list = set.placed.at(&["spec", "resources"]).map(PlacedValue::items).unwrap_or_default();
    let text = |item: &PlacedValue, key: &str| item.text_at(&[key]).map(str::to_owned).unwrap_or_default();
    let mut seen = HashSet::new();
    let each = list.iter().map(|item| (text(item, "kind"), text(item, "name")));
    each.filter(|resource| seen.insert(resource.clone())).collect()
}

/// Resources that a set applied and lists no more, unless others of the set bring all that is in them.
fn no_longer_listed(
    change: &Evidence<'_>,
    old: &RenderedObject,
    new: &RenderedObject,
    kept: Option<&HashSet<ObjectId>>,
    verdicts: &mut Vec<Finding>,
) {
    let left = resources(new);
    for listed in resources(old).iter().filter(|resource| !left.contains(resource)) {
        let content = resource(&change.before, old, listed).map(documents).unwrap_or_default();
        let is_kept = |document: &Option<(FieldPath, ObjectId)>| {
            document.as_ref().zip(kept).is_some_and(|((_, id), kept)| kept.contains(id))
        };
        if !content.is_empty() && content.iter().all(is_kept) {
            continue;
        }
        let (kind, name) = listed;
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
