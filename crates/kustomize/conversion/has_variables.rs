//! Texts that are filled in before a server reads them.

/// Whether a text becomes a value only when its variables are filled in.
pub fn has_variables(text: &str) -> bool {
    text.contains("${") || text.contains("{{")
}
