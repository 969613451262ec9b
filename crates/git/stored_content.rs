//! What Git would store of files on disk: their content after the filters that attributes and configuration name.
//!
//! Line ends and encodings are converted here. A filter such as that of Git LFS is a program, which `git status` runs too.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use capstan_model::tree::{BlobId, RepoPath};
use gix::filter::plumbing::pipeline::convert::ToGitOutcome;
use gix::objs::{Kind, compute_hash};

use super::CheckoutError;
use super::objects::{Objects, blob_id};

/// The ids of the contents that `git add` would store of these files. What is not a file on disk is left out.
pub(super) fn stored_contents(
    objects: &Objects,
    root: &Path,
    files: &[RepoPath],
) -> Result<BTreeMap<RepoPath, BlobId>, CheckoutError> {
    let failed = |error: gix::Error| CheckoutError::unreadable(root, &error);
    objects.with(|repository| {
        let (mut pipeline, index) = repository.filter_pipeline(None).map_err(failed)?;
        let mut ids = BTreeMap::new();
        for path in files {
            let on_disk = root.join(path.as_str());
            if !on_disk.symlink_metadata().is_ok_and(|metadata| metadata.is_file()) {
                continue;
            }
            let io = |error: std::io::Error| CheckoutError::io(&on_disk, error);
            let unreadable = |error: gix::Error| CheckoutError::unreadable(&on_disk, &error);
            let file = File::open(&on_disk).map_err(io)?;
            let converted =
                pipeline.convert_to_git(file, Path::new(path.as_str()), &index).map_err(unreadable)?;
            let mut content = Vec::new();
            match converted {
                ToGitOutcome::Unchanged(mut file) => file.read_to_end(&mut content).map_err(io)?,
                ToGitOutcome::Process(mut output) => output.read_to_end(&mut content).map_err(io)?,
                ToGitOutcome::Buffer(text) => {
                    content.extend_from_slice(text);
                    text.len()
                }
            };
            let id = compute_hash(repository.object_hash(), Kind::Blob, &content)
                .map_err(|error| CheckoutError::unreadable(&on_disk, &error))?;
            ids.extend(blob_id(&id).map(|id| (path.clone(), id)));
        }
        Ok(ids)
    })
}
