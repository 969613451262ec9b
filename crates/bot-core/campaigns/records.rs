//! What a run leaves for the pages: what each kind of source offers, and how every target is with it.

use capstan_facts::{CampaignLimits, CampaignRecord, CampaignTarget};
use capstan_model::source::{SourceId, SourceKind};
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::Mode;
use capstan_report::{ProposalState, TargetDetail, hold_in_words};

use super::fleet_facts::fleet_facts;
use crate::effects::Effect;
use crate::planned::PlannedRun;
use crate::proposals::{Outcome, ProposalOutcome};

/// What is remembered of a run.
pub fn records(planned: PlannedRun<'_>, outcome: &Outcome) -> Vec<Effect> {
    let proposals = &planned.settings.upgrade.proposals;
    let limits = (planned.settings.mode != Mode::Observe)
        .then_some(CampaignLimits { open: proposals.open, per_hour: proposals.per_hour });
    let campaign = |(kind, source): (&SourceKind, &String)| {
        let own = outcome.shown().filter(|(proposal, _)| proposal.kind == *kind);
        let targets = own.map(|(proposal, one)| target(planned, proposal, one)).collect();
        CampaignRecord { kind: kind.clone(), source: source.clone(), limits, targets }
    };
    let details = outcome.shown().filter_map(|(proposal, _)| {
        let detail = TargetDetail::of(planned.plan_of(proposal)?);
        (!detail.is_empty()).then(|| (proposal.clone(), detail))
    });
    vec![
        Effect::SaveCampaigns(outcome.sources.iter().map(campaign).collect()),
        Effect::SaveProgress(outcome.campaigns.progress.clone()),
        Effect::SaveDetails(details.collect()),
    ]
}

