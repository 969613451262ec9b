//! The tables against the real definitions, where the shared data is.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{TABLE, definition, own_kinds, schema};
use crate::schema::cursor::SchemaOrigin;
use crate::schema::{Schema, SchemaFile, Schemas, ValueKind};
use capstan_model::tree::RepoPath;
use capstan_test_support::shared_data;

/// Every real definition; `None`, said aloud, where there is none.
fn real_definitions() -> Option<Schemas> {
    let files = shared_data::definition_files()?
        .into_iter()
        .map(|(name, bytes)| SchemaFile { path: RepoPath::parse(&name).unwrap(), bytes: Ok(bytes.into()) });
    Some(Schemas::read(files))
}

/// Where the table says otherwise than a definition, or nothing although that says something; and what
/// the table knows that the definition does not have.
#[derive(Default)]
struct Compared {
    differs: BTreeSet<String>,
    unknown: BTreeSet<String>,
}

impl Compared {
    fn walk(&mut self, path: &str, real: &Schema, table: Option<&Schema>) {
        if path == ".status" {
            return;
        }
        let (list, value) =
            (table.and_then(|table| table.list.as_ref()), table.and_then(|table| table.value));
        if real.list.is_some() && real.list.as_ref() != list {
            self.differs.insert(format!("{path} is {:?}, in the table {list:?}", real.list));
        }
        if real.value.is_some() && real.value != value {
            self.differs.insert(format!("{path} is a {:?}, in the table {value:?}", real.value));
        }
        for (name, below) in real.listed_fields() {
            self.walk(&format!("{path}.{name}"), below, table.and_then(|table| table.field(name)));
        }
        if let Some(item) = real.item() {
            self.walk(&format!("{path}[]"), item, table.and_then(Schema::item));
        }
        let Some(table) = table else { return };
        for (name, _) in table.listed_fields() {
            if real.listed(name).is_none() {
                self.unknown.insert(format!("{path}.{name}"));
            }
        }
        if table.item().is_some() && real.item().is_none() {
            self.unknown.insert(format!("{path}[]"));
        }
    }
}

#[test]
fn the_table_says_what_the_real_definitions_say() {
    let Some(real) = real_definitions() else { return };
    assert_eq!(real.problems(), Vec::new(), "every real definition can be read");
    let mut troubles = Vec::new();
    let (mut compared, mut kinds) = (0, BTreeSet::new());
    for kind in real.kinds.keys() {
        // What each file of one version lacks; a field may come or go between two of them.
        let mut unknown: BTreeMap<String, Vec<BTreeSet<String>>> = BTreeMap::new();
        for (definition, name, _) in real.of_kind(kind) {
            let group = definition.group.as_ref();
            let version = format!("{group}/{name}");
            let is_own = own_kinds::definition(kind, &version).is_some();
            let is_listed = TABLE
                .get(kind.as_ref())
                .is_some_and(|entries| entries.iter().any(|(entry, _)| entry.group == group));
            if !is_own && !is_listed {
                continue;
            }
            let mut result = Compared::default();
            let (_, defined) = definition.versions.iter().find(|(version, _)| version == name).unwrap();
            result.walk("", defined, Some(schema(kind, &version).0));
            troubles.extend(result.differs.into_iter().map(|text| format!("{version} {kind} {text}")));
            unknown.entry(version).or_default().push(result.unknown);
            kinds.insert(kind.clone());
            compared += 1;
        }
        for (version, files) in unknown.into_iter().filter(|(version, _)| version.contains("beta")) {
            let everywhere = files.into_iter().reduce(|one, other| &one & &other).unwrap_or_default();
            troubles.extend(everywhere.into_iter().map(|path| format!("{version} {kind} has no {path}")));
        }
    }
    println!("{compared} definitions of {} kinds compared", kinds.len());
    assert!(compared >= 60, "only {compared} compared");
    assert!(troubles.is_empty(), "{}", troubles.join("\n"));
}

/// What differs between a real definition and the built-in one, field by field: names, types, how lists
/// merge, which texts are values, and whether other fields are kept.
#[derive(Default)]
struct Differences {
    found: BTreeSet<String>,
    fields: usize,
}

impl Differences {
    fn walk(&mut self, path: &str, real: &Schema, own: &Schema) {
        if path == ".metadata" || path == ".status" {
            return;
        }
        self.fields += 1;
        let said = |schema: &Schema| format!("{:?} {:?} {:?}", schema.kind, schema.unlisted, schema.list);
        if said(real) != said(own) {
            self.found.insert(format!("{path} is {}, here {}", said(real), said(own)));
        }
        if !path.is_empty() && (&real.limits, &real.choices) != (&own.limits, &own.choices) {
            let said = |schema: &Schema| format!("{:?} {:?}", schema.limits, schema.choices);
            self.found.insert(format!("{path} asks {}, here {}", said(real), said(own)));
        }
        if real.value != own.value {
            let word = |schema: &Schema| schema.value.map_or("text", ValueKind::as_str);
            self.found.insert(format!("{path} is a {}, here a {}", word(real), word(own)));
        }
        for (name, below) in real.listed_fields() {
            match own.listed(name) {
                Some(own) => self.walk(&format!("{path}.{name}"), below, own),
                None if path.is_empty() && name == "status" => {}
                None => drop(self.found.insert(format!("{path}.{name} is not here"))),
            }
        }
        for (name, _) in own.listed_fields().filter(|(name, _)| real.listed(name).is_none()) {
            self.found.insert(format!("{path}.{name} is here alone"));
        }
        self.below(&format!("{path}.*"), real.values.as_deref(), own.values.as_deref());
        self.below(&format!("{path}[]"), real.item(), own.item());
    }

