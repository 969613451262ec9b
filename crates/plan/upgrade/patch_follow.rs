//! Patches of kustomizations follow their objects to another API version ([U7a]): those of the base where the release
//! brings none, and those of the overlay where its owner asks for it ([`Retarget`]).
//!
//! A patch follows only where the object with the old patch, converted, is the converted object with the new patch. One
//! patch of several objects follows only if it becomes the same for all of them. Every other one is named
//! ([`super::stale_patches`]).
//!
//! [U7a]: crate::merge::converted#u7a

use super::draft::edit_refused;
use super::model::{Change, ChangeReason};
use super::named_fields::{FollowedName, StaleName, named_fields};
use super::patch_rewriting::{NewPatch, Rewriting, Rewritten};
use super::patches::{PatchEdits, PatchPlace, PatchTarget, Patches, PlainFiles, short_version};
use super::request::{Retarget, UpgradeRequest};
use super::retarget::text;
use super::stale_patches::{is_stale, stale_patches};
use crate::merge::SourceFile;
use crate::merge::cluster_merge::ClusterMerge;
use crate::merge::cluster_objects::Base;
use crate::merge::converted::FileBefore;
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::{Finding, Place, RuleEntry, rules};
use capstan_model::object::FieldPath;
use capstan_model::source::SourceKind;
use capstan_model::tree::RepoPath;
use capstan_yaml::{DocumentEdit, Edit, EditRefused, Node, NodeKind, Scalar, YamlFile, edit};
use std::collections::{BTreeMap, BTreeSet};

/// What became of patches.
#[derive(Debug)]
pub(super) struct FollowedPatches {
    /// The files of the overlay, in their order.
    pub(super) overlay: Vec<YamlFile>,
    pub(super) changes: Vec<Change>,
    /// Files that are not edited as planned: nothing of the upgrade may be written then.
    pub(super) refused: Vec<Finding>,
    /// Those that do not follow, by the objects that they are for.
    stale: Vec<(usize, Finding)>,
}

impl FollowedPatches {
    /// Those that do not follow, of objects that stay.
    pub(super) fn stale(&self, merge: &ClusterMerge) -> impl Iterator<Item = Finding> {
        let stays = self.stale.iter().filter(|(object, _)| !merge.drops(*object));
        stays.map(|(_, finding)| finding.clone())
    }
}

/// Writes the patches of the base, and of the overlay where that is allowed, for the versions of their objects.
pub(super) fn follow_patches(
    request: &UpgradeRequest<'_>,
    base: &mut Base,
    overlay: Vec<YamlFile>,
) -> FollowedPatches {
    if base.converted.is_empty() {
        let (changes, refused, stale) = (Vec::new(), Vec::new(), Vec::new());
        return FollowedPatches { overlay, changes, refused, stale };
    }
    // `retarget` lets a release edit names in the overlay, and nothing else there.
    let edits = match request.retarget {
        Retarget::Allowed if *request.new.id().kind() == SourceKind::MIGRATION => PatchEdits::Written,
        Retarget::Allowed | Retarget::Refused => PatchEdits::Suggested,
    };
    let (of_overlay, own, stale) = {
        let [patches, own_patches] = Patches::of(request, base, &overlay);
        let of_overlay = PatchFiles::of(base, &patches, request.schemas);
        let own = PatchFiles::of(base, &own_patches, request.schemas);
        let found = |patches, files: &PatchFiles, edits, rule| {
            stale_patches(base, patches, (&files.new, edits), rule, request.schemas)
        };
        let mut stale = found(&patches, &of_overlay, edits, rules::OVERLAY_LOSES_TARGET);
        stale.extend(of_overlay.stale_names(base, edits, rules::OVERLAY_LOSES_TARGET));
        stale.extend(found(&own_patches, &own, PatchEdits::Written, rules::API_VERSION_LEAVES_FIELD));
        let left = own.stale_names(base, PatchEdits::Written, rules::API_VERSION_LEAVES_FIELD).into_iter();
        stale.extend(left.map(|(object, finding)| (object, finding.blocking())));
        (of_overlay, own, stale)
    };
    let (mut changes, mut refused) = (own.changes, own.refused);
    for (path, documents) in own.texts {
        let not_joined = base.rewrite(&path, documents).err();
        refused.extend(not_joined.map(|not_joined| edit_refused(&path, &not_joined)));
    }
    if edits == PatchEdits::Suggested {
        return FollowedPatches { overlay, changes, refused, stale };
    }
    changes.extend(of_overlay.changes);
    refused.extend(of_overlay.refused);
    let rewritten = |(file, source): (YamlFile, &SourceFile)| {
        let Some(documents) = of_overlay.texts.get(&source.path) else { return file };
        FileBefore::new(file.clone(), documents.clone()).after(&BTreeSet::new()).unwrap_or_else(
            |not_joined| {
                refused.push(edit_refused(&source.path, &not_joined));
                file
            },
        )
    };
    let overlay = overlay.into_iter().zip(&request.cluster.overlay).map(rewritten).collect();
    FollowedPatches { overlay, changes, refused, stale }
}

