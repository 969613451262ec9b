//! Content that ended the program while it was judged, or took too long: what is passed over, and what is tried once
//! more.
//!
//! *Expected flow*: whatever is judged is noted before it is begun. What stands there as begun when a process starts
//! was in hand when the one before it died. It may have been the cause, and it may be innocent, for a process may be
//! killed at any moment: so it is passed over at first, until all else is done, and then tried once more. Whatever was
//! in hand when a second process died is passed over for as long as its content is the same. What took too long is
//! passed over too, and tried again by the next process, after all else.
//!
//! *Guarantee*: no content ends more than two processes of the same program.
//!
//! Pure: who writes the note to a disk, and before what, is the shell's business.

use serde::{Deserialize, Serialize};

/// How many contents are remembered: the oldest go first.
const HELD: usize = 200;

/// How often a process may die of one content.
const DEATHS: u32 = 2;

/// Something that is judged: the same content under the same name is the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Subject {
    /// A folder's path; empty for what belongs to no folder.
    pub name: String,
    /// What tells its contents apart.
    pub content: String,
}

/// Whether all else is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Others wait for it.
    First,
    /// Nobody waits: what is suspected is tried.
    Second,
}

/// Why something is passed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassedOver {
    /// A process died while it was in hand; it is tried once more, in the second turn.
    Suspected,
    /// Two processes did.
    Condemned,
    /// It took longer than so many seconds, in an earlier process; it is tried once more, in the second turn.
    WasTooSlow(u64),
    /// It took longer than so many seconds, in this process.
    IsTooSlow(u64),
}

impl PassedOver {
    /// Whether this process tries it once more.
    pub const fn is_tried_again(self) -> bool {
        matches!(self, Self::Suspected | Self::WasTooSlow(_))
    }
}

/// What is known of contents that did harm, and what is in hand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quarantine {
    /// The program that judged: another one may judge otherwise.
    program: String,
    /// What is in hand.
    begun: Vec<Subject>,
    /// What did harm, the oldest first.
    held: Vec<Held>,
    /// What was too slow in this process.
    #[serde(skip)]
    slow: Vec<Subject>,
}

/// A content that did harm.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Held {
    #[serde(flatten)]
    subject: Subject,
    /// Processes that died while it was in hand.
    #[serde(default)]
    deaths: u32,
    /// In how many seconds it was not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    not_done_in_seconds: Option<u64>,
}

impl Quarantine {
    /// What a process begins with, by what the one before it left. `program` tells versions apart. A note that cannot be read is
    /// none: that must not be what stops everything.
    pub fn after(left: Option<&str>, program: &str) -> Self {
        let left: Option<Self> = left.and_then(|text| serde_json::from_str(text).ok());
        let mut quarantine = left.filter(|left| left.program == program).unwrap_or_default();
        program.clone_into(&mut quarantine.program);
        for subject in std::mem::take(&mut quarantine.begun) {
            let held = quarantine.hold(&subject);
            held.deaths = held.deaths.saturating_add(1);
        }
        quarantine
    }

