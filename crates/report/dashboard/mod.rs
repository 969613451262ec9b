//! The dashboard issue of a repository: its body, what its boxes ask for, and Capstan's record in it.
//!
//! *Guarantees.* The body keeps GitHub's limit: the most important part is first, and what was left out is
//! counted. Ticks count only in a body that otherwise equals Capstan's text ([`read_dashboard`]). So nobody
//! can write words beside a box that differ from its command.
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
    BlockingConflict, CampaignStanding, Dashboard, ProposalEntry, closed_dashboard, dashboard_text,
    is_worth_telling,
};

#[cfg(test)]
mod tests;
