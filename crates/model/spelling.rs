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

/// The most words that a message suggests.
const SUGGESTED: usize = 5;

/// Fewer letters begin too many words.
const LEAST: usize = 2;

/// A shorter word is near to parts that mean something else: `nope` and `node`.
const LEAST_OF_A_PART: usize = 5;

/// The known words that `word` may mean: the [`nearest`], or else those that begin with it, or else those that have it
/// between `/`, `-`, `#`, `_` and `.`, also misspelt.
pub fn near<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let known: Vec<&str> = known.into_iter().collect();
    if let Some(meant) = nearest(word, known.iter().copied()) {
        return vec![meant];
    }
    let plain = |text: &str| text.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let word = plain(word);
    if word.chars().count() < LEAST {
        return Vec::new();
    }
    let parts = |text: &'a str| text.split(|c: char| !c.is_alphanumeric());
    let all = |is_near: &dyn Fn(&'a str) -> bool| -> Vec<&'a str> {
        known.iter().copied().filter(|known| is_near(known)).collect()
    };
    let begins = all(&|known| plain(known).starts_with(&word));
    if !begins.is_empty() {
        return begins;
    }
    let has = all(&|known| is_between(&known.to_lowercase(), &word));
    if !has.is_empty() || word.chars().count() < LEAST_OF_A_PART {
        return has;
    }
    all(&|known| nearest(&word, parts(known)).is_some())
}

/// Whether a text has a word with nothing before and behind it that belongs to a word.
fn is_between(text: &str, word: &str) -> bool {
    let ends = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric());
    text.match_indices(word)
        .any(|(at, _)| ends(text[..at].chars().next_back()) && ends(text[at + word.len()..].chars().next()))
}

/// `; did you mean `open`?` of the nearest right word; nothing without one.
pub fn did_you_mean(meant: Option<impl std::fmt::Display>) -> String {
    meant.map_or_else(String::new, |meant| format!("; did you mean `{meant}`?"))
}

/// `; did you mean `open`?`, `; did you mean `open` or `order`?`; nothing without one.
pub fn did_you_mean_one(of: &[impl std::fmt::Display]) -> String {
    let named: Vec<String> = of.iter().take(SUGGESTED).map(|one| format!("`{one}`")).collect();
    let Some((last, first)) = named.split_last() else { return String::new() };
    let or = match of.len() - named.len() {
        0 if first.is_empty() => last.clone(),
        0 => format!("{} or {last}", first.join(", ")),
        more => format!("{}, or one of {more} more", named.join(", ")),
    };
    format!("; did you mean {or}?")
}

/// [`did_you_mean_one`] of those that are near.
pub fn suggestion<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    did_you_mean_one(&near(word, known))
}

/// The suggestion, or else what there is: `; known: open, perHour`.
pub fn hint(word: &str, known: &[&str]) -> String {
    match suggestion(word, known.iter().copied()) {
        none if none.is_empty() && !known.is_empty() => format!("; known: {}", known.join(", ")),
        hint => hint,
    }
}

/// The same for a list that is too long for a message: ``; `capstan rules` lists them``.
pub fn hint_or_list<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, by: &str) -> String {
    match suggestion(word, known) {
        none if none.is_empty() => format!("; `{by}` lists them"),
        hint => hint,
    }
}

#[cfg(test)]
mod tests {
    use super::{hint, near, nearest, suggestion};

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

    #[test]
    fn a_beginning_or_a_part_of_a_word_is_near_to_it() {
        let known = [
            "shop/web-eu",
            "shop/web-us",
            "bank/core-eu",
            "shop/canary-eu",
            "tutorials/from-flux",
            "/workers/replicas",
            "webhooks",
        ];
        let cases: [(&str, &[&str]); 11] = [
            // What is misspelt comes first, and then alone.
            ("shop/web-ue", &["shop/web-eu"]),
            ("shop", &["shop/web-eu", "shop/web-us", "shop/canary-eu"]),
            ("web", &["webhooks"]),
            ("web-", &["webhooks"]),
            ("web-eu", &["shop/web-eu"]),
            ("Canary", &["shop/canary-eu"]),
            ("eu", &["shop/web-eu", "bank/core-eu", "shop/canary-eu"]),
            ("from-flux", &["tutorials/from-flux"]),
            ("/replics", &["/workers/replicas"]),
            ("w", &[]),
            ("cora", &[]),
        ];
        for (word, expected) in cases {
            assert_eq!(near(word, known), expected, "{word}");
        }
    }

    #[test]
    fn what_is_near_is_suggested_and_the_first_five_of_many() {
        assert_eq!(suggestion("eu", ["a-eu"]), "; did you mean `a-eu`?");
        assert_eq!(suggestion("eu", ["a-eu", "b-eu"]), "; did you mean `a-eu` or `b-eu`?");
        let many = ["eu-10", "eu-20", "eu-30", "eu-40", "eu-50", "eu-60", "eu-70"];
        assert_eq!(
            suggestion("eu", many),
            "; did you mean `eu-10`, `eu-20`, `eu-30`, `eu-40`, `eu-50`, or one of 2 more?"
        );
        assert_eq!(hint("x", &["open", "order"]), "; known: open, order");
        assert_eq!(hint("ope", &["open", "order"]), "; did you mean `open`?");
    }
}
