//! How results are printed.

use clap::ValueEnum;

/// How a result is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
}
