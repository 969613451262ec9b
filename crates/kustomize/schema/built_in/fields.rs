//! Every field of Cluster API's own kinds, in v1beta1 and v1beta2: the types that its Go packages declare
//! (<https://github.com/kubernetes-sigs/cluster-api/tree/main/api>, version 1.14), without `status`.
//!
//! Two compact tables, `fields_v1beta1.txt` and `fields_v1beta2.txt`. A line is a type and its fields, a
//! field a name and what it is: `string`, `version` (a string that is Kubernetes' version), `int`, `number`,
//! `bool`, `int-or-string`, `quantity`, `duration`, `time`, `any` (JSON of any shape), `meta` (an object's
//! metadata), a type of the table, `{}` a map from names, and a list: `[]` where its Go type says nothing of
//! how it merges, `[atomic]` and `[set]` as `+listType` says, `[key+effect]` where it is a map with these
//! `+listMapKey`s. What follows the type says what becomes of a zero value (nothing, `""`, `0`, `false`,
//! `[]`, `{}`) when Cluster API writes the object: nothing: it is left out; `?`: it is kept, since the
//! field tells zero and absent apart; `!`: it is always written.
//!
//! Types, not schemas, since some hold themselves (`JSONSchemaProps`); `own_kinds` makes schemas of them. A
//! test compares every line with the real definitions.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::schema::node::{ListType, MapKey};
use crate::schema::value::ValueKind;

/// The minor of the newest Cluster API whose fields stand here: 1.14.
pub const NEWEST_MINOR: u64 = 14;

/// The kinds of the table, by group.
pub(super) const KINDS: &[(&str, &[&str])] = &[
    (
        "cluster.x-k8s.io",
        &[
            "Cluster",
            "ClusterClass",
            "Machine",
            "MachineDeployment",
            "MachineDrainRule",
            "MachineHealthCheck",
            "MachinePool",
            "MachineSet",
        ],
    ),
    ("bootstrap.cluster.x-k8s.io", &["KubeadmConfig", "KubeadmConfigTemplate"]),
    ("controlplane.cluster.x-k8s.io", &["KubeadmControlPlane", "KubeadmControlPlaneTemplate"]),
    ("addons.cluster.x-k8s.io", &["ClusterResourceSet", "ClusterResourceSetBinding"]),
    ("ipam.cluster.x-k8s.io", &["IPAddress", "IPAddressClaim"]),
];

/// The types of one version.
#[derive(Debug, Default)]
pub struct TypeFields(HashMap<&'static str, Vec<TypeField>>);

/// A field of a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeField {
    /// Its name.
    pub name: &'static str,
    /// Its content.
    pub of: FieldContent,
    /// What becomes of a zero value.
    pub zero: Zero,
    /// How it merges, where it is a list of which its Go type says so.
    pub list: Option<ListType>,
    /// How its text compares as a value.
    pub value: Option<ValueKind>,
}

/// The content of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FieldContent {
    /// A string.
    Text,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Truth,
    /// A whole number or a string.
    IntegerOrText,
    /// A Go duration: `10m`.
    Duration,
    /// A time: `2026-01-02T03:04:05Z`.
    Time,
    /// Any JSON.
    Anything,
    /// An object's metadata.
    Metadata,
    /// A list.
    List(Box<Self>),
    /// A map from names.
    Map(Box<Self>),
    /// A type of the table.
    Struct(&'static str),
}

/// What becomes of a zero value when Cluster API writes the object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Zero {
    /// It is left out: zero and absent are one.
    Dropped,
    /// It is kept: zero and absent are two.
    Kept,
    /// It is written even where it was absent.
    Written,
}

impl TypeFields {
    /// The kind, which is its type too, and the types of its version (`group/version`), where it is Cluster
    /// API's own.
    pub fn of(kind: &str, api_version: &str) -> Option<(&'static str, &'static Self)> {
        static BETA1: LazyLock<TypeFields> =
            LazyLock::new(|| TypeFields::read(include_str!("fields_v1beta1.txt")));
        static BETA2: LazyLock<TypeFields> =
            LazyLock::new(|| TypeFields::read(include_str!("fields_v1beta2.txt")));
        let (group, version) = api_version.split_once('/')?;
        let (_, kinds) = KINDS.iter().find(|(known, _)| *known == group)?;
        let kind = kinds.iter().find(|known| **known == kind)?;
        match version {
            "v1beta1" => Some((kind, &*BETA1)),
            "v1beta2" => Some((kind, &*BETA2)),
            _ => None,
        }
    }

    /// The fields of a type; none where there is no such type.
    pub fn of_type(&self, name: &str) -> &[TypeField] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// A field of a type.
    pub fn field(&self, name: &str, field: &str) -> Option<&TypeField> {
        self.of_type(name).iter().find(|known| known.name == field)
    }

    /// The field at a path of fields (`a.b`) below a type.
    pub fn below(&self, name: &str, path: &str) -> Option<&TypeField> {
        let mut steps = path.split('.');
        let first = self.field(name, steps.next()?)?;
        steps.try_fold(first, |field, step| match field.of {
            FieldContent::Struct(name) => self.field(name, step),
            _ => None,
        })
    }

    /// The names of all types.
    pub fn types(&self) -> impl Iterator<Item = &'static str> {
        self.0.keys().copied()
    }

    fn read(table: &'static str) -> Self {
        let mut types: HashMap<&'static str, Vec<TypeField>> = HashMap::new();
        let mut last = "";
        for line in table.lines() {
            let fields = if line.starts_with(' ') {
                line
            } else {
                let Some((name, fields)) = line.split_once(':') else { continue };
                last = name;
                fields
            };
            let read = fields.split(',').filter_map(|field| {
                let (name, of) = field.trim().split_once(' ')?;
                Some(TypeField::read(name, of))
            });
            types.entry(last).or_default().extend(read);
        }
        Self(types)
    }
}

