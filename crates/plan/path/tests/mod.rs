//! The way from release to release: table rows, and every real release there is.

mod real;
mod upgrade_path;
mod wished;

use std::sync::Arc;

use jiff::civil::{Date, date};

use super::*;
use crate::layout::{ReleaseShelf, discover};
use crate::release::{Catalogue, Release, ReleaseState};
use crate::settings::{EffectiveSettings, Hold, RepositorySettings, Track};
use capstan_model::ids::{ClusterId, Provider, ReleaseId, ReleaseName};
use capstan_model::rest::Rest;
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, TreeId};
use capstan_model::version::KubernetesVersion;
use capstan_test_support::Files;

pub(super) const TODAY: Date = date(2026, 11, 21);

/// `aws/v3.0.0 1.32 wip`: id, Kubernetes and state.
pub(super) fn release(row: &str) -> Release {
    let mut words = row.split(' ');
    let id = ReleaseId::from_path(words.next().unwrap());
    let kubernetes = words.next().filter(|word| *word != "-").map(|minor| format!("v{minor}.5"));
    let state = match words.next() {
        None => ReleaseState::Active,
        Some("wip") => ReleaseState::Wip,
        Some("archived") => ReleaseState::Archived,
        Some("deprecated") => ReleaseState::Deprecated,
        Some("preview") => ReleaseState::Preview,
        Some("prerelease") => ReleaseState::Prerelease,
        Some(other) => panic!("{other}"),
    };
    Release {
        kind: TargetKind::Cluster,
        folder: RepoPath::parse(id.as_str()).unwrap(),
        provider: id.provider(),
        version: id.version().unwrap(),
        state,
        content: Some(TreeId::parse(&"1".repeat(40)).unwrap().into()),
        date: None,
        kubernetes: kubernetes.and_then(|text| KubernetesVersion::parse(&text)),
        components: vec![],
        apps: vec![],
        variables: Default::default(),
        infrastructure_kinds: Default::default(),
        base_files: vec![],
        overlay_files: vec![],
        services: Vec::new().into(),
        rendering: Arc::default(),
        manifest: None,
        notes: None,
        unmet: vec![],
        class_versions: vec![],
        id,
    }
}

pub(super) fn catalogue(rows: &[&str]) -> Catalogue {
    Catalogue::new(rows.iter().map(|row| release(row)).collect())
}

/// A cluster at that release and minor; `-` = unknown.
pub(super) fn standing(at: &str, kubernetes: &str) -> TargetPosition {
    let id = (at != "-").then(|| ReleaseId::from_path(at));
    TargetPosition {
        kind: TargetKind::Cluster,
        cluster: ClusterId::new(RepoPath::parse("gauss/peu01").unwrap()),
        version: id.as_ref().and_then(ReleaseId::version),
        content: Some(TreeId::parse(&"1".repeat(40)).unwrap().into()),
        kubernetes: KubernetesVersion::parse(&format!("v{kubernetes}.0")),
        provider: Ok(id.as_ref().map_or_else(|| Provider::new("aws"), ReleaseId::provider)),
        brings: Default::default(),
        class_versions: vec![],
        release: id,
    }
}

pub(super) fn settings(track: Track) -> EffectiveSettings {
    EffectiveSettings { track, hold: None, provider: None, claimed_by: None, wished: None, notes: vec![] }
}

/// `aws/v2.0.0`, `aws/v3.0.0 skipping`, or the reason in words.
fn said(offer: &Offer) -> String {
    match &offer.outcome {
        PathOutcome::Step(step) if step.minor_skip.is_some() => format!("{} skipping", step.to),
        PathOutcome::Step(step) => step.to.to_string(),
        PathOutcome::Nothing(why) => why.to_string(),
    }
}

