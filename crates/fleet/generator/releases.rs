//! Where a fleet's releases are: in the snapshot itself, in another repository, or nowhere yet.
//!
//! A repository whose settings name `releases.repository` takes all of its releases from there. That repository has to
//! agree: its own `.capstan.yaml`, on its default branch, lists this one under `consumers`. Before the releases are
//! given, nothing is planned, and every plan says why.

use std::borrow::Cow;
use std::sync::Arc;

use capstan_model::finding::Place;
use capstan_model::ids::ReleaseId;
use capstan_model::tree::{RepoPath, Tree, TreeId};
use capstan_plan::layout::{self, Layout};
use capstan_plan::release::Catalogue;
use capstan_plan::settings::{REPOSITORY_FILE, RepositorySettings};

use super::fleet_inputs::ReleasesIn;
use super::sources::Sources;
use super::{Fleet, Refused, Shared, read_settings};

/// Where the releases are.
#[derive(Clone)]
pub(super) enum Home {
    /// In the fleet's own snapshot.
    Here,
    /// In this one.
    Elsewhere(Arc<dyn Tree>),
    /// In a repository that was not given, for this reason.
    Missing(String),
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

impl Home {
    /// What the settings say, before anybody gives anything.
    pub(super) fn of(settings: &RepositorySettings) -> Self {
        match &settings.releases.repository {
            None => Self::Here,
            Some(repository) => Self::Missing(format!(
                "the releases are in the repository {}, which was not given: name a checkout of it with --releases DIR",
                repository.as_str()
            )),
        }
    }
}

impl Fleet {
    /// The repository that holds the releases, where the settings name another one.
    pub fn releases_repository(&self) -> Option<&str> {
        self.settings.releases.repository.as_ref().map(|name| name.as_str())
    }

    /// Gives the content of the repository that holds the releases. Patterns in `releases.paths` are
    /// this repository's, else that one's own.
    pub fn provide_releases(&mut self, tree: Arc<dyn Tree>) {
        let layout = self.layout_of(tree.as_ref());
        let root = tree.folder_id(&RepoPath::root());
        self.known = self.plan_cache.as_ref().zip(root).map(|((plan_cache, _), root)| {
            let releases = ReleasesIn { tree: tree.as_ref(), layout: &layout, elsewhere: Some(root) };
            let definitions = self.wide.defined(self.tree.as_ref(), &self.layout);
            plan_cache.fleet(&releases, definitions, &self.settings, self.today)
        });
        self.shared = match &self.known {
            Some(known) => Arc::clone(&known.shared),
            None => Arc::new(Shared::new(Catalogue::read(tree.as_ref(), &layout), Sources::default())),
        };
        self.releases = Home::Elsewhere(tree);
    }

    /// The releases and targets of the repository that holds the releases.
    fn layout_of(&self, tree: &dyn Tree) -> Layout {
        let mut settings = self.settings.clone();
        if settings.releases.paths.is_none()
            && let Ok((own, _)) = read_settings(tree)
        {
            settings.releases.paths = own.releases.paths;
        }
        layout::discover(tree, &settings)
    }

    /// The same, wherever the releases are.
    pub(super) fn releases_layout(&self) -> Cow<'_, Layout> {
        match &self.releases {
            Home::Elsewhere(tree) => Cow::Owned(self.layout_of(tree.as_ref())),
            Home::Here | Home::Missing(_) => Cow::Borrowed(self.layout()),
        }
    }

    /// Says why the repository that holds the releases cannot be had: a sentence without a full stop.
    pub fn refuse_releases(&mut self, why: String) {
        self.known = None;
        self.releases = Home::Missing(why);
    }

    /// The snapshot that holds the releases.
    pub(super) fn releases_tree(&self) -> &dyn Tree {
        match &self.releases {
            Home::Elsewhere(tree) => tree.as_ref(),
            Home::Here | Home::Missing(_) => self.tree.as_ref(),
        }
    }

    /// Whether the releases are there to plan with.
    ///
    /// # Errors
    /// They are in a repository that was not given, or does not agree.
    pub fn require_releases(&self) -> Result<(), Refused> {
        match &self.releases {
            Home::Here | Home::Elsewhere(_) => Ok(()),
            Home::Missing(why) => Err(Refused {
                message: why.clone(),
                place: RepoPath::parse(REPOSITORY_FILE).ok().map(Place::whole),
            }),
        }
    }

    /// Gives the content of one of [`Self::missing_releases`].
    pub fn provide_past_release(&mut self, id: ReleaseId, past: PastRelease) {
        self.past.insert(id, past);
    }
}

/// Whether a repository lets `consumer` use its releases. Only the bot asks: it can read repositories that the users of
/// `consumer` cannot. On the command line the user already has both checkouts.
///
/// # Errors
/// Why not, as a sentence without a full stop.
pub fn consents(tree: &dyn Tree, releases: &str, consumer: &str) -> Result<(), String> {
    let (settings, exists) = read_settings(tree).map_err(|error| {
        format!("the releases of {releases} cannot be used, because its settings are wrong: {error}")
    })?;
    let listed = settings.consumers.iter().any(|name| name.as_str().eq_ignore_ascii_case(consumer));
    match (exists, listed) {
        (_, true) => Ok(()),
        (true, false) => Err(format!(
            "{releases} does not let {consumer} use its releases: list it under `consumers` in its .capstan.yaml, on its default branch"
        )),
        (false, _) => Err(format!(
            "{releases} has no .capstan.yaml on its default branch, so no other repository may use its releases: list {consumer} under `consumers` there"
        )),
    }
}