impl TypeField {
    fn read(name: &'static str, text: &'static str) -> Self {
        let bare = text.trim_end_matches(['?', '!']);
        let zero = match &text[bare.len()..] {
            "" => Zero::Dropped,
            "!" => Zero::Written,
            _ => Zero::Kept,
        };
        let value = match bare {
            "duration" => Some(ValueKind::Duration),
            "quantity" => Some(ValueKind::Quantity),
            "version" => Some(ValueKind::Version),
            _ => None,
        };
        Self { name, of: FieldContent::read(bare), zero, list: list(bare), value }
    }
}

fn list(text: &'static str) -> Option<ListType> {
    let (how, _) = text.strip_prefix('[')?.split_once(']')?;
    match how {
        "" => None,
        "atomic" => Some(ListType::Atomic),
        "set" => Some(ListType::Set),
        keys => {
            let key = |name: &str| MapKey { name: name.into(), default: None };
            Some(ListType::Map(keys.split('+').map(key).collect()))
        }
    }
}

impl FieldContent {
    fn read(text: &'static str) -> Self {
        if let Some((_, item)) = text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            return Self::List(Box::new(Self::read(item)));
        }
        if let Some(value) = text.strip_prefix("{}") {
            return Self::Map(Box::new(Self::read(value)));
        }
        match text {
            "string" | "version" => Self::Text,
            "int" => Self::Integer,
            "number" => Self::Number,
            "bool" => Self::Truth,
            "int-or-string" | "quantity" => Self::IntegerOrText,
            "duration" => Self::Duration,
            "time" => Self::Time,
            "any" => Self::Anything,
            "meta" => Self::Metadata,
            name => Self::Struct(name),
        }
    }

    /// In words: `a string`.
    pub const fn noun(&self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Integer => "a whole number",
            Self::Number => "a number",
            Self::Truth => "true or false",
            Self::IntegerOrText => "a whole number or a string",
            Self::Duration => "a duration such as 10m",
            Self::Time => "a time",
            Self::Anything => "anything",
            Self::Metadata | Self::Map(_) | Self::Struct(_) => "a mapping",
            Self::List(_) => "a list",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GROUP: &str = "cluster.x-k8s.io";

    #[test]
    fn every_type_that_a_field_names_is_in_the_table_and_every_type_is_named() {
        for version in ["v1beta1", "v1beta2"] {
            let (_, fields) = TypeFields::of("Cluster", &format!("{GROUP}/{version}")).unwrap();
            let mut named: Vec<&str> = KINDS.iter().flat_map(|(_, kinds)| kinds.iter().copied()).collect();
            for name in fields.types() {
                assert!(!fields.of_type(name).is_empty(), "{version} {name} has no fields");
                for field in fields.of_type(name) {
                    let mut of = &field.of;
                    while let FieldContent::List(inner) | FieldContent::Map(inner) = of {
                        of = inner;
                    }
                    if let FieldContent::Struct(below) = of {
                        assert!(
                            !fields.of_type(below).is_empty(),
                            "{version} {name}.{}: {below}?",
                            field.name
                        );
                        named.push(below);
                    }
                }
            }
            let idle: Vec<&str> = fields.types().filter(|name| !named.contains(name)).collect();
            assert!(idle.is_empty(), "{version}: nothing is a {idle:?}");
        }
    }

    #[test]
    fn fields_are_read_as_the_tables_write_them() {
        let (_, beta1) = TypeFields::of("MachineSet", "cluster.x-k8s.io/v1beta1").unwrap();
        let field = |path| beta1.below("MachineSetSpec", path).map(|field| (field.of.clone(), field.zero));
        assert_eq!(field("replicas"), Some((FieldContent::Integer, Zero::Kept)));
        assert_eq!(field("minReadySeconds"), Some((FieldContent::Integer, Zero::Dropped)));
        assert_eq!(field("clusterName"), Some((FieldContent::Text, Zero::Written)));
        assert_eq!(field("template.spec.nodeDrainTimeout"), Some((FieldContent::Duration, Zero::Kept)));
        assert_eq!(field("template.spec.deletion"), None);
        let taints = FieldContent::List(Box::new(FieldContent::Struct("MachineTaint")));
        assert_eq!(field("template.spec.taints"), Some((taints, Zero::Dropped)));
        assert_eq!(field("template.spec.version"), Some((FieldContent::Text, Zero::Kept)));
        let taints = beta1.below("MachineSetSpec", "template.spec.taints").unwrap();
        let key = |name: &str| MapKey { name: name.into(), default: None };
        assert_eq!(taints.list, Some(ListType::Map([key("key"), key("effect")].into())));
        let value = |path| beta1.below("MachineSetSpec", path).and_then(|field| field.value);
        assert_eq!(value("template.spec.version"), Some(ValueKind::Version));
        assert_eq!(value("template.spec.nodeDrainTimeout"), Some(ValueKind::Duration));
        assert_eq!(value("deletePolicy"), None);
        assert!(TypeFields::of("MachineSet", "apps/v1beta1").is_none());
        assert!(TypeFields::of("DockerCluster", "cluster.x-k8s.io/v1beta1").is_none());
        assert!(TypeFields::of("MachineSet", "cluster.x-k8s.io/v1alpha3").is_none());
    }
}
