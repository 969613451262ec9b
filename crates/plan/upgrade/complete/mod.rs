//! Is the upgrade complete ([U5a])? The intended files are read again, and compared with the new release once more. A
//! difference has to be explained: by a conflict that is listed, an owner rule, an edit of the cluster, or a finding
//! that names it. Any other difference blocks the upgrade: `release` is never recorded past a difference that was not
//! carried over.
//!
//! It is independent of the merge on purpose. It takes only the cluster's view of the releases from the merge (which
//! object a document speaks of, what variables and names are there), none of its decisions and edits. Objects that are
//! the same in both releases are skipped: nothing of them can be missing.
//!
//! [U5a]: crate::upgrade#u5a

mod differences;
mod fields;
mod lists;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashMap;

use self::differences::{FieldComparison, Lack};
use self::lists::Four;
use super::model::Conflict;
use super::redact::{Shown, hide_in};
use super::retarget::Rotated;
use super::staying::Staying;
use crate::merge::cluster_objects::Base;
use crate::merge::knowledge::{Knowledge, MergedField};
use crate::merge::kustomization;
use crate::merge::kustomization_merge;
use crate::merge::matched::{Matched, Target};
use crate::merge::nodes::set_text;
use crate::merge::piece::{ReleasePiece, Shape};
use crate::merge::views::{AbsentObject, Views, Work, pieces_of};
use crate::settings::FieldRule;
use crate::templates::{naming_values, references, renamed as name_in};
use capstan_model::file_change::FileChange;
use capstan_model::finding::{Finding, Place, RuleEntry, rules};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::tree::RepoPath;
use capstan_yaml::manifest::identity;
use capstan_yaml::{Node, Value, YamlFile, same_meaning};

/// An upgrade as it came out, for the check.
pub(super) struct Completed<'c, 'a> {
    /// The releases as the cluster sees them, and the cluster as it was.
    pub(super) work: Work<'c, 'a>,
    pub(super) base_folder: &'c RepoPath,
    /// The files as they would be.
    pub(super) intended: &'c [FileChange],
    pub(super) conflicts: &'c [Conflict],
    pub(super) findings: &'c [Finding],
    pub(super) rotated: &'c [Rotated],
    /// Templates that the release drops and that stay on purpose, since machine sets may name them still.
    pub(super) staying: &'c Staying,
}

/// What is missing, one finding each; empty where the upgrade is complete.
pub(super) fn incomplete(completed: &Completed<'_, '_>) -> Vec<Finding> {
    let Some(after) = completed.after() else { return Vec::new() };
    let after = Results::of(after.as_ref().unwrap_or(completed.work.input.base));
    let check = CompletenessCheck { upgrade: completed, reported: ReportedObjects::of(completed) };
    let mut findings = Vec::new();
    for object in 0..completed.work.input.base.objects.len() {
        check.object(object, &after, &mut findings);
    }
    check.new_objects(&after, &mut findings);
    check.read_elsewhere(&mut findings);
    findings
}

/// The objects after the upgrade, to look up.
struct Results<'b> {
    base: &'b Base,
    by_id: HashMap<&'b ObjectId, usize>,
    /// By group, kind and name: objects that differ in their namespaces alone.
    alike: HashMap<[&'b str; 3], Vec<usize>>,
}

impl<'b> Results<'b> {
    fn of(base: &'b Base) -> Self {
        let (mut by_id, mut alike) = (HashMap::new(), HashMap::<_, Vec<usize>>::new());
        for (at, object) in base.objects.iter().enumerate() {
            // Of twins the first.
            by_id.entry(&object.id).or_insert(at);
            alike.entry(without_namespace(&object.id)).or_default().push(at);
        }
        Self { base, by_id, alike }
    }

    fn with_id(&self, id: &ObjectId) -> Option<&'b Node> {
        self.by_id.get(id).map(|at| self.base.node(*at))
    }

    /// The object of that id; else the only one that differs in its namespace alone, which is a field that the
    /// release may have changed.
    fn find(&self, id: &ObjectId) -> Option<&'b Node> {
        let sole = || match self.alike.get(&without_namespace(id)).map(Vec::as_slice) {
            Some([sole]) => Some(self.base.node(*sole)),
            _ => None,
        };
        self.with_id(id).or_else(sole)
    }
}

fn without_namespace(id: &ObjectId) -> [&str; 3] {
    [&id.group, &id.kind, &id.name]
}

/// What is said of objects, to look up.
struct ReportedObjects<'c> {
    conflicts: HashMap<&'c ObjectId, Vec<&'c Conflict>>,
    /// Fields that findings of their own name.
    named: HashMap<&'c ObjectId, Vec<&'c FieldPath>>,
}

