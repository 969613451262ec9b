//! Patches inside a ClusterClass follow a template to the API version in which the class names it then ([U7a]): selector,
//! paths and values in one step, since Cluster API refuses a class in which they differ.
//!
//! A patch is RFC 6902 and makes no parents, so a path that moves needs its new parent in the template. A definition
//! with an operation that cannot follow stays as it is, and is a finding ([`super::class_patches`]). Of a value that a
//! variable gives, only the type is known. So it follows only where every value of that type stays as it is, or is a
//! boolean that means the opposite there.
//!
//! [U7a]: crate::merge::converted#u7a

use super::class_patches::{LeftDefinition, TemplateType, definitions_of, left_definitions, named, own_list};
use super::class_variables::{samples, scalars};
use super::context::Context;
use super::draft::Draft;
use super::model::{Change, ChangeReason};
use super::moved_fields::{MovedField, There, fate_of, put};
use super::said::UpgradeReport;
use crate::merge::cluster_objects::Base;
use crate::merge::converted::steps_to;
use crate::templates::references;
use capstan_kustomize::conversion::{AtHand, Conversion, ConversionStep, apply};
use capstan_kustomize::schema::Schemas;
use capstan_model::kinds::is_class;
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Edit, Node, same_meaning};

/// Brings patches of classes that stay to the versions in which the classes name their templates now.
pub(super) fn follow_class_patches(context: Context<'_>, draft: &mut Draft, said: &mut UpgradeReport) {
    let base = context.base;
    for class in (0..base.kustomizations.start).filter(|object| is_class(&base.objects[*object].id)) {
        if draft.removes(class) {
            continue;
        }
        let Some(new) = draft.object_after(base, class) else { continue };
        let old = base.node(class);
        let (patched, schemas) = (patched_fields(old), context.request.schemas);
        let mut edits = Vec::new();
        for LeftDefinition { definition, path, selected, version, .. } in left_definitions(old, &new) {
            let templates = ClassTemplates::of(base, class, selected, version);
            let patched = patched.iter().filter(|(of, _)| *of == selected).map(|(_, field)| field).collect();
            let following = Following { class: old, patched, templates, version, schemas };
            edits.extend(following.definition(definition, &path).unwrap_or_default());
        }
        edits.retain(|(path, _)| !draft.replaces(class, path));
        for (path, node) in &edits {
            let own = old.at(path);
            said.changes.push(Change {
                object: base.objects[class].id.clone(),
                place: base.line(class, own.map(|own| own.span.start)),
                path: path.clone(),
                from: None,
                old: own.map(Node::value),
                new: Some(node.value()),
                reason: ChangeReason::Reference,
            });
        }
        draft.edit_object(class, edits.into_iter().map(|(path, node)| Edit::Set { path, node }));
    }
}

/// The fields that the patches of a class name, with the templates that are selected there.
fn patched_fields(class: &Node) -> Vec<(TemplateType<'_>, FieldPath)> {
    let definitions = definitions_of(class).map(|(.., definition)| definition);
    let fields = definitions.filter_map(|definition| {
        let selected = definition.get("selector").and_then(named)?;
        let paths = own_list(definition, "jsonPatches").iter().filter_map(|one| one.text_at("path"));
        Some(paths.filter_map(FieldPath::parse).map(move |field| (selected, field)))
    });
    fields.flatten().collect()
}

/// The templates of one kind and version that a class names: as they are, and as they come to the newer version.
struct ClassTemplates<'b> {
    all: Vec<(&'b Node, &'b Node)>,
    /// One of them is elsewhere, or does not move.
    is_lacking: bool,
}

impl<'b> ClassTemplates<'b> {
    fn of(base: &'b Base, class: usize, (was, kind): TemplateType<'_>, version: &str) -> Self {
        let id = &base.objects[class].id;
        let mut found = Self { all: Vec::new(), is_lacking: false };
        for reference in references(&id.group, &id.kind, base.node(class)) {
            if reference.kind != kind {
                continue;
            }
            let is_it = |at: &usize| reference.means(id.namespace.as_deref(), &base.objects[*at].id);
            let template =
                (0..base.kustomizations.start).find(is_it).map(|at| (base.node_before(at), base.node(at)));
            match template.filter(|(old, new)| {
                old.text_at("apiVersion") == Some(was) && new.text_at("apiVersion") == Some(version)
            }) {
                Some(template) => found.all.push(template),
                None => found.is_lacking = true,
            }
        }
        found
    }
}

/// What the patches of one definition follow.
struct Following<'b> {
    class: &'b Node,
    /// The fields that operations of the class name in the same templates, one for each operation.
    patched: Vec<&'b FieldPath>,
    templates: ClassTemplates<'b>,
    version: &'b str,
    schemas: &'b Schemas,
}

/// Fields of what holds the patches, and what they become.
pub(super) type Edits = Vec<(FieldPath, Node)>;

