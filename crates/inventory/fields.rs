//! Reading an object of the inventory strictly: unknown keys and wrong types are findings with their place.

use std::sync::Arc;

use capstan_model::finding::{Finding, RuleEntry, rules};
use capstan_model::spelling::hint;
use capstan_yaml::{Entry, Node, NodeKind};

use super::origin::InventoryLevel;

/// What a node is, as people call it.
pub(super) fn noun(node: &Node) -> String {
    use capstan_yaml::scalar::ScalarReading;
    match &node.kind {
        NodeKind::Mapping(_) => "a mapping".to_owned(),
        NodeKind::Sequence(_) => "a list".to_owned(),
        NodeKind::Scalar(scalar) => match scalar.reading() {
            ScalarReading::Null => "nothing".to_owned(),
            ScalarReading::Bool(_) => format!("`{}`, which is true or false", scalar.text),
            ScalarReading::Integer(_) | ScalarReading::Unsigned(_) | ScalarReading::Float(_) => {
                format!("`{}`, which is a number", scalar.text)
            }
            ScalarReading::String(_) => format!("the text `{}`", shortened(&scalar.text)),
        },
    }
}

/// The beginning of a text.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 60;
    let line = text.lines().next().unwrap_or_default();
    if line.chars().count() > MOST || line.len() < text.len() {
        format!("{}…", line.chars().take(MOST).collect::<String>())
    } else {
        line.to_owned()
    }
}

/// Reads the fields of one object.
pub(super) struct Fields<'f> {
    pub(super) level: &'f Arc<InventoryLevel>,
    pub(super) findings: Vec<Finding>,
}

impl<'f> Fields<'f> {
    pub(super) const fn new(level: &'f Arc<InventoryLevel>) -> Self {
        Self { level, findings: Vec::new() }
    }

    /// Adds what is wrong at a byte of the file.
    pub(super) fn wrong(&mut self, rule: &'static RuleEntry, offset: usize, message: String) {
        self.findings.push(Finding::new(rule, message).place(self.level.place(offset)));
    }

    /// The entries of a mapping with whatever keys; `name` is how the mapping is called.
    pub(super) fn named<'n>(&mut self, node: &'n Node, name: &str) -> &'n [Entry] {
        if node.is_null() {
            return &[];
        }
        node.as_mapping().unwrap_or_else(|| {
            let message = format!("`{name}` must be a mapping, found {}", noun(node));
            self.wrong(rules::INVENTORY_TYPE, node.span.start, message);
            &[]
        })
    }

    /// The entries of a mapping that has these keys alone; `name` is how the mapping is called, with a dot at
    /// its end where it has a name.
    pub(super) fn entries<'n>(&mut self, node: &'n Node, name: &str, known: &[&str]) -> &'n [Entry] {
        let entries = self.named(node, name.trim_end_matches('.'));
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let message = format!("unknown key `{name}{}`{}", entry.key, hint(&entry.key, known));
            self.wrong(rules::INVENTORY_TYPE, entry.key_span.start, message);
        }
        entries
    }

    pub(super) fn text<'n>(&mut self, node: &'n Node, name: &str) -> Option<&'n str> {
        let text = node.as_str();
        if text.is_none() {
            let message = format!("`{name}` must be text, found {}{}", noun(node), quoted(node));
            self.wrong(rules::INVENTORY_TYPE, node.span.start, message);
        }
        text
    }

    /// A list of texts, each with its byte.
    pub(super) fn texts<'n>(&mut self, node: &'n Node, name: &str) -> Vec<(&'n str, usize)> {
        if node.is_null() {
            return Vec::new();
        }
        let Some(items) = node.as_sequence() else {
            let message = format!("`{name}` must be a list, found {}", noun(node));
            self.wrong(rules::INVENTORY_TYPE, node.span.start, message);
            return Vec::new();
        };
        let named = items.iter().enumerate().map(|(at, item)| (format!("{name}[{at}]"), item));
        let read = named.filter_map(|(name, item)| Some((self.text(item, &name)?, item.span.start)));
        read.collect()
    }
}

/// What to write for a plain scalar that is meant as text: `; write "1.30"`.
pub(super) fn quoted(node: &Node) -> String {
    match node.as_scalar() {
        Some(scalar) if !scalar.text.is_empty() => {
            format!("; for the text, write it in quotes: \"{}\"", scalar.text)
        }
        _ => String::new(),
    }
}
