//! Where another API version has the fields of a patch ([U7a]): a patch is a fragment of the object that it is meant
//! for, and is converted like one.
//!
//! [U7a]: crate::merge::converted#u7a

use std::fmt;

use super::conversions::{Net, net};
use crate::merge::converted::steps_to;
use capstan_kustomize::conversion::{AtHand, apply};
use capstan_kustomize::schema::{FieldContent, Schemas, TypeFields};
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::scalar::ScalarReading;
use capstan_yaml::{Entry, Node, NodeKind};

/// A field of a patch that is another one in the newer version.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MovedField {
    /// The field that the patch names.
    pub(super) field: FieldPath,
    /// What it is in the newer version.
    pub(super) there: There,
}

/// What a field is in the newer version.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum There {
    /// It is that one.
    Is(FieldPath),
    PartOf(FieldPath),
    /// It is this item of that list, and this field of the item has its name.
    ItemOf {
        list: FieldPath,
        /// The item's field with the name.
        key: String,
        item: Node,
    },
    /// It is the same field with another value.
    Otherwise,
    /// It is no more.
    Gone,
    /// It cannot be converted, and why.
    NoCounterpart(String),
}

impl There {
    fn refused(why: impl fmt::Display) -> Self {
        Self::NoCounterpart(why.to_string())
    }

    /// Whether a field that is in another one is in it still.
    pub(super) fn is_below(&self, field: &FieldPath) -> bool {
        match self {
            Self::Is(to) => to.starts_with(field),
            Self::Otherwise => true,
            Self::PartOf(_) | Self::ItemOf { .. } | Self::Gone | Self::NoCounterpart(_) => false,
        }
    }
}

impl fmt::Display for There {
    /// What a sentence says of the field: `is /spec/rollout/strategy`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Is(path) => write!(f, "is {path}"),
            Self::PartOf(path) => write!(f, "is part of {path}"),
            Self::ItemOf { list, key, item } => {
                let entries = item.as_mapping().unwrap_or_default().iter();
                let said = entries.map(|entry| match item.text_at(&entry.key) {
                    Some(name) if entry.key == *key => format!("{key}: {name}"),
                    _ => format!("{}: …", entry.key),
                });
                write!(f, "is an item of the list {list}, `{{{}}}`", said.collect::<Vec<_>>().join(", "))
            }
            Self::Otherwise => f.write_str("has another spelling"),
            Self::Gone => f.write_str("no longer exists"),
            Self::NoCounterpart(why) => write!(f, "has no counterpart ({why})"),
        }
    }
}

/// The fields of a fragment that the version knows otherwise. It says its own version and kind.
pub(super) fn moved_fields(fragment: &Node, version: &str, schemas: &Schemas) -> Vec<MovedField> {
    let Some((conversion, refused)) = steps_to(fragment, version, AtHand::Part, schemas) else {
        return Vec::new();
    };
    let api_version = FieldPath::root().key("apiVersion");
    let mut moved: Vec<MovedField> = refused
        .iter()
        .filter(|why| !is_newer(&why.field, fragment, version))
        .map(|why| MovedField { field: why.field.clone(), there: There::refused(&why.why) })
        .collect();
    for Net { from, to } in net(&conversion) {
        let Some(field) = from.filter(|field| *field != api_version) else { continue };
        if refused.iter().any(|why| field.starts_with(&why.field)) {
            continue;
        }
        let there = match to {
            Some(to) if to != field => There::Is(to),
            Some(_) => There::Otherwise,
            // What says nothing means nothing in either version.
            None if fragment.at(&field).is_none_or(says_nothing) => continue,
            None => There::Gone,
        };
        moved.push(MovedField { field, there });
    }
    // A field inside a field that moves goes along with it.
    let fields: Vec<FieldPath> = moved.iter().map(|moved| moved.field.clone()).collect();
    moved.retain(|moved| !fields.iter().any(|above| *above != moved.field && moved.field.starts_with(above)));
    moved
}

