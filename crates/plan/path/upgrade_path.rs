//! The whole upgrade path of a cluster, step by step, with the reason for each step: `plan --path`.

use jiff::civil::Date;
use serde_json::{Value, json};

use super::TargetPosition;
use super::choose::{
    HORIZON, find, held, is_newer, minor_skip, next, next_among, refresh, requests_unreadable, unreadable,
    why_nothing, why_skipped, within,
};
use super::outcome::{Direction, MinorSkip, NoSuchRelease, NotOffered, PathOutcome};
use crate::release::{Catalogue, Release, ReleaseState, downgrades, goes_back_in_time};
use crate::settings::{EffectiveSettings, Track};
use capstan_model::ids::{ClusterId, Provider, ReleaseId, ReleaseName};
use capstan_model::version::KubernetesVersion;

/// The upgrade path of one cluster to the newest release that it may have, or to one asked for by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpgradePath {
    pub cluster: ClusterId,
    /// The release it is at; `None` = unknown.
    pub from: Option<ReleaseId>,
    /// Its version of Kubernetes, where known.
    pub kubernetes: Option<KubernetesVersion>,
    /// The day of its release, where known.
    pub date: Option<Date>,
    /// The steps, each from where the one before leads to.
    pub steps: Vec<PathStep>,
    /// Why the first step is not proposed today although there is one: one sentence.
    pub held: Option<String>,
    /// Why the path ends where it does: one sentence.
    pub end: String,
    /// What a person should know besides, one sentence each.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathStep {
    /// Where the cluster is before it; `None` = unknown.
    pub from: Option<ReleaseId>,
    /// Where it is after it.
    pub to: ReleaseId,
    /// How that relates to where it was.
    pub direction: Direction,
    /// Kubernetes before and after, where known.
    pub kubernetes: (Option<KubernetesVersion>, Option<KubernetesVersion>),
    /// The days of the two releases, where known.
    pub dates: (Option<Date>, Option<Date>),
    /// Where the step leaves out a minor of Kubernetes: such a step is a draft.
    pub minor_skip: Option<MinorSkip>,
    /// Why this release and not a newer one.
    pub why: String,
    /// What is wrong with it, one sentence each.
    pub warnings: Vec<String>,
}

/// The upgrade path from a cluster's release: every step that [`offer`](super::offer) would make, one after the other.
/// A hold does not stop the path; it is reported beside the steps.
///
/// With `asked` the way leads to that release and no further, over releases that are offered; the track
/// does not count then, because a person asked.
///
/// # Errors
/// Where the release asked for does not exist.
pub fn upgrade_path(
    standing: &TargetPosition,
    settings: &EffectiveSettings,
    catalogue: &Catalogue,
    asked: Option<&ReleaseName>,
    today: Date,
) -> Result<UpgradePath, NoSuchRelease> {
    let goal = asked.map(|name| find(standing, catalogue, name)).transpose()?;
    let at = standing.release.as_ref().and_then(|id| catalogue.find(id));
    let mut path = UpgradePath {
        cluster: standing.cluster.clone(),
        from: standing.release.clone(),
        kubernetes: standing.kubernetes.clone(),
        date: at.and_then(Release::day),
        steps: Vec::new(),
        held: settings.hold_on(today).map(|hold| held(hold).to_string()),
        end: String::new(),
        notes: settings.notes.clone(),
    };
    match goal {
        Some(goal) => walk_to(&mut path, standing, catalogue, goal),
        None => walk(&mut path, standing, settings.track, catalogue),
    }
    Ok(path)
}

fn walk(path: &mut UpgradePath, standing: &TargetPosition, track: Track, catalogue: &Catalogue) {
    let end = |reason: NotOffered| reason.describe(standing.kind);
    if track == Track::None {
        path.end = end(NotOffered::TrackNone);
        return;
    }
    let provider = match &standing.provider {
        Ok(provider) => provider,
        Err(unknown) => {
            path.end = end(NotOffered::Provider(unknown.clone()));
            return;
        }
    };
    if standing.version.is_none() && track != Track::Any {
        path.end = end(NotOffered::ReleaseUnknown { track });
        return;
    }
    path.notes.extend(unreadable(catalogue, provider, standing.version.as_ref()));
    path.notes.extend(requests_unreadable(catalogue, provider));
    let mut at = standing.clone();
    while let Some((release, skip)) =
        next(&at, track, catalogue, provider).filter(|_| path.steps.len() < HORIZON)
    {
        let why = why_this(&at, release, skip, track, catalogue, provider);
        path.steps.push(path_step(&at, release, Direction::Forward, skip, why, catalogue));
        at = at.at(release);
    }
    if path.steps.is_empty()
        && let Some(PathOutcome::Step(step)) = refresh(&at, catalogue)
        && let Some(release) = catalogue.find(&step.to)
    {
        let why = format!("{} has changed since the {} took it.", release.id, at.kind.noun());
        path.steps.push(path_step(&at, release, Direction::Refresh, step.minor_skip, why, catalogue));
        at = at.at(release);
    }
    path.end = end(why_nothing(&at, track, catalogue, provider));
}

