//! What a sparse checkout leaves out of the work tree.

use std::collections::BTreeSet;
use std::path::Path;

use capstan_model::tree::RepoPath;
use gix::bstr::BStr;
use gix::glob::pattern::Case;
use gix::index::State;
use gix::index::entry::{Flags, Mode, Stat};
use gix::worktree::sparse::{apply_patterns, read_patterns};

use super::CheckoutError;

/// Those of these paths that the patterns of a sparse checkout leave out. None where the checkout is whole.
pub(super) fn outside<'p>(
    repository: &gix::Repository,
    root: &Path,
    paths: impl IntoIterator<Item = &'p RepoPath>,
) -> Result<BTreeSet<&'p RepoPath>, CheckoutError> {
    let failed = |error: gix::Error| CheckoutError::unreadable(root, &error);
    let config = repository.config_snapshot();
    if config.boolean("core.sparseCheckout") != Some(true) {
        return Ok(BTreeSet::new());
    }
    let git_dir = repository.git_dir();
    let file = git_dir.join("info/sparse-checkout");
    let patterns = read_patterns(git_dir).map_err(|error| CheckoutError::io(&file, error))?;
    let Some(patterns) = patterns else { return Ok(BTreeSet::new()) };
    let is_cone = config.boolean("core.sparseCheckoutCone").unwrap_or_default();
    let ignores_case = repository.filesystem_options().map_err(failed)?.ignore_case;
    let case = if ignores_case { Case::Fold } else { Case::Sensitive };
    // The patterns are applied to an index: one of these paths alone.
    let paths: BTreeSet<&RepoPath> = paths.into_iter().collect();
    let hash = repository.object_hash();
    let mut index = State::new(hash);
    for path in &paths {
        let path = BStr::new(path.as_str());
        index.dangerously_push_entry(Stat::default(), hash.null(), Flags::empty(), Mode::FILE, path);
    }
    apply_patterns(&mut index, &patterns, &file, is_cone, case).map_err(failed)?;
    let is_outside = |flags: Flags| flags.contains(Flags::SKIP_WORKTREE);
    let with_flags = paths.into_iter().zip(index.entries());
    Ok(with_flags.filter(|(_, entry)| is_outside(entry.flags)).map(|(path, _)| path).collect())
}
