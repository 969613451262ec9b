//! Fields of objects that kustomizations name besides their patches ([U7a]): `replacements`, and the files of
//! `configurations`. They follow the objects to another API version where the field is another one there with the same
//! value.
//!
//! [U7a]: crate::merge::converted#u7a

use super::class_patch_edits::follow_field;
use super::model::{Change, ChangeReason};
use super::moved_fields::{MovedField, fate_of, put};
use super::patches::{Patches, place_in, selects, short_version};
use super::retarget::{items, text};
use crate::merge::cluster_objects::Base;
use capstan_kustomize::render::is_kustomization;
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::Place;
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Edit, Node};
use std::collections::BTreeSet;

/// The fields of a file of `configurations` that list fields of objects.
const CONFIGURATION: [&str; 10] = [
    "namePrefix",
    "nameSuffix",
    "namespace",
    "commonLabels",
    "labels",
    "templateLabels",
    "commonAnnotations",
    "varReference",
    "images",
    "replicas",
];

/// A text that follows an object.
pub(super) struct FollowedName {
    /// The object of the base.
    pub(super) object: usize,
    pub(super) file: usize,
    pub(super) document: usize,
    pub(super) edit: Edit,
    pub(super) change: Change,
    /// What to write, for a person who writes it.
    pub(super) instead: String,
    pub(super) place: Place,
}

/// A text that names a field of the version before and does not follow.
pub(super) struct StaleName {
    pub(super) object: usize,
    pub(super) field: FieldPath,
    pub(super) place: Place,
    pub(super) message: String,
}

/// How a selector is read.
#[derive(Clone, Copy)]
enum SelectorText {
    /// Its texts are regular expressions.
    Patterns,
    Literal,
}

/// A selector of objects, and the texts that name fields of those.
struct NamedFields<'n> {
    selector: &'n Node,
    /// Where it is in its document.
    at: FieldPath,
    reads: SelectorText,
    /// Where each text is, and the text.
    fields: Vec<(FieldPath, &'n str)>,
    /// What is between the keys of a field.
    separator: char,
}

/// What follows of the names in these files, and what does not.
pub(super) fn named_fields(
    base: &Base,
    patches: &Patches<'_>,
    schemas: &Schemas,
) -> (Vec<FollowedName>, Vec<StaleName>) {
    let (mut followed, mut stale) = (Vec::new(), Vec::new());
    for (file, (yaml, path)) in patches.files.iter().enumerate() {
        for (document, content) in yaml.documents().iter().enumerate() {
            for named in names_in(&content.root, is_kustomization(path)) {
                let place = |at: &FieldPath| place_in(yaml, path, &content.root, at);
                let naming = Naming { base, schemas, named: &named, file, document, place: &place };
                match naming.follow() {
                    Ok(names) => followed.extend(names),
                    Err(names) => stale.extend(names),
                }
            }
        }
    }
    (followed, stale)
}

fn names_in(root: &Node, is_kustomization: bool) -> Vec<NamedFields<'_>> {
    let mut found = Vec::new();
    let replaces = |item: &Node| item.get("source").is_some() || item.get("targets").is_some();
    if is_kustomization {
        for (index, item) in items(root, "replacements").enumerate() {
            found.extend(of_replacement(item, &FieldPath::root().key("replacements").index(index)));
        }
    } else if root.get("kind").is_none() {
        if replaces(root) {
            found.extend(of_replacement(root, &FieldPath::root()));
        }
        for (index, item) in root.as_sequence().unwrap_or_default().iter().enumerate() {
            if replaces(item) {
                found.extend(of_replacement(item, &FieldPath::root().index(index)));
            }
        }
        found.extend(of_configuration(root));
    }
    found
}

