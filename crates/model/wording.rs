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

/// An error of serde's, in which the type that was expected has the name that people give it.
pub fn with_plain_type(error: &str) -> String {
    let Some((found, expected)) = error.rsplit_once(", expected ") else { return error.to_owned() };
    let plain = match expected {
        "i8" | "i16" | "i32" | "i64" | "isize" | "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number",
        "a boolean" => "true or false",
        "a string" => "a text",
        "a sequence" => "a list",
        "a map" => "a mapping",
        other if other.starts_with("struct ") => "a mapping",
        other => other,
    };
    format!("{found}, expected {plain}")
}

/// Characters that reorder text, hide it or are themselves hidden (see CVE-2021-42574), or end a line.
pub const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{61c}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}

/// Characters that reorder the text around them, or end a line: a line with names from others never contains
/// them.
pub fn is_of_no_line(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        )
}

/// Whether a character ends a line, controls a terminal, hides or reorders what is read.
pub fn is_unfit(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

/// The text with every unfit character written out: what others named forges no line, moves no cursor and reorders nothing.
pub fn in_one_line(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut line, c| {
        if is_unfit(c) {
            line.extend(c.escape_default())
        } else {
            line.push(c)
        }
        line
    })
}

/// A text in double quotes, on one line, in which nothing hides: what messages quote that are kept or sent.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\0' => quoted.push_str("\\0"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if is_unfit(c) => quoted.extend(c.escape_unicode()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
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

    /// Statuses and checks hold texts quoted so.
    #[test]
    fn a_quoted_text_is_one_line_and_hides_nothing() {
        for (text, said) in [
            ("", r#""""#),
            ("v1.13", r#""v1.13""#),
            ("Kubernetes für 'alle', 版", r#""Kubernetes für 'alle', 版""#),
            (r#"a "b" \c"#, r#""a \"b\" \\c""#),
            ("a\nb\tc\rd\0", r#""a\nb\tc\rd\0""#),
            ("a\u{1b}b\u{7f}\u{85}", r#""a\u{1b}b\u{7f}\u{85}""#),
            ("a\u{202e}b\u{200b}\u{feff}", r#""a\u{202e}b\u{200b}\u{feff}""#),
        ] {
            assert_eq!(quoted(text), said);
        }
        // What was kept before these words were written down reads the same.
        for c in ('\0'..='\u{7f}').chain('\u{a1}'..='\u{ac}').chain('\u{ae}'..='\u{2ff}') {
            let text = format!("a{c}b");
            assert_eq!(quoted(&text), format!("{text:?}"));
        }
    }

    #[test]
    fn type_errors_use_common_words() {
        for (error, said) in [
            (
                "invalid type: string \"many\", expected u32",
                "invalid type: string \"many\", expected a whole number",
            ),
            ("invalid type: map, expected a sequence", "invalid type: map, expected a list"),
            (
                "invalid type: integer `1`, expected struct Services",
                "invalid type: integer `1`, expected a mapping",
            ),
            ("unknown variant `a`, expected `b` or `c`", "unknown variant `a`, expected `b` or `c`"),
            ("missing field `services`", "missing field `services`"),
        ] {
            assert_eq!(with_plain_type(error), said);
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
