//! Mappings and lists that a filter made for a scalar (T4).

use std::fmt;
use std::sync::Arc;

use capstan_yaml::{Node, Value, write};
use minijinja::value::{Object, ObjectRepr};

/// The format of a structure within a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// `to_yaml`, `to_nice_yaml`
    Yaml,
    /// `tojson`, `to_json`
    Json,
    /// `to_nice_json`, `tojson(indent=2)`: columns a level.
    IndentedJson(usize),
}

/// A mapping or list on its way into a scalar: it is placed as it is if it is the whole scalar, and written
/// as text otherwise.
#[derive(Debug)]
pub(crate) struct Structured {
    pub(crate) value: Value,
    /// How it is written as text.
    pub(crate) format: Format,
}

impl Structured {
    /// Its approximate size as text in bytes: deep parts have long indentation.
    pub(crate) fn written(&self) -> u64 {
        let columns = match self.format {
            Format::Yaml => 2,
            Format::Json => 0,
            Format::IndentedJson(columns) => columns as u64,
        };
        bytes(&self.value, columns, 0)
    }

    /// As text, without a line feed at its end.
    pub(crate) fn text(&self) -> String {
        match self.format {
            Format::Yaml => write(&Node::from_value(&sorted(&self.value))).trim_end_matches('\n').to_owned(),
            Format::Json => json(&self.value, None),
            Format::IndentedJson(columns) => json(&self.value, Some(columns)),
        }
    }
}

impl Object for Structured {
    fn repr(self: &Arc<Self>) -> ObjectRepr {
        ObjectRepr::Plain
    }

    fn render(self: &Arc<Self>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

fn bytes(value: &Value, columns: u64, indent: u64) -> u64 {
    let below = indent + columns;
    let line = |bytes: u64| below + 4 + bytes;
    match value {
        Value::Array(items) => 2 + items.iter().map(|item| line(bytes(item, columns, below))).sum::<u64>(),
        Value::Object(fields) => {
            let field = |(key, item): (&String, &Value)| line(key.len() as u64 + bytes(item, columns, below));
            2 + fields.iter().map(field).sum::<u64>()
        }
        Value::String(text) => text.len() as u64 + 2 + text.matches('\n').count() as u64 * indent,
        _ => 5,
    }
}

/// Python's writers sort the keys of mappings.
fn sorted(value: &Value) -> Value {
    let mut sorted = value.clone();
    sorted.sort_all_objects();
    sorted
}

/// JSON as Jinja's `tojson` writes it: keys sorted, a blank behind `,` and `:`.
fn json(value: &Value, indent: Option<usize>) -> String {
    let mut out = String::new();
    write_json(&mut out, &sorted(value), indent, 0);
    out
}

fn write_json(out: &mut String, value: &Value, indent: Option<usize>, depth: usize) {
    let line = |out: &mut String, depth: usize, first: bool| match indent {
        Some(columns) => {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', columns * depth));
        }
        None if !first => out.push(' '),
        None => {}
    };
    match value {
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                line(out, depth + 1, at == 0);
                write_json(out, item, indent, depth + 1);
            }
            if indent.is_some() {
                line(out, depth, true);
            }
            out.push(']');
        }
        Value::Object(fields) if !fields.is_empty() => {
            out.push('{');
            for (at, (key, item)) in fields.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                line(out, depth + 1, at == 0);
                out.push_str(&Value::String(key.clone()).to_string());
                out.push_str(": ");
                write_json(out, item, indent, depth + 1);
            }
            if indent.is_some() {
                line(out, depth, true);
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}
