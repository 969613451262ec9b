//! Properties of the field merge, and some of its outcomes one by one; the tables are in `tables`.

use proptest::prelude::*;

use super::decision::DecisionKind;
use super::decision::MergeRecord;
use super::fields::FieldMerge;
use super::knowledge::Knowledge;
use super::three_way::OldState;
use super::values::same_value;
use capstan_yaml::{DocumentEdit, Node, Value, YamlFile, edit};

/// How the releases speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Said {
    /// In whole objects.
    Whole,
    /// In some fields of one.
    Fragment,
}

/// Merges one document; the text after taking what the release alone changed, and the conflicts' paths.
fn merged(old: Option<&str>, cluster: &str, new: &str) -> (String, Vec<String>) {
    let state = if old.is_some() { OldState::Known } else { OldState::Unknown };
    merged_as(Said::Whole, state, old.unwrap_or_default(), cluster, new)
}

pub(super) fn merged_as(
    said: Said,
    state: OldState,
    old: &str,
    cluster: &str,
    new: &str,
) -> (String, Vec<String>) {
    let read = |text: &str| YamlFile::read(text).unwrap();
    let (file, new) = (read(cluster), read(new));
    let old = Some(read(old)).filter(|_| state == OldState::Known);
    let root = |file: &YamlFile| file.documents()[0].root.clone();
    let fields = FieldMerge::<MergeRecord>::new("MachineDeployment", &[], state, said == Said::Fragment);
    let known = Knowledge::default();
    let record =
        fields.object(known, old.as_ref().map(root).as_ref(), &file.documents()[0].root, Some(&root(&new)));
    let mut edits = Vec::new();
    let mut conflicts = Vec::new();
    for decision in record.decisions {
        match decision.kind {
            DecisionKind::Take => {
                edits.extend(decision.edits.into_iter().map(|edit| DocumentEdit::Edit { document: 0, edit }))
            }
            DecisionKind::Conflict | DecisionKind::Overwrite => conflicts.push(decision.path.to_string()),
            DecisionKind::TypeConflict => conflicts.push(format!("type {}", decision.path)),
            DecisionKind::Held => {}
        }
    }
    (edit(&file, &edits).unwrap().text().to_owned(), conflicts)
}

/// Maps, lists by key, sets and plain lists: (O, C, N) -> the text after the merge, conflicts.
#[test]
fn collections_case_by_case() {
    let table: &[(&str, &str, &str, &str, &[&str])] = &[
        // Maps: key by key.
        ("{f: {x: 1}}", "f: {x: 1, y: 1}", "{f: {x: 2}}", "f: {x: 2, y: 1}", &[]),
        ("{f: {x: 1}}", "f: {x: 3}", "{f: {x: 2}}", "f: {x: 3}", &["/f/x"]),
        ("{f: {x: 1}}", "{}", "{f: {x: 2}}", "{}", &["/f"]),
        ("{f: {x: 1}, a: 0}", "{f: {x: 1}, a: 0}", "{a: 0}", "{a: 0}", &[]),
        ("{f: {x: 1}}", "f: {x: 1, y: 1}", "{}", "f: {y: 1}", &[]),
        ("{}", "f: {x: 1}", "{f: {x: 1, z: 1}}", "f: {x: 1, z: 1}", &[]),
        // Lists by key.
        (
            "{files: [{path: a, v: 1}]}",
            "files: [{path: b}, {path: a, v: 1}]",
            "{files: [{path: a, v: 2}]}",
            "files: [{path: b}, {path: a, v: 2}]",
            &[],
        ),
        (
            "{files: [{path: a, v: 1}]}",
            "files: [{path: a, v: 3}]",
            "{files: []}",
            "files: [{path: a, v: 3}]",
            &["/files/0"],
        ),
        (
            "{files: [{path: a, v: 1}]}",
            "files: [{path: b}]",
            "{files: [{path: a, v: 2}]}",
            "files: [{path: b}]",
            &["/files/-"],
        ),
        (
            "{files: [{path: a, v: 1}]}",
            "files: [{path: b}]",
            "{files: [{path: a, v: 1}]}",
            "files: [{path: b}]",
            &[],
        ),
        // Sets.
        ("{certSANs: [a]}", "certSANs: [b, a]", "{certSANs: [c]}", "certSANs: [b, c]", &[]),
        ("{certSANs: [a]}", "certSANs: [b]", "{certSANs: [a]}", "certSANs: [b]", &[]),
        // One value.
        ("{f: [1, 2]}", "f: [1, 2]", "{f: [3]}", "f: [3]", &[]),
        ("{f: [1, 2]}", "f: [2, 1]", "{f: [3]}", "f: [2, 1]", &["/f"]),
        ("{f: [1, 2]}", "f: [3]", "{f: [3]}", "f: [3]", &[]),
    ];
    for (old, cluster, new, expected, conflicts) in table {
        let (text, found) = merged(Some(old), cluster, new);
        let value = |text: &str| YamlFile::read(text).unwrap().documents()[0].root.value();
        assert_eq!(value(&text), value(expected), "{old} | {cluster} | {new}");
        assert_eq!(found, *conflicts, "{old} | {cluster} | {new}");
    }
}

fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        (0..4_i64).prop_map(Value::from),
        "[a-c]".prop_map(Value::from),
        Just(Value::Bool(true)),
        Just(Value::Null),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::btree_map("[a-d]", inner.clone(), 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            proptest::collection::btree_map("[a-c]", inner, 0..3).prop_map(|map| {
                let item = |(name, value): (String, Value)| serde_json::json!({"name": name, "value": value});
                Value::Array(map.into_iter().map(item).collect())
            }),
        ]
    })
}

fn document() -> impl Strategy<Value = String> {
    proptest::collection::btree_map("[f-j]", tree(), 1..5).prop_map(|map| {
        let value = Value::Object(map.into_iter().collect());
        capstan_yaml::write(&Node::from_value(&value))
    })
}

fn node(text: &str) -> Node {
    YamlFile::read(text).unwrap().documents()[0].root.clone()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Proptest prints the seed and the smallest inputs of a failure.
    #[test]
    fn a_release_that_changes_nothing_changes_nothing(old in document(), cluster in document()) {
        let (text, conflicts) = merged(Some(&old), &cluster, &old);
        prop_assert_eq!(text, cluster);
        prop_assert!(conflicts.is_empty());
    }

    #[test]
    fn an_untouched_cluster_becomes_the_release(old in document(), new in document()) {
        let (text, conflicts) = merged(Some(&old), &old, &new);
        prop_assert!(conflicts.is_empty(), "{conflicts:?}");
        prop_assert!(same_value(&Knowledge::default(), Some(&node(&text)), Some(&node(&new))), "{text}");
    }

    #[test]
    fn merging_twice_changes_nothing_more(old in document(), cluster in document(), new in document()) {
        let (once, _) = merged(Some(&old), &cluster, &new);
        let (twice, _) = merged(Some(&new), &once, &new);
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn what_the_release_did_not_touch_keeps_its_value(old in document(), cluster in document(), new in document()) {
        let (text, _) = merged(Some(&old), &cluster, &new);
        let (o, c, n, after) = (node(&old), node(&cluster), node(&new), node(&text));
        for key in ["f", "g", "h", "i", "j"] {
            if same_value(&Knowledge::default().field(key), o.get(key), n.get(key)) {
                prop_assert!(same_value(&Knowledge::default().field(key), c.get(key), after.get(key)), "{key} of\n{text}");
            }
        }
    }

    #[test]
    fn with_an_unknown_old_release_nothing_is_removed(cluster in document(), new in document()) {
        let (text, _) = merged(None, &cluster, &new);
        for entry in node(&cluster).as_mapping().unwrap_or_default() {
            prop_assert!(node(&text).get(&entry.key).is_some());
        }
    }
}

/// What is recorded of one document: the field, the rule, and the field as O and N count their items.
#[test]
fn a_decision_is_recorded_with_its_rule_and_where_each_release_has_it() {
    let read = |text: &str| YamlFile::read(text).unwrap().documents()[0].root.clone();
    let old = read("{replicas: 2, paused: {a: 1}, files: [{path: a}, {path: b, v: 1}], certSANs: [x, y]}");
    let own = read("{replicas: 2, paused: {a: 1}, files: [{path: b, v: 1}], certSANs: [y, z, x], own: 1}");
    let new =
        read("{replicas: 3, paused: yes, files: [{path: c}, {path: a}, {path: b, v: 2}], certSANs: [x]}");
    let merge = FieldMerge::<MergeRecord>::new("KubeadmConfig", &[], OldState::Known, false);
    let record = merge.object(Knowledge::default(), Some(&old), &own, Some(&new));
    let told: Vec<String> = record
        .decisions
        .iter()
        .map(|one| {
            let (old, new) = (&one.path_in_old, &one.path_in_new);
            format!("{} {:?} {:?} {old} {new}", one.path, one.kind, one.rule)
        })
        .collect();
    assert_eq!(
        told,
        [
            "/replicas Take Fields /replicas /replicas",
            "/paused Take Types /paused /paused",
            "/files/0/v Take Fields /files/1/v /files/2/v",
            "/files/- Take Fields /files /files/0",
            "/certSANs/0 Take Lists /certSANs/1 /certSANs",
        ]
    );
    let lists: Vec<String> =
        record.lists.iter().map(|list| format!("{} {:?}", list.path, list.how)).collect();
    assert_eq!(lists, ["/files ByKey([\"path\"])", "/certSANs AsSet"]);
    // What only the cluster edited leaves no trace.
    let merge = FieldMerge::<MergeRecord>::new("KubeadmConfig", &[], OldState::Known, false);
    let record = merge.object(Knowledge::default(), Some(&old), &own, Some(&old));
    assert!(record.decisions.is_empty() && record.values.is_empty());
}
