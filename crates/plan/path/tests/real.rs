//! Every step over the 253 real releases. The expected numbers were counted apart from this code, with
//! a script of its own over the same files.

use std::collections::BTreeMap;

use super::super::*;
use super::{TODAY, settings, standing};
use crate::cluster::Cluster;
use crate::layout::discover;
use crate::policy::{self, AppliedBy, Occasion, PolicyFacts, ReleaseStep};
use crate::release::{Catalogue, Release, ReleaseState, downgrades, goes_back_in_time};
use crate::settings::{RepositorySettings, Track};
use capstan_kustomize::render::RenderedFolder;
use capstan_model::finding::{Finding, Severities};
use capstan_test_support::Files;

/// The releases as they are, and as they were when each of them was new: none archived or deprecated.
fn real() -> Option<(Catalogue, Catalogue)> {
    let tree = Files::from_bytes(capstan_test_support::shared_data::files("releases/giantswarm")?);
    let today = Catalogue::read(&tree, &discover(&tree, &RepositorySettings::default()));
    let then = today.releases().iter().cloned().map(|mut release| {
        let is_prerelease = release.version.is_prerelease();
        release.state = if is_prerelease { ReleaseState::Prerelease } else { ReleaseState::Active };
        release
    });
    let then = Catalogue::new(then.collect());
    Some((today, then))
}

/// What the rules say of a step of a cluster that names nothing but its release.
fn findings(from: &Release, to: &Release) -> Vec<Finding> {
    let folders = capstan_kustomize::render::Folders {
        cluster: capstan_model::tree::RepoPath::parse("c").unwrap(),
        base: capstan_model::tree::RepoPath::parse("c/base").unwrap(),
        overlay: capstan_model::tree::RepoPath::parse("c/overlay").unwrap(),
    };
    let nothing = RenderedFolder::default();
    let facts = PolicyFacts {
        folders: &folders,
        before: &nothing,
        after: &nothing,
        inside: &[],
        applied_by: AppliedBy::Others,
        occasion: Occasion::Upgrade,
        release: Some(ReleaseStep { from: Some(from), to, place: None }),
        schemas: capstan_kustomize::schema::Schemas::built_in(),
        cluster_api: None,
        boundary: None,
        values: None,
        today: TODAY,
    };
    policy::judge(&facts, &Severities::default())
}

fn count(findings: &[Finding], rule: &str) -> usize {
    findings.iter().filter(|finding| finding.rule.id() == rule).count()
}

#[test]
fn neighbouring_releases_go_back_as_often_as_the_data_says() {
    let Some((today, _)) = real() else { return };
    let mut counts: BTreeMap<&str, (usize, usize, usize, usize)> = BTreeMap::new();
    for provider in today.providers() {
        let releases: Vec<&Release> = today.of_provider(provider).collect();
        for pair in releases.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let said = findings(from, to);
            let back = downgrades(from, to);
            assert_eq!(
                count(&said, "component-downgrade"),
                back.len(),
                "{} to {}: each is listed",
                from.id,
                to.id
            );
            for part in &back {
                let words = format!("{} goes back from {} in {}", part.name, part.old, from.id);
                assert!(said.iter().any(|finding| finding.message.starts_with(&words)), "{words}");
            }
            let in_time = usize::from(goes_back_in_time(from, to).is_some());
            assert_eq!(count(&said, "release-goes-back-in-time"), in_time);
            let count = counts.entry(provider.as_str()).or_default();
            count.0 += 1;
            count.1 += in_time;
            count.2 += back.len();
            count.3 += usize::from(!back.is_empty());
        }
    }
    // Pairs, of which back in time; components that go back, and the pairs with any.
    let expected = [
        ("aks", (1, 0, 0, 0)),
        ("azure", (80, 4, 15, 6)),
        ("capa", (96, 11, 38, 9)),
        ("cloud-director", (36, 7, 13, 5)),
        ("eks", (4, 0, 0, 0)),
        ("vsphere", (30, 4, 10, 2)),
    ];
    assert_eq!(counts, BTreeMap::from(expected));
}

#[test]
fn no_active_release_lacks_what_its_providers_requests_ask_for() {
    let Some((today, then)) = real() else { return };
    assert_eq!(today.requests_problems(), []);
    for release in today.releases() {
        assert_eq!(release.unmet, [], "{}", release.id);
    }
    assert!(then.releases().iter().all(|release| release.unmet.is_empty()));
}

