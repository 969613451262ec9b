//! What people read: pull-request bodies, check summaries, annotations, answers, commit messages.
//!
//! Texts from a repository are shown as code or escaped, so that they can neither mention people, nor forge
//! Markdown or HTML. Secret values are redacted before they are shown. Every text keeps GitHub's limits, and
//! says what it left out and where to find that.
//!
//! Deliberately absent: decisions. These texts report what other packages decided.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`block`] | the folded block in a body, authenticated | nothing |
//! | [`excerpt`] | where long texts differ | nothing |
//! | [`pages`] | where people read what a rule means, and why something was refused | nothing |
//! | [`markdown`] | texts of strangers in Markdown | `pages` |
//! | [`comment`] | the comment that answers commands, within GitHub's limit | `markdown`, `pages` |
//! | [`sarif`] | findings for code scanning | `pages` |
//! | [`state`] | states of a target: each with its word, what it means and what people have to do | nothing |
//! | [`standing`] | why a proposal is not updated, or has nothing to offer any more | `state` |
//! | [`workflow_command`] | findings in a workflow's log | nothing |
//! | [`dashboard`] | the dashboard issue: its text, its boxes, its record | `block`, `markdown`, `pages`, `standing`, `state` |
//! | [`preflight`] | what reconcilers answer before the merge | `comment`, `markdown`, `pages` |
//! | [`tables`] | changes, conflicts and rollouts as tables | `excerpt`, `markdown`, `pages` |
//! | [`provider_changes`] | changes of the providers of a set | `markdown` |
//! | [`service_changes`] | changes of the services inside a cluster | `markdown` |
//! | [`values`] | texts of a proposal that comes from the inventory | `markdown`, `tables` |
//! | [`step`] | source and target of an upgrade, in words | `values` |
//! | [`field_diff`] | changes of fields as a diff | `markdown`, `tables`, `values` |
//! | [`target_detail`] | a summary of an upgrade, for the page of a cluster | `excerpt`, `field_diff`, `markdown`, `tables` |
//! | [`title`] | titles of proposals | `markdown`, `values` |
//! | [`headline`] | what an upgrade does, in one line | `markdown`, `values` |
//! | [`head_lines`] | maps lines of a merge to lines of the head | nothing |
//! | [`outlook`] | what would be offered after a merge | `markdown`, `state`, `step`, `tables` |
//! | [`inventory_outlook`] | which clusters a change of the inventory affects | `field_diff`, `markdown`, `outlook` |
//! | [`carried`] | the upgrade of a proposal: settled conflicts, and people's edits | `markdown`, `step`, `tables` |
//! | [`judged_services`] | changes of services inside a cluster | `markdown`, `tables` |
//! | [`kubeconfig`] | the pull request with the kubeconfig of a cluster's owners | `markdown` |
//! | [`cluster_pulls`] | the pull requests that create and destroy clusters | `comment`, `markdown`, `pages`, `tables` |
//! | [`check`] | the check `capstan` | `carried`, `head_lines`, `headline`, `inventory_outlook`, `judged_services`, `markdown`, `outlook`, `pages`, `preflight`, `tables` |
//! | [`merging`] | approvals and merges in words | `check`, `comment`, `markdown`, `pages`, `standing` |
//! | [`stacked`] | what prevents the merge of a pull request into a branch that is not the default one | `check`, `markdown`, `pages` |
//! | [`closing`] | the body of a pull request that was closed, or has a new decision | `block`, `markdown`, `merging`, `standing` |
//! | [`body`] | the body of a proposal | `block`, `headline`, `markdown`, `merging`, `pages`, `provider_changes`, `service_changes`, `tables`, `title`, `values` |
//! | [`group`] | the pull request that several clusters share | `block`, `body`, `headline`, `markdown`, `merging`, `tables`, `title` |
//! | [`onboarding`] | the pull request of first contact | `body`, `markdown` |
//! | [`answer`] | answers to commands | `body`, `comment`, `headline`, `markdown`, `pages`, `standing`, `state`, `tables` |
//! | [`commit`] | commit messages and their trailers | `markdown`, `tables`, `title`, `values` |
//! | [`commit_seal`] | the code that proves a commit to be Capstan's | `block` |
//! | [`fingerprint`] | digests that identify a report | `check` |
//! | [`check_run`] | which check run carries a report | `fingerprint` |
//! | [`rollout`] | the check `capstan/rollout` and the deployment status | `check`, `markdown`, `pages` |
//! | [`awaited`] | what the next step of a cluster waits for | `preflight`, `rollout` |
//! | [`rollout_comment`] | comments on a pull request about its rollout | `markdown`, `rollout` |