    /// As it is noted.
    pub fn note(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Why something is passed over now; `None` where it is to be judged.
    pub fn passes_over(&self, subject: &Subject, turn: Turn) -> Option<PassedOver> {
        let held = self.held.iter().find(|held| held.subject == *subject)?;
        if held.deaths >= DEATHS {
            return Some(PassedOver::Condemned);
        }
        match held.not_done_in_seconds {
            Some(seconds) if self.slow.contains(subject) => Some(PassedOver::IsTooSlow(seconds)),
            _ if turn == Turn::Second => None,
            Some(seconds) => Some(PassedOver::WasTooSlow(seconds)),
            None => Some(PassedOver::Suspected),
        }
    }

    /// It is in hand.
    pub fn begin(&mut self, subject: &Subject) {
        if !self.begun.contains(subject) {
            self.begun.push(subject.clone());
        }
    }

    /// It was judged, whatever came of it: it does no harm.
    pub fn done(&mut self, subject: &Subject) {
        self.begun.retain(|begun| begun != subject);
        self.held.retain(|held| held.subject != *subject);
    }

    /// It was not done in time. It is in hand still: nothing stops a thread.
    pub fn too_slow(&mut self, subject: &Subject, seconds: u64) {
        self.hold(subject).not_done_in_seconds = Some(seconds);
        if !self.slow.contains(subject) {
            self.slow.push(subject.clone());
        }
    }

    /// What was not done in time is done.
    pub fn done_late(&mut self, subject: &Subject) {
        self.begun.retain(|begun| begun != subject);
    }

    /// The process ends because somebody said so: nothing in hand is to blame.
    pub fn leave(&mut self) {
        self.begun.clear();
    }

    fn hold(&mut self, subject: &Subject) -> &mut Held {
        let at = self.held.iter().position(|held| held.subject == *subject).unwrap_or_else(|| {
            if self.held.len() >= HELD {
                self.held.remove(0);
            }
            self.held.push(Held { subject: subject.clone(), deaths: 0, not_done_in_seconds: None });
            self.held.len() - 1
        });
        &mut self.held[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "capstan 1";

    fn subject(name: &str) -> Subject {
        Subject { name: name.to_owned(), content: "1".to_owned() }
    }

    /// The next process, after one that died.
    fn died(quarantine: &Quarantine) -> Quarantine {
        Quarantine::after(Some(&quarantine.note()), PROGRAM)
    }

    #[test]
    fn what_was_in_hand_at_two_deaths_is_never_begun_again() {
        let (bad, other) = (subject("gauss/bad"), Subject { content: "2".into(), ..subject("gauss/bad") });
        let mut first = Quarantine::after(None, PROGRAM);
        assert_eq!(first.passes_over(&bad, Turn::First), None);
        first.begin(&bad);
        let mut second = died(&first);
        assert_eq!(second.passes_over(&bad, Turn::First), Some(PassedOver::Suspected));
        assert_eq!(second.passes_over(&bad, Turn::Second), None);
        second.begin(&bad);
        let third = died(&died(&second));
        assert_eq!(third.passes_over(&bad, Turn::First), Some(PassedOver::Condemned));
        assert_eq!(third.passes_over(&bad, Turn::Second), Some(PassedOver::Condemned));
        assert_eq!(third.passes_over(&other, Turn::First), None, "other content is another thing");
        assert_eq!(third.passes_over(&subject("gauss/b"), Turn::First), None);
    }

    #[test]
    fn whoever_was_in_hand_by_chance_is_cleared_when_it_is_tried() {
        let innocent = subject("gauss/good");
        let mut killed = Quarantine::after(None, PROGRAM);
        killed.begin(&innocent);
        let mut next = died(&killed);
        next.begin(&innocent);
        next.done(&innocent);
        assert_eq!(died(&next).passes_over(&innocent, Turn::First), None);
        // And by chance once more, much later: once again, and not twice.
        next.begin(&innocent);
        assert_eq!(died(&next).passes_over(&innocent, Turn::First), Some(PassedOver::Suspected));
    }

    #[test]
    fn what_is_too_slow_is_tried_by_the_next_process_and_blamed_where_it_still_ran() {
        let slow = subject("gauss/slow");
        let mut first = Quarantine::after(None, PROGRAM);
        first.begin(&slow);
        first.too_slow(&slow, 60);
        assert_eq!(first.passes_over(&slow, Turn::First), Some(PassedOver::IsTooSlow(60)));
        assert_eq!(first.passes_over(&slow, Turn::Second), Some(PassedOver::IsTooSlow(60)));
        let mut late = first.clone();
        late.done_late(&slow);
        let next = died(&late);
        assert_eq!(next.passes_over(&slow, Turn::First), Some(PassedOver::WasTooSlow(60)));
        assert_eq!(next.passes_over(&slow, Turn::Second), None);
        // It went on until it took the process with it, and so did the second one.
        let mut next = died(&first);
        assert_eq!(next.passes_over(&slow, Turn::Second), None);
        next.begin(&slow);
        assert_eq!(died(&next).passes_over(&slow, Turn::Second), Some(PassedOver::Condemned));
    }

    #[test]
    fn a_stop_blames_nobody_and_another_program_begins_anew() {
        let mut first = Quarantine::after(Some("{"), PROGRAM);
        first.begin(&subject("gauss/a"));
        let mut stopped = first.clone();
        stopped.leave();
        assert_eq!(died(&stopped).passes_over(&subject("gauss/a"), Turn::First), None);
        let repaired = Quarantine::after(Some(&first.note()), "capstan 2");
        assert_eq!(repaired.passes_over(&subject("gauss/a"), Turn::First), None);
    }

    #[test]
    fn only_so_many_contents_are_remembered() {
        let mut quarantine = Quarantine::after(None, PROGRAM);
        for number in 0..=HELD {
            quarantine.too_slow(&subject(&number.to_string()), 1);
        }
        assert_eq!(quarantine.passes_over(&subject("0"), Turn::First), None);
        assert!(quarantine.passes_over(&subject("1"), Turn::First).is_some());
        assert!(quarantine.passes_over(&subject(&HELD.to_string()), Turn::First).is_some());
    }
}
