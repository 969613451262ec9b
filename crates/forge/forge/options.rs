//! How a forge starts.

use crate::log::Recording;

/// How a forge starts.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on; port 0 takes a free one.
    pub listen: String,
    /// The App's name in addresses; its bot is `{slug}[bot]`.
    pub slug: String,
    /// Whether bodies are kept for the conformance check.
    pub recording: Recording,
    /// How often the API says of a pull request that its mergeability is being computed, each time it is unknown.
    pub mergeability_reads: u32,
    /// Be a GitHub Enterprise Server instead of github.com.
    pub enterprise: Option<Enterprise>,
}

/// A GitHub Enterprise Server of those that are older than merge queues.
#[derive(Clone, Debug)]
pub struct Enterprise {
    /// Its version, as `x-github-enterprise-version` says it: `3.10.4`.
    pub version: String,
    /// The address of clients, through any proxy: `https://ghe.example.com`. Its addresses begin so.
    pub web: String,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            listen: "127.0.0.1:0".to_owned(),
            slug: "capstan".to_owned(),
            recording: Recording::Full,
            mergeability_reads: 1,
            enterprise: None,
        }
    }
}
