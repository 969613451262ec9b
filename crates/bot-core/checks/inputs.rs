//! Fingerprint of a report's inputs: while it is the same, nothing is computed again.

use capstan_model::source::SourceId;
use capstan_model::target::Target;
use capstan_plan::proposal::{PlanDigest, Stage, Way};
use capstan_plan::upgrade::{Conflict, Side, Upgrade};
use capstan_report::{Conclusion, Fingerprint, finding_fingerprint, override_in_words};

use super::subject::CheckSubject;
use crate::effects::EDITION;
use crate::proposals::Remarks;

/// Fingerprint of a report's inputs.
pub(super) fn inputs(pull: &CheckSubject, remarks: &Remarks, live: &str) -> String {
    Fingerprint::of("inputs")
        .field("edition", EDITION)
        .field("base", &pull.base_tip)
        .field("head", &pull.head)
        .field("base-branch", &pull.base_branch)
        .maybe("way", (pull.way != Way::Straight).then(|| way_in_letters(&pull.way)))
        .each("note", &remarks.notes)
        .each("blocked", &remarks.blocked)
        .each("finding", remarks.findings.values().flatten().map(finding_fingerprint))
        .each("upgrade", remarks.upgrades.values().map(|upgrade| upgrade_in_letters(upgrade)))
        .field("edited", if remarks.is_edited { "yes" } else { "no" })
        .each("override", overrides_in_words(remarks))
        .each("exemption", remarks.exemptions.iter().flat_map(|one| one.rules.iter().map(|(_, why)| why)))
        .each("gate", remarks.gates.iter().map(|gate| &gate.why))
        .maybe("stage", remarks.stage.map(stage_in_a_word))
        .field("live", live)
        .finish()
}

/// The way by which a head reaches the default branch.
fn way_in_letters(way: &Way) -> String {
    let numbers = |all: &[u64]| all.iter().map(u64::to_string).collect::<Vec<_>>();
    match way {
        Way::Straight => Fingerprint::of("straight"),
        Way::Above(below) => Fingerprint::of("above").each("below", numbers(below)),
        Way::Aside(branch) => Fingerprint::of("aside").field("branch", branch),
        Way::Unknown(unclear) => Fingerprint::of("unknown").field("why", unclear.name()),
    }
    .finish()
}

/// A proposal's upgrade, as far as a check reports it.
fn upgrade_in_letters(upgrade: &Upgrade) -> String {
    let name = |source: &Option<SourceId>| source.as_ref().map(ToString::to_string).unwrap_or_default();
    let conflict = |one: &Conflict| {
        let side = match (one.blocks, one.kept) {
            (true, _) => "blocks",
            (false, Side::Cluster) => "cluster",
            (false, Side::Release) => "release",
        };
        let by = one.settling.by.as_deref().unwrap_or_default();
        format!("{}{} {side} {} {by}", one.object, one.path, one.settling.values)
    };
    Fingerprint::of("upgrade")
        .field("from", name(&upgrade.from))
        .field("to", name(&upgrade.to))
        .field("plan", PlanDigest::of(&upgrade.files).to_string())
        .each("conflict", upgrade.conflicts.iter().map(conflict))
        .finish()
}

/// Which rules are overridden; for which cluster, where several share the pull request.
pub(super) fn overrides_in_words(remarks: &Remarks) -> Vec<String> {
    let is_shared = remarks.overrides.len() > 1;
    let of = |target: &Target| if is_shared { format!("`{target}`: ") } else { String::new() };
    let all = remarks.overrides.iter().flat_map(|(target, all)| all.iter().map(move |one| (target, one)));
    all.map(|(target, one)| of(target) + &override_in_words(one)).collect()
}

const fn stage_in_a_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Offered => "offered",
        Stage::Held => "held",
        Stage::Paused => "paused",
        Stage::Refused => "refused",
    }
}

/// How grave a conclusion is: of several reports on one commit the gravest counts.
pub(super) const fn gravity(conclusion: Conclusion) -> u8 {
    match conclusion {
        Conclusion::Success => 0,
        Conclusion::Neutral => 1,
        Conclusion::Pending => 2,
        Conclusion::ActionRequired => 3,
        Conclusion::Failure => 4,
    }
}

/// The same for several subjects that share a commit.
pub(super) fn inputs_of(subjects: &[CheckSubject], of_each: &[Remarks], live: &str) -> String {
    let keys: Vec<String> = subjects.iter().zip(of_each).map(|(one, said)| inputs(one, said, live)).collect();
    match keys.as_slice() {
        [only] => only.clone(),
        several => Fingerprint::of("subjects").each("inputs", several).finish(),
    }
}