fn target(planned: PlannedRun<'_>, proposal: &ProposalId, one: &ProposalOutcome) -> CampaignTarget {
    let plan = planned.plan_of(proposal);
    let by_command = planned.decided.of(proposal).hold_on(planned.facts.today).map(hold_in_words);
    let by_settings = || (one.state == ProposalState::Held).then(|| one.why.clone());
    let named = |source: Option<&SourceId>| source.map(ToString::to_string);
    CampaignTarget {
        target: proposal.target.clone(),
        state: one.state,
        reason: one.why.clone(),
        at: named(plan.and_then(|plan| plan.from.as_ref())),
        offered: named(plan.and_then(|plan| plan.to.as_ref())),
        hold: by_command.or_else(by_settings),
        facts: fleet_facts(planned, proposal),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Case, V21, V22, campaigns, comment, id, upgrade};
    use capstan_model::finding::{Finding, rules};
    use capstan_model::target::Target;
    use capstan_plan::upgrade::Upgrade;

    /// What is remembered of a case in which these proposals have that state.
    fn remembered(
        case: &Case,
        commands: &str,
        states: &[(&str, ProposalState, &str)],
    ) -> (Vec<CampaignRecord>, Vec<String>) {
        let outcome = Outcome {
            proposals: states
                .iter()
                .map(|(target, state, why)| (id(target), ProposalOutcome::new(*state, *why)))
                .collect(),
            sources: [(SourceKind::RELEASE, "aws/v22.0.0".to_owned())].into_iter().collect(),
            ..Outcome::default()
        };
        let requests = [comment(1, "ada", case.open.first(), commands)];
        let effects = case.heard(&requests, |planned| records(planned, &outcome));
        let [Effect::SaveCampaigns(campaigns), Effect::SaveProgress(progress), Effect::SaveDetails(details)] =
            effects.as_slice()
        else {
            panic!("{effects:?}");
        };
        assert!(progress.is_empty());
        (campaigns.clone(), details.iter().map(|(proposal, _)| proposal.to_string()).collect())
    }

    #[test]
    fn each_target_is_remembered_with_its_state_and_what_is_offered() {
        let case =
            Case::new().offered("gauss/peu01").current("gauss/peu02").plan("kiel/peu01", Err("unreadable."));
        let states = [
            ("gauss/peu01", ProposalState::Proposed, ""),
            ("gauss/peu02", ProposalState::Current, "It has the newest release."),
            ("kiel/peu01", ProposalState::Failed, "unreadable."),
        ];
        let (campaigns, _) = remembered(&case, "/capstan status", &states);
        let [CampaignRecord { kind, source, targets, .. }] = campaigns.as_slice() else {
            panic!("{campaigns:?}")
        };
        assert_eq!((kind, source.as_str()), (&SourceKind::RELEASE, "aws/v22.0.0"));
        let rows: Vec<_> = targets
            .iter()
            .map(|one| {
                let (at, offered) = (one.at.as_deref(), one.offered.as_deref());
                (one.target.path(), one.state, one.reason.as_str(), at, offered)
            })
            .collect();
        assert_eq!(
            rows,
            [
                ("gauss/peu01", ProposalState::Proposed, "", Some(V21), Some(V22)),
                ("gauss/peu02", ProposalState::Current, "It has the newest release.", Some(V22), None),
                ("kiel/peu01", ProposalState::Failed, "unreadable.", None, None),
            ]
        );
    }

    #[test]
    fn a_hold_by_command_comes_before_one_of_the_settings() {
        let held = "The overlay holds it.";
        let case = Case::new().offered("gauss/peu01").proposed(3, "gauss/peu01", 'a');
        for (commands, state, expected) in [
            ("/capstan status", ProposalState::Proposed, None),
            ("/capstan status", ProposalState::Held, Some(held)),
            ("/capstan hold", ProposalState::Held, Some("On hold by `ada`.")),
        ] {
            let states = [("gauss/peu01", state, held)];
            let (campaigns, _) = remembered(&case, commands, &states);
            assert_eq!(campaigns[0].targets[0].hold.as_deref(), expected, "{commands} {state:?}");
        }
    }

    #[test]
    fn limits_are_remembered_where_something_is_written() {
        let case = || {
            Case::new().settings(|settings| {
                settings.upgrade.proposals.open = 7;
                settings.upgrade.proposals.per_hour = 3;
            })
        };
        for (mode, expected) in
            [(Mode::Propose, Some(CampaignLimits { open: 7, per_hour: 3 })), (Mode::Observe, None)]
        {
            let (campaigns, _) =
                remembered(&case().settings(|settings| settings.mode = mode), "/capstan status", &[]);
            assert_eq!((campaigns[0].limits, campaigns[0].targets.len()), (expected, 0));
        }
    }

    #[test]
    fn details_are_remembered_of_targets_whose_upgrade_has_some() {
        let found = vec![Finding::new(rules::REMOVES_MACHINES, "machines go")];
        let blocked = Upgrade { findings: found, ..upgrade("gauss/peu02", V21, V22) };
        let nothing = Upgrade::nothing(Target::parse("kiel/peu01").unwrap());
        let case = Case::new().plan("gauss/peu02", Ok(blocked)).plan("kiel/peu01", Ok(nothing));
        let states = [
            ("gauss/peu02", ProposalState::Blocked, "It is blocked."),
            ("kiel/peu01", ProposalState::Current, ""),
            ("kiel/peu02", ProposalState::Current, ""),
        ];
        assert_eq!(remembered(&case, "/capstan status", &states).1, ["gauss/peu02"]);
    }

    #[test]
    fn the_wave_of_a_target_is_among_its_facts() {
        let case = Case::new().offered("gauss/peu01").settings(|settings| settings.campaigns = campaigns());
        let (remembered, _) =
            remembered(&case, "/capstan status", &[("gauss/peu01", ProposalState::Proposed, "")]);
        let wave = remembered[0].targets[0].facts.wave.as_ref().unwrap();
        assert_eq!((wave.place, wave.name.as_str()), (0, "canary"));
    }
}
