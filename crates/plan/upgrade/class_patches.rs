//! Patches inside a ClusterClass that are for another API version of a template than the class names after the upgrade
//! ([U7a]), and that cannot follow ([`super::class_patch_edits`]). Cluster API applies a patch to templates of exactly the
//! version that its selector says. Its webhook refuses a class with a selector that fits none (`validateSelectors` in
//! `internal/webhooks/patch_validation.go`).
//!
//! [U7a]: crate::merge::converted#u7a

use super::class_variables::samples;
use super::moved_fields::{MovedField, There, fate_of, put};
use super::retarget::Rotated;
use crate::merge::cluster_objects::Base;
use capstan_kustomize::schema::Schemas;
use capstan_model::file_change::FileChange;
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::is_class;
use capstan_model::object::{FieldPath, ObjectId, api_group};
use capstan_yaml::manifest::identity;
use capstan_yaml::{Node, NodeKind, YamlFile, manifest, same_meaning};

/// Version and kind of a template, as a class or a selector names it.
pub(super) type TemplateType<'n> = (&'n str, &'n str);

/// Fields in patches of the classes for versions that the upgrade leaves, one finding each.
pub(super) fn stale_class_patches(
    base: &Base,
    intended: &[FileChange],
    rotated: &[Rotated],
    schemas: &Schemas,
) -> Vec<Finding> {
    let classes: Vec<usize> =
        (0..base.objects.len()).filter(|object| is_class(&base.objects[*object].id)).collect();
    if classes.is_empty() {
        return Vec::new();
    }
    let after = classes_after(intended, is_class);
    let mut found = Vec::new();
    for object in classes {
        let id = &base.objects[object].id;
        let new_name = rotated.iter().find(|rotated| rotated.id == *id).map(|rotated| &rotated.new);
        let name = new_name.unwrap_or(&id.name);
        let is_it = |other: &ObjectId| other.name == *name && other.namespace == id.namespace;
        if let Some((_, new)) = after.iter().find(|(other, _)| is_it(other)) {
            let left = left_definitions(base.node(object), new).into_iter();
            found.extend(left.flat_map(|left| of_definition(base, object, left, schemas)));
        }
    }
    found
}

fn classes_after(intended: &[FileChange], is_class: impl Fn(&ObjectId) -> bool) -> Vec<(ObjectId, Node)> {
    let mut found = Vec::new();
    for file in intended.iter().filter_map(|change| YamlFile::read(change.after.as_ref()?).ok()) {
        for document in file.documents() {
            for (_, node) in manifest::objects(&document.root) {
                let id = identity(node).filter(&is_class);
                found.extend(id.map(|id| (id, node.clone())));
            }
        }
    }
    found
}

/// A definition of a patch for a version that the class names no longer.
pub(super) struct LeftDefinition<'n> {
    patch: &'n Node,
    pub(super) definition: &'n Node,
    /// Where the definition is in the class before the upgrade.
    pub(super) path: FieldPath,
    /// What its selector names.
    pub(super) selected: TemplateType<'n>,
    /// The version in which the class names that kind now.
    pub(super) version: &'n str,
}

/// The definitions of a class that are the same in its new text, and that select a version which only the old text names.
/// A definition that goes, or that the release has rewritten, is as the release has it.
pub(super) fn left_definitions<'n>(old: &'n Node, new: &'n Node) -> Vec<LeftDefinition<'n>> {
    let (before, after) = (templates_of(old), templates_of(new));
    let stays = |definition: &Node| definitions_of(new).any(|(_, _, other)| same_meaning(other, definition));
    let left = definitions_of(old).filter_map(|((at, index), patch, definition)| {
        let selected = definition.get("selector").and_then(named)?;
        let (version, _) =
            successor(selected, &after).filter(|_| before.contains(&selected) && stays(definition))?;
        let path = FieldPath::of_keys(["spec", "patches"]).index(at).key("definitions").index(index);
        Some(LeftDefinition { patch, definition, path, selected, version })
    });
    left.collect()
}

/// The definitions of a class, each after the indexes of its patch and of itself, and its patch.
pub(super) fn definitions_of(class: &Node) -> impl Iterator<Item = ((usize, usize), &Node, &Node)> {
    list(class, "spec", "patches").iter().enumerate().flat_map(|(at, patch)| {
        let definitions = own_list(patch, "definitions").iter().enumerate();
        definitions.map(move |(index, definition)| ((at, index), patch, definition))
    })
}

