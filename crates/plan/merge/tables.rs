//! Tables: every combination of what the old release, the cluster and the new release may hold in one
//! place, and what comes of it. Written by hand from U4 to U8.
//!
//! A table has a block for each O, in it a line for each C, in it a letter for each N; all five go
//! through the same five values, in this order:
//!
//! | | |
//! |---|---|
//! | `-` | absent |
//! | `~` | null |
//! | `1`, `2` | one value and another of the same type |
//! | `T` | a value of another type |
//!
//! The letters: `.` the cluster's value stays, and nothing is reported; `N` the release's value comes; `c` the
//! cluster's value stays as a conflict; `B` the same, and it blocks; `u` both values are there.

use super::tests::{Said, merged_as};
use super::three_way::OldState;
use capstan_yaml::{Value, YamlFile};

/// The values of a table: texts for `1`, `2` and `T`.
struct PlaceholderTexts {
    what: &'static str,
    /// The key of the field.
    key: &'static str,
    values: [&'static str; 3],
}

const ALL: [char; 5] = ['-', '~', '1', '2', 'T'];

/// In whole objects absent and null are one value, so their blocks, lines and letters are alike.
const WHOLE: &str = "
    O -   O ~   O 1   O 2   O T
    ..NNN ..NNN ...cc ..c.c ..cc.  C -
    ..NNN ..NNN ...cc ..c.c ..cc.  C ~
    ...cB ...cB NN.NN cc..B BB.B.  C 1
    ..c.B ..c.B cc..B NNN.N BBB..  C 2
    ..BB. ..BB. BB.B. BBB.. NNNN.  C T
";

/// A fragment's null removes, and its silence says nothing: a null that speaks first meets what the
/// cluster has.
const FRAGMENT: &str = "
    O -   O ~   O 1   O 2   O T
    ..NNN ..NNN ...cc ..c.c ..cc.  C -
    ..NNN ..NNN ...cc ..c.c ..cc.  C ~
    .c.cB ...cB NN.NN cc..B BB.B.  C 1
    .cc.B ..c.B cc..B NNN.N BBB..  C 2
    .cBB. ..BB. BB.B. BBB.. NNNN.  C T
";

/// Sets unite, and their items come and go without the others.
const SET: &str = "
    O -   O ~   O 1   O 2   O T
    ..NNN ..NNN ...cc ..c.c ..cc.  C -
    ..NNN ..NNN ...cc ..c.c ..cc.  C ~
    ...uB ...uB NN.NN ....B BB.B.  C 1
    ..u.B ..u.B ....B NNN.N BBB..  C 2
    ..BB. ..BB. BB.B. BBB.. NNNN.  C T
";

/// The same for what a fragment says of a set.
const FRAGMENT_SET: &str = "
    O -   O ~   O 1   O 2   O T
    ..NNN ..NNN ...cc ..c.c ..cc.  C -
    ..NNN ..NNN ...cc ..c.c ..cc.  C ~
    .c.uB ...uB NN.NN ....B BB.B.  C 1
    .cu.B ..u.B ....B NNN.N BBB..  C 2
    .cBB. ..BB. BB.B. BBB.. NNNN.  C T
";

/// With an unknown old release there is one block: what is lacking comes, nothing is overwritten or removed.
const UNKNOWN: &str = "
    O ?
    ..NNN  C -
    ..NNN  C ~
    ...cB  C 1
    ..c.B  C 2
    ..BB.  C T
";

/// Of an unknown old release lists by key take N's items in, sets unite.
const UNKNOWN_SET: &str = "
    O ?
    ..NNN  C -
    ..NNN  C ~
    ...uB  C 1
    ..u.B  C 2
    ..BB.  C T
";

/// One item of a list by key beside another: an item without the field (`~`) is not an absent one, and an
/// item that goes or was taken out is one thing (U4).
const ITEM: &str = "
    O -   O ~   O 1   O 2   O T
    .NNNN ..ccc .c.cc .cc.c .ccc.  C -
    ..NNN N.NNN c..cc c.c.c c.cc.  C ~
    ...cB c..cB NN.NN cc..B cB.B.  C 1
    ..c.B c.c.B cc..B NNN.N cBB..  C 2
    ..BB. c.BB. cB.B. cBB.. NNNN.  C T
";

const SCALAR: PlaceholderTexts = PlaceholderTexts { what: "scalar", key: "f", values: ["1", "2", "{m: 1}"] };
const MAPPING: PlaceholderTexts =
    PlaceholderTexts { what: "mapping", key: "f", values: ["{x: 1}", "{x: 2}", "7"] };
const LIST_BY_KEY: PlaceholderTexts = PlaceholderTexts {
    what: "list by key",
    key: "files",
    values: ["[{path: k, v: 1}]", "[{path: k, v: 2}]", "7"],
};
const ARGUMENTS: PlaceholderTexts = PlaceholderTexts {
    what: "arguments",
    key: "extraArgs",
    values: ["[{name: k, value: p}]", "[{name: k, value: q}]", "{k: p}"],
};
const COMMANDS: PlaceholderTexts =
    PlaceholderTexts { what: "ordered scalars", key: "preKubeadmCommands", values: ["[p]", "[q]", "7"] };
const PLAIN: PlaceholderTexts =
    PlaceholderTexts { what: "plain list", key: "f", values: ["[{a: 1}]", "[{a: 2}]", "7"] };
const NAMES: PlaceholderTexts =
    PlaceholderTexts { what: "set", key: "certSANs", values: ["[p]", "[q]", "7"] };
const ITEMS: PlaceholderTexts = PlaceholderTexts {
    what: "item",
    key: "files",
    values: [
        "[{path: k, v: 1}, {path: z}]",
        "[{path: k, v: 2}, {path: z}]",
        "[{path: k, v: {m: 1}}, {path: z}]",
    ],
};

#[test]
fn whole_objects() {
    for values in [SCALAR, MAPPING, LIST_BY_KEY, ARGUMENTS, COMMANDS, PLAIN] {
        check(&values, WHOLE, Said::Whole, "null");
    }
    check(&NAMES, SET, Said::Whole, "null");
}

#[test]
fn fragments() {
    for values in [SCALAR, MAPPING, LIST_BY_KEY, ARGUMENTS, COMMANDS, PLAIN] {
        check(&values, FRAGMENT, Said::Fragment, "null");
    }
    check(&NAMES, FRAGMENT_SET, Said::Fragment, "null");
}

#[test]
fn items_of_a_list_by_key() {
    check(&ITEMS, ITEM, Said::Whole, "[{path: k}, {path: z}]");
}

#[test]
fn with_an_unknown_old_release() {
    for values in [SCALAR, MAPPING, LIST_BY_KEY, ARGUMENTS, COMMANDS, PLAIN] {
        check_unknown(&values, UNKNOWN);
    }
    check_unknown(&NAMES, UNKNOWN_SET);
}

/// Checks each cell of a table. `null` is the text for `~`. If that is an item of a list, absent is the list
/// without the item.
fn check(values: &PlaceholderTexts, table: &str, said: Said, null: &str) {
    let texts = texts(values, null);
    for (at_c, line) in lines(table).iter().enumerate() {
        for (at_o, letters) in line.iter().enumerate() {
            for (at_n, letter) in letters.chars().enumerate() {
                let [o, c, n] = [at_o, at_c, at_n].map(|at| texts[at].as_str());
                let (after, conflicts) = merged_as(said, OldState::Known, o, c, n);
                let named = format!("{}: O {} C {} N {}", values.what, ALL[at_o], ALL[at_c], ALL[at_n]);
                let cell = Cell { named, key: values.key, letter, cluster: c, new: n };
                compare(&cell, &after, &conflicts);
            }
        }
    }
}

fn check_unknown(values: &PlaceholderTexts, table: &str) {
    let texts = texts(values, "null");
    for (at_c, line) in lines(table).iter().enumerate() {
        for (at_n, letter) in line[0].chars().enumerate() {
            let [c, n] = [at_c, at_n].map(|at| texts[at].as_str());
            let (after, conflicts) = merged_as(Said::Whole, OldState::Unknown, "", c, n);
            let named = format!("{}: O unknown C {} N {}", values.what, ALL[at_c], ALL[at_n]);
            let cell = Cell { named, key: values.key, letter, cluster: c, new: n };
            compare(&cell, &after, &conflicts);
        }
    }
}

/// The documents for `-`, `~`, `1`, `2`, `T`.
fn texts(values: &PlaceholderTexts, null: &str) -> Vec<String> {
    let absent = if null == "null" { String::new() } else { format!("{}: [{{path: z}}]\n", values.key) };
    let with = |value: &str| format!("a: 0\n{}: {value}\n", values.key);
    let [one, two, other] = values.values;
    vec![format!("a: 0\n{absent}"), with(null), with(one), with(two), with(other)]
}

/// The letters of a table, line by line, block by block.
fn lines(table: &str) -> Vec<Vec<&str>> {
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.contains(" C "))
        .map(|line| line.split_whitespace().take_while(|word| *word != "C").collect())
        .collect();
    assert_eq!(rows.len(), ALL.len());
    rows
}