/// What becomes of one field of an object: of all that moves, what concerns it.
pub(super) fn fate_of(field: &FieldPath, object: &Node, version: &str, schemas: &Schemas) -> Vec<MovedField> {
    if is_newer(field, object, version) {
        return Vec::new();
    }
    let Some((conversion, refused)) = steps_to(object, version, AtHand::Part, schemas) else {
        return Vec::new();
    };
    if let Some(why) = refused.iter().find(|why| concerns(&why.field, field)) {
        return vec![MovedField { field: field.clone(), there: There::refused(&why.why) }];
    }
    let nets = net(&conversion);
    let above = nets.iter().filter_map(|net| {
        let from = net.from.as_ref()?;
        Some((from, net.to.as_ref(), field.steps().strip_prefix(from.steps())?))
    });
    let Some((from, to, rest)) = above.max_by_key(|(from, ..)| from.steps().len()) else {
        let below = nets.iter().filter(|net| net.from.as_ref().is_some_and(|from| from.starts_with(field)));
        let moves = below.filter_map(|net| Some((net.from.as_ref()?, net.to.as_ref()?)));
        let moved = |(from, to): (&FieldPath, &FieldPath)| MovedField {
            field: from.clone(),
            there: if from == to { There::Otherwise } else { There::Is(to.clone()) },
        };
        return moves.map(moved).collect();
    };
    let mut after = object.clone();
    apply(&mut after, &conversion);
    let there = match (to, rest) {
        (Some(to), [Step::Key(name)]) if let Some(item) = item_of(&after, to, name) => item,
        (Some(to), _) if to == from => There::Otherwise,
        (Some(to), _)
            if object.at(from).is_some_and(|node| node.as_mapping().is_some()) || rest.is_empty() =>
        {
            There::Is(to.steps().iter().chain(rest).cloned().collect())
        }
        (Some(to), _) => There::PartOf(to.clone()),
        (None, _) if object.at(field).is_none_or(says_nothing) => return Vec::new(),
        (None, _) => There::Gone,
    };
    vec![MovedField { field: field.clone(), there }]
}

/// The item of a list that was the entry of that name in a mapping.
fn item_of(after: &Node, list: &FieldPath, name: &str) -> Option<There> {
    let found = after.at(list)?.as_sequence()?.iter().find_map(|item| {
        let has_name = |entry: &&Entry| entry.value.as_scalar().is_some_and(|scalar| scalar.text == name);
        Some((item, item.as_mapping()?.first().filter(has_name)?.key.clone()))
    });
    found.map(|(item, key)| There::ItemOf { list: list.clone(), key, item: item.clone() })
}

/// Whether only the newer version knows a field: then it was written for that version.
fn is_newer(field: &FieldPath, object: &Node, version: &str) -> bool {
    let text = |key: &str| object.text_at(key).unwrap_or_default();
    knows(text("kind"), version, field) && !knows(text("kind"), text("apiVersion"), field)
}

/// Whether a version of one of Cluster API's own kinds has a field.
fn knows(kind: &str, api_version: &str, field: &FieldPath) -> bool {
    let Some((name, fields)) = TypeFields::of(kind, api_version) else { return false };
    let Some((Step::Key(first), rest)) = field.steps().split_first() else { return false };
    let first = fields.field(name, first).map(|field| &field.of);
    let found = rest.iter().try_fold(first, |of, step| match (of, step) {
        (Some(FieldContent::Struct(name)), Step::Key(key)) => {
            fields.field(name, key).map(|field| Some(&field.of))
        }
        (Some(FieldContent::List(of)), Step::Index(_) | Step::New)
        | (Some(FieldContent::Map(of)), Step::Key(_)) => Some(Some(&**of)),
        // It may hold anything.
        (Some(FieldContent::Anything | FieldContent::Metadata), _) => Some(of),
        _ => None,
    });
    found.flatten().is_some()
}

fn concerns(one: &FieldPath, other: &FieldPath) -> bool {
    !one.is_root() && (one.starts_with(other) || other.starts_with(one))
}

fn says_nothing(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Mapping(entries) => entries.is_empty(),
        NodeKind::Sequence(items) => items.is_empty(),
        NodeKind::Scalar(scalar) => matches!(
            scalar.reading(),
            ScalarReading::Null
                | ScalarReading::Bool(false)
                | ScalarReading::Integer(0)
                | ScalarReading::String("")
        ),
    }
}