/// New texts of documents of files, and what changes in them.
#[derive(Default)]
struct PatchFiles {
    new: BTreeMap<PatchPlace, NewPatch>,
    texts: BTreeMap<RepoPath, BTreeMap<usize, String>>,
    changes: Vec<Change>,
    /// Documents whose text is not edited.
    refused: Vec<Finding>,
    /// What to write where names of fields follow, by the objects.
    suggested: Vec<(usize, FieldPath, Place, String)>,
    stale: Vec<StaleName>,
}

impl PatchFiles {
    fn of(base: &Base, patches: &Patches<'_>, schemas: &Schemas) -> Self {
        let rewriting = Rewriting { base, patches, schemas };
        let mut files = Self::default();
        let mut edits: BTreeMap<(usize, usize), Vec<Edit>> = BTreeMap::new();
        let mut texts: BTreeMap<(usize, usize, FieldPath), BTreeMap<usize, String>> = BTreeMap::new();
        for (at, targets) in targets_of(base, patches) {
            let Some(Rewritten { root, text, changes }) = rewriting.patch(&at, &targets) else { continue };
            match &at.within {
                None => files.put((patches, at.file, at.document), text),
                Some((field, inside)) => {
                    let of_field = texts.entry((at.file, at.document, field.clone())).or_default();
                    of_field.insert(*inside, text);
                }
            }
            files.changes.extend(changes);
            files.new.insert(at, NewPatch::new(root));
        }
        for ((file, document, field), texts) in texts {
            match edit_of_text(patches, file, field, texts) {
                Ok(edit) => edits.entry((file, document)).or_default().push(edit),
                Err(refused) => files.refused.push(edit_refused(patches.files[file].1, &refused)),
            }
        }
        for (file, document, edit, change) in files.selectors(rewriting) {
            edits.entry((file, document)).or_default().push(edit);
            files.changes.push(change);
        }
        let (followed, stale) = named_fields(base, patches, schemas);
        files.stale = stale;
        for FollowedName { object, file, document, edit, change, instead, place } in followed {
            edits.entry((file, document)).or_default().push(edit);
            files.suggested.push((object, change.path.clone(), place, instead));
            files.changes.push(change);
        }
        for ((file, document), edits) in edits {
            let (yaml, path) = patches.files[file];
            let edits = edits.into_iter().map(|edit| DocumentEdit::Edit { document, edit });
            match edit(yaml, &edits.collect::<Vec<_>>()) {
                Ok(edited) => {
                    let text = &edited.text()[edited.documents()[document].span.clone()];
                    files.put((patches, file, document), text.to_owned());
                }
                Err(refused) => files.refused.push(edit_refused(path, &refused)),
            }
        }
        files
    }

    /// Findings about names of fields: those that do not follow, and all where nothing is written.
    fn stale_names(&self, base: &Base, edits: PatchEdits, rule: &'static RuleEntry) -> Vec<(usize, Finding)> {
        let found = |object: usize, field: &FieldPath, place: &Place, message: &str| {
            let finding = Finding::new(rule, message).object(&base.objects[object].id).path(field);
            (object, finding.place(place.clone()))
        };
        let suggested = self.suggested.iter().filter(|_| edits == PatchEdits::Suggested);
        let suggested = suggested.map(|(object, field, place, text)| found(*object, field, place, text));
        let stale = self.stale.iter().map(|one| found(one.object, &one.field, &one.place, &one.message));
        suggested.chain(stale).collect()
    }

