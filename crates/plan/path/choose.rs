//! Which release comes next.

use jiff::civil::Date;

use super::TargetPosition;
use super::outcome::{
    Direction, Excludes, MinorSkip, NoSuchRelease, NotOffered, Offer, OfferedStep, PathOutcome,
};
use crate::release::{Catalogue, Release, ReleaseState, nearest_release};
use crate::settings::{EffectiveSettings, Hold, Track};
use capstan_model::ids::{Provider, ReleaseId, ReleaseName};
use capstan_model::target::TargetKind;
use capstan_model::tree::RepoPath;
use capstan_model::version::ReleaseVersion;

/// How far a plan looks ahead.
pub(super) const HORIZON: usize = 100;

/// What a cluster is offered on that day (UTC), or what the release asked for by name means for it.
///
/// A person may ask for any release by name. What speaks against it is in the notes and in [`OfferedStep::minor_skip`].
///
/// # Errors
/// Where the release asked for does not exist.
pub fn offer(
    standing: &TargetPosition,
    settings: &EffectiveSettings,
    catalogue: &Catalogue,
    asked: Option<&ReleaseName>,
    today: Date,
) -> Result<Offer, NoSuchRelease> {
    let mut notes = settings.notes.clone();
    let outcome = match asked {
        Some(name) => asked_for(standing, settings, catalogue, name, today, &mut notes)?,
        None => by_itself(standing, settings, catalogue, today, &mut notes),
    };
    if let PathOutcome::Step(step) = &outcome {
        notes.extend(about(step, standing.kind));
    }
    Ok(Offer { from: standing.release.clone(), outcome, notes })
}

fn by_itself(
    standing: &TargetPosition,
    settings: &EffectiveSettings,
    catalogue: &Catalogue,
    today: Date,
    notes: &mut Vec<String>,
) -> PathOutcome {
    let nothing = PathOutcome::Nothing;
    if let Some(hold) = settings.hold_on(today) {
        return nothing(held(hold));
    }
    if settings.track == Track::None {
        return nothing(NotOffered::TrackNone);
    }
    if let Some(wished) = &settings.wished {
        return to_wished(standing, settings.track, catalogue, wished, notes);
    }
    let provider = match &standing.provider {
        Ok(provider) => provider,
        Err(unknown) => return nothing(NotOffered::Provider(unknown.clone())),
    };
    if standing.version.is_none() && settings.track != Track::Any {
        return nothing(NotOffered::ReleaseUnknown { track: settings.track });
    }
    notes.extend(unreadable(catalogue, provider, standing.version.as_ref()));
    notes.extend(passed_over(standing, catalogue, provider));
    notes.extend(requests_unreadable(catalogue, provider));
    if let Some((release, minor_skip)) = next(standing, settings.track, catalogue, provider) {
        notes.extend(minor_skip.map(|skip| why_skipped(skip, catalogue, provider)));
        return PathOutcome::Step(OfferedStep {
            to: release.id.clone(),
            content: release.content.clone(),
            direction: Direction::Forward,
            minor_skip,
            follows: follows(standing, release, settings.track, catalogue, provider),
        });
    }
    refresh(standing, catalogue)
        .unwrap_or_else(|| nothing(why_nothing(standing, settings.track, catalogue, provider)))
}

/// The next step to that release. `track` is what holds a cluster back: its own, or its overlay's.
fn to_wished(
    standing: &TargetPosition,
    track: Track,
    catalogue: &Catalogue,
    wished: &ReleaseId,
    notes: &mut Vec<String>,
) -> PathOutcome {
    let unreachable = |why: &str| {
        let (at, wished) = (standing.release.clone(), wished.clone());
        PathOutcome::Nothing(NotOffered::Unreachable { at, wished, why: why.to_owned() })
    };
    let Some(goal) = catalogue.find(wished).filter(|release| release.kind == standing.kind) else {
        let broken = catalogue.unreadable().iter().find(|(id, _)| id == wished);
        return match broken {
            Some((_, error)) => unreachable(&format!("cannot be read: {error}")),
            None => unreachable("does not exist"),
        };
    };
    if standing.release.as_ref() == Some(&goal.id) {
        let there = || PathOutcome::Nothing(NotOffered::AlreadyThere { at: goal.id.clone() });
        return refresh(standing, catalogue).unwrap_or_else(there);
    }
    if standing.release.is_some() && standing.provider.as_ref() != Ok(&goal.provider) {
        return unreachable("belongs to another provider than the cluster: it must be named explicitly");
    }
    if standing.version.as_ref().is_some_and(|version| goal.version < *version) {
        return unreachable("is older than the cluster's release: it must be named explicitly");
    }
    match next_to(standing, track, catalogue, goal) {
        Some((release, minor_skip)) => {
            notes.extend(minor_skip.map(|skip| why_skipped(skip, catalogue, &goal.provider)));
            let after =
                |at: &Release| next_to(&standing.at(at), track, catalogue, goal).map(|(release, _)| release);
            let follows = std::iter::successors(after(release), |release| after(release));
            PathOutcome::Step(OfferedStep {
                to: release.id.clone(),
                content: release.content.clone(),
                direction: Direction::Forward,
                minor_skip,
                follows: follows.take(HORIZON).map(|release| release.id.clone()).collect(),
            })
        }
        None => unreachable(&format!("is outside the track `{track}` of the cluster")),
    }
}