fn of_replacement<'n>(item: &'n Node, at: &FieldPath) -> Vec<NamedFields<'n>> {
    let named =
        |selector, at: FieldPath, reads, fields| NamedFields { selector, at, reads, fields, separator: '.' };
    let mut found = Vec::new();
    if let Some(source) = item.get("source") {
        let at = at.key("source");
        let field = text(source, "fieldPath").map(|field| (at.key("fieldPath"), field));
        found.push(named(source, at, SelectorText::Literal, field.into_iter().collect()));
    }
    for (index, target) in items(item, "targets").enumerate() {
        let at = at.key("targets").index(index);
        let fields = items(target, "fieldPaths").enumerate();
        let fields =
            fields.filter_map(|(index, field)| Some((at.key("fieldPaths").index(index), field.as_str()?)));
        if let Some(select) = target.get("select") {
            found.push(named(select, at.key("select"), SelectorText::Patterns, fields.collect()));
        }
        for (index, reject) in items(target, "reject").enumerate() {
            found.push(named(reject, at.key("reject").index(index), SelectorText::Patterns, Vec::new()));
        }
    }
    found
}

fn of_configuration(root: &Node) -> Vec<NamedFields<'_>> {
    let named = |item, at: FieldPath| {
        let path = text(item, "path").map(|path| (at.key("path"), path));
        let (fields, reads) = (path.into_iter().collect(), SelectorText::Literal);
        NamedFields { selector: item, at, reads, fields, separator: '/' }
    };
    let mut found = Vec::new();
    for key in CONFIGURATION {
        for (index, item) in items(root, key).enumerate() {
            found.push(named(item, FieldPath::root().key(key).index(index)));
        }
    }
    for (index, item) in items(root, "nameReference").enumerate() {
        let at = FieldPath::root().key("nameReference").index(index);
        for (index, field) in items(item, "fieldSpecs").enumerate() {
            found.push(named(field, at.key("fieldSpecs").index(index)));
        }
        found.push(named(item, at));
    }
    found
}

/// One selector with its fields, and the objects.
struct Naming<'r> {
    base: &'r Base,
    schemas: &'r Schemas,
    named: &'r NamedFields<'r>,
    file: usize,
    document: usize,
    place: &'r dyn Fn(&FieldPath) -> Place,
}

