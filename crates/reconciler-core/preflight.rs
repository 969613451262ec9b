//! What a management cluster says to a head commit: what each look found, and the verdict that follows.

use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::RefusalKind;
use capstan_live::cloud::{CloudReason, Weight};
use capstan_model::finding::Severity;
use capstan_ports::TrialFailed;

use crate::reason::{AWAY, NOT_ANSWERED, Reason};
use crate::reports::{PreflightAnswer, PreflightVerdict};

/// The kind of a reason that says nothing of the commit: what was to render it was killed.
pub const NOT_RENDERED: &str = "NotRendered";
/// Nobody may look: what the racks can give is not known.
pub const HOSTS_UNKNOWN: &str = "HostsUnknown";

/// Whether answers are for good. Where the API server did not answer, or nobody rendered, the same question may be
/// answered in a moment: it stays open.
pub fn is_for_good(answers: &[PreflightAnswer]) -> bool {
    let mut reasons = answers.iter().flat_map(|answer| &answer.reasons);
    !reasons.any(|reason| reason.kind == AWAY || reason.kind == NOT_RENDERED)
}

/// The kind of a reason why the render of a folder is unknown; `None` where the folder itself is the cause.
pub const fn unrendered(failed: &TrialFailed) -> Option<&'static str> {
    match failed {
        TrialFailed::TooLarge(_) => None,
        TrialFailed::TooSlow { .. } => Some("TooSlow"),
        TrialFailed::Killed(_) | TrialFailed::Unavailable(_) => Some(NOT_RENDERED),
    }
}

/// What was found so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreflightFindings {
    /// Why.
    pub reasons: Vec<Reason>,
    /// Whether something is unknown before the merge: then the answer cannot be a yes.
    is_unknown: bool,
}

impl PreflightFindings {
    /// It would be refused.
    pub fn refuses(&mut self, reason: Reason) {
        self.reasons.push(reason);
    }

    /// It is unknown before the merge.
    pub fn cannot_tell(&mut self, reason: Reason) {
        self.is_unknown = true;
        self.reasons.push(Reason { severity: Severity::Warning, ..reason });
    }

    /// What an object was refused for in a dry run. A webhook that does not answer has not said no.
    pub fn refused_in_trial(&mut self, reason: Reason) {
        if reason.kind == RefusalKind::Webhook.as_str() {
            self.cannot_tell(reason);
        } else {
            self.refuses(reason);
        }
    }

    /// What is said of a provider set besides.
    pub fn of_set(&mut self, reasons: Vec<Reason>) {
        self.is_unknown |= reasons.iter().any(is_unknown_of_set);
        self.reasons.extend(reasons);
    }

    /// What a Vault says: without an error, the answer is still not a yes.
    pub fn of_secret(&mut self, reason: Reason) {
        self.is_unknown |= reason.severity != Severity::Error;
        self.reasons.push(reason);
    }

    /// The worst that is said.
    pub fn verdict(&self) -> PreflightVerdict {
        if self.reasons.iter().any(|reason| reason.severity == Severity::Error) {
            PreflightVerdict::Rejected
        } else if self.is_unknown {
            PreflightVerdict::NotVerifiable
        } else {
            PreflightVerdict::Accepted
        }
    }
}

/// Whether a reason says that something of a provider set is unknown before the merge.
fn is_unknown_of_set(reason: &Reason) -> bool {
    const UNTOLD: [&str; 6] = [
        "ComponentsUnknown",
        "RightsUnknown",
        "NamespaceNotThere",
        "CertManagerNotReady",
        "VariablesUnknown",
        RefusalKind::Webhook.as_str(),
    ];
    UNTOLD.contains(&reason.kind)
}