/// The newest that is offered up to the goal, which may be taken whatever its state; one minor at a time.
fn next_to<'a>(
    standing: &TargetPosition,
    track: Track,
    catalogue: &'a Catalogue,
    goal: &'a Release,
) -> Option<(&'a Release, Option<MinorSkip>)> {
    next_among(standing, || {
        standing
            .releases(catalogue, &goal.provider)
            .filter(|release| release.version <= goal.version)
            .filter(|release| release.is_offered() || release.version == goal.version)
            .filter(|release| within(track, standing.version.as_ref(), &release.version))
    })
}

pub(super) fn held(hold: &Hold) -> NotOffered {
    NotOffered::Held { reason: hold.reason.trim_end_matches('.').to_owned(), until: hold.until }
}

/// The newest release that the track allows. If that skips a minor of Kubernetes, it is the newest within the next
/// minor. If the next minor has none, it is the newest of all, with the skip.
pub(super) fn next<'a>(
    standing: &TargetPosition,
    track: Track,
    catalogue: &'a Catalogue,
    provider: &Provider,
) -> Option<(&'a Release, Option<MinorSkip>)> {
    next_among(standing, || {
        standing.releases(catalogue, provider).filter(|release| {
            release.is_offered() && within(track, standing.version.as_ref(), &release.version)
        })
    })
}

/// The same among some releases, oldest first: those that are newer than the cluster's count.
pub(super) fn next_among<'a, I: Iterator<Item = &'a Release>>(
    standing: &TargetPosition,
    among: impl Fn() -> I,
) -> Option<(&'a Release, Option<MinorSkip>)> {
    let allowed = || among().filter(|release| is_newer(release, standing));
    let newest = allowed().last()?;
    let Some(skip) = minor_skip(standing, newest) else { return Some((newest, None)) };
    let in_next = |release: &&Release| {
        standing.brought_by(release).is_some_and(|version| version.minor() == skip.from.next())
    };
    Some(match allowed().filter(in_next).last() {
        Some(release) => (release, None),
        None => (newest, Some(skip)),
    })
}

/// Newer than the cluster's release; where that is unknown, with no older Kubernetes than the cluster's.
pub(super) fn is_newer(release: &Release, standing: &TargetPosition) -> bool {
    match (&standing.version, standing.brought_by(release), &standing.kubernetes) {
        (Some(version), ..) => release.version > *version,
        (None, Some(offered), Some(current)) => offered.minor() >= current.minor(),
        (None, ..) => true,
    }
}

pub(super) fn within(track: Track, current: Option<&ReleaseVersion>, offered: &ReleaseVersion) -> bool {
    let Some(current) = current else { return track == Track::Any };
    match track {
        Track::Any => true,
        Track::Minor => offered.major() == current.major(),
        Track::Patch => offered.major() == current.major() && offered.minor() == current.minor(),
        Track::None => false,
    }
}

pub(super) fn minor_skip(standing: &TargetPosition, release: &Release) -> Option<MinorSkip> {
    let from = standing.kubernetes.as_ref()?.minor();
    let to = standing.brought_by(release)?.minor();
    (from.skips(to) && !standing.is_led_to(release)).then_some(MinorSkip { from, to })
}

