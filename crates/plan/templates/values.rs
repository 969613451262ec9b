//! Values that name templates ([U12]): where no field of the API is the reference, but a text says the name.
//!
//! | object | value |
//! |---|---|
//! | Cluster | variables of its topology and their overrides, whatever is in them |
//! | ClusterClass | values and templates of its patches, schemas of its variables (a default, an enum) |
//! | any object of Cluster API | a mapping with the `kind` and `name` of a template, at a path that the table of references does not know |
//!
//! [U12]: crate::templates#u12

use super::references::{Reference, references};
use capstan_model::kinds::{
    KindRole, Treatment, is_cluster_api, is_template, is_template_name, role, treatment,
};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::Readable;

/// A value that may name a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamingValue<'n> {
    /// Path of the scalar.
    pub path: FieldPath,
    /// The kind that is beside it.
    pub kind: Option<&'n str>,
    /// Its text: the name, or a text in which a `name` is one.
    pub text: &'n str,
}

impl NamingValue<'_> {
    /// Whether it can mean this object, which is a template.
    pub fn means(&self, id: &ObjectId) -> bool {
        self.kind.is_none_or(|kind| kind == id.kind) && renamed(self.text, &id.name, "x").is_some()
    }
}

/// Whether values are looked for that name such an object.
pub fn is_named_by_value(id: &ObjectId) -> bool {
    is_cluster_api(&id.group)
        && match treatment(Some(&id.group), &id.kind) {
            Some(treatment) => treatment == Treatment::Rotate,
            None => is_template(id),
        }
}

/// A text with another name in the place of one: where it is that name, or a `name:` in it is.
pub fn renamed(text: &str, old: &str, new: &str) -> Option<String> {
    if text == old {
        return Some(new.to_owned());
    }
    let mut out = String::with_capacity(text.len() + new.len());
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let (before, after) = (&rest[..at], &rest[at + old.len()..]);
        let is_value = before
            .trim_end_matches(['"', '\'', ' '])
            .strip_suffix(':')
            .is_some_and(|key| key.trim_end_matches(['"', '\'']).ends_with("name"));
        let ends = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '}');
        out.push_str(before);
        out.push_str(if is_value && after.chars().next().is_none_or(ends) { new } else { old });
        rest = after;
    }
    out.push_str(rest);
    (out != text).then_some(out)
}

/// The values of an object that may name templates, besides its [`references`].
pub fn naming_values<'n, T: Readable>(group: &str, kind: &str, root: &'n T) -> Vec<NamingValue<'n>> {
    let mut found = Vec::new();
    if !is_cluster_api(group) {
        return found;
    }
    let spec = FieldPath::root().key("spec");
    let at = |keys: &[&str]| keys.iter().try_fold(root, |node, key| node.field(key));
    let is_class = role(group, kind) == Some(KindRole::Class);
    match role(group, kind) {
        Some(KindRole::Cluster) => {
            let topology = at(&["spec", "topology"]);
            topology.into_iter().for_each(|topology| variables(topology, &spec.key("topology"), &mut found));
        }
        Some(KindRole::Class) => {
            if let Some(patches) = at(&["spec", "patches"]) {
                texts(patches, &spec.key("patches"), &["value", "template"], false, &mut found);
            }
            if let Some(variables) = at(&["spec", "variables"]) {
                texts(variables, &spec.key("variables"), &["default", "enum"], false, &mut found);
            }
        }
        _ => {}
    }
    let known = references(group, kind, root);
    let skipped: &[&str] = if is_class { &["patches", "variables"] } else { &["variables"] };
    if let Some(below) = root.field("spec") {
        shapes(below, &spec, skipped, &known, &mut found);
    }
    found
}

/// Values of variables, wherever a topology sets some.
fn variables<'n, T: Readable>(node: &'n T, path: &FieldPath, found: &mut Vec<NamingValue<'n>>) {
    for (key, below) in node.fields() {
        let path = path.key(key);
        if key == "variables" {
            texts(below, &path, &["value"], false, found);
        } else {
            variables(below, &path, found);
        }
    }
    node.items().iter().enumerate().for_each(|(at, item)| variables(item, &path.index(at), found));
}

