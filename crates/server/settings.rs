//! The server's settings.

use std::time::Duration;

/// Where people come back to from signing in, below the public URL.
pub const CALLBACK: &str = "login/callback";

/// Whether what is decided is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// It is.
    #[default]
    Live,
    /// Everything is computed, and nothing is written.
    DryRun,
}

/// What those who connect may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intake {
    /// Connections at a time to the public listener. Where there are more, those go that said nothing for longest.
    pub connections: usize,
    /// How long a request's head may take, and how long a connection may be without a request.
    pub header_timeout: Duration,
    /// How long a request's body may take.
    pub body_timeout: Duration,
    /// For how long nothing of an answer may be taken.
    pub send_timeout: Duration,
    /// Bytes that bodies above 64 KiB may take together; further ones wait, unread.
    pub body_bytes: usize,
}

impl Default for Intake {
    /// GitHub gives up after 10 s.
    fn default() -> Self {
        Self {
            connections: connections_by_default(),
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(10),
            // A system says that there is room again once a third of what it keeps is gone: some megabytes.
            send_timeout: Duration::from_secs(60),
            body_bytes: 64 << 20,
        }
    }
}

/// Half of the file handles that this process may have: the others are for the database, Git and GitHub.
fn connections_by_default() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let handles = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let soft = handles.and_then(|rest| rest.split_whitespace().next()?.parse::<usize>().ok());
    soft.map_or(512, |handles| (handles / 2).clamp(8, 512))
}
