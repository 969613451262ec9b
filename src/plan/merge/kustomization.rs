//! `kustomization.yaml`, a type of its own ([U4]): its fields merge like those of an object, and its
//! `resources` follow the files that come and go (`crate::upgrade`).
//!
//! Deliberately absent: the files that it names besides ([`super::inputs`]).
//!
//! [U4]: crate::merge::objects#u4

use super::cluster_objects::Base;
use super::decision::{Record, Stands};
use super::fields::FieldMerge;
use super::form::Form;
use super::knowledge::{Field, Knowledge};
use super::lists::{DecidedBy, ListKind, ListRule};
use super::matching::Matched;
use super::objects::MergedObject;
use super::prepared::remove;
use super::source::Piece;
use super::three_way::OldState;
use super::values::same_value;
use crate::release::only_lists;
use crate::settings::FieldRule;
use crate::substitution::{Bindings, Substitution};
use capstan_model::finding::Place;
use capstan_model::object::{ObjectId, Step};
use capstan_model::tree::RepoPath;
use capstan_yaml::{Entry, Node};

/// The kind, with which it stands in changes.
pub(crate) const KIND: &str = "Kustomization";

/// And its API group there.
pub(crate) const GROUP: &str = "kustomize.config.k8s.io";

/// Fields that say which files are read; they follow the files.
const FOLLOW_FILES: [&str; 2] = ["resources", "bases"];

/// Lists whose items stand for themselves: paths, and patches with their targets.
const SETS: [&str; 10] = [
    "components",
    "configurations",
    "crds",
    "generators",
    "patches",
    "patchesJson6902",
    "patchesStrategicMerge",
    "replacements",
    "transformers",
    "validators",
];

/// A kustomization has no name of its own: its file's stands for one.
pub(super) fn identity(root: &Node, file: &str) -> ObjectId {
    let metadata = root.get("metadata").and_then(|metadata| super::source::text(metadata, "name"));
    ObjectId {
        group: GROUP.to_owned(),
        kind: KIND.to_owned(),
        namespace: None,
        name: metadata.unwrap_or(file).to_owned(),
    }
}

/// How a list of a kustomization merges, where its own table says.
pub(crate) fn rule(list: &Field<'_>) -> Option<ListRule<'static>> {
    let listed = list.is_of_object() && SETS.contains(&list.known.key);
    let rule = ListRule { kind: ListKind::Set, decided_by: DecidedBy::OwnTable, broken_key: None };
    listed.then_some(rule)
}

/// The files that a kustomization names besides resources: patches, configurations and the like.
pub(super) fn files_besides(root: &Node) -> Vec<&str> {
    let entries = root.as_mapping().unwrap_or_default();
    let lists = |keys: &'static [&'static str]| {
        let of_these = entries.iter().filter(move |entry| keys.contains(&entry.key.as_str()));
        of_these.flat_map(|entry| entry.value.as_sequence().unwrap_or_default())
    };
    let generated = generated_from(root, &["configMapGenerator", "secretGenerator"]);
    let named = lists(&SETS)
        .filter_map(|item| item.as_str().or_else(|| item.get("path")?.as_str()))
        .filter(|text| !text.contains('\n'));
    let components: Vec<&str> = lists(&["components"]).filter_map(Node::as_str).collect();
    named.filter(|text| !components.contains(text)).chain(generated).collect()
}

/// The files of which a kustomization makes Secrets.
pub(super) fn files_of_secrets(root: &Node) -> Vec<&str> {
    generated_from(root, &["secretGenerator"])
}

/// The files of which these generators make objects.
fn generated_from<'n>(root: &'n Node, generators: &[&str]) -> Vec<&'n str> {
    let items = generators.iter().filter_map(|key| root.get(key)?.as_sequence()).flatten();
    let paths = items.flat_map(|generator| {
        let files = ["files", "envs"].into_iter().filter_map(|key| generator.get(key)?.as_sequence());
        files.flatten().chain(generator.get("env")).filter_map(Node::as_str)
    });
    // `key=path`
    paths.map(|text| text.split_once('=').map_or(text, |(_, path)| path)).collect()
}

