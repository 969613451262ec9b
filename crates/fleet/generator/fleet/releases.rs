//! The releases of a fleet, wherever they are.

use std::borrow::Cow;
use std::sync::Arc;

use capstan_model::finding::Place;
use capstan_model::tree::{RepoPath, Tree, TreeId};
use capstan_plan::layout::Layout;
use capstan_plan::release::Catalogue;
use capstan_plan::settings::REPOSITORY_FILE;

use super::Fleet;
use crate::generator::fleet_inputs::ReleasesIn;
use crate::generator::home::{Home, layout_for};
use crate::generator::refused::Refused;
use crate::generator::shared::Shared;
use crate::generator::sources::Sources;

impl Fleet {
    /// The repository that holds the releases, where the settings name another one.
    pub fn releases_repository(&self) -> Option<&str> {
        self.settings.releases.repository.as_ref().map(|name| name.as_str())
    }

    /// Gives the content of the repository that holds the releases. Patterns in `releases.paths` are
    /// this repository's, else that one's own.
    pub fn provide_releases(&mut self, tree: Arc<dyn Tree>) {
        let layout = layout_for(&self.settings, tree.as_ref());
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

    /// Says why the repository that holds the releases cannot be had: a sentence without a full stop.
    pub fn refuse_releases(&mut self, why: String) {
        self.known = None;
        self.releases = Home::Missing(why);
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

    /// The releases that could be read, and those that could not.
    pub fn catalogue(&self) -> &Catalogue {
        self.shared.catalogue.get_or_init(|| match self.releases {
            Home::Here => Catalogue::read(self.tree.as_ref(), &self.layout),
            Home::Elsewhere(_) | Home::Missing(_) => Catalogue::default(),
        })
    }

    /// The same as sources of change, as far as they were read.
    pub(in crate::generator) fn sources(&self) -> &Sources {
        &self.shared.sources
    }

    /// How often templates were rendered since the releases were read, for figures.
    pub fn renders(&self) -> usize {
        self.shared.sources.renders.made()
    }

    /// The snapshot that holds the releases.
    pub(in crate::generator) fn releases_tree(&self) -> &dyn Tree {
        match &self.releases {
            Home::Elsewhere(tree) => tree.as_ref(),
            Home::Here | Home::Missing(_) => self.tree.as_ref(),
        }
    }

    /// Its root, where that is another repository's.
    pub(in crate::generator) fn releases_root(&self) -> Option<TreeId> {
        match &self.releases {
            Home::Elsewhere(tree) => tree.folder_id(&RepoPath::root()),
            Home::Here | Home::Missing(_) => None,
        }
    }

    /// Where the releases and targets of that snapshot are.
    pub(in crate::generator) fn releases_layout(&self) -> Cow<'_, Layout> {
        match &self.releases {
            Home::Elsewhere(tree) => Cow::Owned(layout_for(&self.settings, tree.as_ref())),
            Home::Here | Home::Missing(_) => Cow::Borrowed(&self.layout),
        }
    }
}