#[test]
fn the_newest_release_is_offered_that_the_track_allows_and_that_skips_no_minor() {
    const ROWS: [&str; 9] = [
        "aws/v1.0.0 1.30",
        "aws/v1.0.9 1.30",
        "aws/v1.2.0 1.31",
        "aws/v2.0.0 1.31",
        "aws/v2.1.0 1.32",
        "aws/v3.0.0 1.33",
        "aws/v4.0.0 1.34 wip",
        "aws/v5.0.0-rc.1 1.34 prerelease",
        "capa/v9.0.0 1.31",
    ];
    let cases = [
        ("aws/v1.0.0", "1.30", Track::Any, "aws/v2.0.0"),
        ("aws/v2.0.0", "1.31", Track::Any, "aws/v2.1.0"),
        ("aws/v2.1.0", "1.32", Track::Any, "aws/v3.0.0"),
        ("aws/v1.0.0", "1.30", Track::Minor, "aws/v1.2.0"),
        ("aws/v1.0.0", "1.30", Track::Patch, "aws/v1.0.9"),
        ("aws/v1.0.0", "1.30", Track::None, "The cluster's track is `none`, so nothing is offered."),
        (
            "aws/v1.0.9",
            "1.30",
            Track::Patch,
            "The cluster is at aws/v1.0.9; the newest release aws/v3.0.0 is not offered, because the cluster's track is `patch`.",
        ),
        (
            "aws/v3.0.0",
            "1.33",
            Track::Any,
            "The cluster is at aws/v3.0.0; the newest release aws/v5.0.0-rc.1 is not offered, because it is a pre-release.",
        ),
        ("aws/v5.0.0", "1.34", Track::Any, "The cluster is at aws/v5.0.0, and there is no newer release."),
        ("-", "1.30", Track::Any, "aws/v2.0.0"),
        ("-", "-", Track::Any, "aws/v3.0.0"),
        (
            "-",
            "1.30",
            Track::Minor,
            "The cluster's release is unknown, so what its track `minor` allows is unknown: record `release` in its capstan.yaml.",
        ),
        ("-", "1.34", Track::Any, "The provider aws has no release that is offered."),
        // The cluster's own base says more than its release: an edit held it back.
        ("aws/v2.0.0", "1.30", Track::Any, "aws/v3.0.0 skipping"),
        // A release that is no longer there still says where the cluster is.
        ("aws/v0.9.0", "1.30", Track::Any, "aws/v2.0.0"),
    ];
    for (at, kubernetes, track, expected) in cases {
        let offer =
            offer(&standing(at, kubernetes), &settings(track), &catalogue(&ROWS), None, TODAY).unwrap();
        assert_eq!(said(&offer), expected, "from {at} at {kubernetes} on {track}");
    }
}

#[test]
fn the_plan_says_what_follows() {
    let rows = ["aws/v1.0.0 1.30", "aws/v2.0.0 1.31", "aws/v3.0.0 1.32", "aws/v4.0.0 1.33"];
    let offer = offer(&standing("aws/v1.0.0", "1.30"), &settings(Track::Any), &catalogue(&rows), None, TODAY)
        .unwrap();
    let follows: Vec<&str> = offer.step().unwrap().follows.iter().map(ReleaseId::as_str).collect();
    assert_eq!(follows, ["aws/v3.0.0", "aws/v4.0.0"]);
    assert_eq!(offer.notes, ["aws/v3.0.0 follows, and then 1 more up to aws/v4.0.0."]);
}

#[test]
fn without_a_release_in_the_next_minor_the_newest_is_offered_with_the_skip() {
    let cases = [
        (["aws/v1.0.0 1.30", "aws/v2.0.0 1.32", "aws/v3.0.0 1.33"], "No release has Kubernetes 1.31."),
        (
            ["aws/v1.0.0 1.30", "aws/v2.0.0 1.31 archived", "aws/v3.0.0 1.33"],
            "No offered release has Kubernetes 1.31; aws/v2.0.0 does, but is archived: you can ask for it by name.",
        ),
    ];
    for (rows, why) in cases {
        let offer =
            offer(&standing("aws/v1.0.0", "1.30"), &settings(Track::Any), &catalogue(&rows), None, TODAY)
                .unwrap();
        assert_eq!(said(&offer), "aws/v3.0.0 skipping");
        assert_eq!(
            offer.notes,
            [why, "The step goes from Kubernetes 1.30 to 1.33 and skips the minors between."]
        );
    }
}

#[test]
fn a_hold_stops_offers_until_its_day() {
    let mut held = settings(Track::Any);
    let catalogue = catalogue(&["aws/v1.0.0 1.30", "aws/v2.0.0 1.31"]);
    let cases = [
        (Some(date(2026, 12, 1)), "The overlay holds upgrades back until 2026-12-01: audit."),
        (None, "The overlay holds upgrades back: audit."),
        (Some(TODAY), "aws/v2.0.0"),
    ];
    for (until, expected) in cases {
        held.hold = Some(Hold { reason: "audit".into(), until });
        let offer = offer(&standing("aws/v1.0.0", "1.30"), &held, &catalogue, None, TODAY).unwrap();
        assert_eq!(said(&offer), expected);
    }
}