fn follows(
    standing: &TargetPosition,
    first: &Release,
    track: Track,
    catalogue: &Catalogue,
    provider: &Provider,
) -> Vec<ReleaseId> {
    let after =
        |release: &Release| next(&standing.at(release), track, catalogue, provider).map(|(next, _)| next);
    let path = std::iter::successors(after(first), |release| after(release));
    path.take(HORIZON).map(|release| release.id.clone()).collect()
}

/// The cluster's own release, where its content is another than when it was taken.
pub(super) fn refresh(standing: &TargetPosition, catalogue: &Catalogue) -> Option<PathOutcome> {
    let release = catalogue.find(standing.release.as_ref()?).filter(|found| found.kind == standing.kind)?;
    let (taken, now) = (standing.content.as_ref()?, release.content.as_ref()?);
    (release.is_offered() && !taken.may_be(now)).then(|| {
        PathOutcome::Step(OfferedStep {
            to: release.id.clone(),
            content: Some(now.clone()),
            direction: Direction::Refresh,
            minor_skip: minor_skip(standing, release),
            follows: Vec::new(),
        })
    })
}

pub(super) fn why_nothing(
    standing: &TargetPosition,
    track: Track,
    catalogue: &Catalogue,
    provider: &Provider,
) -> NotOffered {
    let newest = standing.releases(catalogue, provider).filter(|release| is_newer(release, standing)).last();
    let (Some(at), Some(newest)) = (&standing.release, newest) else {
        return NotOffered::Newest { at: standing.release.clone(), provider: provider.clone() };
    };
    // The best of what the state allows says more than an archived one that is newer still.
    let active = standing
        .releases(catalogue, provider)
        .filter(|release| release.is_offered() && is_newer(release, standing))
        .last();
    let (newest, by, why) = match active {
        Some(active) => {
            (active, Excludes::Track, format!("the {}'s track is `{track}`", standing.kind.noun()))
        }
        None => {
            let why = newest.why_not_offered().unwrap_or_else(|| "is newer".to_owned());
            (newest, Excludes::State, format!("it {why}"))
        }
    };
    NotOffered::Excluded { at: at.clone(), newest: newest.id.clone(), by, why }
}

fn asked_for(
    standing: &TargetPosition,
    settings: &EffectiveSettings,
    catalogue: &Catalogue,
    name: &ReleaseName,
    today: Date,
    notes: &mut Vec<String>,
) -> Result<PathOutcome, NoSuchRelease> {
    let release = find(standing, catalogue, name)?;
    let differs = standing
        .content
        .as_ref()
        .is_some_and(|taken| release.content.as_ref().is_none_or(|now| !taken.may_be(now)));
    if standing.release.as_ref() == Some(&release.id) && !differs {
        return Ok(PathOutcome::Nothing(NotOffered::AlreadyThere { at: release.id.clone() }));
    }
    let direction = match &standing.version {
        _ if standing.release.as_ref() == Some(&release.id) => Direction::Refresh,
        _ if standing.provider.as_ref().is_ok_and(|provider| *provider != release.provider) => {
            Direction::Aside
        }
        Some(version) if release.version < *version => Direction::Back,
        _ => Direction::Forward,
    };
    if let Some(why) = release.why_not_offered() {
        notes.push(format!("{} is not offered automatically, because it {why}.", release.id));
    }
    if let Some(hold) = settings.hold_on(today) {
        notes.push(held(hold).to_string());
    }
    if direction == Direction::Forward && !within(settings.track, standing.version.as_ref(), &release.version)
    {
        notes.push(format!(
            "The {}'s track is `{}`; {} is outside it.",
            standing.kind.noun(),
            settings.track,
            release.id
        ));
    }
    Ok(PathOutcome::Step(OfferedStep {
        to: release.id.clone(),
        content: release.content.clone(),
        direction,
        minor_skip: minor_skip(standing, release),
        follows: Vec::new(),
    }))
}

