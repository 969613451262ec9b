//! A release among the sources of change.

use super::{ContentId, ReleaseId};
use crate::source::{SourceContent, SourceId, SourceKind};

impl From<&ReleaseId> for SourceId {
    fn from(release: &ReleaseId) -> Self {
        Self::new(SourceKind::RELEASE, release.as_str())
    }
}

impl From<ReleaseId> for SourceId {
    fn from(release: ReleaseId) -> Self {
        Self::from(&release)
    }
}

impl SourceId {
    /// The release that it is; `None` for a source of another kind.
    pub fn release(&self) -> Option<ReleaseId> {
        (*self.kind() == SourceKind::RELEASE).then(|| ReleaseId::from_path(self.path()))
    }
}

impl From<&ContentId> for SourceContent {
    fn from(content: &ContentId) -> Self {
        // A content id is written as a source's content is read.
        Self::parse(&content.to_string()).unwrap_or_else(|| Self::from(&content.tree))
    }
}
