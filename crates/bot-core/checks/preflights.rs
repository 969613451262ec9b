//! Preflights: which live clusters are asked about a merge, and the inputs of their part of a report.

use capstan_facts::{Permission, PreflightRecord, PullRequest};
use capstan_live::agent::PreflightState;
use capstan_live::agent::limits::PREFLIGHT_CLUSTERS;
use capstan_live::agent::preflight::{Preflight, PreflightReply};
use capstan_model::ids::ClusterId;
use capstan_plan::command::Push;
use capstan_plan::settings::{ManagementClusterUid, PreflightMode};
use capstan_report::{Fingerprint, MergeBasis, not_enrolled};
use jiff::Timestamp;

use crate::facts::Reporters;
use crate::proposals::DecisionStep;

/// The answers of the live clusters.
#[derive(Debug, Clone)]
pub struct Preflights {
    /// All that were, or could have been, asked.
    pub all: Vec<Preflight>,
    /// Whether GitHub has answered everything that they depend on.
    pub is_settled: bool,
}

impl Preflights {
    /// No live cluster is asked.
    pub const NONE: Self = Self { all: Vec::new(), is_settled: true };

    /// Whether there may be a new answer soon.
    pub fn look_again(&self) -> bool {
        let is_open = |preflight: &Preflight| match &preflight.standing {
            PreflightReply::Asked => true,
            // A cloud that failed is asked again.
            PreflightReply::Answered(answer) => answer.lacks_a_cloud(),
            PreflightReply::Unanswered | PreflightReply::NotAsked(_) => false,
        };
        !self.is_settled || self.all.iter().any(is_open)
    }
}

/// Whether a management cluster is asked about these clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreflightNeed {
    /// It is.
    Yes,
    /// It is not, and the report does not mention it.
    Silently,
    /// It is not: why.
    No(String),
}

/// A management cluster, and which of its clusters a merge touches.
#[derive(Clone, Copy)]
pub struct TouchedClusters<'a> {
    pub name: &'a str,
    pub uid: &'a ManagementClusterUid,
    pub clusters: &'a [ClusterId],
}

/// Whether a management cluster is asked about a merge into the default branch.
pub fn is_asked(
    reporters: &Reporters,
    TouchedClusters { name, uid, clusters }: TouchedClusters<'_>,
    default_branch: &str,
    basis: MergeBasis,
    mode: PreflightMode,
) -> PreflightNeed {
    if !reporters.is_enrolled(uid) {
        // Without a reconciler nothing is missing, unless the settings require one.
        return match mode {
            PreflightMode::Required => PreflightNeed::No(not_enrolled(name, uid.as_str())),
            PreflightMode::Advisory => PreflightNeed::Silently,
        };
    }
    match basis {
        MergeBasis::HeadAlone => PreflightNeed::No(format!(
            "The pull request conflicts with `{default_branch}`, so Capstan cannot try the merge. The preflight starts once the conflict is resolved."
        )),
        MergeBasis::BehindTip => PreflightNeed::No(format!(
            "The stack is not based on the tip of `{default_branch}`, so Capstan cannot try the merge. The preflight starts once the stack is rebased."
        )),
        MergeBasis::Merge if clusters.len() > PREFLIGHT_CLUSTERS => PreflightNeed::No(format!(
            "The pull request touches {} clusters, but a preflight covers at most {PREFLIGHT_CLUSTERS}: split it.",
            clusters.len()
        )),
        MergeBasis::Merge => PreflightNeed::Yes,
    }
}

/// Whether it was asked before about those clusters with these inputs. The commit does not count: each push
/// to the default branch gives another test merge, mostly with the same clusters.
pub(super) fn is_same_question(known: &PreflightRecord, clusters: &[ClusterId], content: &str) -> bool {
    known.content == content && known.clusters == clusters
}

/// What the live clusters' part of a head's report depends on, besides base and head; `None` where that may change by
/// itself.
pub fn live_inputs(reporters: &Reporters, known: &[PreflightRecord], now: Timestamp) -> Option<String> {
    let mut enrolled: Vec<String> =
        reporters.enrolled.iter().map(|agent| agent.management_cluster.to_string()).collect();
    enrolled.sort();
    let mut digest = Fingerprint::of("live").each("enrolled", enrolled);
    for known in known {
        digest = digest.field("preflight", &known.id);
        digest = match &known.state {
            PreflightState::Asked if known.until > now => return None,
            PreflightState::Answered(answer) if answer.lacks_a_cloud() => return None,
            PreflightState::Asked => digest.field("state", "unanswered"),
            PreflightState::NotAsked(why) => digest.field("state", "not-asked").field("why", why),
            PreflightState::Answered(answer) => {
                let machines =
                    answer.may_change_with_machines().then(|| reporters.standing_of(&known.clusters));
                digest.field("state", "answered").maybe("machines", machines)
            }
        };
    }
    Some(digest.finish())
}

/// Whether a live cluster may be asked about a head: a dry run sends it objects that nobody has reviewed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Trust {
    /// It may.
    Yes,
    /// It may not: why.
    No(String),
    /// Unknown as yet: why.
    NotYet(String),
}

/// Trusts only heads of the repository itself that a person with write permission pushed. `pushes` are those
/// of its branch, as far as GitHub lists them; `own` is Capstan's login. The answer may depend on the
/// pusher's permission: [`trust_in`].
pub(super) fn trust(pull: &PullRequest, pushes: Option<&[Push]>, own: &str) -> DecisionStep<Trust, String> {
    let no = |why: &str| DecisionStep::Decided(Trust::No(why.to_owned()));
    if !pull.head_in_repository {
        return no("Its head is in another repository.");
    }
    let Some(pushes) = pushes else { return no("GitHub does not say who pushed its head.") };
    let Some(push) = pushes.iter().find(|push| push.after == pull.head) else {
        return DecisionStep::Decided(Trust::NotYet("GitHub does not say who pushed its head.".to_owned()));
    };
    match &push.actor {
        None => no("The user who pushed its head no longer has an account."),
        Some(actor) if *actor == own => DecisionStep::Decided(Trust::Yes),
        Some(actor) => DecisionStep::Ask(actor.clone()),
    }
}

/// The same, once the pusher's permission is known.
pub(super) fn trust_in(actor: &str, permission: Permission) -> Trust {
    if permission >= Permission::Write {
        return Trust::Yes;
    }
    Trust::No(format!("`{actor}`, who pushed its head, has no write permission."))
}