    fn put(&mut self, (patches, file, document): (&Patches<'_>, usize, usize), text: String) {
        self.texts.entry(patches.files[file].1.clone()).or_default().insert(document, text);
    }

    /// Selectors that name the version before: they follow where all that they select comes to one version, and every patch
    /// with it.
    fn selectors(&self, rewriting: Rewriting<'_>) -> Vec<(usize, usize, Edit, Change)> {
        let Rewriting { base, patches, schemas } = rewriting;
        let items = patches.items.iter().enumerate();
        let items = items.flat_map(|(file, items)| items.iter().flatten().map(move |item| (file, item)));
        let mut found = Vec::new();
        for (file, item) in items {
            let Some(version) = item.selector.and_then(|selector| selector.get("version")) else { continue };
            let (mut targets, mut follows) = (BTreeSet::new(), true);
            for object in 0..base.kustomizations.start {
                let of = (&base.objects[object].id, base.node_before(object));
                patches.each_of_item(file, item, of, &mut |patch| {
                    targets.insert(object);
                    follows &=
                        self.new.contains_key(&patch.at) || !is_stale(base, object, patches, patch, schemas);
                });
            }
            let Some(first) = targets.first().copied().filter(|_| follows) else { continue };
            let new = short_version(base.node(first));
            let moves = |object: &usize| {
                base.converted.contains_key(object) && short_version(base.node(*object)) == new
            };
            if !targets.iter().all(moves) {
                continue;
            }
            let (yaml, path) = patches.files[file];
            let change = Change {
                object: base.objects[first].id.clone(),
                place: Place::known(path.clone(), Some(yaml.position(version.span.start).line), None),
                path: FieldPath::root().key("apiVersion"),
                from: None,
                old: text(base.node_before(first), "apiVersion").map(Into::into),
                new: text(base.node(first), "apiVersion").map(Into::into),
                reason: ChangeReason::Release,
            };
            let (document, field) = &item.at;
            let edit = Edit::Set { path: field.key("target").key("version"), node: Node::string(new) };
            found.push((file, *document, edit, change));
        }
        found
    }
}

/// The patches, each with the objects that it is for, if one of these comes to another version.
fn targets_of(base: &Base, patches: &Patches<'_>) -> BTreeMap<PatchPlace, Vec<usize>> {
    let mut found: BTreeMap<PatchPlace, Vec<usize>> = BTreeMap::new();
    for object in 0..base.kustomizations.start {
        let (id, was) = (&base.objects[object].id, base.node_before(object));
        patches.each_of((id, was), PlainFiles::All, &mut |patch| {
            // Kustomize finds the object of such a patch by its version too.
            let is_its = patch.by == PatchTarget::Selector
                || text(patch.root, "apiVersion") == text(was, "apiVersion");
            if is_its {
                found.entry(patch.at.clone()).or_default().push(object);
            }
        });
    }
    found.retain(|_, targets| targets.iter().any(|object| base.converted.contains_key(object)));
    found
}

/// The edit that gives a patch within a kustomization its new text.
fn edit_of_text(
    patches: &Patches<'_>,
    file: usize,
    path: FieldPath,
    texts: BTreeMap<usize, String>,
) -> Result<Edit, EditRefused> {
    let not_text = || EditRefused::of_whole("its patch is not a text");
    let (node, inner) = patches.inner(file, &path).ok_or_else(not_text)?;
    let style = node.as_scalar().ok_or_else(not_text)?.style;
    let position = patches.files[file].0.position(node.span.start);
    let after = FileBefore::new(inner.clone(), texts).after(&BTreeSet::new());
    let text = after.map_err(|refused| EditRefused { position, ..refused })?.text().to_owned();
    Ok(Edit::Set { path, node: Node::new(NodeKind::Scalar(Scalar { text, style })) })
}