fn of_definition(base: &Base, object: usize, left: LeftDefinition<'_>, schemas: &Schemas) -> Vec<Finding> {
    let LeftDefinition { patch, definition, path, selected: (was, kind), version } = left;
    let id = &base.objects[object].id;
    let name = patch.text_at("name").unwrap_or_default();
    let finding = |node: &Node, path: FieldPath, fields: &str| {
        let message = format!(
            "Patch {name} of {id} selects {kind} in {was}, and after the upgrade the class names it in {version}: Cluster API refuses the class. {fields}Set the selector's apiVersion to {version} in the same change."
        );
        Finding::new(rules::API_VERSION_LEAVES_FIELD, message)
            .place(base.place(object, node.span.start))
            .object(id)
            .path(&path)
            .blocking()
    };
    let mut found = Vec::new();
    for (at, operation) in own_list(definition, "jsonPatches").iter().enumerate() {
        let Some(pointer) = operation.get("path") else { continue };
        let Some(field) = pointer.as_str().and_then(FieldPath::parse) else { continue };
        let sample = || {
            let variable = operation.get("valueFrom")?.text_at("variable")?;
            samples(base.node(object), variable)?.into_iter().find(|sample| sample.as_scalar().is_none())
        };
        let value = operation.get("value").cloned().or_else(sample);
        for MovedField { field, there } in moved(&field, value.as_ref(), (was, kind), version, schemas) {
            let path = path.key("jsonPatches").index(at).key("path");
            found.push(finding(pointer, path, &format!("There {field} {there}: write the patch so. ")));
        }
    }
    if found.is_empty() {
        let selector = definition.get("selector").unwrap_or(definition);
        found.push(finding(selector, path.key("selector").key("apiVersion"), ""));
    }
    found
}

/// What becomes of a field of a template of which nothing else is known. Where the patch computes the value,
/// values of every type are tried: one of them can be converted.
fn moved(
    field: &FieldPath,
    value: Option<&Node>,
    (was, kind): TemplateType<'_>,
    version: &str,
    schemas: &Schemas,
) -> Vec<MovedField> {
    let text = || Node::string("10m");
    let values = match value {
        Some(value) => vec![value.clone()],
        None => vec![
            text(),
            Node::mapping([("x", text())]),
            Node::sequence([text()]),
            Node::sequence([Node::mapping([("x", text())])]),
            Node::from_value(&1.into()),
            Node::from_value(&true.into()),
        ],
    };
    let mut fates = values.into_iter().map(|value| {
        let mut template = Node::mapping([("apiVersion", Node::string(was)), ("kind", Node::string(kind))]);
        put(&mut template, field.steps(), value);
        fate_of(field, &template, version, schemas)
    });
    let first = fates.next().unwrap_or_default();
    let is_refused =
        |moved: &Vec<MovedField>| moved.iter().any(|moved| matches!(moved.there, There::NoCounterpart(_)));
    if !is_refused(&first) {
        return first;
    }
    fates.find(|fate| !is_refused(fate)).unwrap_or(first)
}

/// The version in which a class names a template now that a selector knows in another one, where it does not
/// name it in that one too.
fn successor<'n>(
    (version, kind): TemplateType<'_>,
    templates: &[TemplateType<'n>],
) -> Option<TemplateType<'n>> {
    let mut of_kind =
        templates.iter().filter(|(other, same)| *same == kind && api_group(other) == api_group(version));
    let first = *of_kind.clone().next()?;
    of_kind.all(|(other, _)| *other != version).then_some(first)
}

/// The templates that a class names.
fn templates_of(class: &Node) -> Vec<TemplateType<'_>> {
    fn look<'n>(node: &'n Node, found: &mut Vec<TemplateType<'n>>) {
        match &node.kind {
            NodeKind::Mapping(entries) => {
                for entry in entries {
                    match entry.key.as_str() {
                        "ref" | "templateRef" => found.extend(named(&entry.value)),
                        "patches" | "variables" => {}
                        _ => look(&entry.value, found),
                    }
                }
            }
            NodeKind::Sequence(items) => items.iter().for_each(|item| look(item, found)),
            NodeKind::Scalar(_) => {}
        }
    }
    let mut found = Vec::new();
    class.get("spec").into_iter().for_each(|spec| look(spec, &mut found));
    found
}

pub(super) fn named(node: &Node) -> Option<TemplateType<'_>> {
    Some((node.get("apiVersion")?.as_str()?, node.get("kind")?.as_str()?))
}

fn list<'n>(node: &'n Node, above: &str, key: &str) -> &'n [Node] {
    node.get(above).map(|above| own_list(above, key)).unwrap_or_default()
}

pub(super) fn own_list<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).and_then(Node::as_sequence).unwrap_or_default()
}