impl<'c> ReportedObjects<'c> {
    fn of(completed: &Completed<'c, '_>) -> Self {
        let mut conflicts = HashMap::<_, Vec<&Conflict>>::new();
        for conflict in completed.conflicts {
            conflicts.entry(&conflict.object).or_default().push(conflict);
        }
        let mut named = HashMap::<_, Vec<&FieldPath>>::new();
        for finding in completed.findings.iter().filter(|finding| explains(finding.rule)) {
            if let (Some(object), Some(path)) = (&finding.object, &finding.path) {
                named.entry(object).or_default().push(path);
            }
        }
        Self { conflicts, named }
    }
}

/// The check of an upgrade, and what is looked up on the way.
struct CompletenessCheck<'c, 'a> {
    upgrade: &'c Completed<'c, 'a>,
    reported: ReportedObjects<'c>,
}

impl Completed<'_, '_> {
    /// The base after the upgrade, read again; `Some(None)` where no file of it changes, `None` where one cannot be
    /// read, which is reported elsewhere.
    fn after(&self) -> Option<Option<Base>> {
        let mut changed = Vec::new();
        for file in self.intended.iter().filter(|file| file.path.is_in(self.base_folder)) {
            let after = file.after.as_deref().map(YamlFile::read).transpose().ok()?;
            changed.push((file.path.clone(), after));
        }
        if changed.is_empty() {
            return Some(None);
        }
        Some(Some(self.work.input.base.with(changed, self.base_folder)))
    }
}

