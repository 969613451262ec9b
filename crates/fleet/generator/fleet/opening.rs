//! Opening a snapshot: its settings, its layout, and what is remembered of earlier looks at it.

use std::sync::Arc;

use capstan_kustomize::render::EditedTree;
use capstan_model::file_change::FileChange;
use capstan_model::finding::FileError;
use capstan_model::tree::Tree;
use capstan_plan::layout::{self, Layout};
use capstan_plan::settings::RepositorySettings;
use jiff::civil::Date;

use super::Fleet;
use crate::generator::fleet_inputs::ReleasesIn;
use crate::generator::home::Home;
use crate::generator::plan_cache::PlanCache;
use crate::generator::settings_file::read_settings;
use crate::generator::shared::Shared;
use crate::generator::supplement::Supplement;

impl Fleet {
    /// Reads the settings of a snapshot and finds its releases and clusters. `today` (UTC) is what
    /// holds are judged against.
    ///
    /// # Errors
    /// A `.capstan.yaml` that cannot be read or is wrong: nothing is planned with wrong settings.
    pub fn open(tree: Arc<dyn Tree>, today: Date) -> Result<Self, FileError> {
        let (settings, has_settings_file) = read_settings(tree.as_ref())?;
        Ok(Self::with_settings(tree, settings, has_settings_file, today))
    }

    /// The same under settings from elsewhere: those of the base branch, never of the pull request.
    pub fn with_settings(
        tree: Arc<dyn Tree>,
        settings: RepositorySettings,
        has_settings_file: bool,
        today: Date,
    ) -> Self {
        let layout = Arc::new(layout::discover(tree.as_ref(), &settings));
        Self::of(tree, settings, has_settings_file, layout, Arc::default(), today)
    }

    /// [`Self::open`] with what is remembered of earlier looks at this repository, or at others: the
    /// same plans, made only where something that they were made from has changed.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_with(plan_cache: &PlanCache, tree: Arc<dyn Tree>, today: Date) -> Result<Self, FileError> {
        plan_cache.begin();
        let tree = plan_cache.remembering(tree);
        let (settings, has_settings_file) = read_settings(tree.as_ref())?;
        Ok(Self::look_with(plan_cache, tree, settings, has_settings_file, today))
    }

    /// [`Self::open_with`] under settings from elsewhere: those of the base branch, never of the pull request.
    pub fn open_under(
        plan_cache: &PlanCache,
        tree: Arc<dyn Tree>,
        settings: RepositorySettings,
        today: Date,
    ) -> Self {
        plan_cache.begin();
        let tree = plan_cache.remembering(tree);
        Self::look_with(plan_cache, tree, settings, true, today)
    }

    fn look_with(
        plan_cache: &PlanCache,
        tree: Arc<dyn Tree>,
        settings: RepositorySettings,
        has_settings_file: bool,
        today: Date,
    ) -> Self {
        let look = plan_cache.look(tree.as_ref(), &settings);
        let layout = Arc::clone(&look.layout);
        let known = matches!(Home::of(&settings), Home::Here).then(|| {
            let releases = ReleasesIn { tree: tree.as_ref(), layout: &layout, elsewhere: None };
            plan_cache.fleet(&releases, look.wide.defined(tree.as_ref(), &layout), &settings, today)
        });
        let shared = known.as_ref().map_or_else(Arc::default, |known| Arc::clone(&known.shared));
        let fleet = Self::of(tree, settings, has_settings_file, layout, shared, today);
        Self { wide: Arc::clone(&look.wide), known, plan_cache: Some((plan_cache.clone(), look)), ..fleet }
    }

    fn of(
        tree: Arc<dyn Tree>,
        settings: RepositorySettings,
        has_settings_file: bool,
        layout: Arc<Layout>,
        shared: Arc<Shared>,
        today: Date,
    ) -> Self {
        Self {
            tree,
            releases: Home::of(&settings),
            settings,
            has_settings_file,
            layout,
            today,
            wide: Arc::default(),
            shared,
            supplement: Supplement::default(),
            known: None,
            plan_cache: None,
        }
    }

    /// The same fleet with files that are not written, none of which belongs to a release. Nothing is given for it.
    pub(in crate::generator) fn with_files(&self, files: &[FileChange]) -> Self {
        let tree: Arc<dyn Tree> = Arc::new(EditedTree::new(Arc::clone(&self.tree), files));
        let after = Self::with_settings(tree, self.settings.clone(), self.has_settings_file, self.today);
        Self { releases: self.releases.clone(), shared: Arc::clone(&self.shared), ..after }
    }
}
