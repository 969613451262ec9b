//! Random edits of generated and of real YAML: the meaning changes exactly as intended and no byte
//! outside of the edited place, or the edit is refused.
//!
//! `CAPSTAN_EDITS` is the number of edits (3,000 where unset), `CAPSTAN_SEED` the seed.

use std::collections::BTreeMap;

use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{DocumentEdit, Edit, Node, NodeKind, Value, YamlFile, edit, same_meaning, write};

use crate::{manifest, oracle};
use capstan_test_support::random::{Random, seed};
use capstan_test_support::shared_data;

fn wanted_edits() -> usize {
    std::env::var("CAPSTAN_EDITS").ok().and_then(|count| count.parse().ok()).unwrap_or(3_000)
}

/// What became of the edits.
#[derive(Default)]
struct Tally {
    done: BTreeMap<&'static str, usize>,
    refused: BTreeMap<&'static str, usize>,
    reasons: BTreeMap<String, usize>,
    wrong: Vec<String>,
}

impl Tally {
    fn print(&self, title: &str, seed: u64) {
        println!("{title} (seed {seed})");
        for (kind, done) in &self.done {
            let refused = self.refused.get(kind).copied().unwrap_or_default();
            println!("  {kind:<10} {done:>7} done {refused:>6} refused");
        }
        let (done, refused) = (self.done.values().sum::<usize>(), self.refused.values().sum::<usize>());
        println!("  all        {done:>7} done {refused:>6} refused {:>3} wrong", self.wrong.len());
        for (reason, count) in &self.reasons {
            println!("    {count:>6} × {reason}");
        }
    }

    fn judge(&self, title: &str, seed: u64) {
        self.print(title, seed);
        assert!(
            self.wrong.is_empty(),
            "seed {seed}: {} wrong, the first:\n{}",
            self.wrong.len(),
            self.wrong[0]
        );
        let (done, refused) = (self.done.values().sum::<usize>(), self.refused.values().sum::<usize>());
        assert!(refused * 50 <= done + refused, "seed {seed}: {refused} of {} refused", done + refused);
    }
}

/// Every path of a document that may be edited.
fn paths(node: &Node, path: &FieldPath, out: &mut Vec<FieldPath>) {
    if node.shared {
        return;
    }
    out.push(path.clone());
    match &node.kind {
        NodeKind::Scalar(_) => {}
        NodeKind::Mapping(entries) => {
            entries.iter().for_each(|entry| paths(&entry.value, &path.key(&entry.key), out));
        }
        NodeKind::Sequence(items) => {
            items.iter().enumerate().for_each(|(index, item)| paths(item, &path.index(index), out));
        }
    }
}

fn has_shared(node: &Node) -> bool {
    node.shared
        || match &node.kind {
            NodeKind::Scalar(_) => false,
            NodeKind::Mapping(entries) => entries.iter().any(|entry| has_shared(&entry.value)),
            NodeKind::Sequence(items) => items.iter().any(has_shared),
        }
}

/// A random edit of a document; `None` where the dice fell on something that no one would ask for.
fn random_edit(random: &mut Random, root: &Node, paths: &[FieldPath], depth: usize) -> Option<Edit> {
    let path = random.pick(paths).clone();
    let node = root.at(&path)?;
    match random.below(100) {
        0..=34 => {
            if path.is_root() || has_shared(node) {
                return None;
            }
            let new = manifest::value(random, 2, false);
            Some(Edit::Set { path, node: Node::from_value(&new) })
        }
        35..=64 => {
            let new = Node::from_value(&manifest::value(random, 2, false));
            match &node.kind {
                NodeKind::Mapping(entries) if !entries.is_empty() || random.percent(50) => {
                    let key = manifest::key(random);
                    if node.get(&key).is_some() {
                        return None;
                    }
                    let after =
                        (!entries.is_empty() && random.percent(60)).then(|| random.pick(entries).key.clone());
                    Some(Edit::Insert { parent: path, key, node: new, after })
                }
                NodeKind::Sequence(items) => {
                    Some(Edit::InsertItem { list: path, index: random.below(items.len() + 1), node: new })
                }
                NodeKind::Scalar(_) if node.is_null() && !path.is_root() => {
                    Some(Edit::Insert { parent: path, key: manifest::key(random), node: new, after: None })
                }
                _ => None,
            }
        }
        65..=89 => (!path.is_root() && !has_shared(node)).then_some(Edit::Remove { path }),
        _ => {
            let holds_yaml = |path: &&FieldPath| {
                root.at(path)
                    .and_then(Node::as_str)
                    .is_some_and(|text| text.contains(':') && text.contains('\n'))
            };
            let candidates: Vec<&FieldPath> = paths.iter().filter(holds_yaml).collect();
            if candidates.is_empty() {
                return None;
            }
            let path = (*random.pick(&candidates)).clone();
            let inner = YamlFile::read(root.at(&path)?.as_str()?).ok()?;
            let document = inner.documents().first()?;
            if depth > 0
                || document.root.as_mapping().is_none_or(<[_]>::is_empty)
                || document.duplicate_key.is_some()
            {
                return None;
            }
            let mut below = Vec::new();
            paths_of(&document.root, &mut below);
            let edits = vec![random_edit(random, &document.root, &below, depth + 1)?];
            Some(Edit::Within { path, document: 0, edits })
        }
    }
}