impl Naming<'_> {
    /// What becomes of the texts, or those that keep them from following.
    fn follow(&self) -> Result<Vec<FollowedName>, Vec<StaleName>> {
        let objects = 0..self.base.kustomizations.start;
        let targets: Vec<usize> = objects.filter(|object| self.selects(*object)).collect();
        let moves = |object: &&usize| self.base.converted.contains_key(*object);
        let Some(first) = targets.iter().find(moves).copied() else { return Ok(Vec::new()) };
        let all_move = targets.iter().all(|object| moves(&object));
        let (mut followed, mut stale) = (Vec::new(), Vec::new());
        for (at, written) in &self.named.fields {
            let found: BTreeSet<Option<String>> =
                targets.iter().map(|object| self.field_after(*object, written)).collect();
            match found.first() {
                Some(Some(only)) if found.len() == 1 => {
                    if only != written {
                        let instead = format!("There the field is `{only}`: write it");
                        followed.push(self.name(first, at, only, instead));
                    }
                }
                _ => stale.extend(self.stale(&targets, at, written)),
            }
        }
        if !stale.is_empty() {
            return Err(stale);
        }
        let versions: BTreeSet<&str> =
            targets.iter().map(|object| short_version(self.base.node(*object))).collect();
        if text(self.named.selector, "version").is_some()
            && let (true, Some(version), 1) = (all_move, versions.first(), versions.len())
        {
            let instead = format!("Write `version: {version}`");
            followed.push(self.name(first, &self.named.at.key("version"), version, instead));
        }
        Ok(followed)
    }

    fn selects(&self, object: usize) -> bool {
        let (id, was) = (&self.base.objects[object].id, self.base.node_before(object));
        let NamedFields { selector, reads, .. } = self.named;
        // What names no object at all is meant for other fields.
        if text(selector, "kind").is_none() && text(selector, "name").is_none() {
            return false;
        }
        match reads {
            SelectorText::Patterns => selects(selector, id, was),
            SelectorText::Literal => {
                let fits = |key: &str, value: &str| text(selector, key).is_none_or(|own| own == value);
                fits("group", &id.group)
                    && fits("version", short_version(was))
                    && fits("kind", &id.kind)
                    && fits("name", &id.name)
                    && id.namespace.as_deref().is_none_or(|own| fits("namespace", own))
            }
        }
    }

    /// The text that names the field in the object's version; `None` where that is not known.
    fn field_after(&self, object: usize, written: &str) -> Option<String> {
        let Some(converted) = self.base.converted.get(&object) else { return Some(written.to_owned()) };
        let (now, separator) = (self.base.node(object), self.named.separator);
        let version = text(now, "apiVersion")?;
        let (field, is_whole) = parse(written, separator);
        if fates(&field, &converted.was, version, self.schemas).is_empty() {
            return Some(written.to_owned());
        }
        let to = follow_field(&field, (&converted.was, now), version, self.schemas).filter(|_| is_whole)?;
        let keys: Option<Vec<&str>> = to
            .steps()
            .iter()
            .map(|step| if let Step::Key(key) = step { Some(key.as_str()) } else { None })
            .collect();
        Some(keys?.join(&separator.to_string()))
    }

    fn name(&self, object: usize, at: &FieldPath, new: &str, instead: String) -> FollowedName {
        let place = (self.place)(at);
        let id = &self.base.objects[object].id;
        let old = self.named.fields.iter().find(|(own, _)| own == at).map(|(_, written)| *written);
        let field = |written: Option<&str>| match written {
            Some(written) => parse(written, self.named.separator).0,
            None => FieldPath::root().key("apiVersion"),
        };
        let (from, path) = (field(old), field(old.map(|_| new)));
        let version = |node: &Node| text(node, "apiVersion").filter(|_| old.is_none()).map(Into::into);
        let change = Change {
            object: id.clone(),
            place: Place::known(place.file().clone(), place.line(), None),
            from: (from != path).then_some(from),
            path,
            old: version(self.base.node_before(object)),
            new: version(self.base.node(object)),
            reason: ChangeReason::Release,
        };
        let version = text(self.base.node(object), "apiVersion").unwrap_or_default();
        let instead = format!(
            "This names {id}, which the upgrade converts to {version}. {instead} in the same change."
        );
        let edit = Edit::Set { path: at.clone(), node: Node::string(new) };
        FollowedName { object, file: self.file, document: self.document, edit, change, instead, place }
    }

    fn stale(&self, targets: &[usize], at: &FieldPath, written: &str) -> Option<StaleName> {
        let (field, _) = parse(written, self.named.separator);
        let (object, version, MovedField { there, .. }) = targets.iter().find_map(|object| {
            let version = text(self.base.node(*object), "apiVersion")?;
            let was = &self.base.converted.get(object)?.was;
            Some((*object, version, fates(&field, was, version, self.schemas).into_iter().next()?))
        })?;
        let id = &self.base.objects[object].id;
        let message = format!(
            "This names `{written}` of {id}, which the upgrade converts to {version}. There the field {there}, so this fails or has no effect after the upgrade. Write it for {version} in the same change."
        );
        Some(StaleName { object, field, place: (self.place)(at), message })
    }
}

/// What becomes of a field that something is copied to or from.
fn fates(field: &FieldPath, was: &Node, version: &str, schemas: &Schemas) -> Vec<MovedField> {
    let mut object = was.clone();
    if was.at(field).is_none() {
        put(&mut object, field.steps(), Node::string("text"));
    }
    fate_of(field, &object, version, schemas)
}

/// The keys of a field as far as they are plain, and whether all are.
fn parse(written: &str, separator: char) -> (FieldPath, bool) {
    let mut field = FieldPath::root();
    for key in written.split(separator) {
        let is_plain =
            !key.is_empty() && !key.contains(['[', ']', '*', '\\']) && key.parse::<usize>().is_err();
        if !is_plain {
            return (field, false);
        }
        field = field.key(key);
    }
    (field, true)
}
