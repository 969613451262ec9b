//! The question "what would the live cluster say to this head", and its answer.

use serde::{Deserialize, Serialize};

use super::identity::PreflightId;
use super::rollout::WireReason;
use super::{bounded, limits};
use capstan_model::finding::{Finding, Severity, rules};
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_plan::settings::PreflightMode;
use capstan_plan::templates::LiveTemplate;
use jiff::{SignedDuration, Timestamp};

/// Reasons that go away when machines have moved on: kinds of the live guards, of Cluster API's webhooks, and of a cloud's
/// quotas.
const PASSING: [&str; 5] =
    ["SkipsMinor", "StillRolling", "StillCompleting", "ClusterTerminating", "QuotaExceeded"];

/// The reason of a cloud that did not answer: it may, the next time.
const UNANSWERED_BY_CLOUD: &str = "CloudNotAnswered";

/// A question is not asked again within this time.
const JUST_NOW: SignedDuration = SignedDuration::from_secs(30);

/// A question of the bot's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreflightQuestion {
    pub id: PreflightId,
    /// What it is asked for: the head of a pull request from the repository itself.
    pub head: CommitId,
    /// The commit to try: the head if it is based on the tip of the default branch, else GitHub's test merge of it. The
    /// live cluster would get the result of the merge.
    pub commit: CommitId,
    /// The clusters that it touches.
    #[serde(deserialize_with = "bounded::at_most::<_, _, { limits::PREFLIGHT_CLUSTERS }>")]
    pub clusters: Vec<ClusterId>,
    /// How long the bot waits for the answer, from now.
    pub timeout_seconds: u32,
}

/// What the live cluster would say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PreflightVerdict {
    /// Every object would be taken.
    Accepted,
    /// This is unknown before the merge; the reasons say why.
    NotVerifiable,
    /// Some object would be refused.
    Rejected,
}

/// What it says to one cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterAnswer {
    pub cluster: ClusterId,
    /// In a word.
    pub verdict: PreflightVerdict,
    /// Why.
    #[serde(default, deserialize_with = "bounded::at_most::<_, _, { limits::REASONS }>")]
    pub reasons: Vec<WireReason>,
    /// The live names of its templates.
    #[serde(default, deserialize_with = "bounded::at_most::<_, _, { limits::NAMES }>")]
    pub names: Vec<LiveTemplate>,
}

/// The answer to a question.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PreflightAnswer {
    /// One for each cluster that was asked about.
    #[serde(deserialize_with = "bounded::at_most::<_, _, { limits::PREFLIGHT_CLUSTERS }>")]
    pub clusters: Vec<ClusterAnswer>,
    /// How long it took.
    #[serde(default)]
    pub duration_ms: u64,
}

impl PreflightAnswer {
    /// Whether the same question may have another answer once the machines of a cluster have changed. It may if the
    /// live cluster could not say, or if all errors come from the present state of the machines. An object that the API
    /// server refuses for its content is refused again.
    pub fn may_change_with_machines(&self) -> bool {
        let may = |one: &&ClusterAnswer| {
            let mut errors =
                one.reasons.iter().filter(|reason| reason.severity == Severity::Error).peekable();
            one.verdict == PreflightVerdict::NotVerifiable
                || errors.peek().is_some() && errors.all(|reason| PASSING.contains(&reason.kind.as_str()))
        };
        let mut unwilling =
            self.clusters.iter().filter(|one| one.verdict != PreflightVerdict::Accepted).peekable();
        unwilling.peek().is_some() && unwilling.all(|one| may(&one))
    }
}

impl PreflightAnswer {
    /// Whether a cloud failed to say what it can give, so that the question is worth asking once more, whatever happens
    /// meanwhile.
    pub fn lacks_a_cloud(&self) -> bool {
        let lacks = |one: &ClusterAnswer| {
            one.verdict == PreflightVerdict::NotVerifiable
                && one.reasons.iter().any(|reason| reason.kind == UNANSWERED_BY_CLOUD)
        };
        self.clusters.iter().any(lacks)
    }
}

/// What is known of one management cluster's answer to one head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreflightReply {
    /// It was asked, and may still answer.
    Asked,
    Answered(PreflightAnswer),
    /// It did not answer in time.
    Unanswered,
    /// It was not asked, and why: a sentence.
    NotAsked(String),
}

/// The recorded state of a preflight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PreflightState {
    /// Asked, and not answered yet.
    Asked,
    /// Answered, in time or late.
    Answered(PreflightAnswer),
    /// Never asked, and why.
    NotAsked(String),
}

