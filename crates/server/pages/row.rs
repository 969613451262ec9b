//! A cluster as a row of a table: its state, its versions, its machines, each with how it is coloured.

use capstan_live::agent::{RolloutReport, RolloutState};
use capstan_model::source::SourceKind;
use capstan_model::wording::count_of;
use capstan_ports::{CheckConclusion, ShownTarget};
use capstan_report::{Mood, ProposalState};
use jiff::Timestamp;

use super::frame::{ago, mood, of};
use super::prose::{Html, prose};
use super::query::path;
use super::site::Site;

/// A cluster in a table.
#[derive(Clone, Default)]
pub(super) struct Row<'a> {
    pub(super) target: &'a str,
    /// What brings its changes, unless that is a release.
    pub(super) kind: Option<&'a str>,
    pub(super) url: String,
    pub(super) repository: &'a str,
    pub(super) at: &'a str,
    pub(super) is_at_known: bool,
    pub(super) offered: String,
    /// The same, where there is something for it.
    pub(super) to: Option<String>,
    pub(super) kubernetes: Option<&'a str>,
    pub(super) kubernetes_offered: Option<&'a str>,
    /// The time, and how long ago that is.
    pub(super) since: Option<(Timestamp, String)>,
    pub(super) wave: Option<&'a str>,
    /// Mood and words: what rolls, else what an offer replaces, else how many there are.
    pub(super) machines: Option<(&'static str, String)>,
    pub(super) state: &'a str,
    pub(super) mood: &'static str,
    pub(super) reason: Html,
    /// What a table that has the proposal and the release beside it says of the state: the reason, and who holds it back.
    pub(super) said: Html,
    /// Address and number.
    pub(super) proposal: Option<(String, u64)>,
    /// Mood and words.
    pub(super) check: Option<(&'static str, String)>,
    /// Who holds it back, why, and until when.
    pub(super) hold: Option<Html>,
    /// Likewise.
    pub(super) rollout: Option<(&'static str, String)>,
}

impl Row<'_> {
    /// Whether its name, and its repository with what brings its changes, fit on a line beside all other columns.
    pub(super) fn has_short_name(&self) -> bool {
        const SHORT: usize = 30;
        let letters = |text: &str| text.chars().count();
        let below = letters(self.repository) + self.kind.map_or(0, |kind| letters(kind) + 2);
        letters(self.target) <= SHORT && below <= SHORT
    }
}

/// A cluster for a table.
pub(super) fn row<'a>(site: &Site, target: &'a ShownTarget) -> Row<'a> {
    let repository = site.repository_url(&target.repository_name);
    let offer = offered(target);
    let rollout = target.rollout.as_ref().map(rollout_in_words);
    Row {
        target: &target.target,
        kind: Some(target.kind.as_str()).filter(|kind| *kind != SourceKind::RELEASE.as_str()),
        url: path(&["clusters", &target.repository_name, &target.target]),
        repository: &target.repository_name,
        at: target.at.as_deref().unwrap_or("unknown"),
        is_at_known: target.at.is_some(),
        to: offer.clone(),
        offered: offer.unwrap_or_else(|| "nothing".to_owned()),
        kubernetes: target.kubernetes.as_deref(),
        kubernetes_offered: target.kubernetes_offered.as_deref(),
        since: target.since.map(|since| (since, ago(since, site.clock.now()))),
        wave: target.wave.as_deref(),
        machines: machines(target),
        state: &target.state,
        mood: mood(&target.state),
        reason: prose(&target.reason, Some(&repository)),
        said: prose(&said(target), Some(&repository)),
        proposal: target.pull_request.map(|number| (format!("{repository}/pull/{number}"), number)),
        check: target.check.as_ref().map(|(conclusion, title)| {
            (mood_of_check(conclusion), format!("{}: {title}", conclusion.replace('_', " ")))
        }),
        hold: hold_besides(target, &target.reason).map(|hold| prose(hold, Some(&repository))),
        rollout,
    }
}

/// Mood and words of a report.
fn rollout_in_words(report: &RolloutReport) -> (&'static str, String) {
    let mood = match report.state {
        RolloutState::Done => "good",
        RolloutState::Stuck | RolloutState::Refused => "bad",
        RolloutState::Rolling => "open",
        RolloutState::Waiting | RolloutState::Unknown => "waits",
    };
    if report.wanted == 0 {
        return (mood, report.state.as_str().to_owned());
    }
    let of = count_of(number(report.ready.into()), number(report.wanted.into()), "machine", "machines");
    (mood, format!("{}, {of}", report.state.as_str()))
}

/// What is to be said of a target's machines: what they are at, else what its offer replaces, else how many there are.
fn machines(target: &ShownTarget) -> Option<(&'static str, String)> {
    let report = target.rollout.as_ref();
    if let Some(report) = report.filter(|report| report.state != RolloutState::Done) {
        return Some(rollout_in_words(report));
    }
    if let Some(replaced) = target.machines.filter(|replaced| *replaced > 0) {
        let least = if target.more_machines { "≥ " } else { "" };
        return Some(("waits", format!("{least}{replaced} to replace")));
    }
    if target.more_machines {
        return Some(("waits", "≥ 1 to replace".to_owned()));
    }
    report.filter(|report| report.wanted > 0).map(|report| ("good", report.wanted.to_string()))
}

