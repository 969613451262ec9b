//! What people release.

use super::error::ForgeError;
use super::running::Forge;
use crate::clock::now;
use crate::state::{Asset, ForgeRelease};

impl Forge {
    /// Publishes a release with these files. One whose tag holds a `-` is a pre-release. An earlier one of that tag is
    /// replaced.
    pub fn publish_release(
        &self,
        full_name: &str,
        tag: &str,
        files: &[(&str, &[u8])],
    ) -> Result<(), ForgeError> {
        let mut state = self.shared.lock();
        let author = state.repository(full_name)?.owner.clone();
        let mut assets = Vec::new();
        for (name, content) in files {
            let id = state.fresh_id();
            assets.push(Asset { id, name: (*name).to_owned(), content: content.to_vec() });
        }
        let release = ForgeRelease {
            id: state.fresh_id(),
            tag: tag.to_owned(),
            prerelease: tag.contains('-'),
            author,
            created_at: now(),
            assets,
        };
        let here = state.repository_mut(full_name)?;
        here.releases.retain(|known| known.tag != tag);
        here.releases.push(release);
        Ok(())
    }

    /// Files of releases are handed out by this server from now on: GitHub leads elsewhere, too.
    pub fn keep_files_at(&self, url: impl Into<String>) {
        self.shared.lock().storage = Some(url.into());
    }
}
