//! The nearest right word for a wrong one: keys, rule ids, commands.

/// The known word that `word` was most likely meant to be; `None` where nothing comes near.
///
/// Case does not count; up to a third of the letters (at least one, at most three) may be wrong.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    let allowed = ((lower.chars().count() + 1) / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&lower, &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// `; did you mean `open`?` of the nearest right word; nothing without one.
pub fn did_you_mean(meant: Option<impl std::fmt::Display>) -> String {
    meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"))
}

/// [`did_you_mean`] of the nearest of these.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    did_you_mean(nearest(word, known))
}

/// The suggestion, or else what there is: `; known: open, perHour`.
pub fn hint(word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(meant) => did_you_mean(Some(meant)),
        None if known.is_empty() => String::new(),
        None => format!("; known: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn only_what_comes_near_is_suggested() {
        let known = ["open", "perHour", "order", "kubernetes-minor-skip"];
        let cases = [
            ("opne", Some("open")),
            ("perhour", Some("perHour")),
            ("per_hour", Some("perHour")),
            ("kubernetes-minor-skp", Some("kubernetes-minor-skip")),
            ("limit", None),
            ("", None),
        ];
        for (word, expected) in cases {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
