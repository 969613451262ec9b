//! Every pair of what an upper and a lower level may say.

use std::collections::BTreeSet;

use capstan_model::tree::RepoPath;

use super::*;
use crate::kinds::InventoryFiles;
use crate::origin::LevelKind;
use crate::testing::{inventory, lines};
use crate::values::Member;

mod history;

/// A value of each type, named for it.
const SCHEMA: &str = "\
type: object
properties:
  scalar: {type: string}
  map: {type: object, additionalProperties: {type: string}}
  list: {type: array, items: {type: string}}
  keyed:
    type: array
    x-kubernetes-list-type: map
    x-kubernetes-list-map-keys: [name]
    items: {type: object, properties: {name: {type: string}, size: {type: integer}, zone: {type: string}}}
  set: {type: array, x-kubernetes-list-type: set, items: {type: string}}
";

/// `-` is absent. `!` is the finding `inventory-type` with both places, `?` the one at the lower place with that message, `^`
/// at the upper one.
#[rustfmt::skip]
const PAIRS: &[(&str, &str, &str, &str)] = &[
    // field,  upper,                lower,                expected
    ("scalar", "-",                  "-",                  "-"),
    ("scalar", "-",                  "~",                  "-"),
    ("scalar", "-",                  "b",                  r#""b""#),
    ("scalar", "-",                  "{b: c}",             "?`/scalar` must be a string, found a mapping"),
    ("scalar", "~",                  "-",                  "-"),
    ("scalar", "~",                  "~",                  "-"),
    ("scalar", "~",                  "b",                  r#""b""#),
    ("scalar", "~",                  "[b]",                "?`/scalar` must be a string, found a list"),
    ("scalar", "a",                  "-",                  r#""a""#),
    ("scalar", "a",                  "~",                  "-"),
    ("scalar", "a",                  "b",                  r#""b""#),
    ("scalar", "a",                  "a",                  r#""a""#),
    ("scalar", "a",                  "{b: c}",             "!"),
    ("scalar", "a",                  "[b]",                "!"),
    ("scalar", "{a: b}",             "b",                  "!"),
    ("scalar", "[a]",                "b",                  "!"),
    ("scalar", "{a: b}",             "-",                  "^`/scalar` must be a string, found a mapping"),
    ("scalar", "{a: b}",             "~",                  "-"),
    ("scalar", "{a: b}",             "{c: d}",             "^`/scalar` must be a string, found a mapping"),
    ("scalar", "3",                  "b",                  r#""b""#),
    ("scalar", "b",                  "3",                  "?`/scalar` must be a string, found the number 3"),
    ("map",    "-",                  "-",                  "-"),
    ("map",    "-",                  "~",                  "-"),
    ("map",    "-",                  "{b: c}",             r#"{"b":"c"}"#),
    ("map",    "-",                  "[b]",                "?`/map` must be a mapping, found a list"),
    ("map",    "~",                  "-",                  "-"),
    ("map",    "~",                  "~",                  "-"),
    ("map",    "~",                  "{b: c}",             r#"{"b":"c"}"#),
    ("map",    "~",                  "b",                  "?`/map` must be a mapping, found the text `b`"),
    ("map",    "{a: b}",             "-",                  r#"{"a":"b"}"#),
    ("map",    "{a: b}",             "~",                  "-"),
    ("map",    "{a: b}",             "{}",                 r#"{"a":"b"}"#),
    ("map",    "{a: b}",             "{c: d}",             r#"{"a":"b","c":"d"}"#),
    ("map",    "{a: b}",             "{a: c}",             r#"{"a":"c"}"#),
    ("map",    "{a: b, c: d}",       "{a: ~}",             r#"{"c":"d"}"#),
    ("map",    "{a: b}",             "{$patch: replace, c: d}", r#"{"c":"d"}"#),
    ("map",    "-",                  "{$patch: replace, c: d}", r#"{"c":"d"}"#),
    ("map",    "~",                  "{$patch: replace}",  "{}"),
    ("map",    "{a: b}",             "[c]",                "!"),
    ("map",    "{a: b}",             "c",                  "!"),
    ("map",    "a",                  "{c: d}",             "!"),
    ("map",    "[a]",                "{c: d}",             "!"),
    ("map",    "a",                  "-",                  "^`/map` must be a mapping, found the text `a`"),
    ("map",    "a",                  "~",                  "-"),
    ("map",    "a",                  "b",                  "?`/map` must be a mapping, found the text `b`"),
    ("list",   "-",                  "-",                  "-"),
    ("list",   "-",                  "~",                  "-"),
    ("list",   "-",                  "[b]",                r#"["b"]"#),
    ("list",   "-",                  "{b: c}",             "?`/list` must be a list, found a mapping"),
    ("list",   "~",                  "-",                  "-"),
    ("list",   "~",                  "~",                  "-"),
    ("list",   "~",                  "[b]",                r#"["b"]"#),
    ("list",   "~",                  "b",                  "?`/list` must be a list, found the text `b`"),
    ("list",   "[a]",                "-",                  r#"["a"]"#),
    ("list",   "[a]",                "~",                  "-"),
    ("list",   "[a]",                "[]",                 "[]"),
    ("list",   "[a, b]",             "[b]",                r#"["b"]"#),
    ("list",   "[a]",                "{c: d}",             "!"),
    ("list",   "[a]",                "c",                  "!"),
    ("list",   "a",                  "[c]",                "!"),
    ("list",   "{a: b}",             "[c]",                "!"),
    ("list",   "a",                  "-",                  "^`/list` must be a list, found the text `a`"),
    ("list",   "a",                  "~",                  "-"),
    ("list",   "a",                  "b",                  "?`/list` must be a list, found the text `b`"),
    ("keyed",  "-",                  "-",                  "-"),
    ("keyed",  "-",                  "~",                  "-"),
    ("keyed",  "-",                  "[{name: b}]",        r#"[{"name":"b"}]"#),
    ("keyed",  "-",                  "{b: c}",             "?`/keyed` must be a list, found a mapping"),
    ("keyed",  "~",                  "-",                  "-"),
    ("keyed",  "~",                  "~",                  "-"),
    ("keyed",  "~",                  "[{name: b}]",        r#"[{"name":"b"}]"#),
    ("keyed",  "~",                  "b",                  "?`/keyed` must be a list, found the text `b`"),
    ("keyed",  "[{name: a}]",        "-",                  r#"[{"name":"a"}]"#),
    ("keyed",  "[{name: a}]",        "~",                  "-"),
    ("keyed",  "[{name: a}]",        "[]",                 r#"[{"name":"a"}]"#),
    ("keyed",  "[{name: a, size: 1}, {name: b}]", "[{name: c}, {name: a, zone: z}]", r#"[{"name":"a","size":1,"zone":"z"},{"name":"b"},{"name":"c"}]"#),
    ("keyed",  "[{name: a, size: 1}]", "[{name: a, size: 2}]", r#"[{"name":"a","size":2}]"#),
    ("keyed",  "[{name: a, size: 1}]", "[{name: a, size: ~}]", r#"[{"name":"a"}]"#),
    ("keyed",  "[{name: a}, {name: b}]", "[{name: a, $patch: delete}]", r#"[{"name":"b"}]"#),
    ("keyed",  "[{name: a}]",        "[{name: b, $patch: delete}]", r#"[{"name":"a"}]"#),
    ("keyed",  "[{name: a}]",        "[{$patch: replace}]", "[]"),
    ("keyed",  "[{name: a, size: 1}]", "[{$patch: replace}, {name: a}]", r#"[{"name":"a"}]"#),
    ("keyed",  "[{name: a, size: 1, zone: z}]", "[{name: a, $patch: replace, size: 2}]", r#"[{"name":"a","size":2}]"#),
    ("keyed",  "[{name: a}]",        "{a: b}",             "!"),
    ("keyed",  "[{name: a}]",        "a",                  "!"),
    ("keyed",  "a",                  "[{name: b}]",        "!"),
    ("keyed",  "{a: b}",             "[{name: b}]",        "!"),
    ("keyed",  "a",                  "-",                  "^`/keyed` must be a list, found the text `a`"),
    ("keyed",  "a",                  "~",                  "-"),
    ("keyed",  "a",                  "b",                  "?`/keyed` must be a list, found the text `b`"),
    ("set",    "-",                  "-",                  "-"),
    ("set",    "-",                  "~",                  "-"),
    ("set",    "-",                  "[b]",                r#"["b"]"#),
    ("set",    "-",                  "b",                  "?`/set` must be a list, found the text `b`"),
    ("set",    "~",                  "-",                  "-"),
    ("set",    "~",                  "~",                  "-"),
    ("set",    "~",                  "[b]",                r#"["b"]"#),
    ("set",    "~",                  "{b: c}",             "?`/set` must be a list, found a mapping"),
    ("set",    "[a]",                "-",                  r#"["a"]"#),
    ("set",    "[a]",                "~",                  "-"),
    ("set",    "[a]",                "[]",                 r#"["a"]"#),
    ("set",    "[a, b]",             "[c, a]",             r#"["a","b","c"]"#),
    ("set",    "[a]",                "{c: d}",             "!"),
    ("set",    "[a]",                "c",                  "!"),
    ("set",    "a",                  "[c]",                "!"),
    ("set",    "{a: b}",             "[c]",                "!"),
    ("set",    "a",                  "-",                  "^`/set` must be a list, found the text `a`"),
    ("set",    "a",                  "~",                  "-"),
    ("set",    "a",                  "b",                  "?`/set` must be a list, found the text `b`"),
];

pub(super) fn schema(text: &str) -> ReleaseSchema {
    let path = RepoPath::parse("aws/v1.0.0/schema.yaml").unwrap();
    let (schema, findings) = ReleaseSchema::read("aws/v1.0.0", &path, text.as_bytes());
    assert_eq!(lines(&findings), [""; 0]);
    schema.unwrap()
}

/// The inventory of a cluster `c` in two levels, the first of which is the upper one.
fn two(levels: [LevelKind; 2], upper: &str, lower: &str) -> InventoryFiles {
    let [first, second] = levels;
    inventory(&format!(
        "Inventory i: {{levels: [{}, {}]}}\nClusterDefinition c: {{in: {{{}: u, {}: l}}}}\n{} u: {{values: {upper}}}\n{} l: {{values: {lower}}}\n",
        first.kind(),
        second.kind(),
        first.word(),
        second.word(),
        first.kind(),
        second.kind(),
    ))
}

const ORDERS: [[LevelKind; 2]; 2] =
    [[LevelKind::Environment, LevelKind::Site], [LevelKind::InfraProvider, LevelKind::Customer]];

#[test]
fn every_pair_merges_as_its_row_says_in_any_order_of_levels() {
    let schema = schema(SCHEMA);
    for order in ORDERS {
        for (field, upper, lower, expected) in PAIRS {
            let said =
                |value: &str| if value == "-" { "{}".to_owned() } else { format!("{{{field}: {value}}}") };
            let inventory = two(order, &said(upper), &said(lower));
            assert_eq!(lines(&inventory.findings), [""; 0]);
            let member = Member::of(&inventory, inventory.cluster("c").unwrap()).unwrap();
            let values = member.values(Some(&schema));
            let found = lines(&values.findings);
            let row = format!("{field}: {upper} <- {lower} under {order:?}: {found:?}");
            if *expected == "!" {
                // What the upper level says may be of the wrong type as well: that is said beside it.
                let [found, beside @ ..] = found.as_slice() else { panic!("{row}") };
                let upper = format!("in {} u, i/2.yaml:4:", order[0].kind());
                assert!(found.starts_with("inventory-type i/3.yaml:4:") && found.contains(&upper), "{row}");
                assert!(beside.iter().all(|found| found.starts_with("inventory-type i/2.yaml:4:")), "{row}");
            } else if let Some(message) = expected.strip_prefix(['?', '^']) {
                let at = if expected.starts_with('?') { "i/3.yaml:4:" } else { "i/2.yaml:4:" };
                let [found] = found.as_slice() else { panic!("{row}") };
                assert!(
                    found.starts_with(&format!("inventory-type {at}")) && found.contains(message),
                    "{row}"
                );
            } else {
                assert!(found.is_empty(), "{row}");
                let value = values.value().get(*field).map_or_else(|| "-".to_owned(), ToString::to_string);
                assert_eq!(value, **expected, "{row}");
            }
        }
    }
}

#[test]
fn no_pair_lacks_a_row() {
    let of = |field: &str, said: &str| {
        let is_own = match field {
            "map" => said.starts_with('{'),
            "scalar" => !said.starts_with(['{', '[']),
            _ => said.starts_with('['),
        };
        match said {
            "-" => "absent",
            "~" => "null",
            _ if is_own => "of its type",
            _ => "of another type",
        }
    };
    let rows: BTreeSet<(&str, &str, &str)> =
        PAIRS.iter().map(|(field, upper, lower, _)| (*field, of(field, upper), of(field, lower))).collect();
    assert_eq!(rows.len(), ["scalar", "map", "list", "keyed", "set"].len() * 4 * 4, "{rows:?}");
}

/// What is wrong with the values of two levels under [`SCHEMA`].
fn wrong(upper: &str, lower: &str) -> Vec<String> {
    let inventory = two(ORDERS[0], upper, lower);
    let member = Member::of(&inventory, inventory.cluster("c").unwrap()).unwrap();
    lines(&member.values(Some(&schema(SCHEMA))).findings)
}

#[test]
fn wrong_items_and_directives_are_found_where_they_stand() {
    for (upper, lower, expected) in [
        (
            "{}",
            "{keyed: [{size: 1}]}",
            vec!["inventory-type i/3.yaml:4:25 this item has no `name`, which identifies items of `/keyed`"],
        ),
        (
            "{}",
            "{keyed: [{name: a}, {name: b}, {name: a}]}",
            vec![
                "inventory-type i/3.yaml:4:47 `/keyed` has two items with `name` a: the first one is in i/3.yaml:4:25",
            ],
        ),
        (
            "{}",
            "{keyed: [a]}",
            vec![
                "inventory-type i/3.yaml:4:25 an item of `/keyed` is a mapping with `name`, found the text `a`",
            ],
        ),
        (
            "{}",
            "{set: [a, b, a]}",
            vec![
                "inventory-type i/3.yaml:4:29 `/set` is a set and holds this item twice: the first one is in i/3.yaml:4:23",
            ],
        ),
        (
            "{}",
            "{map: {$patch: delete}}",
            vec![
                "inventory-type i/3.yaml:4:23 `$patch: delete` is for items of a list that the schema identifies by a key, but `/map` is not such a list: `null` removes a value",
            ],
        ),
        (
            "{}",
            "{map: {$patch: merge}}",
            vec!["inventory-type i/3.yaml:4:31 `$patch` is `delete` or `replace`, found the text `merge`"],
        ),
        (
            "{}",
            "{list: [a, ~]}",
            vec!["inventory-type i/3.yaml:4:27 an item of `/list` is null, which is not a value: remove it"],
        ),
    ] {
        assert_eq!(wrong(upper, lower), expected, "{lower}");
    }
}
