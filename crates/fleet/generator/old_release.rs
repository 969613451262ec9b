//! Where the content of an old release is.

use std::borrow::Cow;
use std::sync::Arc;

use capstan_model::ids::{ContentId, ReleaseId};
use capstan_plan::inventory::ReleaseTemplates;
use capstan_plan::release::{Release, ReleaseContent};
use capstan_plan::services::ReleaseServices;

use super::contents::Contents;
use super::inputs::{OldReleaseInput, Provided};
use super::refused::Refused;
use super::sources::ReadSource;
use super::step_facts::source_of;

/// An old release: its content as it was taken wherever that is found, else its folder as it is now, else as history
/// last had it.
pub(super) enum OldRelease<'c> {
    /// The content is that of a release that there is.
    Here(&'c Release),
    /// It is in no folder.
    Elsewhere { release: &'c ReleaseId, content: Cow<'c, ReleaseContent>, id: ContentId },
}

impl<'c> OldRelease<'c> {
    /// Finds it; `None` where it is nowhere.
    pub(super) fn find(contents: &'c dyn Contents, old: &'c OldReleaseInput) -> Option<Self> {
        let (release, catalogue) = (&old.release, contents.catalogue());
        if let Some(taken) = &old.content {
            if let Some(release) = catalogue.find_content(taken) {
                return Some(Self::Here(release));
            }
            if let Some(content) = contents.provided(taken).filter(|_| old.provided == Provided::Yes) {
                let content = Cow::Borrowed(content);
                return Some(Self::Elsewhere { release, content, id: taken.clone() });
            }
        }
        if let Some(release) = catalogue.find(release) {
            return Some(Self::Here(release));
        }
        let (tree, _) = old.past.as_ref()?;
        let content = Cow::Owned(Arc::clone(&contents.past(release)?.content).into());
        Some(Self::Elsewhere { release, content, id: tree.clone().into() })
    }

    /// As a source of change.
    pub(super) fn source(&self, contents: &dyn Contents) -> Arc<ReadSource> {
        match self {
            Self::Here(release) => source_of(contents, release),
            Self::Elsewhere { release, content, id } => {
                contents.sources().of_content(content, release, id, contents.schemas())
            }
        }
    }

    /// With its schema and templates.
    ///
    /// # Errors
    /// What cannot be read.
    pub(super) fn templates(&self, contents: &dyn Contents) -> Result<Arc<ReleaseTemplates>, Refused> {
        match self {
            Self::Here(release) => contents.sources().templates_of(contents.releases(), release),
            Self::Elsewhere { release, content, id } => {
                contents.sources().templates_of_content(content, release, id)
            }
        }
    }

    /// What it brings of services.
    ///
    /// # Errors
    /// What cannot be read.
    pub(super) fn services(&self, contents: &dyn Contents) -> Result<Arc<ReleaseServices>, Refused> {
        let schemas = contents.schemas();
        match self {
            Self::Here(release) => contents.sources().services_of(contents.releases(), release, schemas),
            Self::Elsewhere { release, content, id } => {
                contents.sources().services_of_content(content, release, id, schemas)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use capstan_model::tree::{RepoPath, Tree, TreeId};
    use capstan_test_support::Files;
    use jiff::civil::date;

    use super::*;
    use crate::generator::{Fleet, PastRelease};

    const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n";

    fn tree_id(digit: char) -> TreeId {
        TreeId::parse(&digit.to_string().repeat(40)).unwrap()
    }

    #[test]
    fn the_content_that_was_taken_comes_before_the_folder_of_now_and_that_before_history() {
        let nothing = || -> Arc<dyn Tree> { Arc::new(Files::new(&[])) };
        let tree: Arc<dyn Tree> =
            Arc::new(Files::new(&[("aws/v1.0.0/base/a.yaml", OBJECT), ("aws/v1.1.0/base/b.yaml", OBJECT)]));
        let here = tree.folder_id(&RepoPath::parse("aws/v1.1.0").unwrap()).unwrap();
        let mut fleet = Fleet::open(tree, date(2026, 1, 1)).unwrap();
        fleet.supplement_mut().contents.insert(tree_id('a').into(), nothing().into());
        let past =
            PastRelease { content: nothing(), tree: tree_id('b'), found_in: "commit 1a2b3c4d".to_owned() };
        fleet.supplement_mut().past.insert(ReleaseId::from_path("aws/v0.9.0"), past);
        for (release, taken, found) in [
            ("aws/v1.0.0", None, "aws/v1.0.0".to_owned()),
            // A release may be renamed: its content tells.
            ("aws/v1.0.0", Some(here), "aws/v1.1.0".to_owned()),
            ("aws/v1.0.0", Some(tree_id('a')), format!("{} of aws/v1.0.0", tree_id('a'))),
            ("aws/v1.0.0", Some(tree_id('c')), "aws/v1.0.0".to_owned()),
            ("aws/v0.9.0", Some(tree_id('c')), format!("{} of aws/v0.9.0", tree_id('b'))),
            ("aws/v0.8.0", Some(tree_id('c')), String::new()),
        ] {
            let taken = taken.map(ContentId::from);
            let old = fleet.supplement().old_release_of(ReleaseId::from_path(release), taken.clone());
            let answer = match OldRelease::find(&fleet, &old) {
                Some(OldRelease::Here(release)) => release.id.to_string(),
                Some(OldRelease::Elsewhere { release, id, .. }) => format!("{} of {release}", id.tree),
                None => String::new(),
            };
            assert_eq!(answer, found, "{release} {taken:?}");
        }
    }
}
