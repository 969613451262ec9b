//! The hash at the end of a generated name: of the object's JSON as Go writes it
//! (<https://github.com/kubernetes-sigs/kustomize/blob/master/api/hasher/hasher.go>).

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::id::text_at;
use crate::render::placed::PlacedValue;
use capstan_model::digest::sha256;

/// Ten characters for a ConfigMap or Secret, which cannot spell words.
pub(super) fn of(object: &PlacedValue) -> String {
    let part = |key: &str| object.field(key).filter(|value| !value.is_null()).map(PlacedValue::to_value);
    let kind = text_at(object, &["kind"]);
    // Kustomize means to put the name in and looks it up under a path that never fits.
    let mut content = json!({
        "kind": kind,
        "name": "",
        "data": part("data").unwrap_or_else(|| json!("")),
    });
    let more = match kind.as_str() {
        "Secret" => {
            content["type"] = json!(text_at(object, &["type"]));
            "stringData"
        }
        _ => "binaryData",
    };
    if let Some(value) = part(more).filter(Value::is_object) {
        content[more] = value;
    }
    let mut text = String::new();
    write_go_json(&content, &mut text);
    sha256(&text)[..10]
        .chars()
        .map(|digit| match digit {
            '0' => 'g',
            '1' => 'h',
            '3' => 'k',
            'a' => 'm',
            'e' => 't',
            other => other,
        })
        .collect()
}

/// JSON as Go's encoder writes it: keys in order, and what could end a script escaped.
pub(super) fn write_go_json(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(b.0));
            out.push('{');
            for (at, (key, value)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_go_text(key, out);
                out.push(':');
                write_go_json(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_go_json(item, out);
            }
            out.push(']');
        }
        Value::String(text) => write_go_text(text, out),
        other => out.push_str(&other.to_string()),
    }
}

pub(super) fn write_go_text(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            other => out.push(other),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_written_as_go_writes_it() {
        let mut text = String::new();
        write_go_json(&json!({"b": [1, "<a&b>"], "a": {"z": null, "y": "\u{1}\n"}}), &mut text);
        assert_eq!(text, "{\"a\":{\"y\":\"\\u0001\\n\",\"z\":null},\"b\":[1,\"\\u003ca\\u0026b\\u003e\"]}");
    }
}
