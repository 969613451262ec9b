//! Templated scalars: any text may hold expressions, any text may be a value.

use std::collections::BTreeMap;

use capstan_plan::substitution::substituted;

/// Parts between NUL bytes: the text, then the values of `A`, `B`, `NAME` and so on.
pub(crate) fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut parts = text.split('\0');
    let template = parts.next().unwrap_or_default();
    let names = ["A", "B", "NAME", "a_b", "CLUSTER_NAME"];
    let values: BTreeMap<String, String> =
        names.iter().zip(parts).map(|(name, value)| ((*name).to_owned(), value.to_owned())).collect();
    let full = substituted(template, &values);
    if !template.contains('$') {
        assert_eq!(full, template, "a text without an expression stays");
    }
    // Values are put in, never read, so an expression in a value does not count.
    let blunt: BTreeMap<String, String> = values.keys().map(|name| (name.clone(), "$".to_owned())).collect();
    let _ = substituted(template, &blunt);
    if values.values().all(String::is_empty) {
        let none = substituted(template, &BTreeMap::new());
        assert!(none.len() <= template.len() * 4 + 64, "{} bytes from {}", none.len(), template.len());
    }
}