/// From every release: what is offered skips no minor unless it says so, goes back in time or takes
/// components back only with a finding for each, and the whole way ends at the newest.
#[test]
fn from_every_real_release_each_step_is_sound_or_warned_of() {
    let Some((today, then)) = real() else { return };
    let mut steps = 0;
    for (catalogue, may_skip) in [(&today, true), (&then, false)] {
        for start in catalogue.releases() {
            for track in [Track::Any, Track::Minor, Track::Patch] {
                let at = standing("-", "0.0").at(start);
                let told = upgrade_path(&at, &settings(track), catalogue, None, TODAY).unwrap();
                let mut before = start;
                for step in &told.steps {
                    let next = catalogue.find(&step.to).unwrap();
                    assert_eq!(step.from.as_ref(), Some(&before.id));
                    assert!(next.version > before.version && next.state == ReleaseState::Active);
                    assert_track(track, start, next);
                    assert_sound(before, next, step, may_skip);
                    before = next;
                    steps += 1;
                }
                let same_as_offered = offer(&at, &settings(track), catalogue, None, TODAY).unwrap();
                assert_eq!(
                    same_as_offered.step().map(|step| &step.to),
                    told.steps.first().map(|step| &step.to),
                    "the way begins with what is offered"
                );
                if track == Track::Any {
                    let newest =
                        catalogue.of_provider(&start.provider).filter(|release| release.is_offered()).last();
                    let newest = newest.filter(|newest| newest.version > start.version).unwrap_or(start);
                    assert_eq!(before.id, newest.id, "from {}", start.id);
                }
            }
        }
    }
    println!("{steps} steps over {} releases", today.releases().len());
    assert!(steps > 1_000, "only {steps} steps were taken");
}

fn assert_track(track: Track, start: &Release, next: &Release) {
    let (from, to) = (&start.version, &next.version);
    match track {
        Track::Patch => assert_eq!((from.major(), from.minor()), (to.major(), to.minor())),
        Track::Minor => assert_eq!(from.major(), to.major()),
        Track::Any | Track::None => {}
    }
}

fn assert_sound(from: &Release, to: &Release, step: &PathStep, may_skip: bool) {
    let (old, new) = (from.kubernetes.as_ref().unwrap(), to.kubernetes.as_ref().unwrap());
    let (old, new) = (old.minor(), new.minor());
    let skips = new.minor > old.minor + 1;
    assert_eq!(step.minor_skip.is_some(), skips, "{} to {}", from.id, to.id);
    assert!(may_skip || !skips, "{} to {} skips although every release is offered", from.id, to.id);
    let said = findings(from, to);
    assert_eq!(count(&said, "kubernetes-minor-skip"), usize::from(skips));
    // The dates are all written alike, so their texts compare as their times do.
    let goes_back = to.date.as_ref().unwrap() < from.date.as_ref().unwrap();
    assert_eq!(count(&said, "release-goes-back-in-time"), usize::from(goes_back), "{} to {}", from.id, to.id);
    assert_eq!(step.warnings.iter().any(|warning| warning.ends_with("it goes back in time.")), goes_back);
    let back = count(&said, "component-downgrade");
    assert_eq!(step.warnings.iter().filter(|warning| warning.contains(" goes back from ")).count(), back);
}

/// A cluster whose ConfigMap names a release is offered the same as one that records it.
#[test]
fn a_cluster_that_names_its_release_in_a_string_goes_the_same_way() {
    let Some(mut files) = capstan_test_support::shared_data::files("releases/giantswarm") else { return };
    let base = |name: &str, text: &str| (format!("org/dev01/base/{name}"), text.as_bytes().to_vec());
    files.push(base(
        "values.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: dev01-user-values}\ndata:\n  values: |\n    global:\n      release:\n        version: 32.4.0\n",
    ));
    files.push(base(
        "app.yaml",
        "apiVersion: application.giantswarm.io/v1alpha1\nkind: App\nmetadata: {name: dev01}\nspec:\n  name: cluster-aws\n  userConfig: {configMap: {name: dev01-user-values}}\n",
    ));
    let tree = Files::from_bytes(files);
    let layout = discover(&tree, &RepositorySettings::default());
    let catalogue = Catalogue::read(&tree, &layout);
    let cluster = Cluster::read(&tree, &layout.targets[0]).unwrap();
    let at = TargetPosition::of(&cluster, &settings(Track::Any), &catalogue);
    let told = upgrade_path(&at, &settings(Track::Any), &catalogue, None, TODAY).unwrap();
    let steps: Vec<(&str, &str)> = told
        .steps
        .iter()
        .map(|step| (step.to.as_str(), step.kubernetes.1.as_ref().unwrap().as_str()))
        .collect();
    assert_eq!(steps, [("capa/v33.4.0", "1.33.6"), ("capa/v34.5.0", "1.34.10")]);
    assert_eq!(told.end, "The cluster is at capa/v34.5.0, and there is no newer release.");
    assert_eq!(
        told.steps[0].why,
        "capa/v34.5.0 has Kubernetes 1.34, but 1.33 comes first: one minor at a time."
    );
}
