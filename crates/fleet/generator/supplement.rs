//! What a snapshot does not hold and its callers give: what people asked of upgrades, what reconcilers and registries
//! said, and old releases that were found elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use capstan_model::ids::{ClusterId, ContentId, ReleaseId, ReleaseName};
use capstan_model::source::SourceKind;
use capstan_model::tree::{RepoPath, Tree, TreeId};
use capstan_plan::path::TargetPosition;
use capstan_plan::release::ReleaseContent;
use capstan_plan::templates::TemplateNames;
use capstan_plan::upgrade::Overwrite;
use capstan_providers::{MissingComponents, Supplies, Supply};

use super::inputs::{OldComponentInput, OldReleaseInput, Provided};
use super::instructions::{AllInstructions, Instructions};

/// What was given for a snapshot.
#[derive(Default)]
pub struct Supplement {
    instructions: AllInstructions,
    /// What may be overwritten in clusters whose release is unknown, beside what the settings say.
    pub overwrite: Overwrite,
    /// Clusters that are not read for what others want to know of them, as if they could not be: they are beyond limits.
    pub unread: BTreeSet<ClusterId>,
    /// The live names of the clusters' templates, as reconcilers reported them: plans of claimed clusters say with them
    /// which machines roll.
    pub names: BTreeMap<ClusterId, Arc<TemplateNames>>,
    /// The requested components that provider sets lack, or why they are missing: see `Upgrade::unasked`.
    pub supplies: Arc<Supplies>,
    /// Content of old releases and of components that the snapshot itself does not hold.
    pub contents: BTreeMap<ContentId, ReleaseContent>,
    /// Releases that are in no folder any more, from history.
    pub past: BTreeMap<ReleaseId, PastRelease>,
}

/// The content of a release that is no longer in any folder, found in the history of its path.
#[derive(Clone)]
pub struct PastRelease {
    /// Its folder; paths start there.
    pub content: Arc<dyn Tree>,
    /// That content's id.
    pub tree: TreeId,
    /// The last commit that had it, in a few words for people: `commit 1a2b3c4d`.
    pub found_in: String,
}

/// What of it plans of releases depend on: equal ones lead to equal plans.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FromOutside {
    instructions: BTreeMap<ClusterId, Instructions>,
    overwrite: Overwrite,
    names: BTreeMap<ClusterId, Arc<TemplateNames>>,
    supplies: Arc<Supplies>,
    contents: BTreeSet<ContentId>,
    past: BTreeMap<ReleaseId, (TreeId, String)>,
}

impl Supplement {
    /// Says what people ask of the upgrade that sources of a kind bring to a cluster, beside what they asked before.
    pub fn instruct(&mut self, kind: SourceKind, cluster: ClusterId, change: impl FnOnce(&mut Instructions)) {
        self.instructions.change(kind, cluster, change);
    }

    /// What people asked.
    pub fn instructions(&self, kind: &SourceKind, cluster: &ClusterId) -> &Instructions {
        self.instructions.of(kind, cluster)
    }

    /// The release that people asked for.
    pub(super) fn asked_release(&self, cluster: &ClusterId) -> Option<&ReleaseName> {
        self.instructions(&SourceKind::RELEASE, cluster).release.as_ref()
    }

    /// What is known of the release that a cluster comes from.
    pub(super) fn old_release(&self, standing: &TargetPosition) -> Option<OldReleaseInput> {
        let release = standing.release.clone()?;
        Some(self.old_release_of(release, standing.content.clone()))
    }

    /// The same of a release and of its content, where that is recorded.
    pub(super) fn old_release_of(&self, release: ReleaseId, content: Option<ContentId>) -> OldReleaseInput {
        let is_given = content.as_ref().is_some_and(|content| self.contents.contains_key(content));
        let past = self.past.get(&release).map(|past| (past.tree.clone(), past.found_in.clone()));
        let provided = if is_given { Provided::Yes } else { Provided::No };
        OldReleaseInput { release, content, provided, past }
    }

