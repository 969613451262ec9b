//! The table against the real definitions, where the shared data is.

use std::collections::{BTreeMap, BTreeSet};

use super::{TABLE, schema};
use crate::schema::Schema;
use crate::schema::testing::real_definitions;

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
            let listed = TABLE
                .get(kind.as_ref())
                .is_some_and(|entries| entries.iter().any(|(entry, _)| entry.group == group));
            if !listed {
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
