//! Rendering where it can do no harm.

use std::collections::BTreeMap;
use std::sync::Arc;

use capstan_model::ids::ClusterId;
use capstan_model::tree::Tree;
use capstan_plan::settings::RepositorySettings;
use capstan_reconciler_core::trial_failed::TrialFailed;
use jiff::civil::Date;

/// Opens and renders what others wrote in a process that has limits, so that the reconciler does the same only where
/// it can do no harm. Blocks.
pub trait TrialRenders: Send + Sync {
    /// Opens a tree, under its own settings or those that are given. `today` is in UTC.
    ///
    /// # Errors
    /// It cannot be opened within the limits. Settings that are wrong are no such thing.
    fn open(
        &self,
        tree: &Arc<dyn Tree>,
        settings: Option<&RepositorySettings>,
        today: Date,
    ) -> Result<(), TrialFailed>;

    /// Renders these clusters of a tree; those that cannot be rendered within the limits, each with why. Content that
    /// does not render is no such thing.
    ///
    /// # Errors
    /// Nobody knows which can.
    fn render(
        &self,
        tree: &Arc<dyn Tree>,
        settings: &RepositorySettings,
        clusters: &[ClusterId],
    ) -> Result<BTreeMap<ClusterId, TrialFailed>, TrialFailed>;
}
