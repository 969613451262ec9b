//! Where a fleet's releases are: in the snapshot itself, in another repository, or nowhere yet.
//!
//! A repository whose settings name `releases.repository` takes all of its releases from there. That repository has to
//! agree: its own `.capstan.yaml`, on its default branch, lists this one under `consumers`. Before the releases are
//! given, nothing is planned, and every plan says why.

use std::sync::Arc;

use capstan_model::tree::Tree;
use capstan_plan::layout::{self, Layout};
use capstan_plan::settings::RepositorySettings;

use super::settings_file::read_settings;

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

/// The releases and targets of a repository that holds another one's releases. Patterns in `releases.paths` are the
/// `consumer`'s, else its own.
pub(super) fn layout_for(consumer: &RepositorySettings, tree: &dyn Tree) -> Layout {
    let mut settings = consumer.clone();
    if settings.releases.paths.is_none()
        && let Ok((own, _)) = read_settings(tree)
    {
        settings.releases.paths = own.releases.paths;
    }
    layout::discover(tree, &settings)
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