#[test]
fn why_nothing_is_offered_is_one_word() {
    let newer = catalogue(&["aws/v1.0.0 1.30", "aws/v2.0.0 1.31"]);
    let archived = catalogue(&["aws/v1.0.0 1.30", "aws/v2.0.0 1.31 deprecated"]);
    let mut held = settings(Track::None);
    held.hold = Some(Hold { reason: "audit".into(), until: None });
    let cases = [
        (&newer, settings(Track::Patch), Rest::Pinned),
        (&newer, settings(Track::None), Rest::Pinned),
        (&newer, held, Rest::Held),
        (&archived, settings(Track::Any), Rest::Current),
        (&archived, settings(Track::Patch), Rest::Current),
    ];
    for (catalogue, settings, expected) in cases {
        let offer = offer(&standing("aws/v1.0.0", "1.30"), &settings, catalogue, None, TODAY).unwrap();
        let PathOutcome::Nothing(reason) = &offer.outcome else { unreachable!("{offer:?}") };
        assert_eq!(reason.rest(), expected, "{reason}");
    }
}

#[test]
fn a_release_whose_content_changed_is_offered_again() {
    let catalogue = catalogue(&["aws/v1.0.0 1.30", "aws/v1.1.0 1.30 deprecated"]);
    let mut standing = standing("aws/v1.0.0", "1.30");
    standing.content = Some(TreeId::parse(&"2".repeat(40)).unwrap().into());
    let again = offer(&standing, &settings(Track::Any), &catalogue, None, TODAY).unwrap();
    assert_eq!(again.step().unwrap().direction, Direction::Refresh);
    assert_eq!(again.notes, ["aws/v1.0.0 has changed since the cluster took it."]);
    standing.content = None;
    let unknown = offer(&standing, &settings(Track::Any), &catalogue, None, TODAY).unwrap();
    assert_eq!(unknown.step(), None, "without a record nothing says that it changed");
}

#[test]
fn by_name_every_release_may_be_taken_and_what_speaks_against_it_is_said() {
    let rows = [
        "aws/v1.0.0 1.30",
        "aws/v2.0.0 1.31",
        "aws/v3.0.0 1.32",
        "aws/v4.0.0 1.32 archived",
        "capa/v1.0.0 1.30",
    ];
    let cases = [
        ("aws/v2.0.0", "aws/v1.0.0", Direction::Back, vec![]),
        ("aws/v1.0.0", "aws/v2.0.0", Direction::Forward, vec![]),
        ("aws/v1.0.0", "2.0.0", Direction::Forward, vec![]),
        ("aws/v1.0.0", "aws/2.0.0", Direction::Forward, vec![]),
        (
            "aws/v2.0.0",
            "aws/v4.0.0",
            Direction::Forward,
            vec!["aws/v4.0.0 is not offered automatically, because it is archived."],
        ),
        (
            "aws/v1.0.0",
            "aws/v3.0.0",
            Direction::Forward,
            vec!["The step goes from Kubernetes 1.30 to 1.32 and skips the minors between."],
        ),
        ("aws/v1.0.0", "capa/v1.0.0", Direction::Aside, vec![]),
    ];
    for (at, name, direction, notes) in cases {
        let catalogue = catalogue(&rows);
        let kubernetes = catalogue.find(&ReleaseId::from_path(at)).unwrap().kubernetes.clone().unwrap();
        let standing = standing(at, &kubernetes.minor().to_string());
        let name = ReleaseName::parse(name).unwrap();
        let offer = offer(&standing, &settings(Track::Any), &catalogue, Some(&name), TODAY).unwrap();
        assert_eq!(
            (offer.step().unwrap().direction, offer.notes),
            (direction, notes.into_iter().map(String::from).collect()),
            "{name:?}"
        );
    }
    let asked = |name: &str| {
        let name = ReleaseName::parse(name).unwrap();
        offer(&standing("aws/v1.0.0", "1.30"), &settings(Track::Any), &catalogue(&rows), Some(&name), TODAY)
    };
    assert_eq!(said(&asked("aws/v1.0.0").unwrap()), "The cluster is up to date with aws/v1.0.0.");
    assert_eq!(
        asked("aws/v2.0.1").unwrap_err().to_string(),
        "there is no release aws/v2.0.1; did you mean aws/v2.0.0?"
    );
    assert_eq!(asked("gcp/v77.0.0").unwrap_err().to_string(), "there is no release gcp/v77.0.0");
}