/// Adds to an answer what the racks can give to all folders together.
pub fn add_of_hosts(answer: &mut PreflightAnswer, reason: Reason) {
    let is_unknown = [HOSTS_UNKNOWN, AWAY, NOT_ANSWERED].contains(&reason.kind);
    let weight = match reason.severity {
        Severity::Error => Weight::Impossible,
        // What is unknown prevents a yes; a mere warning does not.
        _ if is_unknown => Weight::Unknown,
        _ => Weight::Notable,
    };
    add(answer, weight, reason);
}

/// Adds to an answer what a cloud says, with the file and line of the field that asks.
pub fn add_of_cloud(answer: &mut PreflightAnswer, reason: &CloudReason, objects: &[RenderedObject]) {
    let found = objects.iter().find(|object| object.id == reason.object);
    let told = match found {
        Some(object) => Reason::of_object(reason.kind, &reason.message, object, &reason.field),
        // A template that only the live cluster has.
        None => Reason {
            object: Some(reason.object.clone()),
            field: Some(reason.field.clone()),
            ..Reason::plain(reason.kind, &reason.message)
        },
    };
    let severity = if reason.weight == Weight::Impossible { Severity::Error } else { Severity::Warning };
    add(answer, reason.weight, Reason { severity, ..told });
}

fn add(answer: &mut PreflightAnswer, weight: Weight, reason: Reason) {
    match weight {
        Weight::Impossible => answer.verdict = PreflightVerdict::Rejected,
        Weight::Unknown if answer.verdict == PreflightVerdict::Accepted => {
            answer.verdict = PreflightVerdict::NotVerifiable;
        }
        Weight::Unknown | Weight::Notable => {}
    }
    answer.reasons.push(reason);
}

#[cfg(test)]
mod tests {
    use capstan_model::ids::ClusterId;
    use capstan_model::object::{FieldPath, ObjectId};
    use capstan_model::tree::RepoPath;
    use capstan_plan::templates::TemplateNames;

    use super::*;

    fn reason(kind: &'static str) -> Reason {
        Reason::plain(kind, "")
    }

    fn warning(kind: &'static str) -> Reason {
        Reason { severity: Severity::Warning, ..reason(kind) }
    }

    fn answer(verdict: PreflightVerdict) -> PreflightAnswer {
        let cluster = ClusterId::new(RepoPath::parse("gauss/peu01").unwrap());
        PreflightAnswer { cluster, verdict, reasons: Vec::new(), names: TemplateNames::default() }
    }

    #[test]
    fn the_verdict_is_the_worst_that_was_found() {
        use PreflightVerdict::{Accepted, NotVerifiable, Rejected};
        type Finds = fn(&mut PreflightFindings);
        let rows: [(&str, &[Finds], PreflightVerdict); 14] = [
            ("nothing", &[], Accepted),
            ("a refusal", &[|found| found.refuses(reason("Invalid"))], Rejected),
            ("a warning", &[|found| found.refuses(warning("KeptUntilAsked"))], Accepted),
            ("something untold", &[|found| found.cannot_tell(reason("NamespaceNotThere"))], NotVerifiable),
            (
                "a refusal before something untold",
                &[|found| found.refuses(reason("Invalid")), |found| found.cannot_tell(reason("Terminating"))],
                Rejected,
            ),
            (
                "a refusal after something untold",
                &[|found| found.cannot_tell(reason("Terminating")), |found| found.refuses(reason("Invalid"))],
                Rejected,
            ),
            ("a dry run", &[|found| found.refused_in_trial(reason("Invalid"))], Rejected),
            (
                "a webhook that is away",
                &[|found| found.refused_in_trial(reason(RefusalKind::Webhook.as_str()))],
                NotVerifiable,
            ),
            ("a set that is well", &[|found| found.of_set(Vec::new())], Accepted),
            ("a set's warning", &[|found| found.of_set(vec![warning("provider-rolls")])], Accepted),
            ("a set's rights", &[|found| found.of_set(vec![reason("RightsMissing")])], Rejected),
            (
                "a set of which nobody knows what it comes to",
                &[|found| found.of_set(vec![warning("ComponentsUnknown")])],
                NotVerifiable,
            ),
            ("a Vault that is away", &[|found| found.of_secret(warning("VaultAway"))], NotVerifiable),
            ("a secret that is missing", &[|found| found.of_secret(reason("SecretMissing"))], Rejected),
        ];
        for (what, finds, expected) in rows {
            let mut found = PreflightFindings::default();
            finds.iter().for_each(|find| find(&mut found));
            assert_eq!(found.verdict(), expected, "{what}");
        }
    }