mod answer;
mod awaited;
mod block;
mod body;
mod carried;
mod check;
mod check_run;
mod closing;
mod cluster_pulls;
mod comment;
mod commit;
mod commit_seal;
mod dashboard;
mod excerpt;
mod field_diff;
mod fingerprint;
mod group;
mod head_lines;
mod headline;
mod inventory_outlook;
mod judged_services;
mod kubeconfig;
pub mod markdown;
mod merging;
mod onboarding;
mod outlook;
mod pages;
mod preflight;
mod provider_changes;
mod rollout;
mod rollout_comment;
mod sarif;
mod service_changes;
mod stacked;
mod standing;
mod state;
mod step;
mod tables;
mod target_detail;
mod title;
mod values;
mod workflow_command;

pub use answer::{
    Status, about, denied, edited_refusal, not_noted, not_settled, plan_answer, pressed_meanwhile, refusal,
    refused, rule_answer, settled, shown, standing_answer, status_answer, unexplained_refusal,
    unseen_refusal,
};
pub use awaited::awaited_in_words;
pub use block::{
    Block, BlockKey, BlockPart, BlockPlace, ClosedBy, PreviousOffer, previous_offers, room_for, room_for_part,
};
pub use body::{Proposal, proposal_body, text_digest, visible_text};
pub use carried::Carried;
pub use check::{
    Annotation, AnnotationLevel, CheckReport, Conclusion, Gate, JudgedCluster, Judgement, MergeBasis,
    PullJudgement, annotated_files, check, check_without_settings, judged_by_itself, untouched,
};
pub use check_run::{Calls, Newest, RunDecision, RunFacts, RunId, RunWish, place};
pub use closing::{closed_body, decided_body};
pub use cluster_pulls::{
    AskedFor, ClusterPull, IsNew, cluster_pull_answer, creation_pull, is_asked_for_by, not_done,
    retirement_pull,
};
pub use comment::{Answer, answer_comment, answered_comment};
pub use commit::commit_message;
pub use commit_seal::{SealedCommit, sealed_message};
pub use dashboard::{
    BlockingConflict, CampaignStanding, Choice, ClosedDashboard, Dashboard, DashboardReading,
    DashboardRecord, EarlierText, HeardTicks, Notice, ProposalEntry, TickedBoxes, closed_dashboard,
    dashboard_above, dashboard_text, is_worth_telling, newest_notices, read_dashboard, remembered_texts,
};
pub use excerpt::{Excerpt, ExcerptForm, excerpts};
pub use fingerprint::{
    Fingerprint, ReportId, decisions_fingerprint, finding_fingerprint, preflight_fingerprint,
};
pub use group::{GroupProposal, group_body, group_commit_message, group_title, visible_group_text};
pub use head_lines::{HeadFile, HeadLines};
pub use headline::kubernetes_after;
pub use inventory_outlook::reach as inventory_reach;
pub use judged_services::JudgedService;
pub use kubeconfig::{kubeconfig_body, kubeconfig_title};
pub use merging::{
    approvals_gate, approvals_in_words, merge_in_words, merge_refused_in_words, moved_refusal,
    obstacle_in_words, undo_in_words,
};
pub use onboarding::{
    MOVE_COMMAND, ONBOARDING_TITLE, first_release_command, onboarding_body, says_onboarding,
};
pub use outlook::{Becomes, ChangedRelease, JudgedReleases, ReleaseOutlook, SettingsOutlook, is_offered};
pub use pages::{Refusal, anchor};
pub use preflight::{PreflightAnswered, not_enrolled, preflight_answer};
pub use rollout::{RolloutSubject, StatusState, rollout_check, rollout_status};
pub use rollout_comment::{TransitionId, announced_in, mark_announced, news, next_news, rollout_comment};
pub use sarif::sarif;
pub use stacked::{gated, way_gate};
pub use standing::{
    Missing, StandingInWords, hold_in_words, missing_in_words, override_in_words, pause_in_words,
    standing_in_words,
};
pub use state::{Mood, ProposalState};
pub use step::step_in_words;
pub use tables::{becomes, origins_in_words};
pub use target_detail::{
    DetailedConflict, DetailedFinding, DetailedRollout, DetailedService, MachinesBecome, TargetDetail,
};
pub use title::proposal_title;
pub use values::offer_in_words;
pub use workflow_command::workflow_command;
