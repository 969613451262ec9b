//! Printing results: text to a terminal, JSON and YAML to programs.

use std::fmt;
use std::io::{self, Write};

use serde_json::Value;

use super::harmless::{harmless, harmless_line};
use super::{CommandFailure, ObjectFormat, PlanFormat, progress};

/// Prints text as it is; colours are dropped where standard output is not a terminal.
pub(super) fn print(text: &str) -> Result<(), CommandFailure> {
    progress::end_before_result();
    let written = anstream::stdout().lock().write_all(text.as_bytes());
    match written {
        // A pipe into `head` has read what it wanted. The command continues, because its exit code covers all
        // clusters, and a pipeline with `pipefail` must see the same code.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}

/// Prints lines for people.
pub(super) fn print_text(text: &str) -> Result<(), CommandFailure> {
    print(&harmless(text))
}

/// Prints one line for people.
pub(super) fn print_line(line: &(impl fmt::Display + ?Sized)) -> Result<(), CommandFailure> {
    print(&harmless_line(&line.to_string()))
}

/// Prints a value as indented JSON.
pub(super) fn print_json(value: &Value) -> Result<(), CommandFailure> {
    print(&format!("{value:#}\n"))
}

/// A value as YAML.
pub(super) fn yaml(value: &Value) -> String {
    capstan_yaml::write(&capstan_yaml::Node::from_value(value))
}

/// Prints a value as YAML.
pub(super) fn print_yaml(value: &Value) -> Result<(), CommandFailure> {
    print(&yaml(value))
}

/// Prints Kubernetes objects.
pub(super) fn print_objects(format: ObjectFormat, objects: &[&Value]) -> Result<(), CommandFailure> {
    match format {
        ObjectFormat::Json => print_json(&objects.iter().copied().cloned().collect()),
        ObjectFormat::Yaml => objects.iter().try_for_each(|object| {
            print("---\n")?;
            print_yaml(object)
        }),
    }
}

/// An array of JSON or YAML that is printed element by element, or texts one after the other: what
/// [`print_json`], [`print_yaml`] and [`print`] print of the whole.
pub(super) struct Elements {
    format: PlanFormat,
    count: usize,
}

impl Elements {
    pub(super) fn new(format: PlanFormat) -> Self {
        Self { format, count: 0 }
    }

    /// How one of JSON or YAML is written; other formats have none.
    pub(super) fn written(format: PlanFormat, value: Value) -> String {
        match format {
            // Texts in it have no line ends of their own.
            PlanFormat::Json => format!("  {}", format!("{value:#}").replace('\n', "\n  ")),
            _ => capstan_yaml::write(&capstan_yaml::Node::from_value(&Value::Array(vec![value]))),
        }
    }

    /// Prints the next one.
    pub(super) fn print(&mut self, written: &str) -> Result<(), CommandFailure> {
        print(self.before_next())?;
        self.count += 1;
        print(written)
    }

    /// Prints what comes after the last one.
    pub(super) fn end(self) -> Result<(), CommandFailure> {
        print(self.after_last())
    }

    fn before_next(&self) -> &'static str {
        match (self.format, self.count) {
            (PlanFormat::Json, 0) => "[\n",
            (PlanFormat::Json, _) => ",\n",
            _ => "",
        }
    }

    fn after_last(&self) -> &'static str {
        match (self.format, self.count) {
            (PlanFormat::Json | PlanFormat::Yaml, 0) => "[]\n",
            (PlanFormat::Json, _) => "\n]\n",
            _ => "",
        }
    }
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
                (PlanFormat::Json, format!("{array:#}\n")),
                (PlanFormat::Yaml, capstan_yaml::write(&capstan_yaml::Node::from_value(&array))),
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