    #[test]
    fn what_the_racks_and_clouds_say_makes_an_answer_worse_and_never_better() {
        use PreflightVerdict::{Accepted, NotVerifiable, Rejected};
        for (before, told, expected) in [
            (Accepted, reason("HostsTooFew"), Rejected),
            (Accepted, warning("HostsTooFew"), Accepted),
            (Accepted, warning("HostsUnknown"), NotVerifiable),
            (Accepted, warning("ManagementClusterAway"), NotVerifiable),
            (Accepted, warning("NotAnswered"), NotVerifiable),
            (NotVerifiable, warning("SelectorMissing"), NotVerifiable),
            (NotVerifiable, reason("HostsTooFew"), Rejected),
            (Rejected, warning("HostsUnknown"), Rejected),
        ] {
            let mut answer = answer(before);
            add_of_hosts(&mut answer, told.clone());
            assert_eq!((answer.verdict, answer.reasons), (expected, vec![told]));
        }
        let of_cloud = |weight| CloudReason {
            kind: "QuotaExceeded",
            weight,
            message: "12 of 10 cores".to_owned(),
            object: ObjectId {
                group: "infrastructure.cluster.x-k8s.io".to_owned(),
                kind: "OpenStackMachineTemplate".to_owned(),
                namespace: Some("my-org".to_owned()),
                name: "peu01-cp".to_owned(),
            },
            field: FieldPath::root(),
        };
        for (before, weight, expected, severity) in [
            (Accepted, Weight::Impossible, Rejected, Severity::Error),
            (Accepted, Weight::Unknown, NotVerifiable, Severity::Warning),
            (Accepted, Weight::Notable, Accepted, Severity::Warning),
            (NotVerifiable, Weight::Notable, NotVerifiable, Severity::Warning),
            (NotVerifiable, Weight::Impossible, Rejected, Severity::Error),
            (Rejected, Weight::Unknown, Rejected, Severity::Warning),
        ] {
            let mut answer = answer(before);
            add_of_cloud(&mut answer, &of_cloud(weight), &[]);
            assert_eq!((answer.verdict, answer.reasons[0].severity), (expected, severity), "{before:?}");
        }
    }

    #[test]
    fn an_answer_of_nobody_is_not_for_good() {
        for (kind, expected) in [
            ("ManagementClusterAway", false),
            ("NotRendered", false),
            ("NotAnswered", true),
            ("TooSlow", true),
            ("Invalid", true),
        ] {
            let answers = [
                answer(PreflightVerdict::Accepted),
                PreflightAnswer {
                    reasons: vec![warning("KeptUntilAsked"), reason(kind)],
                    ..answer(PreflightVerdict::NotVerifiable)
                },
            ];
            assert_eq!(is_for_good(&answers), expected, "{kind}");
        }
        assert!(is_for_good(&[]));
    }

    #[test]
    fn only_failures_without_fault_of_the_folder_give_no_answer() {
        let why = String::new;
        for (failed, expected) in [
            (TrialFailed::TooLarge(why()), None),
            (TrialFailed::TooSlow { why: why(), again_after: None }, Some("TooSlow")),
            (TrialFailed::Killed(why()), Some("NotRendered")),
            (TrialFailed::Unavailable(why()), Some("NotRendered")),
        ] {
            assert_eq!(unrendered(&failed), expected, "{failed:?}");
        }
    }
}