fn paths_of(root: &Node, out: &mut Vec<FieldPath>) {
    paths(root, &FieldPath::root(), out);
}

const fn kind(edit: &Edit) -> &'static str {
    match edit {
        Edit::Set { .. } => "set",
        Edit::Insert { .. } => "insert",
        Edit::InsertItem { .. } => "item",
        Edit::Remove { .. } => "remove",
        Edit::Within { .. } => "within",
    }
}

/// The path that an edit has for itself: no other edit of the batch may concern it or what is below.
fn claimed(edit: &Edit) -> Option<&FieldPath> {
    match edit {
        Edit::Set { path, .. } | Edit::Remove { path } | Edit::Within { path, .. } => Some(path),
        Edit::Insert { .. } | Edit::InsertItem { .. } => None,
    }
}

const fn place(edit: &Edit) -> &FieldPath {
    match edit {
        Edit::Set { path, .. } | Edit::Remove { path } | Edit::Within { path, .. } => path,
        Edit::Insert { parent, .. } => parent,
        Edit::InsertItem { list, .. } => list,
    }
}

fn collide(a: &Edit, b: &Edit) -> bool {
    let same_key = match (a, b) {
        (Edit::Insert { parent, key, .. }, Edit::Insert { parent: other, key: other_key, .. }) => {
            parent == other && key == other_key
        }
        _ => false,
    };
    same_key
        || claimed(a).is_some_and(|path| place(b).starts_with(path))
        || claimed(b).is_some_and(|path| place(a).starts_with(path))
}

/// Makes a batch, does it, and compares with what the oracle says.
fn try_batch(random: &mut Random, file: &YamlFile, name: &str, most: usize, tally: &mut Tally) -> usize {
    let document = random.below(file.documents().len());
    let root = &file.documents()[document].root;
    let mut paths = Vec::new();
    paths_of(root, &mut paths);
    if paths.is_empty() {
        return 0;
    }
    let mut edits: Vec<Edit> = Vec::new();
    for _ in 0..=random.below(most) {
        if let Some(new) = random_edit(random, root, &paths, 0)
            && !edits.iter().any(|old| collide(old, &new))
        {
            edits.push(new);
        }
    }
    if edits.is_empty() {
        return 0;
    }
    let batch: Vec<DocumentEdit> =
        edits.iter().map(|edit| DocumentEdit::Edit { document, edit: edit.clone() }).collect();
    let result = edit(file, &batch);
    for edit in &edits {
        let counts = if result.is_ok() { &mut tally.done } else { &mut tally.refused };
        *counts.entry(kind(edit)).or_default() += 1;
    }
    match result {
        Err(refused) => {
            if std::env::var_os("CAPSTAN_SHOW_REFUSALS").is_some() {
                println!("== {name}: {refused}\n{edits:?}\n{}\n", file.text());
            }
            *tally.reasons.entry(refused.reason).or_default() += edits.len();
        }
        Ok(edited) => {
            if let Some(trouble) = find_wrong(file, &edited, document, &edits) {
                tally.wrong.push(format!(
                    "{name}: {trouble}\n-- edits {edits:?}\n-- before\n{}\n-- after\n{}\n",
                    file.text(),
                    edited.text()
                ));
            }
        }
    }
    edits.len()
}

/// What is wrong with an edited file, if anything.
fn find_wrong(file: &YamlFile, edited: &YamlFile, document: usize, edits: &[Edit]) -> Option<String> {
    let reread = YamlFile::read(edited.text()).unwrap();
    if reread.documents().len() != file.documents().len() {
        return Some(format!("{} documents", reread.documents().len()));
    }
    for (index, (old, new)) in file.documents().iter().zip(reread.documents()).enumerate() {
        let old = old.root.value();
        let wanted =
            if index == document { oracle::apply(&old, &FieldPath::root(), edits).unwrap() } else { old };
        let got = embed(&new.root.value(), &FieldPath::root(), edits, index == document);
        if wanted != got {
            return Some(format!("document {index} means {got}\n-- wanted {wanted}"));
        }
    }
    let mut regions: Vec<_> = edits.iter().map(|edit| oracle::region(file, document, edit, edits)).collect();
    regions.sort_by_key(|region| region.start);
    let around = regions.first()?.start..regions.iter().map(|region| region.end).max()?;
    if !oracle::untouched(file.text(), edited.text(), &around) {
        return Some(format!("bytes outside of {around:?} changed"));
    }
    // Between the regions too, every line stays, in its order.
    let mut rest = edited.text();
    let mut from = 0;
    for region in &regions {
        for line in file.text()[from.min(region.start)..region.start].split_inclusive('\n') {
            let Some(at) = rest.find(line.trim_end_matches(['\r', '\n'])) else {
                return Some(format!("the line {line:?} is lost"));
            };
            rest = &rest[at..];
        }
        from = from.max(region.end);
    }
    None
}

