//! What the clusters of a base are built on, compared before and after ([U13]): an upgrade that would give one
//! another infrastructure, another control plane, or a class of other kinds of them blocks.
//!
//! The texts are compared that the upgrade would write, not its decisions: whatever way a reference came to
//! name something else, it is found.
//!
//! [U13]: crate::upgrade#u13

use std::borrow::Cow;

use crate::merge::cluster_objects::Base;
use crate::templates::{Foundation, ReplacedFoundation, TemplateRole, foundations, references, replaced};
use capstan_model::file_change::FileChange;
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{is_class, is_cluster};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::manifest::identity;
use capstan_yaml::{Node, YamlFile, manifest};

/// Findings and reasons to block, for what becomes another foundation. What a removal has said already is
/// not said again.
pub(super) fn replaced_foundations(
    base: &Base,
    intended: &[FileChange],
    known: &[Finding],
) -> Vec<(Finding, String)> {
    let clusters: Vec<usize> = (0..base.objects.len()).filter(|at| is_built(&base.objects[*at].id)).collect();
    let touched = |at: &usize| intended.iter().any(|change| change.path == base.file_of(*at).path);
    if !clusters.iter().any(touched) {
        return Vec::new();
    }
    let after = after(base, &clusters, intended);
    let mut found = Vec::new();
    for object in clusters {
        let id = &base.objects[object].id;
        let node = base.node(object);
        let Some((_, new)) = after.iter().find(|(other, _)| other == id) else { continue };
        for change in replaced(&of(id, node), &of(id, new)) {
            let said = known.iter().filter(|finding| finding.rule == rules::REMOVES_CLUSTER);
            let is_said = said.filter_map(|finding| finding.object.as_ref()).any(|gone| {
                let of = of(id, node);
                let part = of.iter().find(|part| part.part == change.part);
                part.is_some_and(|part| part.reference.means(id.namespace.as_deref(), gone))
            });
            if !is_said {
                found.push(finding(base, object, &change));
            }
        }
        // Another class under another name.
        let class = |node: &'_ Node, among: &[(ObjectId, Cow<'_, Node>)]| -> Option<(ObjectId, Node)> {
            let named = references(&id.group, &id.kind, node);
            let class = named.into_iter().find(|reference| reference.role == TemplateRole::Class)?;
            let found = among.iter().find(|(other, _)| class.means(id.namespace.as_deref(), other))?;
            Some((found.0.clone(), found.1.clone().into_owned()))
        };
        let before: Vec<(ObjectId, Cow<'_, Node>)> = (0..base.objects.len())
            .map(|at| (base.objects[at].id.clone(), Cow::Borrowed(base.node(at))))
            .collect();
        if let (Some((was, old)), Some((is, new))) = (class(node, &before), class(new, &after))
            && was != is
            && let Some(at) = (0..base.objects.len()).find(|at| base.objects[*at].id == was)
        {
            found.extend(
                replaced(&of(&was, &old), &of(&is, &new)).iter().map(|change| finding(base, at, change)),
            );
        }
    }
    found
}

fn is_built(id: &ObjectId) -> bool {
    is_cluster(id) || is_class(id)
}

fn of<'n>(id: &ObjectId, node: &'n Node) -> Vec<Foundation<'n>> {
    foundations(&id.group, &id.kind, node)
}

/// Clusters and classes as the upgrade would leave them, new classes among them.
fn after<'b>(base: &'b Base, clusters: &[usize], intended: &[FileChange]) -> Vec<(ObjectId, Cow<'b, Node>)> {
    let untouched = clusters
        .iter()
        .filter(|at| intended.iter().all(|change| change.path != base.file_of(**at).path))
        .map(|at| (base.objects[*at].id.clone(), Cow::Borrowed(base.node(*at))));
    let mut found: Vec<(ObjectId, Cow<'b, Node>)> = untouched.collect();
    for text in intended.iter().filter_map(|change| change.after.as_ref()) {
        let Ok(file) = YamlFile::read(text.as_str()) else { continue };
        for document in file.documents() {
            for (_, node) in manifest::objects(&document.root) {
                let id = identity(node).filter(is_built);
                found.extend(id.map(|id| (id, Cow::Owned(node.clone()))));
            }
        }
    }
    found
}

fn finding(base: &Base, object: usize, change: &ReplacedFoundation) -> (Finding, String) {
    let id = &base.objects[object].id;
    let ReplacedFoundation { part, path, from, to } = change;
    let why = if is_cluster(id) {
        "Another infrastructure or control plane is another cluster, so the upgrade is blocked. Make a new cluster from the release, and move the workloads"
    } else {
        "Cluster API refuses a class whose templates change their kind, for every cluster of the class, so the upgrade is blocked. Give the release a class with a new name, and make new clusters from it"
    };
    let node = base.node(object);
    let at = std::iter::successors(Some(path.clone()), FieldPath::parent)
        .find_map(|path| node.at(&path))
        .map_or(node.span.start, |node| node.span.start);
    let finding = Finding::new(
        rules::REMOVES_CLUSTER,
        format!("The release changes `{part}` of {id} from {from} to {to}. {why}."),
    )
    .place(base.place(object, at))
    .object(id)
    .path(path);
    (finding, format!("The release changes `{part}` of {id} from {from} to {to}."))
}
