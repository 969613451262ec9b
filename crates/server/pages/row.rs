//! A cluster as a row of a table: its state, its versions, its machines, each with how it is coloured.

use capstan_live::agent::{RolloutReport, RolloutState};
use capstan_model::source::SourceKind;
use capstan_model::wording::count_of;
use capstan_ports::{CheckConclusion, ShownTarget};
use capstan_report::Mood;
use jiff::Timestamp;

use super::Site;
use super::frame::{ago, mood, of};
use super::prose::{Html, prose};
use super::query::path;

/// A cluster in a table.
#[derive(Clone, Default)]
pub(super) struct Row<'a> {
    pub(super) target: &'a str,
    pub(super) name: String,
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
    /// Address and number.
    pub(super) proposal: Option<(String, u64)>,
    /// Mood and words.
    pub(super) check: Option<(&'static str, String)>,
    /// Who holds it back, why, and until when.
    pub(super) hold: Option<Html>,
    /// Likewise.
    pub(super) rollout: Option<(&'static str, String)>,
}

/// A cluster for a table.
pub(super) fn row<'a>(site: &Site, target: &'a ShownTarget) -> Row<'a> {
    let repository = site.repository_url(&target.repository_name);
    let offer = offered(target);
    let rollout = target.rollout.as_ref().map(rollout_in_words);
    Row {
        target: &target.target,
        name: if target.kind == SourceKind::RELEASE.as_str() {
            target.target.clone()
        } else {
            format!("{} ({})", target.target, target.kind)
        },
        url: path(&["clusters", &target.repository_name, &target.target]),
        repository: &target.repository_name,
        at: target.at.as_deref().unwrap_or("unknown"),
        is_at_known: target.at.is_some(),
        to: target.offered.is_some().then(|| offer.clone()),
        offered: offer,
        kubernetes: target.kubernetes.as_deref(),
        kubernetes_offered: target.kubernetes_offered.as_deref(),
        since: target.since.map(|since| (since, ago(since, site.clock.now()))),
        wave: target.wave.as_deref(),
        machines: machines(target),
        state: &target.state,
        mood: mood(&target.state),
        reason: prose(&target.reason, Some(&repository)),
        proposal: target.pull_request.map(|number| (format!("{repository}/pull/{number}"), number)),
        check: target.check.as_ref().map(|(conclusion, title)| {
            (mood_of_check(conclusion), format!("{}: {title}", conclusion.replace('_', " ")))
        }),
        hold: target.hold.as_ref().map(|hold| prose(hold, Some(&repository))),
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
        return Some(("waits", format!("{replaced} to replace")));
    }
    report.filter(|report| report.wanted > 0).map(|report| ("good", report.wanted.to_string()))
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
fn offered(target: &ShownTarget) -> String {
    match &target.offered {
        None => "nothing".to_owned(),
        Some(offered) if target.at.as_ref() != Some(offered) => offered.clone(),
        Some(offered) if target.kind == SourceKind::RELEASE.as_str() => format!("{offered} as it is now"),
        Some(_) => "other values".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