/// What the operations of a patch of one object become, which was and is this; `None` where one of them has no counterpart
/// that is known.
pub(super) fn follow_operations(
    patch: &Node,
    object: (&Node, &Node),
    version: &str,
    schemas: &Schemas,
) -> Option<Edits> {
    let operations = patch.as_sequence()?;
    let fields: Vec<FieldPath> =
        operations.iter().filter_map(|one| FieldPath::parse(one.text_at("path")?)).collect();
    let templates = ClassTemplates { all: vec![object], is_lacking: false };
    let following = Following { class: patch, patched: fields.iter().collect(), templates, version, schemas };
    let mut edits = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        edits.extend(following.operation(operation, &FieldPath::root().index(at))?);
    }
    Some(edits)
}

/// Where a field of an object is that was and is this, whatever value it has; `None` where that is not known, or where a
/// value of it is another one there.
pub(super) fn follow_field(
    field: &FieldPath,
    object: (&Node, &Node),
    version: &str,
    schemas: &Schemas,
) -> Option<FieldPath> {
    let templates = ClassTemplates { all: vec![object], is_lacking: false };
    let following = Following { class: object.0, patched: Vec::new(), templates, version, schemas };
    let values = object.0.at(field).map_or_else(scalars, |own| vec![own.clone()]);
    // A value of another type than the field's has no counterpart.
    let mut found = values.into_iter().filter_map(|value| following.place(field, value, object.0));
    let first = found.next()?;
    (first.value.is_none() && found.all(|other| other == first)).then_some(first.field)
}

/// What an operation becomes.
#[derive(PartialEq)]
struct FollowedOperation {
    field: FieldPath,
    /// Its value, where that is another one.
    value: Option<Node>,
}

