//! What the pages show of the sources that move through a repository.

use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_report::ProposalState;

use super::fleet_facts::FleetFacts;

/// What sources of one kind offer to the targets of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignRecord {
    pub kind: SourceKind,
    /// What is offered, in a line; empty where nothing is.
    pub source: String,
    /// How many proposals may be open, and how many opened within an hour; `None` where nothing is written.
    pub limits: Option<CampaignLimits>,
    /// The state of each target, ordered.
    pub targets: Vec<CampaignTarget>,
}

/// How many proposals a repository takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CampaignLimits {
    /// Open at a time.
    pub open: u32,
    /// Opened within an hour.
    pub per_hour: u32,
}

/// One target within a campaign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CampaignTarget {
    pub target: Target,
    pub state: ProposalState,
    /// Why, as a sentence.
    pub reason: String,
    /// The source that it is at, where that is known: `aws/v21.0.0`.
    pub at: Option<String>,
    /// The source that there is for it, whether or not a pull request carries it.
    pub offered: Option<String>,
    /// Who holds it back, why, and until when, as a sentence.
    pub hold: Option<String>,
    /// What the fleet is sorted and grouped by.
    pub facts: FleetFacts,
}