/// Something that a release's kustomization says and that the cluster's base cannot take over.
#[derive(Debug)]
pub(crate) struct NotMerged {
    /// Of the release: the file, and the line in it.
    pub(crate) place: Place,
    /// A field, or a file.
    pub(crate) what: String,
}

impl NotMerged {
    /// A file that no upgrade can write, since it is no text.
    pub(super) fn no_text(path: RepoPath) -> Self {
        let what = format!("the file {}, which is no text", path.name());
        Self { place: Place::line_of(path, 1), what }
    }
}

/// The kustomizations of one cluster, merged.
pub(super) fn merge(
    base: &Base,
    old: Option<&Matched<'_>>,
    new: &Matched<'_>,
    bindings: &Bindings,
    owners: &[FieldRule],
) -> (Vec<MergedObject>, Vec<NotMerged>) {
    if new.form == Form::Rendered {
        // What the releases' kustomizations do is done; the base's own is the cluster's.
        return (Vec::new(), Vec::new());
    }
    let mut merged = Vec::new();
    for object in base.kustomizations.clone() {
        let Some((o, n)) = views(base, old, new, bindings, object) else { continue };
        let state = if old.is_some() { OldState::Known } else { OldState::Unknown };
        let fields = FieldMerge::<Record>::new(KIND, owners, state, false);
        let record = fields.object(Knowledge::default(), o.as_ref(), base.node(object), Some(&n));
        if !record.decisions.is_empty() {
            merged.push(MergedObject {
                object,
                record,
                stands: Stands::default(),
                converted: Vec::new(),
                versions: Vec::new(),
                renamed: None,
                sides: None,
            });
        }
    }
    (merged, not_merged(base, old, new))
}

/// What both releases say of one of the base's kustomizations, but for which files it reads; `None` where
/// neither says anything.
pub(crate) fn views(
    base: &Base,
    old: Option<&Matched<'_>>,
    new: &Matched<'_>,
    bindings: &Bindings,
    object: usize,
) -> Option<(Option<Node>, Node)> {
    if new.form == Form::Rendered {
        return None;
    }
    let below = &base.file_of(object).below;
    let side = |matched: &Matched<'_>| -> Option<Node> {
        let piece = matched.source.kustomizations.iter().find(|piece| piece.file == *below)?;
        let mut node = matched.scope(bindings, Substitution::FULL).node(&piece.root);
        for key in FOLLOW_FILES {
            remove(&mut node, &[Step::Key(key.to_owned())]);
        }
        Some(node)
    };
    let o = old.and_then(side);
    let n = side(new).or_else(|| o.is_some().then(|| Node::mapping::<String>([])))?;
    Some((o, n))
}

/// Fields of kustomizations that the base does not have.
fn not_merged(base: &Base, old: Option<&Matched<'_>>, new: &Matched<'_>) -> Vec<NotMerged> {
    let before = |piece: &Piece| {
        let pieces = old.map(|matched| matched.source.kustomizations.as_slice()).unwrap_or_default();
        pieces.iter().find(|other| other.file == piece.file)
    };
    let mut out = Vec::new();
    for piece in &new.source.kustomizations {
        let has = base.kustomizations.clone().any(|object| base.file_of(object).below == piece.file);
        if has {
            continue;
        }
        for field @ Entry { key, value, .. } in piece.root.as_mapping().unwrap_or_default() {
            let known = before(piece).and_then(|before| before.root.get(key));
            let is_plain = only_lists(&piece.root, field);
            if !is_plain && !same_value(&Knowledge::default(), known, Some(value)) {
                out.push(NotMerged {
                    place: piece.place.clone(),
                    what: format!("`{key}` of {}", piece.file),
                });
            }
        }
    }
    out
}
