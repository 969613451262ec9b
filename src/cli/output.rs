//! Printing results: text to a terminal, JSON and YAML to programs.

use std::io::{self, Write};

use capstan_domain::yaml;
use serde_json::Value;

use super::{Failure, Format};

/// Prints text as it is; colours are dropped where standard output is no terminal.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let written = anstream::stdout().lock().write_all(text.as_bytes());
    match written {
        // Somebody piped into `head`: what was wanted was read.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Prints a value as indented JSON.
pub(super) fn print_json(value: &Value) -> Result<(), Failure> {
    print(&format!("{value:#}\n"))
}

/// Prints a value as YAML.
pub(super) fn print_yaml(value: &Value) -> Result<(), Failure> {
    print(&yaml::write(&yaml::Node::from_value(value)))
}

/// The failure for a format that a command does not print.
pub(super) fn unsupported(command: &str, format: Format, supported: &str) -> Failure {
    let name = format!("{format:?}").to_lowercase();
    Failure::Usage(format!("`capstan {command}` does not print {name}; use -o {supported}"))
}
