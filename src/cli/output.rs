//! Printing results: text to a terminal, JSON and YAML to programs.

use std::io::{self, Write};

use capstan_report::Refusal;
use serde_json::Value;

use super::{Failure, Format};

/// Prints text as it is; colours are dropped where standard output is no terminal.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let written = anstream::stdout().lock().write_all(text.as_bytes());
    match written {
        // Somebody piped into `head`: what was wanted was read. The command goes on all the same, for its exit code
        // speaks of all clusters, and a pipeline that asks for it (`pipefail`) must not hear of fewer.
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
    print(&capstan_yaml::write(&capstan_yaml::Node::from_value(value)))
}

/// An array of JSON or YAML that is printed element by element, or texts one after the other: what
/// [`print_json`], [`print_yaml`] and [`print`] print of the whole.
pub(super) struct Elements {
    format: Format,
    count: usize,
}

impl Elements {
    pub(super) fn new(format: Format) -> Self {
        Self { format, count: 0 }
    }

    /// How one of JSON or YAML is written; other formats have none.
    pub(super) fn written(format: Format, value: Value) -> String {
        match format {
            // Texts in it have no line ends of their own.
            Format::Json => format!("  {}", format!("{value:#}").replace('\n', "\n  ")),
            _ => capstan_yaml::write(&capstan_yaml::Node::from_value(&Value::Array(vec![value]))),
        }
    }

    /// Prints the next one.
    pub(super) fn print(&mut self, written: &str) -> Result<(), Failure> {
        print(self.before_next())?;
        self.count += 1;
        print(written)
    }

    /// Prints what comes after the last one.
    pub(super) fn end(self) -> Result<(), Failure> {
        print(self.after_last())
    }

    fn before_next(&self) -> &'static str {
        match (self.format, self.count) {
            (Format::Json, 0) => "[\n",
            (Format::Json, _) => ",\n",
            _ => "",
        }
    }

    fn after_last(&self) -> &'static str {
        match (self.format, self.count) {
            (Format::Json | Format::Yaml, 0) => "[]\n",
            (Format::Json, _) => "\n]\n",
            _ => "",
        }
    }
}

/// The failure for a format that a command does not print.
pub(super) fn unsupported(command: &str, format: Format, supported: &str) -> Failure {
    let name = format!("{format:?}").to_lowercase();
    Failure::Usage(Refusal::Usage, format!("`capstan {command}` does not print {name}; use -o {supported}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn elements_one_by_one_are_the_array() {
        let all =
            [json!({"text": "two\nlines", "list": [1, {"a": null}], "none": []}), json!("b"), json!({})];
        for count in 0..=all.len() {
            let array = Value::Array(all[..count].to_vec());
            let wholes = [
                (Format::Json, format!("{array:#}\n")),
                (Format::Yaml, capstan_yaml::write(&capstan_yaml::Node::from_value(&array))),
            ];
            for (format, whole) in wholes {
                let mut elements = Elements::new(format);
                let mut printed = String::new();
                for value in &all[..count] {
                    printed.push_str(elements.before_next());
                    elements.count += 1;
                    printed.push_str(&Elements::written(format, value.clone()));
                }
                printed.push_str(elements.after_last());
                assert_eq!(printed, whole);
            }
        }
    }
}
