//! What somebody ticked in a body, as GitHub's delivery of that edit tells it: what it said before, and after.
//!
//! *Why not from the body alone?* GitHub takes no condition with the write of a body, so that Capstan may write over a tick
//! that it has not seen. The delivery of that edit still tells of it. What it is held against is [`EarlierText`]: only a
//! text that Capstan wrote asks for anything, and what was heard already is not heard again.

use serde::{Deserialize, Serialize};

use super::boxes::{Choice, digest, take_ticks};
use crate::block::{FENCE, strip};

/// So many letters of a text's digest are kept.
const LETTERS: usize = 16;
/// So many texts are remembered, the newest.
const MOST_TEXTS: usize = 20;
/// So many ticks are remembered of each one by one; of more it counts as if all had been heard.
const MOST_HEARD: usize = 50;

/// Boxes that somebody ticked, or took the ticks from, in a text of Capstan's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TickedBoxes {
    /// Which text Capstan had written, as the body says: see [`DashboardRecord::edition`](super::DashboardRecord).
    edition: u64,
    /// A part of its digest, without ticks.
    text: String,
    /// Those that were ticked.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub ticked: Vec<Choice>,
    /// Those that are ticked no more.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub unticked: Vec<Choice>,
}

impl TickedBoxes {
    /// Compares a body before and after an edit; `None` where anything but ticks was changed, or it has no record.
    pub fn between(before: &str, after: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct Noted {
            edition: u64,
        }
        let Noted { edition } = serde_json::from_str(noted_by_anybody(before)?).ok()?;
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

/// A text that Capstan wrote before the present one, and which ticks in it count as heard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierText {
    edition: u64,
    text: String,
    /// By their marks.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    heard: Vec<String>,
    /// All of them do: people were told so, or there were too many.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    all_heard: bool,
}

/// What was ticked in a text when it was written over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeardTicks<'a> {
    /// These, and they were heard.
    These(&'a [Choice]),
    /// Whatever it was, people were told to tick again.
    Whatever,
}

impl EarlierText {
    /// The text of that edition and digest, which is written over now.
    pub fn of(edition: u64, digest: &str, heard: HeardTicks<'_>) -> Self {
        let mut earlier = Self { edition, text: short(digest), heard: Vec::new(), all_heard: false };
        match heard {
            HeardTicks::These(choices) => choices.iter().for_each(|choice| earlier.hear(choice)),
            HeardTicks::Whatever => earlier.all_heard = true,
        }
        earlier
    }

    /// Whether somebody ticked boxes of this text.
    pub fn is_of(&self, boxes: &TickedBoxes) -> bool {
        self.edition == boxes.edition && self.text == boxes.text
    }

    /// Whether a tick in it was heard.
    pub fn has_heard(&self, choice: &Choice) -> bool {
        self.all_heard || self.heard.contains(&choice.mark())
    }

    /// Notes that it was.
    pub fn hear(&mut self, choice: &Choice) {
        if self.heard.len() >= MOST_HEARD {
            self.heard.clear();
            self.all_heard = true;
        } else if !self.has_heard(choice) {
            self.heard.push(choice.mark());
        }
    }
}

/// The texts that are remembered once this one is, too; oldest first.
pub fn remembered_texts(mut before: Vec<EarlierText>, newest: EarlierText) -> Vec<EarlierText> {
    before.push(newest);
    let too_many = before.len().saturating_sub(MOST_TEXTS);
    before.split_off(too_many)
}

/// What stands where something is noted in a body, whoever wrote it.
fn noted_by_anybody(body: &str) -> Option<&str> {
    let (_, after) = body.rsplit_once(FENCE)?;
    after.lines().map(str::trim).find(|line| !line.is_empty())
}

fn short(digest: &str) -> String {
    digest.get(..LETTERS).unwrap_or(digest).to_owned()
}
