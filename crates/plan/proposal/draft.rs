//! Whether a proposal is a draft, and by whose wish.

/// Whether a proposal opens as a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Draft {
    /// Ready for review.
    Ready,
    /// A draft: a person has to look before it is offered in earnest.
    Draft,
}

/// Whether the pull request is a draft because Capstan made it one: only then it makes it ready again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Drafted {
    /// It did not.
    #[default]
    No,
    /// It did.
    ByCapstan,
}

impl Drafted {
    /// What an open pull request that is `now` one or the other is to be made, where it is to be `want`; `None` where it
    /// stays: what a person chose is not taken back.
    pub const fn change(self, now: Draft, want: Draft) -> Option<Draft> {
        match (now, want, self) {
            (Draft::Ready, Draft::Draft, Self::No) => Some(Draft::Draft),
            (Draft::Draft, Draft::Ready, Self::ByCapstan) => Some(Draft::Ready),
            _ => None,
        }
    }

    /// What is noted of one that is `now` one or the other and stays so.
    #[must_use]
    pub const fn noted(self, now: Draft, want: Draft) -> Self {
        match (now, want) {
            (Draft::Ready, Draft::Ready) => Self::No,
            _ => self,
        }
    }

    /// What is noted once Capstan has made it that.
    pub const fn made(to: Draft) -> Self {
        match to {
            Draft::Draft => Self::ByCapstan,
            Draft::Ready => Self::No,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_chose_stays() {
        use Draft::{Draft as Drafty, Ready};
        use Drafted::{ByCapstan, No};
        for (now, want, was, change, noted) in [
            (Ready, Ready, No, None, No),
            (Ready, Ready, ByCapstan, None, No),
            (Ready, Drafty, No, Some(Drafty), No),
            // Capstan made it one, and a person took that back.
            (Ready, Drafty, ByCapstan, None, ByCapstan),
            (Drafty, Drafty, No, None, No),
            (Drafty, Drafty, ByCapstan, None, ByCapstan),
            // A person made it one.
            (Drafty, Ready, No, None, No),
            (Drafty, Ready, ByCapstan, Some(Ready), ByCapstan),
        ] {
            assert_eq!(was.change(now, want), change, "{now:?} {want:?} {was:?}");
            assert_eq!(was.noted(now, want), noted, "{now:?} {want:?} {was:?}");
        }
        assert_eq!((Drafted::made(Drafty), Drafted::made(Ready)), (ByCapstan, No));
    }
}