    /// Whether components are at hand as they were when a cluster's base was made.
    pub(super) fn old_components<'c>(
        &self,
        snapshot: &dyn Tree,
        recorded: impl Iterator<Item = (&'c RepoPath, &'c TreeId)>,
    ) -> Vec<OldComponentInput> {
        let one = |(path, tree): (&RepoPath, &TreeId)| {
            let is_given = self.contents.contains_key(&tree.clone().into());
            OldComponentInput {
                is_current: snapshot.folder_id(path).as_ref() == Some(tree),
                provided: if is_given { Provided::Yes } else { Provided::No },
                path: path.clone(),
                tree: tree.clone(),
            }
        };
        recorded.map(one).collect()
    }

    /// The digest of what is known of each of these components; `None` if nobody asked for them.
    pub(super) fn supplied(
        &self,
        wanted: impl IntoIterator<Item = MissingComponents>,
    ) -> impl Iterator<Item = (MissingComponents, Option<String>)> {
        wanted.into_iter().map(|wanted| {
            let digest = self.supplies.of(&wanted).map(Supply::digest);
            (wanted, digest)
        })
    }

    /// Takes the old releases and components that were given for another snapshot, too.
    pub(super) fn take_contents(&mut self, other: &Self) {
        self.contents.extend(other.contents.clone());
        self.past.extend(other.past.clone());
    }

    /// What of it plans of releases depend on.
    pub(super) fn for_releases(&self) -> FromOutside {
        let past = self.past.iter();
        FromOutside {
            instructions: self.instructions.of_kind(&SourceKind::RELEASE),
            overwrite: self.overwrite.clone(),
            names: self.names.clone(),
            supplies: Arc::clone(&self.supplies),
            contents: self.contents.keys().cloned().collect(),
            past: past.map(|(id, past)| (id.clone(), (past.tree.clone(), past.found_in.clone()))).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use capstan_test_support::Files;

    use super::*;

    fn tree_id(digit: char) -> TreeId {
        TreeId::parse(&digit.to_string().repeat(40)).unwrap()
    }

    fn nothing() -> Arc<dyn Tree> {
        Arc::new(Files::new(&[]))
    }

    fn supplement() -> Supplement {
        let past =
            PastRelease { content: nothing(), tree: tree_id('b'), found_in: "commit 1a2b3c4d".to_owned() };
        Supplement {
            contents: BTreeMap::from([(tree_id('a').into(), nothing().into())]),
            past: BTreeMap::from([(ReleaseId::from_path("aws/v1.0.0"), past)]),
            ..Supplement::default()
        }
    }

    #[test]
    fn an_old_release_is_found_by_its_content_or_in_the_history_of_its_folder() {
        let from_history = Some((tree_id('b'), "commit 1a2b3c4d".to_owned()));
        for (release, content, provided, past) in [
            ("aws/v1.0.0", None, Provided::No, from_history.clone()),
            ("aws/v1.0.0", Some('a'), Provided::Yes, from_history),
            ("aws/v2.0.0", Some('a'), Provided::Yes, None),
            ("aws/v2.0.0", Some('c'), Provided::No, None),
        ] {
            let (release, content) = (ReleaseId::from_path(release), content.map(|id| tree_id(id).into()));
            let old = supplement().old_release_of(release.clone(), content.clone());
            assert_eq!(old, OldReleaseInput { release, content, provided, past });
        }
    }

    #[test]
    fn a_component_is_where_it_was_or_given_or_neither() {
        let tree = Files::new(&[("parts/pool/pool.yaml", "a: 1\n")]);
        let path = |text: &str| RepoPath::parse(text).unwrap();
        let now = tree.folder_id(&path("parts/pool")).unwrap();
        for (folder, id, is_current, provided) in [
            ("parts/pool", now.clone(), true, Provided::No),
            ("parts/pool", tree_id('a'), false, Provided::Yes),
            ("parts/gone", tree_id('c'), false, Provided::No),
        ] {
            let recorded = [(path(folder), id.clone())];
            let recorded = recorded.iter().map(|(path, tree)| (path, tree));
            let expected = OldComponentInput { path: path(folder), tree: id, is_current, provided };
            assert_eq!(supplement().old_components(&tree, recorded), [expected]);
        }
    }

    #[test]
    fn what_was_given_for_two_snapshots_counts_for_both() {
        let mut one = Supplement::default();
        one.contents.insert(tree_id('c').into(), nothing().into());
        one.take_contents(&supplement());
        let contents: Vec<&ContentId> = one.contents.keys().collect();
        assert_eq!(contents, [&tree_id('a').into(), &tree_id('c').into()]);
        assert_eq!(one.past.len(), 1);
    }

    /// A plan is reused where this stays: live names and settled conflicts have to show in it.
    #[test]
    fn plans_of_releases_depend_on_what_concerns_releases() {
        let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
        let known = supplement().for_releases();
        let changed = |change: &dyn Fn(&mut Supplement)| {
            let mut it = supplement();
            change(&mut it);
            it.for_releases() != known
        };
        let asked = ReleaseName::parse("aws/v2.0.0");
        let ask = |kind: SourceKind| {
            changed(&|it| {
                it.instruct(kind.clone(), cluster.clone(), |of| of.release.clone_from(&asked));
            })
        };
        assert!(ask(SourceKind::RELEASE));
        assert!(!ask(SourceKind::INVENTORY));
        assert!(changed(&|it| it.past.clear()));
        assert!(changed(&|it| it.contents.clear()));
        assert!(changed(&|it| it.overwrite = Overwrite::All));
        assert!(!changed(&|it| {
            it.unread.insert(cluster.clone());
        }));
    }
}