/// The texts below fields of these names.
fn texts<'n, T: Readable>(
    node: &'n T,
    path: &FieldPath,
    below: &[&str],
    is_below: bool,
    found: &mut Vec<NamingValue<'n>>,
) {
    if let Some(text) = node.text().filter(|_| is_below) {
        found.push(NamingValue { path: path.clone(), kind: None, text });
    }
    for (key, field) in node.fields() {
        texts(field, &path.key(key), below, is_below || below.contains(&key), found);
    }
    for (at, item) in node.items().iter().enumerate() {
        texts(item, &path.index(at), below, is_below, found);
    }
}

/// Mappings that name a template as a reference does.
fn shapes<'n, T: Readable>(
    node: &'n T,
    path: &FieldPath,
    skipped: &[&str],
    known: &[Reference<'n>],
    found: &mut Vec<NamingValue<'n>>,
) {
    let text = |key: &str| node.field(key).and_then(T::text);
    if let (Some(kind), Some(name)) = (text("kind").filter(|kind| is_template_name(kind)), text("name")) {
        let path = path.key("name");
        if !known.iter().any(|reference| reference.path == path) {
            found.push(NamingValue { path, kind: Some(kind), text: name });
        }
    }
    for (key, field) in node.fields().into_iter().filter(|(key, _)| !skipped.contains(key)) {
        shapes(field, &path.key(key), skipped, known, found);
    }
    for (at, item) in node.items().iter().enumerate() {
        shapes(item, &path.index(at), skipped, known, found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_yaml::YamlFile;

    fn named(text: &str) -> Vec<(String, String)> {
        let file = YamlFile::read(text).unwrap();
        let root = &file.documents()[0].root;
        let kind = root.get("kind").unwrap().as_str().unwrap();
        let group = capstan_model::object::api_group(root.get("apiVersion").unwrap().as_str().unwrap());
        let values = naming_values(group, kind, root);
        values.into_iter().map(|value| (value.path.to_string(), value.text.to_owned())).collect()
    }

    #[test]
    fn values_of_variables_and_patches_and_unlisted_references_are_found() {
        let cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nspec:\n  topology:\n    classRef: {name: c}\n    variables: [{name: b, value: {deep: [boards]}}]\n    workers:\n      machineDeployments:\n      - {class: a, name: b, variables: {overrides: [{name: b, value: other}]}}\n";
        assert_eq!(
            named(cluster),
            [
                ("/spec/topology/variables/0/value/deep/0".to_owned(), "boards".to_owned()),
                (
                    "/spec/topology/workers/machineDeployments/0/variables/overrides/0/value".to_owned(),
                    "other".to_owned()
                )
            ]
        );
        let class = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: ClusterClass\nspec:\n  variables: [{name: b, schema: {openAPIV3Schema: {type: string, default: boards}}}]\n  patches: [{name: p, definitions: [{jsonPatches: [{op: add, path: /x, value: boards}]}]}]\n";
        assert_eq!(
            named(class),
            [
                ("/spec/patches/0/definitions/0/jsonPatches/0/value".to_owned(), "boards".to_owned()),
                ("/spec/variables/0/schema/openAPIV3Schema/default".to_owned(), "boards".to_owned())
            ]
        );
        let template = "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: RKE2ControlPlaneTemplate\nspec: {template: {spec: {infrastructureRef: {kind: Metal3MachineTemplate, name: boards}}}}\n";
        assert_eq!(
            named(template),
            [("/spec/template/spec/infrastructureRef/name".to_owned(), "boards".to_owned())]
        );
    }

    #[test]
    fn a_name_in_a_text_is_the_value_of_a_name() {
        let of = |text: &str| renamed(text, "boards", "boards-1");
        assert_eq!(of("boards").as_deref(), Some("boards-1"));
        assert_eq!(
            of("kind: X\nname: boards\nboards: boards-2\n").as_deref(),
            Some("kind: X\nname: boards-1\nboards: boards-2\n")
        );
        assert_eq!(of("{\"name\": \"boards\"}").as_deref(), Some("{\"name\": \"boards-1\"}"));
        assert_eq!(of("name: {{ .boards }}"), None);
        assert_eq!(of("name: my-boards"), None);
        assert_eq!(of("over boards"), None);
    }
}
