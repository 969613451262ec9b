//! What a person ticked in a body, from GitHub's delivery of that edit: the body before and after it.
//!
//! *Why not from the body alone?* GitHub takes no condition with the write of a body, so Capstan may
//! overwrite a tick that it has not seen. The delivery of that edit still has it. It is compared with
//! [`EarlierText`]: only ticks in a text of Capstan's count, and each counts once.

use serde::{Deserialize, Serialize};

use super::boxes::{Choice, digest, take_ticks};
use crate::block::{FENCE, strip};

/// Letters kept of a text's digest.
const LETTERS: usize = 16;
/// Texts remembered, the newest.
const MOST_TEXTS: usize = 20;
/// Ticks remembered one by one for each text; with more, all of its ticks count as processed.
const MOST_HEARD: usize = 50;

/// Boxes that a person ticked or unticked in a text of Capstan's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickedBoxes {
    /// The edition of Capstan's text, as the body says: see
    /// [`DashboardRecord::edition`](super::DashboardRecord).
    edition: u64,
    /// A part of its digest, without ticks.
    text: String,
    /// Those that were ticked.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ticked: Vec<Choice>,
    /// Those that were unticked.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unticked: Vec<Choice>,
}

impl TickedBoxes {
    /// Compares a body before and after an edit; `None` where more than ticks changed, or it has no record.
    pub fn between(before: &str, after: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Noted {
            edition: u64,
        }
        let Noted { edition } = serde_json::from_str(unauthenticated_record(before)?).ok()?;
        let (was, is) = (strip(before), strip(after));
        let text = short(&digest(was));
        if short(&digest(is)) != text {
            return None;
        }
        let (had, has) = (take_ticks(was).0, take_ticks(is).0);
        let ticked: Vec<Choice> = has.iter().filter(|one| !had.contains(one)).cloned().collect();
        let unticked: Vec<Choice> = had.iter().filter(|one| !has.contains(one)).cloned().collect();
        let is_something = !ticked.is_empty() || !unticked.is_empty();
        is_something.then_some(Self { edition, text, ticked, unticked })
    }
}

/// A text that Capstan wrote before the present one, and which ticks in it are processed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierText {
    edition: u64,
    text: String,
    /// By their marks.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    heard: Vec<String>,
    /// All of them are: an answer asked people to tick again, or there were too many.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    all_heard: bool,
}

/// The ticks in a text when it was overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeardTicks<'a> {
    /// These were processed.
    These(&'a [Choice]),
    /// Unknown: an answer asked people to tick again.
    Whatever,
}

impl EarlierText {
    /// The text of that edition and digest, which is overwritten now.
    pub fn of(edition: u64, digest: &str, heard: HeardTicks<'_>) -> Self {
        let mut earlier = Self { edition, text: short(digest), heard: Vec::new(), all_heard: false };
        match heard {
            HeardTicks::These(choices) => choices.iter().for_each(|choice| earlier.hear(choice)),
            HeardTicks::Whatever => earlier.all_heard = true,
        }
        earlier
    }

    /// Whether a person ticked boxes of this text.
    pub fn is_of(&self, boxes: &TickedBoxes) -> bool {
        self.edition == boxes.edition && self.text == boxes.text
    }

    /// Whether a tick in it was processed.
    pub fn has_heard(&self, choice: &Choice) -> bool {
        self.all_heard || self.heard.contains(&choice.mark())
    }

    /// Records that it was.
    pub fn hear(&mut self, choice: &Choice) {
        if self.heard.len() >= MOST_HEARD {
            self.heard.clear();
            self.all_heard = true;
        } else if !self.has_heard(choice) {
            self.heard.push(choice.mark());
        }
    }
}

/// The texts to remember after this one; oldest first.
pub fn remembered_texts(mut before: Vec<EarlierText>, newest: EarlierText) -> Vec<EarlierText> {
    before.push(newest);
    let too_many = before.len().saturating_sub(MOST_TEXTS);
    before.split_off(too_many)
}

/// The record's part of a body, not authenticated.
fn unauthenticated_record(body: &str) -> Option<&str> {
    let (_, after) = body.rsplit_once(FENCE)?;
    after.lines().map(str::trim).find(|line| !line.is_empty())
}

fn short(digest: &str) -> String {
    digest.get(..LETTERS).unwrap_or(digest).to_owned()
}