impl<'a> CompletenessCheck<'_, 'a> {
    /// The name that an object has after the upgrade.
    fn id_after(&self, id: &ObjectId) -> ObjectId {
        let rotated = self.upgrade.rotated.iter().find(|rotated| rotated.id == *id);
        rotated.map_or_else(|| id.clone(), |rotated| ObjectId { name: rotated.new.clone(), ..id.clone() })
    }

    /// A node of the object with that id, with the names that rotated templates have after the upgrade.
    fn renamed<'n>(&self, id: &ObjectId, node: &'n Node) -> Cow<'n, Node> {
        let mut renamed = Cow::Borrowed(node);
        if self.upgrade.rotated.is_empty() {
            return renamed;
        }
        for reference in references(&id.group, &id.kind, node) {
            let follows = |rotated: &&Rotated| reference.means(id.namespace.as_deref(), &rotated.id);
            if let Some(rotated) = self.upgrade.rotated.iter().find(follows) {
                set_text(renamed.to_mut(), reference.path.steps(), &rotated.new);
            }
        }
        for value in naming_values(&id.group, &id.kind, node) {
            let follows = |rotated: &&Rotated| value.means(&rotated.id);
            let rotated = self.upgrade.rotated.iter().find(follows);
            if let Some(text) = rotated.and_then(|to| name_in(value.text, &to.id.name, &to.new)) {
                set_text(renamed.to_mut(), value.path.steps(), &text);
            }
        }
        let name = FieldPath::root().key("metadata").key("name");
        if let Some(rotated) = self.upgrade.rotated.iter().find(|rotated| rotated.id == *id) {
            set_text(renamed.to_mut(), name.steps(), &rotated.new);
        }
        renamed
    }

    /// One object that the cluster has.
    fn object(&self, object: usize, after: &Results<'_>, findings: &mut Vec<Finding>) {
        let base = self.upgrade.work.input.base;
        let id = &base.objects[object].id;
        let result = after.find(&self.id_after(id));
        if base.kustomizations.contains(&object) {
            let Work { old, new, bindings, .. } = self.upgrade.work;
            let Some((old, new)) = kustomization_merge::views(base, old, new, bindings, object) else {
                return;
            };
            return self.compare(object, (old.as_ref(), &new, result), false, findings);
        }
        let of = |matched: &Matched<'a>| pieces_of(matched, object);
        let (old, new) = (self.upgrade.work.old.map(of).unwrap_or_default(), of(self.upgrade.work.new));
        if old.is_empty() && new.is_empty() || self.says_the_same(&old, &new) {
            return;
        }
        let was_whole = old.iter().any(|piece| piece.shape == Shape::Whole);
        if new.is_empty() && was_whole {
            self.dropped(object, result, findings);
            return;
        }
        let Views { old, new, partial, .. } = self.upgrade.work.views(object, &old, &new);
        self.compare(object, (old.as_deref(), &new, result), partial, findings);
    }

    fn says_the_same(&self, old: &[&ReleasePiece], new: &[&ReleasePiece]) -> bool {
        let Some(matched) = self.upgrade.work.old else { return false };
        if old.len() != new.len() || matched.source.variables != self.upgrade.work.new.source.variables {
            return false;
        }
        let mut left: Vec<&ReleasePiece> = new.to_vec();
        old.iter().all(|piece| {
            let at = left.iter().position(|other| same_meaning(&piece.root, &other.root));
            at.map(|at| left.swap_remove(at)).is_some()
        })
    }

    fn compare(
        &self,
        object: usize,
        (old, new, result): (Option<&Node>, &Node, Option<&Node>),
        partial: bool,
        findings: &mut Vec<Finding>,
    ) {
        let base = self.upgrade.work.input.base;
        let id = &base.objects[object].id;
        let cluster = base.node(object);
        let (cluster, new) = (self.renamed(id, cluster), self.renamed(id, new));
        let old = old.map(|old| self.renamed(id, old));
        let mut comparison = self.comparison(id, partial);
        let known = if base.kustomizations.contains(&object) {
            Knowledge::default()
        } else {
            self.upgrade.work.known(&[Some(&cluster), Some(&new)])
        };
        if comparison.is_reported(&FieldPath::root()) {
            return;
        }
        if result.is_none() {
            let lack = Lack { path: FieldPath::root(), wanted: Some(new.into_owned()), found: None };
            return findings.push(self.finding(object, lack));
        }
        let four = Four { o: old.as_deref(), c: Some(&cluster), n: Some(&new), r: result };
        comparison.field(&MergedField::root(known), four);
        findings.extend(comparison.lacks.into_iter().map(|lack| self.finding(object, lack)));
    }

    fn comparison(&self, id: &ObjectId, partial: bool) -> FieldComparison<'_> {
        FieldComparison {
            knows_old: self.upgrade.work.old.is_some(),
            partial,
            owners: self.owners(id),
            conflicts: self.reported.conflicts.get(id).cloned().unwrap_or_default(),
            named: self.reported.named.get(id).cloned().unwrap_or_default(),
            is_kustomization: id.kind == kustomization::KIND && id.group == kustomization::GROUP,
            lacks: Vec::new(),
        }
    }

    /// The owner rules of an object, where it was converted also in the spelling of that version.
    fn owners(&self, id: &ObjectId) -> Vec<FieldRule> {
        let input = self.upgrade.work.input;
        let rules: Vec<FieldRule> =
            input.owners.iter().filter(|rule| rule.kind == id.kind).cloned().collect();
        if rules.is_empty() {
            return rules;
        }
        let is_it = |at: &&usize| input.base.objects[**at].id == *id;
        let converted = input.base.converted.iter().find(|(at, _)| is_it(at));
        converted.map_or(rules.clone(), |(_, converted)| converted.owners(&rules))
    }

    /// The release drops a whole object that is still in the result.
    fn dropped(&self, object: usize, result: Option<&Node>, findings: &mut Vec<Finding>) {
        let id = &self.upgrade.work.input.base.objects[object].id;
        let reported = self.upgrade.staying.contains(object)
            || self.comparison(id, false).is_reported(&FieldPath::root());
        if let (Some(result), false) = (result, reported) {
            let lack = Lack { path: FieldPath::root(), wanted: None, found: Some(result.clone()) };
            findings.push(self.finding(object, lack));
        }
    }

    /// Whole objects that the cluster lacks.
    fn new_objects(&self, after: &Results<'_>, findings: &mut Vec<Finding>) {
        let mut of_old = None;
        for (piece, target) in self.upgrade.work.new.pieces.iter().zip(&self.upgrade.work.new.targets) {
            if *target != Target::Absent || piece.shape == Shape::Partial {
                continue;
            }
            let new = self.upgrade.work.instantiated(self.upgrade.work.new, piece);
            let Some(id) = identity(&new) else { continue };
            let mut comparison = self.comparison(&id, false);
            if comparison.is_reported(&FieldPath::root()) {
                continue;
            }
            let of_old = of_old.get_or_insert_with(|| self.upgrade.work.absent_of_old());
            let known = self.upgrade.work.known(&[Some(&new)]);
            let removed_by_cluster = |old: &AbsentObject<'_>| self.upgrade.work.is_as_before(old, &new);
            match after.with_id(&id) {
                Some(result) => {
                    let renamed = self.renamed(&id, &new);
                    let four = Four { n: Some(&renamed), r: Some(result), ..Four::default() };
                    comparison.field(&MergedField::root(known), four);
                    for lack in comparison.lacks {
                        findings.push(self.finding_of_new(piece, &id, lack));
                    }
                }
                None if of_old.get(&id).is_some_and(|old| old.iter().any(removed_by_cluster)) => {}
                None => {
                    let lack = Lack { path: FieldPath::root(), wanted: Some(new.into_owned()), found: None };
                    findings.push(self.finding_of_new(piece, &id, lack));
                }
            }
        }
    }

    /// Objects that the release changes and that this base lacks may come into it from outside of its folder,
    /// where nothing is edited: then the cluster did not remove them, and they stay as they are.
    fn read_elsewhere(&self, findings: &mut Vec<Finding>) {
        let base = self.upgrade.work.input.base;
        if base.outside.is_empty() {
            return;
        }
        let of_old = self.upgrade.work.absent_of_old();
        let pieces = self.upgrade.work.new.pieces.iter().zip(&self.upgrade.work.new.targets);
        let absent =
            pieces.filter(|(piece, target)| **target == Target::Absent && piece.shape == Shape::Whole);
        let changed = absent
            .map(|(piece, _)| self.upgrade.work.instantiated(self.upgrade.work.new, piece))
            .filter_map(|new| {
                let id = identity(&new)?;
                let same = |old: &AbsentObject<'_>| self.upgrade.work.is_as_before(old, &new);
                let is_known = of_old.get(&id).is_some_and(|old| old.iter().any(same));
                (!is_known).then_some(id)
            });
        let Some(id) = changed.into_iter().next() else { return };
        for outside in &base.outside {
            let file = &base.files[outside.file];
            let message = format!(
                "The base reads {} from outside of its folder, where Capstan edits nothing, so it is unknown here whether the cluster has {id}, which the release changes. Keep the objects in the base itself, or make the change there by hand and record the release.",
                outside.text
            );
            let place = Place::at(file.path.clone(), file.yaml.position(outside.at));
            findings.push(
                Finding::new(rules::INCOMPLETE_UPGRADE, message)
                    .place(place)
                    .object(&id)
                    .path(&FieldPath::root()),
            );
        }
    }

    fn finding(&self, object: usize, lack: Lack) -> Finding {
        let base = self.upgrade.work.input.base;
        let node = base.node(object);
        let path = &lack.path;
        let nearest =
            std::iter::successors(Some(path.clone()), FieldPath::parent).find_map(|path| node.at(&path));
        let place = base.place(object, nearest.unwrap_or(node).span.start);
        finding(&base.objects[object].id, node, lack, place)
    }

    fn finding_of_new(&self, piece: &ReleasePiece, id: &ObjectId, lack: Lack) -> Finding {
        finding(id, &piece.root, lack, piece.place.clone().at_first_column())
    }
}