impl Following<'_> {
    /// The edits of a definition; `None` where one of its operations has no counterpart that is known.
    fn definition(&self, definition: &Node, path: &FieldPath) -> Option<Edits> {
        if self.templates.is_lacking || self.templates.all.is_empty() {
            return None;
        }
        let mut edits = vec![(path.key("selector").key("apiVersion"), Node::string(self.version))];
        for (at, operation) in own_list(definition, "jsonPatches").iter().enumerate() {
            edits.extend(self.operation(operation, &path.key("jsonPatches").index(at))?);
        }
        Some(edits)
    }

    fn operation(&self, operation: &Node, path: &FieldPath) -> Option<Edits> {
        let pointer = operation.text_at("path")?;
        let field = FieldPath::parse(pointer)?;
        let mut all = self.templates.all.iter().map(|template| self.followed(operation, &field, *template));
        let first = all.next()??;
        if !all.all(|other| other.as_ref() == Some(&first)) {
            return None;
        }
        let mut edits = Vec::new();
        if first.field != field {
            edits.push((path.key("path"), Node::string(first.field.to_string())));
        }
        if let Some(value) = first.value {
            let key = if operation.get("value").is_some() { "value" } else { "valueFrom" };
            edits.push((path.key(key), value));
        }
        Some(edits)
    }

    /// What an operation becomes for one template.
    fn followed(
        &self,
        operation: &Node,
        field: &FieldPath,
        (was, now): (&Node, &Node),
    ) -> Option<FollowedOperation> {
        let place = |value: Node| self.place(field, value, was);
        let followed = match (operation.text_at("op")?, operation.get("value"), operation.get("valueFrom")) {
            ("remove", ..) => self.removal(field, was)?,
            ("add", Some(value), _) => match self.item(field, value, (was, now)) {
                Some(item) => item,
                None => place(value.clone())?,
            },
            (_, Some(value), _) => place(value.clone())?,
            (_, None, Some(from)) => self.computed(from, field, was)?,
            (_, None, None) => return None,
        };
        let needs_parent = followed.field != *field;
        let has_parent = || followed.field.parent().is_some_and(|parent| now.at(&parent).is_some());
        (!needs_parent || has_parent()).then_some(followed)
    }

    /// An argument that is added by its name is an item of a list there, if none has that name yet: neither in the template,
    /// nor from another operation.
    fn item(&self, field: &FieldPath, value: &Node, (was, now): (&Node, &Node)) -> Option<FollowedOperation> {
        let mut template = was.clone();
        put(&mut template, field.steps(), value.clone());
        let fate = fate_of(field, &template, self.version, self.schemas);
        let [MovedField { there: There::ItemOf { list, key, item }, .. }] = fate.as_slice() else {
            return None;
        };
        let items = now.at(list)?.as_sequence()?;
        let is_new = !items.iter().any(|other| other.text_at(key) == item.text_at(key))
            && self.patched.iter().filter(|other| field.starts_with(other)).count() == 1;
        is_new.then(|| FollowedOperation { field: list.join(Step::New), value: Some(item.clone()) })
    }

    /// Where a field of the template is that a patch removes. A field that the template does not have comes from another
    /// patch, and its value is not known.
    fn removal(&self, field: &FieldPath, was: &Node) -> Option<FollowedOperation> {
        let followed = self.place(field, was.at(field)?.clone(), was)?;
        let without = |template: Node, at: &FieldPath| {
            let steps = vec![ConversionStep::Remove { at: at.clone() }];
            let mut template = template;
            apply(&mut template, &Conversion { steps, notes: Vec::new() });
            template
        };
        let left = self.converted(without(was.clone(), field))?;
        let is_alone = same_meaning(&left, &without(self.converted(was.clone())?, &followed.field));
        is_alone.then_some(FollowedOperation { value: None, ..followed })
    }

    /// A template as it is in the newer version.
    fn converted(&self, mut template: Node) -> Option<Node> {
        let (conversion, _) = steps_to(&template, self.version, AtHand::Part, self.schemas)?;
        apply(&mut template, &conversion);
        Some(template)
    }

    /// Where a value of a field comes to, and what it is there. The newer template must differ in that field alone: a patch
    /// changes no other one.
    fn place(&self, field: &FieldPath, value: Node, was: &Node) -> Option<FollowedOperation> {
        let mut template = was.clone();
        put(&mut template, field.steps(), value.clone());
        let is_appended = field.steps().last() == Some(&Step::New);
        let fate = fate_of(field, &template, self.version, self.schemas);
        let to = match fate.as_slice() {
            [] => field.clone(),
            [MovedField { field: own, there: There::Is(to) }] if own == field && !is_appended => to.clone(),
            [MovedField { field: own, there: There::Otherwise }] if own == field && !is_appended => {
                field.clone()
            }
            // What changes inside of a value changes with it.
            all if !is_appended && all.iter().all(|one| one.there.is_below(field)) => field.clone(),
            _ => return None,
        };
        if fate.is_empty() {
            return Some(FollowedOperation { field: to, value: None });
        }
        let (conversion, refused) = steps_to(&template, self.version, AtHand::Part, self.schemas)?;
        if refused.iter().any(|why| why.field.starts_with(field) || field.starts_with(&why.field)) {
            return None;
        }
        apply(&mut template, &conversion);
        let there = template.at(&to)?;
        let mut patched = self.converted(was.clone())?;
        put(&mut patched, to.steps(), there.clone());
        if !same_meaning(&patched, &template) {
            return None;
        }
        let value = (!same_meaning(there, &value)).then(|| there.clone());
        Some(FollowedOperation { field: to, value })
    }

    /// The same of a value that the patch computes.
    fn computed(&self, from: &Node, field: &FieldPath, was: &Node) -> Option<FollowedOperation> {
        let (samples, name) = match (from.text_at("variable"), from.text_at("template")) {
            (Some(variable), None) => (samples(self.class, variable)?, Some(variable)),
            (None, Some(template)) if !may_be_collection(template) => (scalars(), None),
            _ => return None,
        };
        let is_boolean = matches!(samples.as_slice(), [only] if only.value().is_boolean());
        let mut found = samples.into_iter().map(|sample| self.place(field, sample, was));
        let first = found.next()??;
        if let (true, Some(value), Some(name)) = (is_boolean, &first.value, name) {
            let is_inverted = value.value() == false && name.split('.').all(is_identifier);
            let not = Node::mapping([("template", Node::string(format!("{{{{ not .{name} }}}}")))]);
            return is_inverted.then_some(FollowedOperation { value: Some(not), ..first });
        }
        (first.value.is_none() && found.all(|other| other.as_ref() == Some(&first))).then_some(first)
    }
}

/// Whether a Go template can name a variable as `.name`: it reads a hyphen as a minus sign.
fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether the YAML that a Go template gives may be a list or a mapping.
fn may_be_collection(template: &str) -> bool {
    let mut literals = template.split("}}").filter_map(|text| text.split("{{").next());
    template.contains('\n')
        || [": ", "Yaml", "Json"].iter().any(|part| template.contains(part))
        || literals.any(|text| ["[", "{", "- "].iter().any(|start| text.trim_start().starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_a_collection_in_each_style_of_yaml() {
        for (template, expected) in [
            ("{{ .flavor }}", false),
            ("http://[{{ .address }}]:{{ .port }}/{{ .path }}", false),
            ("{{ if .small }}m1.small{{ else }}m1-large{{ end }}", false),
            ("{{ .name }}-{{ .zone }}", false),
            (r#"[{"a":{{ .x }}}]"#, true),
            (r#" {"a":"{{ .x }}"}"#, true),
            ("- {{ .x }}", true),
            ("{{ if .x }}[{{ .x }}]{{ else }}none{{ end }}", true),
            ("a: {{ .x }}", true),
            ("{{ .x }}\n", true),
            ("{{ .x | toJson }}", true),
            ("{{ .x | toYaml }}", true),
        ] {
            assert_eq!(may_be_collection(template), expected, "{template}");
        }
    }
}
