//! Small pieces of sentences.

use std::fmt::Display;

/// The one of two words that fits a number: `field` or `fields`, `is` or `are`.
pub const fn fitting<'w>(number: usize, one: &'w str, many: &'w str) -> &'w str {
    if number == 1 { one } else { many }
}

/// `1 field`, `2 fields`.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", fitting(number, one, many))
}

/// `2 of 3 clusters`, `1 of 1 cluster`.
pub fn count_of(number: usize, all: usize, one: &str, many: &str) -> String {
    format!("{number} of {}", count(all, one, many))
}

/// A text as a sentence begins: with a capital letter.
pub fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// An error and its causes in one line; what a layer repeats of the one below is said once.
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let part = error.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        cause = error.source();
    }
    text
}

/// The first of many and, where there are more than `most`, how many: `a`, `b`, `4 more files`.
pub fn few(all: impl IntoIterator<Item = impl Display>, most: usize, more: &str) -> Vec<String> {
    let mut words: Vec<String> = all.into_iter().map(|one| one.to_string()).collect();
    let left = words.len().saturating_sub(most);
    words.truncate(most);
    words.extend((left > 0).then(|| format!("{left} {more}")));
    words
}

/// `a`, `a and b`, `a, b and c`.
pub fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_noun_fits_the_number_before_it() {
        for (number, all, said) in [
            (0, 0, "0 of 0 clusters"),
            (0, 1, "0 of 1 cluster"),
            (1, 1, "1 of 1 cluster"),
            (1, 2, "1 of 2 clusters"),
            (2, 2, "2 of 2 clusters"),
        ] {
            assert_eq!(count_of(number, all, "cluster", "clusters"), said);
        }
    }

    #[test]
    fn of_many_a_few_are_named() {
        for (all, said) in [
            (&[][..], ""),
            (&["a"], "a"),
            (&["a", "b"], "a and b"),
            (&["a", "b", "c"], "a, b and 1 more"),
            (&["a", "b", "c", "d"], "a, b and 2 more"),
        ] {
            assert_eq!(list(&few(all, 2, "more")), said);
        }
    }
}
