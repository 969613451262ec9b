//! What GitHub, Git and the records show and take, as plain values in Capstan's words.
//!
//! The ports hand these values in and out, and `capstan_bot_core` decides from them. Deliberately absent: calls, and any
//! decision.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`agents`] | reconcilers that enrolled, and what they reported last | nothing |
//! | [`arrivals`] | what people did on GitHub, as deliveries report it, and on the page | nothing |
//! | [`hints`] | what deliveries named | `arrivals` |
//! | [`campaign_progress`] | how far a release is in a campaign, for pages | nothing |
//! | [`check_run`] | check runs and commit statuses | nothing |
//! | [`comment`] | comments, reactions, and what their authors may do | nothing |
//! | [`fleet_facts`] | what the fleet page sorts and groups clusters by | nothing |
//! | [`campaign_record`] | what the pages show of the sources that move through a repository | `fleet_facts` |
//! | [`issue`] | issues | nothing |
//! | [`merging`] | what GitHub is asked to do with a pull request that is to be merged | nothing |
//! | [`pull_request`] | pull requests | nothing |
//! | [`records`] | what the bot remembers of a repository | nothing |
//! | [`repository_name`] | how a repository is called on the code host | nothing |
//! | [`repository`] | repositories and heads of their branches | `repository_name` |
//! | [`snapshot`] | a commit of a repository, read | nothing |
//! | [`wave_webhook`] | what webhooks are asked about waves, and what they answer | nothing |

mod agents;
mod arrivals;
mod campaign_progress;
mod campaign_record;
mod check_run;
mod comment;
mod fleet_facts;
mod hints;
mod issue;
mod merging;
mod pull_request;
mod records;
mod repository;
mod repository_name;
mod snapshot;
mod wave_webhook;

pub use agents::{Agent, ClusterStanding, PreflightRecord};
pub use arrivals::{Arrivals, PageOrder, Press, Ticks};
pub use campaign_progress::{CampaignProgress, MovingCluster, MovingStage, WaveProgress};
pub use campaign_record::{CampaignLimits, CampaignRecord, CampaignTarget};
pub use check_run::{ANNOTATIONS_PER_CALL, CheckConclusion, CheckRun, CheckState, CommitStatus, NewCheckRun};
pub use comment::{Comment, Permission, PlacedComment, Reaction};
pub use fleet_facts::{FleetFacts, WavePlace};
pub use hints::{CommentHint, Hints};
pub use issue::{Issue, IssueEdit, IssueState, IssueText, NewIssue, TextEdit};
pub use merging::{MergeAnswer, MergeCall};
pub use pull_request::{
    CreatedPullRequest, EarlierPullRequest, MergeQueueState, NewPullRequest, PullRequest, PullRequestEdit,
    PullRequestState, ReviewDecision, SidebarPart, StackPlace,
};
pub use records::{AuditEntry, CheckRecord, CheckVerdict, KnownDashboard, ProposalRecord, RefusedWrite};
pub use repository::{BranchHead, Repository};
pub use repository_name::RepositoryName;
pub use snapshot::{CommitTrailers, NewTreeEntry, Snapshot};
pub use wave_webhook::{WaveCluster, WebhookAnswer, WebhookQuestion, WebhookResult};