/// The reason without what columns say beside it, and the hold where the reason is another one.
fn said(target: &ShownTarget) -> String {
    let offers = target.pull_request.zip(target.offered.as_ref());
    let offers = offers.map(|(number, offered)| {
        [format!("#{number} offers `{offered}`."), format!("#{number} brings other values.")]
    });
    let reason = offers.iter().flatten().find_map(|offers| target.reason.strip_prefix(offers));
    let reason = reason.unwrap_or(&target.reason);
    [Some(reason.trim()), hold_besides(target, reason)]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The hold, where the reason is another one.
fn hold_besides<'a>(target: &'a ShownTarget, reason: &str) -> Option<&'a str> {
    target.hold.as_deref().filter(|hold| !reason.contains(hold.trim_end_matches('.')))
}

fn number(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// How the conclusion of a check is coloured; an unknown one as a failure.
fn mood_of_check(conclusion: &str) -> &'static str {
    of(match CheckConclusion::parse(conclusion) {
        Some(CheckConclusion::Success) => Mood::Good,
        Some(CheckConclusion::Neutral) => Mood::Waits,
        Some(CheckConclusion::Failure | CheckConclusion::ActionRequired) | None => Mood::Bad,
    })
}

/// What there is for a target: where that is the source that it has, what else of it.
fn offered(target: &ShownTarget) -> Option<String> {
    let is_over = ProposalState::parse(&target.state).is_some_and(ProposalState::is_over);
    let offered = target.offered.as_ref().filter(|_| !is_over)?;
    Some(if target.at.as_ref() != Some(offered) {
        offered.clone()
    } else if target.kind == SourceKind::RELEASE.as_str() {
        format!("{offered} as it is now")
    } else {
        "other values".to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(state: &str, reason: &str, hold: Option<&str>) -> ShownTarget {
        ShownTarget {
            repository: 1,
            repository_name: "acme/gitops".to_owned(),
            target: "gauss/peu01".to_owned(),
            kind: "release".to_owned(),
            state: state.to_owned(),
            reason: reason.to_owned(),
            at: Some("aws/v21.0.0".to_owned()),
            offered: Some("aws/v22.0.0".to_owned()),
            hold: hold.map(str::to_owned),
            since: None,
            kubernetes: None,
            kubernetes_offered: None,
            wave: None,
            machines: None,
            more_machines: false,
            pull_request: Some(12),
            check: None,
            rollout: None,
        }
    }

    #[test]
    fn a_state_is_explained_without_what_other_columns_say() {
        let held = "Held by ada until 2026-12-01: audit.";
        for (reason, hold, expected) in [
            ("#12 offers `aws/v22.0.0`.", None, ""),
            ("#12 offers `aws/v22.0.0` to 2 clusters.", None, "#12 offers `aws/v22.0.0` to 2 clusters."),
            ("#12 offers `aws/v22.0.0`. It is a draft.", None, "It is a draft."),
            ("#12 brings other values.", None, ""),
            ("#12 offers `aws/v22.0.0`.", Some(held), held),
            (held, Some(held), held),
            ("It blocks.", Some(held), "It blocks. Held by ada until 2026-12-01: audit."),
        ] {
            assert_eq!(said(&target("proposed", reason, hold)), expected, "{reason}");
        }
    }

    #[test]
    fn nothing_is_offered_where_an_offer_is_over() {
        let at = |at: &str, state: &str| {
            offered(&ShownTarget { at: Some(at.to_owned()), ..target(state, "", None) })
        };
        assert_eq!(at("aws/v21.0.0", "proposed").as_deref(), Some("aws/v22.0.0"));
        assert_eq!(at("aws/v22.0.0", "proposed").as_deref(), Some("aws/v22.0.0 as it is now"));
        assert_eq!(at("aws/v22.0.0", "current"), None);
        assert_eq!(at("aws/v21.0.0", "declined"), None);
    }

    #[test]
    fn machines_are_counted_as_far_as_they_are_known() {
        let offer = |machines, more_machines| {
            let target = ShownTarget { machines, more_machines, ..target("proposed", "", None) };
            super::machines(&target)
        };
        let machines_of = |text: &str| Some(("waits", text.to_owned()));
        assert_eq!(offer(Some(3), false), machines_of("3 to replace"));
        assert_eq!(offer(Some(3), true), machines_of("≥ 3 to replace"));
        assert_eq!(offer(Some(0), true), machines_of("≥ 1 to replace"));
        assert_eq!(offer(Some(0), false), None);
        assert_eq!(offer(None, false), None);
    }

    #[test]
    fn a_check_is_coloured_by_its_conclusion() {
        for (conclusion, expected) in [
            ("success", "good"),
            ("neutral", "waits"),
            ("failure", "bad"),
            ("action_required", "bad"),
            ("of_tomorrow", "bad"),
        ] {
            assert_eq!(mood_of_check(conclusion), expected, "{conclusion}");
        }
    }
}
