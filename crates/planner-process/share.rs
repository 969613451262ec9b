//! What one target may take of a process's memory, measured from outside while the process works on it.
//!
//! The limit of a process covers all that it takes, including the repository that it opened. A program that later does
//! the same work in its own process needs memory for other things, too. So it has to know what the one target takes.

use std::time::Duration;

/// How often is looked.
pub(super) const LOOK: Duration = Duration::from_millis(5);

/// What a target may take, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Share {
    most: u64,
    /// What the process had before it.
    before: u64,
}

impl Share {
    pub(super) const fn new(most: u64) -> Self {
        Self { most, before: u64::MAX }
    }

    /// A target is begun.
    pub(super) fn begin(&mut self, process: u32) {
        self.before = taken(process).unwrap_or(u64::MAX);
    }

    /// Whether the one that was begun last takes more.
    pub(super) fn is_exceeded(&self, process: u32) -> bool {
        taken(process).is_some_and(|now| now.saturating_sub(self.before) > self.most)
    }

    /// What may be taken, in MiB.
    pub(super) const fn mebibytes(&self) -> u64 {
        self.most >> 20
    }
}

/// Memory of a process that is not backed by a file, in bytes; `None` where the system does not say.
fn taken(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let kibibytes = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    Some(kibibytes.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_since_the_target_was_begun_counts() {
        let process = std::process::id();
        if taken(process).is_none() {
            return;
        }
        let mut share = Share::new(16 << 20);
        assert!(!share.is_exceeded(process), "nothing is begun");
        share.begin(process);
        assert!(!share.is_exceeded(process));
        let block = vec![1_u8; 64 << 20];
        assert!(share.is_exceeded(process));
        share.begin(process);
        assert!(!share.is_exceeded(process), "what was there before does not count: {}", block.len());
    }
}
