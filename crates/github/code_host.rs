//! [`GitHub`] as the [`CodeHost`] of the use cases: it has every subject. Their calls are in the neighbouring files.

use capstan_ports::{CodeHost, Contents, Stacks, Statuses};

use super::transport::GitHub;

impl CodeHost for GitHub {
    fn stacks(&self) -> Option<&dyn Stacks> {
        Some(self)
    }

    fn statuses(&self) -> Option<&dyn Statuses> {
        Some(self)
    }

    fn contents(&self) -> Option<&dyn Contents> {
        Some(self)
    }
}
