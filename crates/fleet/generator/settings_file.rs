//! `.capstan.yaml` of a snapshot.

use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::settings::{REPOSITORY_FILE, RepositorySettings, RuleIds};

/// The settings of a snapshot, and whether it has a file of them.
///
/// # Errors
/// A file that cannot be read or is wrong.
pub(super) fn read_settings(tree: &dyn Tree) -> Result<(RepositorySettings, bool), FileError> {
    let failed = |file: RepoPath, message: String| {
        FileError::new(rules::INVALID_SETTINGS, Place::whole(file), message)
    };
    let path =
        RepoPath::parse(REPOSITORY_FILE).map_err(|error| failed(RepoPath::root(), error.to_string()))?;
    let Some(entry) = tree.entry(&path) else {
        return Ok((RepositorySettings::default(), false));
    };
    let bytes = tree.read(entry).map_err(|error| failed(path.clone(), error.reason))?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| failed(path.clone(), format!("is not UTF-8 ({error})")))?;
    Ok((RepositorySettings::read(&path, text, &RuleIds::of_catalogue())?, true))
}