/// What is known of a question that was asked before.
#[derive(Debug, Clone, Copy)]
pub struct AskedBefore<'a> {
    pub state: &'a PreflightState,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// Until when an answer is waited for.
    pub until: Timestamp,
    /// Whether its machines have changed since.
    pub machines: MachinesSince,
}

/// Whether machines have changed since a question was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachinesSince {
    /// As they did.
    AsThen,
    /// Otherwise.
    MovedOn,
}

/// Whether somebody wants a question asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskWish {
    /// Nobody does.
    AsItIs,
    /// Somebody does.
    Again,
}

impl AskedBefore<'_> {
    /// Whether it was asked just now: the same wish twice asks only once.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.asked_at.saturating_add(JUST_NOW).is_ok_and(|then| now < then)
    }

    /// What is known of it; `None` if it is to be asked again.
    pub fn standing(&self, wish: AskWish, now: Timestamp) -> Option<PreflightReply> {
        match self.state {
            PreflightState::Asked if self.until > now => Some(PreflightReply::Asked),
            _ if wish == AskWish::Again => None,
            PreflightState::Asked => Some(PreflightReply::Unanswered),
            // The machines have changed since: the error may be gone.
            PreflightState::Answered(answer)
                if answer.may_change_with_machines() && self.machines == MachinesSince::MovedOn =>
            {
                None
            }
            // A cloud did not answer: ask again, but not within `JUST_NOW`.
            PreflightState::Answered(answer) if answer.lacks_a_cloud() && !self.is_fresh(now) => None,
            PreflightState::Answered(answer) => Some(PreflightReply::Answered(answer.clone())),
            PreflightState::NotAsked(why) => Some(PreflightReply::NotAsked(why.clone())),
        }
    }
}

/// The preflight of one head by one management cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preflight {
    /// The management cluster's name in the settings.
    pub management_cluster: String,
    /// The clusters that it is about.
    pub clusters: Vec<ClusterId>,
    /// What is known.
    pub standing: PreflightReply,
}

/// What preflights mean for a head's check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreflightMeaning {
    /// None is needed, or all accept.
    Fine,
    /// GitHub lets it pass: an advisory one is unanswered, or the live cluster cannot tell.
    Neutral,
    /// An answer may still come.
    Awaited,
    /// A required one is unanswered, or the live cluster cannot tell where its yes is required. GitHub counts a neutral
    /// check as passed, so a neutral one would let through an untried change.
    ActionRequired,
    /// The live cluster would refuse it.
    Rejected,
}

impl Preflight {
    /// What it means under that mode.
    pub fn meaning(&self, mode: PreflightMode) -> PreflightMeaning {
        let unanswered = match mode {
            PreflightMode::Advisory => PreflightMeaning::Neutral,
            PreflightMode::Required => PreflightMeaning::ActionRequired,
        };
        match &self.standing {
            PreflightReply::Asked => PreflightMeaning::Awaited,
            PreflightReply::Unanswered | PreflightReply::NotAsked(_) => unanswered,
            PreflightReply::Answered(answer) => {
                let of = |cluster: &ClusterId| answer.clusters.iter().find(|one| one.cluster == *cluster);
                let each = self.clusters.iter().map(|cluster| match of(cluster).map(|one| one.verdict) {
                    // No answer for this cluster counts as unanswered.
                    None => unanswered,
                    Some(PreflightVerdict::Accepted) => PreflightMeaning::Fine,
                    // This is not an acceptance.
                    Some(PreflightVerdict::NotVerifiable) => unanswered,
                    Some(PreflightVerdict::Rejected) => PreflightMeaning::Rejected,
                });
                each.max().unwrap_or(PreflightMeaning::Fine)
            }
        }
    }

    /// What it rejects, as findings with file and line.
    pub fn findings(&self) -> Vec<Finding> {
        let PreflightReply::Answered(answer) = &self.standing else { return Vec::new() };
        let asked = answer.clusters.iter().filter(|one| self.clusters.contains(&one.cluster));
        asked
            .filter(|one| one.verdict == PreflightVerdict::Rejected)
            .flat_map(|one| self.rejections(one))
            .collect()
    }

    fn rejections(&self, answer: &ClusterAnswer) -> Vec<Finding> {
        let says = format!("The live cluster on `{}` would refuse this", self.management_cluster);
        let finding = |reason: &WireReason| {
            Finding::new(rules::PREFLIGHT, format!("{says}: {}", reason.sentence()))
                .maybe_place(reason.place())
                .maybe_of(reason.object.clone(), reason.field_path())
        };
        let errors = answer.reasons.iter().filter(|reason| reason.severity == Severity::Error);
        let mut found: Vec<Finding> = errors.map(finding).collect();
        if found.is_empty() {
            let message = format!("{says} for `{}`; it gives no reason.", answer.cluster);
            found.push(Finding::new(rules::PREFLIGHT, message));
        }
        found
    }
}

