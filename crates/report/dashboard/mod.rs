//! The dashboard issue of a repository: what stands in its body, what its boxes ask for, and what Capstan notes there.
//!
//! *Guarantees.* The body keeps GitHub's limit: what matters most stands first, and what was left out is counted. Only a
//! body that is, but for ticks, as Capstan wrote it asks for anything ([`read_dashboard`]): so nobody can write words
//! beside a box that mean something else than what it asks for.
//!
//! Deliberately absent: who may tick what, and who did.

mod boxes;
mod earlier;
mod record;
mod words;

pub use boxes::Choice;
pub use earlier::{EarlierText, HeardTicks, TickedBoxes, remembered_texts};
pub use record::{
    ClosedDashboard, DashboardReading, DashboardRecord, Notice, dashboard_above, newest_notices,
    read_dashboard,
};
pub use words::{
    BlockingConflict, CampaignStanding, Dashboard, Entry, closed_dashboard, dashboard_text, is_worth_telling,
};

#[cfg(test)]
mod tests;