/// The value with strings that were edited within as the document in them, as the oracle has them. The
/// paths are those before the edits, so lists that change their length hold no such string.
fn embed(value: &Value, path: &FieldPath, edits: &[Edit], here: bool) -> Value {
    let within = |edit: &&Edit| matches!(edit, Edit::Within { path: at, .. } if at == path);
    if here
        && let Some(text) = value.as_str()
        && edits.iter().any(|edit| within(&edit))
    {
        return YamlFile::read(text).unwrap().documents()[0].root.value();
    }
    // Which item before the edits each item now is; `None` for those that were added.
    let length = value.as_array().map_or(0, Vec::len);
    let added = |at: usize| {
        let here = |edit: &&Edit| matches!(edit, Edit::InsertItem { list, index, .. } if list == path && *index == at);
        std::iter::repeat_n(None, edits.iter().filter(here).count())
    };
    let kept = |at: usize| {
        let gone =
            edits.iter().any(|edit| matches!(edit, Edit::Remove { path: gone } if *gone == path.index(at)));
        (!gone).then_some(Some(at))
    };
    let before: Vec<Option<usize>> =
        (0..=length + edits.len()).flat_map(|at| added(at).chain(kept(at))).collect();
    match value {
        Value::Object(map) => Value::Object(
            map.iter().map(|(key, value)| (key.clone(), embed(value, &path.key(key), edits, here))).collect(),
        ),
        Value::Array(items) => Value::Array(
            items
                .iter()
                .zip(before)
                .map(|(item, before)| match before {
                    Some(index) => embed(item, &path.join(Step::Index(index)), edits, here),
                    None => item.clone(),
                })
                .collect(),
        ),
        other => other.clone(),
    }
}

#[test]
fn generated_manifests_are_read_and_edited_as_intended() {
    let seed = seed();
    let mut random = Random::new(seed);
    let mut tally = Tally::default();
    let (mut edits, mut streams) = (0, 0);
    while edits < wanted_edits() * 2 / 3 {
        let made = manifest::stream(&mut random);
        streams += 1;
        let file = YamlFile::read(&made.text)
            .unwrap_or_else(|error| panic!("seed {seed}, stream {streams}: {error}\n{}", made.text));
        assert_eq!(file.text(), made.text);
        let read: Vec<Value> = file.documents().iter().map(|document| document.root.value()).collect();
        assert_eq!(read, made.documents, "seed {seed}, stream {streams}:\n{}", made.text);
        for document in file.documents() {
            let written = write(&document.root);
            let again =
                YamlFile::read(&written).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{written}"));
            assert!(same_meaning(&again.documents()[0].root, &document.root), "seed {seed}:\n{written}");
        }
        for _ in 0..6 {
            let most = if random.percent(60) { 1 } else { 5 };
            edits += try_batch(&mut random, &file, &format!("stream {streams}"), most, &mut tally);
        }
    }
    tally.judge(&format!("{edits} edits of {streams} generated streams"), seed);
}

#[test]
fn real_files_are_read_and_edited_as_intended() {
    let Some(paths) = shared_data::yaml_files() else { return };
    let seed = seed();
    let mut random = Random::new(seed);
    let mut tally = Tally::default();
    let mut unreadable = Vec::new();
    let mut files = Vec::new();
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        match YamlFile::read_bytes(&bytes) {
            Ok(file) => {
                assert_eq!(file.text().as_bytes(), bytes);
                let editable = file.documents().iter().all(|document| document.duplicate_key.is_none());
                if editable && !file.documents().is_empty() && bytes.len() < 200_000 {
                    files.push((path.display().to_string(), file));
                }
            }
            Err(error) => unreadable.push(format!("{}: {error}", path.display())),
        }
    }
    println!("{} files are edited; unreadable: {unreadable:#?}", files.len());
    assert!(unreadable.len() <= 2, "{unreadable:#?}");
    let mut edits = 0;
    while edits < wanted_edits() / 3 {
        let (name, file) = random.pick(&files);
        let most = if random.percent(60) { 1 } else { 5 };
        edits += try_batch(&mut random, file, name, most, &mut tally);
    }
    tally.judge(&format!("{edits} edits of {} real files", files.len()), seed);
}
