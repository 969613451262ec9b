//! `cluster-resource-set-stays`

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::evidence::{ClusterEvidence, Evidence};
use super::rule::{About, PolicyRule};
use capstan_kustomize::render::{PlacedValue, RenderedObject, diff_placed};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{KindRole, role_of};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::manifest::identity;
use capstan_yaml::{Node, YamlFile, same_meaning};

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
        let sets: Vec<&RenderedObject> = change.before.objects.iter().filter(is_set).collect();
        if sets.is_empty() {
            return;
        }
        let contents = [&change.before, &change.after].map(|cluster| SetContents::of(cluster.objects));
        for old in sets {
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
            let kept = kept(&change.after, &contents[1], new);
            no_longer_listed(change, [old, new], &contents[0], kept.as_ref(), verdicts);
            if reconciles(new) {
                let kept = kept.as_ref();
                verdicts.extend(kept.into_iter().flat_map(|kept| dropped(change, new, &contents[0], kept)));
            } else {
                verdicts.extend(resources(new).iter().filter_map(|listed| applied_once(change, new, listed)));
            }
        }
    }
}

/// Whether a set brings changes of what it lists.
fn reconciles(set: &RenderedObject) -> bool {
    set.placed.text_at(&["spec", "strategy"]) == Some("Reconcile")
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
    let message = keeps_old(set, &format!("{kind} {name}"));
    let place = change.nearest_place(old, new, &changed.path);
    let verdict =
        Finding::new(rules::CLUSTER_RESOURCE_SET_STAYS, message).object(&new.id).path(&changed.path);
    Some(verdict.place(place))
}

fn keeps_old(set: &RenderedObject, brought: &str) -> String {
    format!(
        "{} brings {brought} with `strategy: ApplyOnce`, so clusters that have it keep the old content. Only `strategy: Reconcile` updates it. The strategy of a set is immutable: add a set with another name",
        set.id
    )
}

/// Resources that lose a document which no resource of the set has any more, though the set deletes nothing.
fn dropped(
    change: &Evidence<'_>,
    set: &RenderedObject,
    before: &SetContents<'_>,
    kept: &KeptDocuments<'_, '_>,
) -> Vec<Finding> {
    let each = resources(set).into_iter().filter_map(|listed| {
        let new = resource(&change.after, set, &listed)?;
        let old = change.old(new)?;
        let gone = before.documents(old).iter().flatten().find(|one| !kept.contains_key(&one.id))?;
        let message = format!(
            "{} brings {} {}, which no longer has {}. `strategy: Reconcile` updates what is in it and deletes nothing: delete that there by hand",
            set.id, new.id.kind, new.id.name, gone.id
        );
        let place = change.nearest_place(old, new, &gone.path);
        let verdict =
            Finding::new(rules::CLUSTER_RESOURCE_SET_STAYS, message).object(&new.id).path(&gone.path);
        Some(verdict.place(place))
    });
    each.collect()
}

/// Documents that a set brings, by their identity, each with the resource that has it.
type KeptDocuments<'a, 'c> = HashMap<&'c ObjectId, (&'a RenderedObject, &'c SetDocument)>;

/// What all resources of a set bring; `None` where one of them is not known, or not readable: anything may be in there.
/// Of documents of one identity the first counts: it is the one that is created.
fn kept<'a, 'c>(
    cluster: &ClusterEvidence<'a>,
    contents: &'c SetContents<'a>,
    set: &RenderedObject,
) -> Option<KeptDocuments<'a, 'c>> {
    let mut found = HashMap::new();
    for listed in resources(set) {
        let resource = resource(cluster, set, &listed)?;
        for document in contents.documents(resource) {
            let document = document.as_ref()?;
            found.entry(&document.id).or_insert((resource, document));
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

/// An object in a resource.
struct SetDocument {
    /// The field of the resource.
    path: FieldPath,
    id: ObjectId,
    root: Node,
}

/// What is in the resources of one side. Several sets may list one of them, so each is read once.
struct SetContents<'a>(HashMap<&'a ObjectId, OnceCell<Vec<Option<SetDocument>>>>);

impl<'a> SetContents<'a> {
    fn of(objects: &'a [RenderedObject]) -> Self {
        Self(objects.iter().map(|object| (&object.id, OnceCell::new())).collect())
    }

    /// The objects in a resource; `None` for a text that cannot be read, or a document that is not an object.
    fn documents(&self, resource: &RenderedObject) -> &[Option<SetDocument>] {
        let read = self.0.get(&resource.id).map(|read| read.get_or_init(|| documents(resource)));
        read.map(Vec::as_slice).unwrap_or_default()
    }
}

fn documents(resource: &RenderedObject) -> Vec<Option<SetDocument>> {
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
            found.extend(objects.map(|document| {
                let id = identity(&document.root)?;
                Some(SetDocument { path: path.clone(), id, root: document.root.clone() })
            }));
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

/// Resources that a set applied and lists no more, unless others of the set bring all that is in them. A set that applies
/// once brings nothing of it where it has changed.
fn no_longer_listed(
    change: &Evidence<'_>,
    [old, new]: [&RenderedObject; 2],
    before: &SetContents<'_>,
    kept: Option<&KeptDocuments<'_, '_>>,
    verdicts: &mut Vec<Finding>,
) {
    let left: HashSet<(String, String)> = resources(new).into_iter().collect();
    for listed in resources(old).iter().filter(|resource| !left.contains(resource)) {
        let resource = resource(&change.before, old, listed);
        let content = resource.map(|resource| before.documents(resource)).unwrap_or_default();
        let successor = |document: &SetDocument| kept.and_then(|kept| kept.get(&document.id)).copied();
        let mut pairs = content.iter().flatten().filter_map(|was| Some((successor(was)?, was)));
        let differs = pairs.find(|((_, is), was)| !reconciles(new) && !same_meaning(&is.root, &was.root));
        if let (Some(resource), Some(((holder, document), _))) = (resource, differs) {
            let message = keeps_old(new, &document.id.to_string());
            let place = change.nearest_place(resource, holder, &document.path);
            let verdict = Finding::new(rules::CLUSTER_RESOURCE_SET_STAYS, message).object(&holder.id);
            verdicts.push(verdict.path(&document.path).place(place));
        }
        let is_kept =
            |document: &Option<SetDocument>| document.as_ref().is_some_and(|one| successor(one).is_some());
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
