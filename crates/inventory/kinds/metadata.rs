//! `metadata` of an object, as the API server would take it.

use capstan_model::dns_name::{is_label_value, is_qualified_name, is_subdomain};
use capstan_model::finding::rules;
use capstan_yaml::{Entry, Node};

use super::super::fields::Fields;

/// Judges `metadata` of an object, whose name is known. What the API server itself keeps there is unknown here.
pub(super) fn read_metadata(fields: &mut Fields<'_>, node: &Node, name: &str) {
    for Entry { key, value, .. } in
        fields.entries(node, "metadata.", &["name", "namespace", "labels", "annotations"])
    {
        match key.as_str() {
            "name" if !is_subdomain(name) => {
                let message = format!(
                    "`{name}` is not a valid name: use lowercase letters, digits, `-` and `.`, at most 253"
                );
                fields.wrong(rules::INVENTORY_TYPE, value.span.start, message);
            }
            "namespace" if !value.is_null() => drop(fields.text(value, "metadata.namespace")),
            "labels" | "annotations" => read_texts(fields, value, key),
            _ => {}
        }
    }
}

fn read_texts(fields: &mut Fields<'_>, node: &Node, what: &str) {
    let name = format!("metadata.{what}");
    for Entry { key, key_span, value, .. } in fields.named(node, &name) {
        // Of an annotation's key the API server reads the letters as small ones.
        let is_key = match what {
            "labels" => is_qualified_name(key),
            _ => is_qualified_name(&key.to_lowercase()),
        };
        if !is_key {
            let message = format!(
                "`{key}` is not a key of {what}: write a name of letters, digits, `-`, `_` and `.`, at most 63, optionally after a domain and `/`"
            );
            fields.wrong(rules::INVENTORY_TYPE, key_span.start, message);
        }
        if value.is_null() {
            continue;
        }
        let Some(text) = fields.text(value, &format!("{name}.{key}")) else { continue };
        if what == "labels" && !is_label_value(text) {
            let message = format!(
                "`{text}` is not a value of a label: use letters, digits, `-`, `_` and `.`, at most 63"
            );
            fields.wrong(rules::INVENTORY_TYPE, value.span.start, message);
        }
    }
}