/// Puts a value where a JSON patch adds it, and makes the parents that are missing.
pub(super) fn put(node: &mut Node, steps: &[Step], value: Node) {
    let Some((step, rest)) = steps.split_first() else {
        *node = value;
        return;
    };
    if node.is_null() {
        node.kind = match step {
            Step::Key(_) => NodeKind::Mapping(Vec::new()),
            Step::Index(_) | Step::New => NodeKind::Sequence(Vec::new()),
        };
    }
    match (&mut node.kind, step) {
        (NodeKind::Mapping(entries), Step::Key(key)) => {
            let at = entries.iter().position(|entry| entry.key == *key).unwrap_or_else(|| {
                entries.push(Entry { key: key.clone(), key_span: 0..0, value: Node::null() });
                entries.len() - 1
            });
            if let Some(entry) = entries.get_mut(at) {
                put(&mut entry.value, rest, value);
            }
        }
        (NodeKind::Sequence(items), Step::Index(_) | Step::New) => {
            let at = if let Step::Index(at) = step { (*at).min(items.len()) } else { items.len() };
            if at == items.len() {
                items.push(Node::null());
            }
            if let Some(item) = items.get_mut(at) {
                put(item, rest, value);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_yaml::YamlFile;

    const NEW: &str = "controlplane.cluster.x-k8s.io/v1beta2";

    fn plane(spec: &str) -> Node {
        let text = format!(
            "{{apiVersion: controlplane.cluster.x-k8s.io/v1beta1, kind: KubeadmControlPlane, spec: {spec}}}"
        );
        YamlFile::read(&text).unwrap().documents()[0].root.clone()
    }

    fn moved_lines(moved: Vec<MovedField>) -> Vec<String> {
        moved.into_iter().map(|MovedField { field, there }| format!("{field} {there}")).collect()
    }

    #[test]
    fn fields_of_a_fragment_are_reported_once_where_they_move() {
        let table: &[(&str, &[&str])] = &[
            ("{replicas: 5}", &[]),
            (
                "{rolloutStrategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0}}}",
                &["/spec/rolloutStrategy is /spec/rollout/strategy"],
            ),
            (
                "{machineTemplate: {nodeDrainTimeout: ten}}",
                &[
                    "/spec/machineTemplate/nodeDrainTimeout has no counterpart (this is not a duration that Cluster API accepts)",
                ],
            ),
            (
                "{kubeadmConfigSpec: {useExperimentalRetryJoin: true, verbosity: 0}}",
                &["/spec/kubeadmConfigSpec/useExperimentalRetryJoin no longer exists"],
            ),
            // Written for the newer version already.
            ("{rollout: {strategy: {type: RollingUpdate}}}", &[]),
        ];
        for (spec, expected) in table {
            let mut found = moved_lines(moved_fields(&plane(spec), NEW, Schemas::built_in()));
            found.sort();
            assert_eq!(found, *expected, "{spec}");
        }
    }

    /// The fields of an item are those of the list that it comes to.
    #[test]
    fn an_entry_that_becomes_an_item_is_reported_by_the_fields_of_the_list() {
        for (kind, from, to, spec, field, expected) in [
            (
                "OpenStackMachine",
                "v1alpha7",
                "v1beta1",
                "{serverMetadata: {role: worker}}",
                "/spec/serverMetadata/role",
                "is an item of the list /spec/serverMetadata, `{key: role, value: …}`",
            ),
            (
                "Metal3Cluster",
                "v1beta1",
                "v1beta2",
                "{failureDomains: {az1: {controlPlane: true}}}",
                "/spec/failureDomains/az1",
                "is an item of the list /spec/failureDomains, `{name: az1, controlPlane: …}`",
            ),
        ] {
            let group = "infrastructure.cluster.x-k8s.io";
            let text = format!("{{apiVersion: {group}/{from}, kind: {kind}, spec: {spec}}}");
            let object = YamlFile::read(&text).unwrap().documents()[0].root.clone();
            let path = FieldPath::parse(field).unwrap();
            let found = moved_lines(fate_of(&path, &object, &format!("{group}/{to}"), Schemas::built_in()));
            assert_eq!(found, [format!("{field} {expected}")]);
        }
    }

    #[test]
    fn a_field_that_an_operation_names_is_reported_with_its_new_place() {
        let extra = "/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs";
        let table = [
            ("/spec/replicas", "5", String::new()),
            (
                "/spec/rolloutStrategy/rollingUpdate/maxSurge",
                "0",
                "/spec/rolloutStrategy/rollingUpdate/maxSurge is /spec/rollout/strategy/rollingUpdate/maxSurge".to_owned(),
            ),
            (
                "/spec/machineTemplate/nodeDrainTimeout",
                "5m",
                "/spec/machineTemplate/nodeDrainTimeout is /spec/machineTemplate/spec/deletion/nodeDrainTimeoutSeconds".to_owned(),
            ),
            (
                &format!("{extra}/v"),
                "'4'",
                format!("{extra}/v is an item of the list {extra}, `{{name: v, value: …}}`"),
            ),
            ("/spec/rollout/strategy/rollingUpdate/maxSurge", "0", String::new()),
            (&format!("{extra}/-"), "{name: v, value: '4'}", String::new()),
        ];
        for (field, value, expected) in table {
            let field = FieldPath::parse(field).unwrap();
            let mut object = plane("{replicas: 3, rolloutStrategy: {type: RollingUpdate}}");
            let value = YamlFile::read(value).unwrap().documents()[0].root.clone();
            put(&mut object, field.steps(), value);
            let found = moved_lines(fate_of(&field, &object, NEW, Schemas::built_in()));
            assert_eq!(found.join("; "), expected, "{field}");
        }
    }
}
