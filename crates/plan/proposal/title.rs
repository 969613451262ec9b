//! What becomes of a proposal's title: Capstan's follows, a person's stays as long as the same is offered.

use capstan_model::digest::sha256;

/// Which title Capstan wrote last, in a few letters: a body has no room for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TitleDigest(String);

impl TitleDigest {
    /// Of a title.
    pub fn of(title: &str) -> Self {
        Self(sha256(title).chars().take(16).collect())
    }

    /// One that was noted; `None` where none was.
    pub fn noted(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// As it is noted.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Whether a proposal offers what it offered when its title was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Offers {
    /// The same source, whatever its content.
    TheSame,
    /// Another one: the old title would be wrong, no matter who wrote it.
    Another,
}

/// A title that is shown, and what is known of it.
#[derive(Debug, Clone, Copy)]
pub struct Title<'a> {
    /// As GitHub shows it.
    pub shown: &'a str,
    /// As it would be written now.
    pub wanted: &'a str,
    /// What Capstan wrote last.
    pub written: &'a TitleDigest,
    /// What it speaks of.
    pub offers: Offers,
}

/// What becomes of a title.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TitleStep {
    /// The title that is written; `None` where it stays.
    pub write: Option<String>,
    /// What Capstan wrote last, then.
    pub written: TitleDigest,
}

impl Title<'_> {
    /// Decides.
    pub fn step(self) -> TitleStep {
        let is_own = TitleDigest::of(self.shown) == *self.written;
        if self.shown == self.wanted {
            return TitleStep { write: None, written: TitleDigest::of(self.wanted) };
        }
        if is_own || self.offers == Offers::Another {
            let written = TitleDigest::of(self.wanted);
            return TitleStep { write: Some(self.wanted.to_owned()), written };
        }
        TitleStep { write: None, written: self.written.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_persons_title_stays_until_something_else_is_offered() {
        use Offers::{Another, TheSame};
        for (case, shown, wanted, written, offers, write, then) in [
            ("nothing changed", "to v1", "to v1", "to v1", TheSame, None, "to v1"),
            ("a newer release", "to v1", "to v2", "to v1", Another, Some("to v2"), "to v2"),
            ("the settings changed", "to v1", "chore: v1", "to v1", TheSame, Some("chore: v1"), "chore: v1"),
            ("a person's", "mine", "to v1", "to v1", TheSame, None, "to v1"),
            ("a person's, and the settings changed", "mine", "chore: v1", "to v1", TheSame, None, "to v1"),
            ("a person's, and a newer release", "mine", "to v2", "to v1", Another, Some("to v2"), "to v2"),
            ("a person put it back", "to v1", "chore: v1", "to v1", TheSame, Some("chore: v1"), "chore: v1"),
            ("a person wrote what is wanted", "chore: v1", "chore: v1", "to v1", TheSame, None, "chore: v1"),
        ] {
            let written = TitleDigest::of(written);
            let step = Title { shown, wanted, written: &written, offers }.step();
            let expected = TitleStep { write: write.map(ToOwned::to_owned), written: TitleDigest::of(then) };
            assert_eq!(step, expected, "{case}");
        }
    }
}
