//! What GitHub shows beside a pull request: its labels, assignees and requested reviewers.
//!
//! The settings ask for some of it, and Capstan does it once: a label that a person took off and a reviewer who was
//! removed stay away, a label that a person added stays. Later Capstan changes only what the *settings* changed since.
//! The folded block of the body records what was done for them.

use serde::{Deserialize, Serialize};

use crate::settings::ProposalSettings;

/// Labels, logins of assignees, and reviewers (a login, or `organisation/team`). GitHub tells no case apart in any.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sidebar {
    /// Names of labels.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Logins of the assignees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assignees: Vec<String>,
    /// Whose review is asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reviewers: Vec<String>,
}

impl Sidebar {
    /// What the settings ask for.
    pub fn asked(settings: &ProposalSettings) -> Self {
        Self {
            labels: settings.labels.iter().map(ToString::to_string).collect(),
            assignees: settings.assignees.iter().map(ToString::to_string).collect(),
            reviewers: settings.reviewers.iter().map(ToString::to_string).collect(),
        }
    }

    /// Whether it holds nothing.
    pub const fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.assignees.is_empty() && self.reviewers.is_empty()
    }

    /// What it holds and the other does not.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.combined(other, |own, other| kept(own, |name| !holds(other, name)))
    }

    /// What both hold, in its own words.
    fn within(&self, other: &Self) -> Self {
        self.combined(other, |own, other| kept(own, |name| holds(other, name)))
    }

    /// What either holds.
    fn with(&self, other: &Self) -> Self {
        self.combined(other, |own, other| {
            let own = kept(own, |_| true);
            let more = kept(other, |name| !holds(&own, name));
            own.into_iter().chain(more).collect()
        })
    }

    fn combined(&self, other: &Self, combine: impl Fn(&[String], &[String]) -> Vec<String>) -> Self {
        Self {
            labels: combine(&self.labels, &other.labels),
            assignees: combine(&self.assignees, &other.assignees),
            reviewers: combine(&self.reviewers, &other.reviewers),
        }
    }
}

fn holds(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known.to_lowercase() == name.to_lowercase())
}

/// Those that pass, each once.
fn kept(names: &[String], pass: impl Fn(&str) -> bool) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for name in names.iter().filter(|name| pass(name)) {
        if !holds(&kept, name) {
            kept.push(name.clone());
        }
    }
    kept
}

/// What is to be done beside a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SidebarStep {
    /// This comes.
    pub add: Sidebar,
    /// This goes.
    pub remove: Sidebar,
}

impl SidebarStep {
    /// What the settings changed since `done` was done for them, where it does not stand so `now`.
    pub fn between(asked: &Sidebar, done: &Sidebar, now: &Sidebar) -> Self {
        Self { add: asked.without(done).without(now), remove: done.without(asked).within(now) }
    }

    /// Whether there is nothing to do.
    pub const fn is_empty(&self) -> bool {
        self.add.is_empty() && self.remove.is_empty()
    }

    /// The state where this much of the step could not be done, and the rest was.
    pub fn left(self, asked: &Sidebar) -> SidebarStanding {
        SidebarStanding { done: asked.without(&self.add).with(&self.remove), refused: self.add }
    }
}

/// The state of what the settings ask for beside a pull request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SidebarStanding {
    /// What was done for them, and not taken back.
    pub done: Sidebar,
    /// What GitHub does not take.
    pub refused: Sidebar,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `label`, `@assignee`, `?reviewer`.
    fn sidebar(text: &str) -> Sidebar {
        let mut sidebar = Sidebar::default();
        for word in text.split_whitespace() {
            match word.split_at(1) {
                ("@", login) => sidebar.assignees.push(login.to_owned()),
                ("?", reviewer) => sidebar.reviewers.push(reviewer.to_owned()),
                _ => sidebar.labels.push(word.to_owned()),
            }
        }
        sidebar
    }

    #[test]
    fn only_what_the_settings_changed_is_changed() {
        for (case, asked, done, now, add, remove) in [
            ("a new pull request gets all", "a b @ada ?grace", "", "", "a b @ada ?grace", ""),
            ("all is done", "a @ada ?grace", "a @ada ?grace", "a @ada ?grace", "", ""),
            ("what people took away stays away", "a @ada ?grace", "a @ada ?grace", "", "", ""),
            ("what people added stays", "a", "a", "a x @eve ?mallory", "", ""),
            ("the settings ask for more", "a b ?grace ?acme/ops", "a ?grace", "a", "b ?acme/ops", ""),
            ("and for less", "b", "a b @ada ?grace", "a b x @ada ?grace", "", "a @ada ?grace"),
            ("what is gone already need not go", "b", "a b ?grace", "b", "", ""),
            ("what a person put there need not come", "a b", "a", "a b", "", ""),
            ("people know no case, nor does GitHub", "Urgent @Ada", "", "urgent @ada", "", ""),
            ("nor in what was done", "urgent", "Urgent", "", "", ""),
            ("a name that stands twice comes once", "a A @ada @ADA", "", "", "a @ada", ""),
            ("a label is no login", "ada", "@ada", "@ada", "ada", "@ada"),
        ] {
            let step = SidebarStep::between(&sidebar(asked), &sidebar(done), &sidebar(now));
            assert_eq!(step, SidebarStep { add: sidebar(add), remove: sidebar(remove) }, "{case}");
        }
    }

    #[test]
    fn what_could_not_be_done_is_to_do_again_and_nothing_else_is() {
        for (asked, add, remove, done) in [
            ("a b @ada", "", "", "a b @ada"),
            ("a b @ada", "b @ada", "", "a"),
            ("b", "", "a", "b a"),
            ("a A", "", "", "a"),
        ] {
            let refused = SidebarStep { add: sidebar(add), remove: sidebar(remove) };
            let asked = sidebar(asked);
            let left = refused.clone().left(&asked);
            let expected = SidebarStanding { done: sidebar(done), refused: sidebar(add) };
            assert_eq!(left, expected, "{asked:?}");
            let again = SidebarStep::between(&asked, &left.done, &refused.remove);
            assert_eq!(again, refused, "{asked:?}");
        }
    }
}