#[test]
fn who_does_not_know_whose_releases_to_follow_says_so() {
    let mut lost = standing("-", "1.30");
    let two = ProviderUnknown::Several { providers: vec![Provider::new("aws"), Provider::new("capa")] };
    let named = ProviderUnknown::Named { provider: Provider::new("gcp"), by: "its release" };
    let cases = [
        (
            two,
            "The cluster could follow the releases of aws or capa: choose one with `provider` in a rule of `clusters.rules`.",
        ),
        (named, "The provider of the cluster is gcp by its release, and no release of it was found."),
        (ProviderUnknown::NoReleases, "No releases were found."),
    ];
    for (unknown, expected) in cases {
        lost.provider = Err(unknown);
        assert_eq!(
            said(&offer(&lost, &settings(Track::Any), &Catalogue::default(), None, TODAY).unwrap()),
            expected
        );
    }
}

/// Walks every provider from its oldest release to its newest: with archived releases on offer, as when
/// they were new, no step leaves out a minor; with the releases of today, a step that does says so.
#[test]
fn no_step_over_the_real_releases_skips_a_minor() {
    let Some(files) = capstan_test_support::shared_data::files("releases/giantswarm") else { return };
    let tree = Files::from_bytes(files);
    let layout = discover(&tree, &RepositorySettings::default());
    let today = Catalogue::read(&tree, &layout);
    let mut then = Vec::new();
    for folder in &layout.releases {
        let mut release = Release::read(&tree, folder).unwrap();
        let is_prerelease = release.version.is_prerelease();
        release.state = if is_prerelease { ReleaseState::Prerelease } else { ReleaseState::Active };
        assert!(folder.shelf == ReleaseShelf::Archived || release.kubernetes.is_some());
        then.push(release);
    }
    let then = Catalogue::new(then);
    let mut steps = 0;
    for provider in then.providers() {
        let first = then.of_provider(provider).next().unwrap();
        let mut at = standing("-", "0.0").at(first);
        while let Some(step) = offer(&at, &settings(Track::Any), &then, None, TODAY).unwrap().step() {
            let next = then.find(&step.to).unwrap();
            assert_eq!(step.minor_skip, None, "from {:?} to {}", at.release, step.to);
            assert!(!at.kubernetes.clone().unwrap().minor().skips(next.kubernetes.clone().unwrap().minor()));
            at = at.at(next);
            steps += 1;
        }
        let newest = then.of_provider(provider).filter(|release| release.is_offered()).last();
        assert_eq!(at.release.as_ref(), newest.map(|release| &release.id), "the way leads to the newest");
    }
    assert!(steps >= 30, "only {steps} steps were taken");
    for release in today.releases() {
        let at = standing("-", "0.0").at(release);
        if let Some(step) = offer(&at, &settings(Track::Any), &today, None, TODAY).unwrap().step() {
            let next = today.find(&step.to).unwrap();
            let skips = at.kubernetes.unwrap().minor().skips(next.kubernetes.clone().unwrap().minor());
            assert_eq!(skips, step.minor_skip.is_some(), "from {} to {}", release.id, step.to);
            assert!(next.version > release.version && next.state == ReleaseState::Active);
        }
    }
}

#[test]
fn what_a_cluster_needs_and_nobody_can_read_is_its_error() {
    let broken = "kind: Cluster\nspec: [\n";
    let files = Files::new(&[
        ("aws/v1.0.0/base/a.yaml", "kind: Cluster\n"),
        ("aws/v1.1.0/base/a.yaml", broken),
        ("aws/v1.2.0/base/a.yaml", "kind: Cluster\n"),
        ("aws/archived/v9.0.0/base/a.yaml", broken),
        ("capa/v2.0.0/base/a.yaml", broken),
        ("vsphere/v1.0.0/base/a.yaml", broken),
        ("vsphere/v1.1.0/base/a.yaml", "kind: Cluster\n"),
        ("vsphere/v2.0.0-rc.1/base/a.yaml", broken),
    ]);
    let layout = discover(&files, &RepositorySettings::default());
    let catalogue = Catalogue::read(&files, &layout);
    let named = Err(ProviderUnknown::Named { provider: Provider::new("capa"), by: "its release" });
    let rows = [
        // A broken one that is not the newest is passed over.
        (standing("aws/v1.0.0", "1.30"), Track::Any, OwnContent::InItsFolder, None),
        (standing("aws/v1.0.0", "1.30"), Track::None, OwnContent::InItsFolder, None),
        // Its own.
        (
            standing("vsphere/v1.0.0", "1.30"),
            Track::Any,
            OwnContent::InItsFolder,
            Some("vsphere/v1.0.0/base/a.yaml"),
        ),
        (standing("vsphere/v1.0.0", "1.30"), Track::Any, OwnContent::Elsewhere, None),
        // A provider of which nothing can be read.
        (
            TargetPosition { provider: named, ..standing("capa/v1.0.0", "1.30") },
            Track::Any,
            OwnContent::InItsFolder,
            Some("capa/v2.0.0/base/a.yaml"),
        ),
        // The newest, and one outside of the track.
        (
            standing("capa/v1.0.0", "1.30"),
            Track::Any,
            OwnContent::InItsFolder,
            Some("capa/v2.0.0/base/a.yaml"),
        ),
        (standing("capa/v1.0.0", "1.30"), Track::Minor, OwnContent::InItsFolder, None),
    ];
    for (standing, track, own, expected) in rows {
        let found = unreadable(&standing, &settings(track), &catalogue, own, TODAY);
        let file = found.map(|error| error.place().file().to_string());
        assert_eq!(file.as_deref(), expected, "{standing:?}");
        assert!(found.is_none_or(|error| error.place().line().is_some()));
    }
}

