//! What people did on GitHub, according to deliveries.

use capstan_report::TickedBoxes;
use jiff::Timestamp;

/// A button of a check, pressed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Press {
    /// When it was heard, in UTC.
    pub at: Timestamp,
    /// GitHub's id of the delivery.
    pub delivery: String,
    /// Who pressed it: a login.
    pub by: String,
    /// Its verb.
    pub button: String,
    /// The commit whose check it is on.
    pub head: String,
}

/// Boxes of the dashboard, ticked by one person in one edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticks {
    /// When it was heard, in UTC.
    pub at: Timestamp,
    /// Who: a login.
    pub by: String,
    /// Which.
    pub boxes: TickedBoxes,
}

/// An order to a campaign, given on Capstan's page by a person who signed in there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageOrder {
    /// When, in UTC.
    pub at: Timestamp,
    /// The id under which it is recorded.
    pub id: String,
    /// Who: a login.
    pub by: String,
    /// What follows the command's word in a comment: `stop wrong image of fleet`.
    pub given: String,
}

impl PageOrder {
    /// What their ids begin with, which no id of a delivery does.
    pub const ID_PREFIX: &str = "page-";
}

/// The deliveries of a repository that no claim got yet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// GitHub's ids of new comments; ascending.
    pub comments: Vec<u64>,
    /// Issues that were opened; ascending.
    pub issues: Vec<u64>,
    /// Buttons of checks that people pressed, in the order in which that was heard.
    pub presses: Vec<Press>,
    /// Boxes that people ticked, likewise.
    pub ticks: Vec<Ticks>,
}