    fn below(&mut self, path: &str, real: Option<&Schema>, own: Option<&Schema>) {
        match (real, own) {
            (Some(real), Some(own)) => self.walk(path, real, own),
            (None, None) => {}
            (Some(_), None) => drop(self.found.insert(format!("{path} is not here"))),
            (None, Some(_)) => drop(self.found.insert(format!("{path} is here alone"))),
        }
    }
}

#[test]
fn every_field_of_its_own_kinds_is_as_cluster_api_defines_it() {
    let Some(real) = real_definitions() else { return };
    let mut found = BTreeSet::new();
    let (mut definitions, mut fields) = (0, 0);
    let newest = |(_, _, file, _): &(&str, String, &str, &Schema)| file.starts_with("crds/cluster-api/");
    for (kind, version, _, theirs) in of_cluster_api(&real).filter(newest) {
        let Some((own, _)) = definition(kind, &version) else { continue };
        let mut differences = Differences::default();
        differences.walk("", theirs, own);
        let (_, version) = version.split_once('/').unwrap();
        found.extend(differences.found.into_iter().map(|text| format!("{version} {kind} {text}")));
        definitions += 1;
        fields += differences.fields;
    }
    println!("{fields} fields of {definitions} definitions compared");
    assert_eq!(definitions, 32, "16 kinds in two versions");
    let found: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(found, KNOWN, "{found:#?}");
}

/// An object that an older Cluster API takes must not be found fault with.
#[test]
fn what_older_cluster_apis_define_is_known_too() {
    let Some(real) = real_definitions() else { return };
    let mut found = BTreeSet::new();
    let mut definitions = 0;
    for (kind, version, file, theirs) in of_cluster_api(&real) {
        let Some((own, _)) = definition(kind, &version) else { continue };
        let mut differences = Differences::default();
        differences.walk("", theirs, own);
        let lacking = differences.found.into_iter().filter(|text| text.ends_with("is not here"));
        found.extend(lacking.map(|text| format!("{file} {version} {kind} {text}")));
        definitions += 1;
    }
    println!("{definitions} definitions compared");
    assert!(definitions > 32, "only {definitions} definitions");
    assert_eq!(found, BTreeSet::new(), "{found:#?}");
}

/// The definitions of Cluster API's groups: kind, API version, file, schema.
fn of_cluster_api(real: &Schemas) -> impl Iterator<Item = (&str, String, &str, &Schema)> {
    let of_kind = |kind| {
        real.of_kind(kind).filter_map(|(definition, name, origin)| {
            let SchemaOrigin::Repository(place) = origin else { return None };
            let (_, schema) = definition.versions.iter().find(|(version, _)| version == name)?;
            Some((&*definition.kind, format!("{}/{name}", definition.group), place.file().as_str(), schema))
        })
    };
    real.kinds.keys().flat_map(move |kind| of_kind(kind))
}

/// A definition says only `string` of these. That it is a duration is guessed from a field's name, and this
/// one's does not tell; that it is a version of Kubernetes, no definition can say.
const KNOWN: [&str; 16] = [
    "v1beta1 Cluster .spec.topology.version is a text, here a version",
    "v1beta1 KubeadmConfig .spec.clusterConfiguration.apiServer.timeoutForControlPlane is a text, here a duration",
    "v1beta1 KubeadmConfigTemplate .spec.template.spec.clusterConfiguration.apiServer.timeoutForControlPlane is a text, here a duration",
    "v1beta1 KubeadmControlPlane .spec.kubeadmConfigSpec.clusterConfiguration.apiServer.timeoutForControlPlane is a text, here a duration",
    "v1beta1 KubeadmControlPlane .spec.version is a text, here a version",
    "v1beta1 KubeadmControlPlaneTemplate .spec.template.spec.kubeadmConfigSpec.clusterConfiguration.apiServer.timeoutForControlPlane is a text, here a duration",
    "v1beta1 Machine .spec.version is a text, here a version",
    "v1beta1 MachineDeployment .spec.template.spec.version is a text, here a version",
    "v1beta1 MachinePool .spec.template.spec.version is a text, here a version",
    "v1beta1 MachineSet .spec.template.spec.version is a text, here a version",
    "v1beta2 Cluster .spec.topology.version is a text, here a version",
    "v1beta2 KubeadmControlPlane .spec.version is a text, here a version",
    "v1beta2 Machine .spec.version is a text, here a version",
    "v1beta2 MachineDeployment .spec.template.spec.version is a text, here a version",
    "v1beta2 MachinePool .spec.template.spec.version is a text, here a version",
    "v1beta2 MachineSet .spec.template.spec.version is a text, here a version",
];