fn walk_to(path: &mut UpgradePath, standing: &TargetPosition, catalogue: &Catalogue, goal: &Release) {
    path.notes.extend(unreadable(catalogue, &goal.provider, standing.version.as_ref()));
    let mut at = standing.clone();
    let is_ahead = |at: &TargetPosition| at.provider.as_ref() == Ok(&goal.provider) && is_newer(goal, at);
    while is_ahead(&at) && path.steps.len() < HORIZON {
        let up_to_goal = || {
            let up_to = move |release: &&Release| release.version <= goal.version;
            let counts = move |release: &&Release| release.is_offered() || release.version == goal.version;
            standing.releases(catalogue, &goal.provider).filter(up_to).filter(counts)
        };
        let Some((release, skip)) = next_among(&at, up_to_goal) else { break };
        let why = if release.version == goal.version {
            let unoffered = goal.why_not_offered();
            unoffered
                .map_or_else(|| "It was asked for.".to_owned(), |why| format!("It was asked for; it {why}."))
        } else {
            leaves_out(&at, goal).unwrap_or_default()
        };
        path.steps.push(path_step(&at, release, Direction::Forward, skip, why, catalogue));
        at = at.at(release);
    }
    if at.release.as_ref() != Some(&goal.id) {
        let direction =
            if at.provider.as_ref() == Ok(&goal.provider) { Direction::Back } else { Direction::Aside };
        let skip = minor_skip(&at, goal);
        path.steps.push(path_step(&at, goal, direction, skip, "It was asked for.".to_owned(), catalogue));
    }
    path.end = format!("{} was asked for.", goal.id);
}

fn path_step(
    at: &TargetPosition,
    release: &Release,
    direction: Direction,
    minor_skip: Option<MinorSkip>,
    why: String,
    catalogue: &Catalogue,
) -> PathStep {
    let from = at.release.as_ref().and_then(|id| catalogue.find(id));
    let mut warnings = Vec::new();
    match direction {
        Direction::Forward | Direction::Refresh => {}
        Direction::Back => warnings.push(format!("{} is an older release.", release.id)),
        Direction::Aside => warnings.push(format!("{} is another provider's release.", release.id)),
    }
    if let Some(MinorSkip { from, to }) = minor_skip {
        warnings.push(format!(
            "It goes from Kubernetes {from} to {to} and skips the minors between, so the pull request is a draft."
        ));
    }
    if let Some(from) = from {
        if let Some((old, new)) = goes_back_in_time(from, release) {
            warnings.push(format!("{} is of {new}, {} of {old}: it goes back in time.", release.id, from.id));
        }
        let back = downgrades(from, release);
        warnings.extend(
            back.iter().map(|part| format!("{} goes back from {} to {}.", part.name, part.old, part.new)),
        );
    }
    warnings.extend(release.unmet.iter().map(|unmet| format!("{unmet}.")));
    PathStep {
        from: at.release.clone(),
        to: release.id.clone(),
        direction,
        kubernetes: (
            at.kubernetes.clone(),
            at.brought_by(release).cloned().or_else(|| at.kubernetes.clone()),
        ),
        dates: (from.and_then(Release::day), release.day()),
        minor_skip,
        why,
        warnings,
    }
}

/// Why a release and not a newer one: each reason with the newest release that it keeps away.
fn why_this(
    at: &TargetPosition,
    chosen: &Release,
    skip: Option<MinorSkip>,
    track: Track,
    catalogue: &Catalogue,
    provider: &Provider,
) -> String {
    let mut reasons = Vec::new();
    reasons.extend(skip.map(|skip| why_skipped(skip, catalogue, provider)));
    let newer = || at.releases(catalogue, provider).filter(|release| release.version > chosen.version);
    let in_track = |release: &&Release| within(track, at.version.as_ref(), &release.version);
    let far = newer().filter(|release| release.is_offered()).filter(in_track).last();
    reasons.extend(far.and_then(|release| leaves_out(at, release)));
    let outside = newer().filter(|release| release.is_offered() && !in_track(release)).last();
    reasons.extend(outside.map(|release| {
        format!("The {}'s track is `{track}`; {} is outside it.", at.kind.noun(), release.id)
    }));
    // A release out of reach explains nothing unless it is newer than those above.
    let newest_offered = [far, outside].into_iter().flatten().max_by(|a, b| a.version.cmp(&b.version));
    let explains = |release: &&Release| {
        let in_reach = release.state != ReleaseState::Archived && minor_skip(at, release).is_none();
        in_reach || newest_offered.is_none_or(|offered| release.version > offered.version)
    };
    let kept_away = newer().filter(|release| !release.is_offered()).filter(explains).last();
    reasons.extend(
        kept_away.and_then(|release| Some(format!("{} {}.", release.id, release.why_not_offered()?))),
    );
    if reasons.is_empty() {
        return "It is the newest release.".to_owned();
    }
    reasons.join(" ")
}

fn leaves_out(at: &TargetPosition, release: &Release) -> Option<String> {
    let MinorSkip { from, to } = minor_skip(at, release)?;
    Some(format!("{} has Kubernetes {to}, but {} comes first: one minor at a time.", release.id, from.next()))
}

/// One element of the array that `plan --path -o json` prints.
pub fn path_to_json(path: &UpgradePath) -> Value {
    let skip = |skip: &MinorSkip| json!({"from": skip.from.to_string(), "to": skip.to.to_string()});
    let direction = |direction: Direction| match direction {
        Direction::Forward => "forward",
        Direction::Refresh => "refresh",
        Direction::Back => "back",
        Direction::Aside => "aside",
    };
    let step = |step: &PathStep| {
        json!({
            "from": step.from,
            "to": step.to,
            "direction": direction(step.direction),
            "kubernetes": {"from": step.kubernetes.0, "to": step.kubernetes.1},
            "date": {"from": step.dates.0, "to": step.dates.1},
            "skips": step.minor_skip.as_ref().map(skip),
            "why": step.why,
            "warnings": step.warnings,
        })
    };
    json!({
        "cluster": path.cluster.as_str(),
        "from": path.from,
        "kubernetes": path.kubernetes,
        "date": path.date,
        "steps": path.steps.iter().map(step).collect::<Vec<_>>(),
        "held": path.held,
        "end": path.end,
        "notes": path.notes,
    })
}