pub(super) fn find<'a>(
    standing: &TargetPosition,
    catalogue: &'a Catalogue,
    name: &ReleaseName,
) -> Result<&'a Release, NoSuchRelease> {
    let found = match name {
        ReleaseName::Id(id) => catalogue.find(id),
        ReleaseName::Version(version) => {
            standing.provider.as_ref().ok().and_then(|provider| catalogue.find_version(provider, version))
        }
    };
    if let Some(other) = found.filter(|release| release.kind != standing.kind) {
        let hint = format!(
            " for {}: it is one for {}s, as the objects of its base say",
            standing.cluster,
            other.kind.noun()
        );
        return Err(NoSuchRelease { asked: name.to_string(), hint });
    }
    found.ok_or_else(|| {
        let asked = name.to_string();
        let is_asked_for = |id: &ReleaseId| match name {
            ReleaseName::Id(asked) => id == asked,
            ReleaseName::Version(version) => {
                id.version().as_ref() == Some(version) && standing.provider.as_ref() == Ok(&id.provider())
            }
        };
        let broken = catalogue.unreadable().iter().find(|(id, _)| is_asked_for(id));
        // A version alone means one of the provider's.
        let is_possible = |release: &&Release| match name {
            ReleaseName::Id(_) => true,
            ReleaseName::Version(_) => standing.provider.as_ref().is_ok_and(|own| release.provider == *own),
        };
        let fitting = catalogue.releases().iter().filter(|release| release.kind == standing.kind);
        let hint = match (broken, nearest_release(&asked, fitting.filter(is_possible))) {
            (Some((_, error)), _) => format!(" that can be read: {error}"),
            (None, Some(meant)) => format!("; did you mean {meant}?"),
            (None, None) => String::new(),
        };
        NoSuchRelease { asked, hint }
    })
}

/// Why a step skips a minor: no release has the next minor, or none of those that have it is offered. In the second
/// case the text names the newest of them.
pub(super) fn why_skipped(skip: MinorSkip, catalogue: &Catalogue, provider: &Provider) -> String {
    let minor = skip.from.next();
    let lies_there =
        |release: &&Release| release.kubernetes.as_ref().is_some_and(|version| version.minor() == minor);
    match catalogue.of_provider(provider).filter(lies_there).last() {
        Some(release) => format!(
            "No offered release has Kubernetes {minor}; {} does, but {}: you can ask for it by name.",
            release.id,
            release.why_not_offered().unwrap_or_else(|| "is outside the cluster's track".to_owned())
        ),
        None => format!("No release has Kubernetes {minor}."),
    }
}

/// Newer releases that nobody can take, because they cannot be read.
pub(super) fn unreadable<'a>(
    catalogue: &'a Catalogue,
    provider: &'a Provider,
    current: Option<&'a ReleaseVersion>,
) -> impl Iterator<Item = String> + 'a {
    let concerns = move |id: &ReleaseId| {
        let is_newer = id.version().is_some_and(|version| current.is_none_or(|current| version > *current));
        id.provider() == *provider && is_newer
    };
    catalogue
        .unreadable()
        .iter()
        .filter(move |(id, _)| concerns(id))
        .map(|(id, error)| format!("{id} is ignored, because it cannot be read: {error}."))
}

/// Newer releases that would be offered, did they have what is asked of them.
fn passed_over<'a>(
    standing: &'a TargetPosition,
    catalogue: &'a Catalogue,
    provider: &'a Provider,
) -> impl Iterator<Item = String> + 'a {
    let newer = standing.releases(catalogue, provider).filter(|release| is_newer(release, standing));
    newer.filter(|release| release.state == ReleaseState::Active).filter_map(|release| {
        let why = release.why_not_offered()?;
        Some(format!("{} is skipped, because it {why}.", release.id))
    })
}

/// What is asked of the provider's releases and cannot be read.
pub(super) fn requests_unreadable<'a>(
    catalogue: &'a Catalogue,
    provider: &'a Provider,
) -> impl Iterator<Item = String> + 'a {
    let of_provider = |file: &RepoPath| file.parent().is_some_and(|at| at.as_str() == provider.as_str());
    let problems = catalogue.requests_problems().iter();
    problems.filter(move |problem| of_provider(problem.place.file())).map(|problem| format!("{problem}."))
}

fn about(step: &OfferedStep, kind: TargetKind) -> Vec<String> {
    let mut notes = Vec::new();
    if step.direction == Direction::Refresh {
        notes.push(format!("{} has changed since the {} took it.", step.to, kind.noun()));
    }
    if let Some(MinorSkip { from, to }) = step.minor_skip {
        notes.push(format!("The step goes from Kubernetes {from} to {to} and skips the minors between."));
    }
    match step.follows.as_slice() {
        [] => {}
        [next] => notes.push(format!("{next} follows.")),
        [next, .., last] => {
            notes.push(format!("{next} follows, and then {} more up to {last}.", step.follows.len() - 1))
        }
    }
    notes
}