#[test]
fn releases_of_another_kind_are_neither_offered_nor_taken_by_name() {
    let mut rows: Vec<Release> =
        ["mc/v1.0.0 -", "mc/v2.0.0 -", "mc/v3.0.0 -", "aws/v9.0.0 1.30"].into_iter().map(release).collect();
    for row in &mut rows[..2] {
        row.kind = TargetKind::Providers;
    }
    let catalogue = Catalogue::new(rows);
    let set =
        TargetPosition { kind: TargetKind::Providers, kubernetes: None, ..standing("mc/v1.0.0", "1.30") };
    let offered = |at: &TargetPosition, asked: Option<&ReleaseName>| {
        offer(at, &settings(Track::Any), &catalogue, asked, TODAY).map(|offer| said(&offer))
    };
    assert_eq!(offered(&set, None).unwrap(), "mc/v2.0.0", "mc/v3.0.0 is one for clusters");
    let asked = ReleaseName::parse("mc/v3.0.0");
    assert_eq!(
        offered(&set, asked.as_ref()).unwrap_err().to_string(),
        "there is no release mc/v3.0.0 for gauss/peu01: it is one for clusters, as the objects of its base say"
    );
    let at_the_end =
        TargetPosition { kind: TargetKind::Providers, kubernetes: None, ..standing("mc/v2.0.0", "1.30") };
    let nothing = offer(&at_the_end, &settings(Track::Any), &catalogue, None, TODAY).unwrap();
    let PathOutcome::Nothing(why) = nothing.outcome else { panic!("{nothing:?}") };
    assert_eq!(
        why.describe(TargetKind::Providers),
        "The provider set is at mc/v2.0.0, and there is no newer release."
    );
    let cluster = standing("mc/v3.0.0", "1.30");
    assert_eq!(
        offered(&cluster, None).unwrap(),
        "The cluster is at mc/v3.0.0, and there is no newer release."
    );
}

/// A class that lists a version of every minor lets Cluster API go through those between by itself.
#[test]
fn a_class_that_leads_there_skips_no_minor() {
    let versions = |text: &str| text.split(' ').map(|text| KubernetesVersion::parse(text).unwrap()).collect();
    let catalogue = || {
        let mut newest = release("aws/v3.0.0 1.33");
        newest.class_versions = vec![versions("v1.30.0 v1.31.5 v1.32.5 v1.33.5")];
        Catalogue::new(vec![release("aws/v1.0.0 1.30"), release("aws/v2.0.0 1.31"), newest])
    };
    let offered = |standing: &TargetPosition, catalogue: &Catalogue| {
        said(&offer(standing, &settings(Track::Any), catalogue, None, TODAY).unwrap())
    };
    let cluster = standing("aws/v1.0.0", "1.30");
    assert_eq!(offered(&cluster, &catalogue()), "aws/v3.0.0");
    // The class of the cluster's own base counts where the release brings none.
    let mut plain = release("aws/v3.0.0 1.33");
    let two = |newest: Release| Catalogue::new(vec![release("aws/v1.0.0 1.30"), newest]);
    assert_eq!(offered(&cluster, &two(plain.clone())), "aws/v3.0.0 skipping");
    let own = TargetPosition {
        class_versions: vec![versions("v1.30.0 v1.31.5 v1.32.5 v1.33.5")],
        ..cluster.clone()
    };
    assert_eq!(offered(&own, &two(plain.clone())), "aws/v3.0.0");
    // A list with a gap leads nowhere.
    plain.class_versions = vec![versions("v1.30.0 v1.33.5")];
    assert_eq!(offered(&own, &two(plain)), "aws/v3.0.0 skipping");
}