/// Findings that say of a field that the release's value does not come, and why.
fn explains(rule: &RuleEntry) -> bool {
    matches!(rule, rules::API_VERSION_LEAVES_FIELD | rules::UNBOUND_VARIABLE | rules::STEP_GROUP_SPLIT)
}

fn finding(id: &ObjectId, object: &Node, lack: Lack, place: Place) -> Finding {
    let shown = |node: &Option<Node>| {
        node.as_ref().map(|node| shown(id, &lack.path, &hide_in(object, &lack.path, node.value())))
    };
    let what = if lack.path.is_root() { id.to_string() } else { format!("{id} {}", lack.path) };
    let differs = match (shown(&lack.wanted), shown(&lack.found)) {
        (Some(_), None) if lack.path.is_root() => "the release has it, but it would not be added".to_owned(),
        (None, _) if lack.path.is_root() => "the release drops it, and it would stay".to_owned(),
        (Some(wanted), Some(found)) => {
            format!("the release has {wanted}, but the cluster would have {found}")
        }
        (Some(wanted), None) => format!("the release has {wanted}, but the cluster would have nothing"),
        (None, found) => {
            format!("the release no longer has it, but {} would stay", found.unwrap_or_default())
        }
    };
    let message = format!(
        "{what}: {differs}. No conflict, owner rule or edit of the cluster explains that, so the release would be recorded and this left out for ever. Make this change by hand, then plan again."
    );
    Finding::new(rules::INCOMPLETE_UPGRADE, message).place(place).object(id).path(&lack.path)
}

/// A value for a sentence: without secrets, and not longer than one reads.
fn shown(id: &ObjectId, path: &FieldPath, value: &Value) -> String {
    const LONGEST: usize = 80;
    let text = match Shown::of(id, path, value, None) {
        Shown::Words(words) => return words,
        Shown::Value(value) => value.to_string(),
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}
