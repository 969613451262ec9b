//! Small pieces of sentences.

/// `1 field`, `2 fields`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}