/// What all preflights of a head mean together.
pub fn meaning(preflights: &[Preflight], mode: PreflightMode) -> PreflightMeaning {
    preflights.iter().map(|preflight| preflight.meaning(mode)).max().unwrap_or(PreflightMeaning::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::words::Words;
    use capstan_model::tree::RepoPath;

    fn cluster(id: &str) -> ClusterId {
        ClusterId::new(RepoPath::parse(id).unwrap())
    }

    fn preflight(standing: PreflightReply) -> Preflight {
        Preflight {
            management_cluster: "mc-eu".to_owned(),
            clusters: vec![cluster("gauss/peu01"), cluster("gauss/peu02")],
            standing,
        }
    }

    fn answered(verdicts: &[(&str, PreflightVerdict)]) -> PreflightReply {
        let clusters = verdicts.iter().map(|(id, verdict)| ClusterAnswer {
            cluster: cluster(id),
            verdict: *verdict,
            reasons: vec![],
            names: vec![],
        });
        PreflightReply::Answered(PreflightAnswer { clusters: clusters.collect(), duration_ms: 5 })
    }

    #[test]
    fn the_gravest_answer_decides_and_silence_counts_by_the_mode() {
        use PreflightVerdict::{Accepted, NotVerifiable, Rejected};
        let both = |one, two| answered(&[("gauss/peu01", one), ("gauss/peu02", two)]);
        for (standing, advisory, required) in [
            (PreflightReply::Asked, PreflightMeaning::Awaited, PreflightMeaning::Awaited),
            (PreflightReply::Unanswered, PreflightMeaning::Neutral, PreflightMeaning::ActionRequired),
            (
                PreflightReply::NotAsked("Why.".to_owned()),
                PreflightMeaning::Neutral,
                PreflightMeaning::ActionRequired,
            ),
            (both(Accepted, Accepted), PreflightMeaning::Fine, PreflightMeaning::Fine),
            (both(Accepted, NotVerifiable), PreflightMeaning::Neutral, PreflightMeaning::ActionRequired),
            (both(Rejected, NotVerifiable), PreflightMeaning::Rejected, PreflightMeaning::Rejected),
            (
                answered(&[("gauss/peu01", Accepted)]),
                PreflightMeaning::Neutral,
                PreflightMeaning::ActionRequired,
            ),
            (answered(&[("other/x", Rejected)]), PreflightMeaning::Neutral, PreflightMeaning::ActionRequired),
        ] {
            let preflight = preflight(standing);
            assert_eq!(preflight.meaning(PreflightMode::Advisory), advisory, "{preflight:?}");
            assert_eq!(preflight.meaning(PreflightMode::Required), required, "{preflight:?}");
        }
        assert_eq!(meaning(&[], PreflightMode::Required), PreflightMeaning::Fine);
    }

    #[test]
    fn machines_that_move_on_may_change_an_answer_but_not_what_the_api_server_refuses_for_good() {
        use PreflightVerdict::{Accepted, NotVerifiable, Rejected};
        let reason = |kind: &str| WireReason {
            severity: Severity::Error,
            kind: kind.to_owned(),
            message: Words::new("x"),
            object: None,
            field: None,
            file: None,
            line: None,
            column: None,
        };
        type Given<'a> = [(PreflightVerdict, &'a [&'a str])];
        let answer = |given: &Given<'_>| {
            let one = |(verdict, kinds): &(PreflightVerdict, &[&str])| ClusterAnswer {
                cluster: cluster("gauss/peu01"),
                verdict: *verdict,
                reasons: kinds.iter().map(|kind| reason(kind)).collect(),
                names: vec![],
            };
            PreflightAnswer { clusters: given.iter().map(one).collect(), duration_ms: 0 }
        };
        let cases: [(&Given<'_>, bool); 8] = [
            (&[], false),
            (&[(Accepted, &[])], false),
            (&[(NotVerifiable, &[])], true),
            (&[(Accepted, &[]), (Rejected, &["SkipsMinor"])], true),
            (&[(Rejected, &["SkipsMinor", "Invalid"])], false),
            (&[(Rejected, &["Schema"])], false),
            (&[(Rejected, &[])], false),
            (&[(NotVerifiable, &[]), (Rejected, &["Invalid"])], false),
        ];
        for (given, may) in cases {
            assert_eq!(answer(given).may_change_with_machines(), may, "{given:?}");
        }
    }

    #[test]
    fn a_rejection_is_a_finding_at_its_file_and_line() {
        let reason = WireReason {
            severity: Severity::Error,
            kind: "Invalid".to_owned(),
            message: Words::new("spec.version: cannot skip a minor"),
            object: None,
            field: Some("/spec/version".to_owned()),
            file: RepoPath::parse("gauss/peu01/base/cp.yaml").ok(),
            line: Some(12),
            column: Some(3),
        };
        let mut standing = answered(&[
            ("gauss/peu01", PreflightVerdict::Rejected),
            ("gauss/peu02", PreflightVerdict::Rejected),
            ("other/x", PreflightVerdict::Rejected),
        ]);
        if let PreflightReply::Answered(answer) = &mut standing {
            answer.clusters[0].reasons = vec![reason];
        }
        let findings = preflight(standing).findings();
        assert_eq!(findings.len(), 2, "what was not asked about does not count");
        assert_eq!(
            findings[0].message,
            "The live cluster on `mc-eu` would refuse this: spec.version: cannot skip a minor"
        );
        assert_eq!((findings[0].line(), findings[0].column()), (Some(12), Some(3)));
        assert_eq!(
            findings[1].message,
            "The live cluster on `mc-eu` would refuse this for `gauss/peu02`; it gives no reason."
        );
    }

    #[test]
    fn a_question_is_repeated_when_its_answer_may_differ() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let (asked, until) = (at("2026-11-24T10:00:00Z"), at("2026-11-24T10:01:00Z"));
        let (in_time, late) = (at("2026-11-24T10:00:59Z"), at("2026-11-24T10:01:00Z"));
        let accepted = PreflightAnswer::default();
        let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
        let (reasons, names) = (Vec::new(), Vec::new());
        let unsure = ClusterAnswer { cluster, verdict: PreflightVerdict::NotVerifiable, reasons, names };
        let unsure = PreflightAnswer { clusters: vec![unsure], duration_ms: 5 };
        let no = "Its head is in another repository.".to_owned();
        use AskWish::{Again, AsItIs};
        use MachinesSince::{AsThen, MovedOn};
        for (at, (state, machines, wish, now, standing)) in [
            (PreflightState::Asked, AsThen, AsItIs, in_time, Some(PreflightReply::Asked)),
            (PreflightState::Asked, AsThen, Again, in_time, Some(PreflightReply::Asked)),
            (PreflightState::Asked, AsThen, AsItIs, late, Some(PreflightReply::Unanswered)),
            (PreflightState::Asked, AsThen, Again, late, None),
            (
                PreflightState::Answered(accepted.clone()),
                MovedOn,
                AsItIs,
                late,
                Some(PreflightReply::Answered(accepted.clone())),
            ),
            (PreflightState::Answered(accepted), AsThen, Again, late, None),
            (
                PreflightState::Answered(unsure.clone()),
                AsThen,
                AsItIs,
                late,
                Some(PreflightReply::Answered(unsure.clone())),
            ),
            (PreflightState::Answered(unsure), MovedOn, AsItIs, late, None),
            (
                PreflightState::NotAsked(no.clone()),
                MovedOn,
                AsItIs,
                late,
                Some(PreflightReply::NotAsked(no.clone())),
            ),
            (PreflightState::NotAsked(no), AsThen, Again, late, None),
        ]
        .into_iter()
        .enumerate()
        {
            let before = AskedBefore { state: &state, asked_at: asked, until, machines };
            assert_eq!(before.standing(wish, now), standing, "row {at}");
        }
        let words = WireReason {
            severity: Severity::Warning,
            kind: "CloudNotAnswered".to_owned(),
            message: Words::new("Nova at cloud.example.com answers 503"),
            object: None,
            field: None,
            file: None,
            line: None,
            column: None,
        };
        let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
        let failed = ClusterAnswer {
            cluster,
            verdict: PreflightVerdict::NotVerifiable,
            reasons: vec![words],
            names: vec![],
        };
        let failed = PreflightAnswer { clusters: vec![failed], duration_ms: 5 };
        let state = PreflightState::Answered(failed.clone());
        let before = AskedBefore { state: &state, asked_at: asked, until, machines: AsThen };
        // The cloud is asked again by itself, and not at once.
        let soon = at("2026-11-24T10:00:29Z");
        assert_eq!(before.standing(AsItIs, soon), Some(PreflightReply::Answered(failed)));
        assert_eq!(before.standing(AsItIs, at("2026-11-24T10:00:30Z")), None);
        let before = AskedBefore { state: &PreflightState::Asked, asked_at: asked, until, machines: AsThen };
        assert!(before.is_fresh(at("2026-11-24T10:00:29Z")) && !before.is_fresh(at("2026-11-24T10:00:30Z")));
    }
}