/// A cell of a table: its letter, and the documents of its line and its block.
struct Cell<'t> {
    named: String,
    key: &'static str,
    letter: char,
    cluster: &'t str,
    new: &'t str,
}

fn compare(cell: &Cell<'_>, after: &str, conflicts: &[String]) {
    let Cell { named, key, letter, cluster, new } = cell;
    let value = |text: &str| {
        let file = YamlFile::read(text).unwrap();
        file.documents()[0].root.get(key).filter(|node| !node.is_null()).map(|node| sorted(node.value()))
    };
    let both = || {
        let items = |text: &str| value(text).unwrap().as_array().unwrap().clone();
        sorted(Value::Array([items(cluster), items(new)].concat()))
    };
    let expected = match letter {
        '.' | 'c' | 'B' => value(cluster),
        'N' => value(new),
        'u' => Some(both()),
        other => panic!("no letter {other}"),
    };
    let below = |conflict: &&String| {
        let path = conflict.strip_prefix("type ").unwrap_or(conflict);
        path.starts_with(&format!("/{key}"))
    };
    let blocking = conflicts.iter().filter(|conflict| conflict.starts_with("type ")).count();
    let told = (conflicts.len(), blocking, conflicts.iter().filter(below).count());
    let wanted = match letter {
        'c' => (1, 0, 1),
        'B' => (1, 1, 1),
        _ => (0, 0, 0),
    };
    assert_eq!(value(after), expected, "{named}: {letter}, {conflicts:?}");
    assert_eq!(told, wanted, "{named}: {letter}, {conflicts:?}");
}

/// A list's items in an order that does not matter here.
fn sorted(value: Value) -> Value {
    match value {
        Value::Array(mut items) => {
            items.sort_by_key(ToString::to_string);
            Value::Array(items)
        }
        other => other,
    }
}
