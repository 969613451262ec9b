//! Ways to their end: table rows.

use jiff::civil::date;

use super::super::*;
use super::{TODAY, catalogue, settings, standing};
use crate::release::{App, Catalogue, Requests};
use crate::settings::{Hold, Track};
use capstan_model::ids::{Provider, ReleaseId, ReleaseName};
use capstan_model::tree::RepoPath;
use capstan_model::version::LooseVersion;
use capstan_yaml::YamlFile;

/// `aws/v1.0.0 -> aws/v2.0.0: why | warning | ...`
fn step_lines(path: &UpgradePath) -> Vec<String> {
    let step = |step: &PathStep| {
        let from = step.from.as_ref().map_or("?", ReleaseId::as_str);
        let mut line = format!("{from} -> {}: {}", step.to, step.why);
        step.warnings.iter().for_each(|warning| line.push_str(&format!(" | {warning}")));
        line
    };
    path.steps.iter().map(step).collect()
}

const ROWS: [&str; 8] = [
    "aws/v1.0.0 1.30",
    "aws/v1.0.9 1.30",
    "aws/v1.2.0 1.31",
    "aws/v2.0.0 1.31",
    "aws/v2.1.0 1.32",
    "aws/v3.0.0 1.33",
    "aws/v4.0.0 1.34 wip",
    "aws/v5.0.0-rc.1 1.34 prerelease",
];

#[test]
fn every_step_says_why_it_is_that_one_and_not_a_newer_one() {
    let told_way =
        upgrade_path(&standing("aws/v1.0.0", "1.30"), &settings(Track::Any), &catalogue(&ROWS), None, TODAY)
            .unwrap();
    assert_eq!(
        step_lines(&told_way),
        [
            "aws/v1.0.0 -> aws/v2.0.0: aws/v3.0.0 has Kubernetes 1.33, but 1.31 comes first: one minor at a time. aws/v5.0.0-rc.1 is a pre-release.",
            "aws/v2.0.0 -> aws/v2.1.0: aws/v3.0.0 has Kubernetes 1.33, but 1.32 comes first: one minor at a time. aws/v5.0.0-rc.1 is a pre-release.",
            "aws/v2.1.0 -> aws/v3.0.0: aws/v5.0.0-rc.1 is a pre-release.",
        ]
    );
    assert_eq!(
        told_way.end,
        "The cluster is at aws/v3.0.0; the newest release aws/v5.0.0-rc.1 is not offered, because it is a pre-release."
    );
    let minors: Vec<String> =
        told_way.steps[0].kubernetes.1.iter().map(|version| version.minor().to_string()).collect();
    assert_eq!((minors, told_way.held), (vec!["1.31".to_owned()], None));
}

#[test]
fn the_track_and_the_hold_are_reported() {
    let catalogue = catalogue(&ROWS);
    let at = standing("aws/v1.0.0", "1.30");
    let cases = [
        (
            Track::Patch,
            vec![
                "aws/v1.0.0 -> aws/v1.0.9: The cluster's track is `patch`; aws/v3.0.0 is outside it. aws/v5.0.0-rc.1 is a pre-release.",
            ],
            "The cluster is at aws/v1.0.9; the newest release aws/v3.0.0 is not offered, because the cluster's track is `patch`.",
        ),
        (
            Track::Minor,
            vec![
                "aws/v1.0.0 -> aws/v1.2.0: The cluster's track is `minor`; aws/v3.0.0 is outside it. aws/v5.0.0-rc.1 is a pre-release.",
            ],
            "The cluster is at aws/v1.2.0; the newest release aws/v3.0.0 is not offered, because the cluster's track is `minor`.",
        ),
        (Track::None, vec![], "The cluster's track is `none`, so nothing is offered."),
    ];
    for (track, steps, end) in cases {
        let told_way = upgrade_path(&at, &settings(track), &catalogue, None, TODAY).unwrap();
        assert_eq!(
            (step_lines(&told_way), told_way.end.as_str()),
            (steps.into_iter().map(String::from).collect(), end)
        );
    }
    let mut settings = settings(Track::Any);
    settings.hold = Some(Hold { reason: "audit".into(), until: Some(date(2026, 12, 1)) });
    let held = upgrade_path(&at, &settings, &catalogue, None, TODAY).unwrap();
    assert_eq!(held.held.as_deref(), Some("The overlay holds upgrades back until 2026-12-01: audit."));
    assert_eq!(held.steps.len(), 3, "what follows the hold is told all the same");
}

#[test]
fn a_way_may_be_asked_to_a_release() {
    let catalogue = catalogue(&ROWS);
    let asked = |at: &str, kubernetes: &str, name: &str| {
        let name = ReleaseName::parse(name).unwrap();
        upgrade_path(&standing(at, kubernetes), &settings(Track::Patch), &catalogue, Some(&name), TODAY)
            .unwrap()
    };
    assert_eq!(
        step_lines(&asked("aws/v1.0.0", "1.30", "aws/v2.1.0")),
        [
            "aws/v1.0.0 -> aws/v2.0.0: aws/v2.1.0 has Kubernetes 1.32, but 1.31 comes first: one minor at a time.",
            "aws/v2.0.0 -> aws/v2.1.0: It was asked for.",
        ]
    );
    assert_eq!(
        step_lines(&asked("aws/v3.0.0", "1.33", "4.0.0")),
        ["aws/v3.0.0 -> aws/v4.0.0: It was asked for; it is wip."]
    );
    assert_eq!(
        step_lines(&asked("aws/v2.0.0", "1.31", "aws/v1.0.9")),
        ["aws/v2.0.0 -> aws/v1.0.9: It was asked for. | aws/v1.0.9 is an older release."]
    );
    assert_eq!(step_lines(&asked("aws/v2.0.0", "1.31", "aws/v2.0.0")), [""; 0]);
}

#[test]
fn a_step_that_leaves_a_minor_out_goes_back_in_time_or_takes_parts_back_says_so() {
    let mut releases = catalogue(&["aws/v1.0.0 1.30", "aws/v2.0.0 1.32"]).releases().to_vec();
    let app = |version: &str| App {
        name: "cilium".into(),
        version: LooseVersion::new(version),
        catalog: None,
        depends_on: vec![],
    };
    releases[0].date = Some("2026-06-02T16:36:21Z".into());
    releases[0].apps = vec![app("1.3.1")];
    releases[1].date = Some("2026-01-23".into());
    releases[1].apps = vec![app("1.3.0")];
    let told_way = upgrade_path(
        &standing("aws/v1.0.0", "1.30"),
        &settings(Track::Any),
        &Catalogue::new(releases),
        None,
        TODAY,
    )
    .unwrap();
    assert_eq!(
        step_lines(&told_way),
        ["aws/v1.0.0 -> aws/v2.0.0: No release has Kubernetes 1.31. \
          | It goes from Kubernetes 1.30 to 1.32 and skips the minors between, so the pull request is a draft. \
          | aws/v2.0.0 is of 2026-01-23, aws/v1.0.0 of 2026-06-02: it goes back in time. \
          | cilium goes back from 1.3.1 to 1.3.0."]
    );
    assert_eq!(told_way.steps[0].dates, (Some(date(2026, 6, 2)), Some(date(2026, 1, 23))));
}

#[test]
fn a_release_that_lacks_what_is_asked_of_it_is_passed_over() {
    let mut releases =
        catalogue(&["aws/v1.0.0 1.30", "aws/v1.1.0 1.30", "aws/v1.2.0 1.30"]).releases().to_vec();
    for (release, version) in releases.iter_mut().zip(["1.2.0", "1.3.0", "1.2.5"]) {
        release.apps = vec![App {
            name: "cilium".into(),
            version: LooseVersion::new(version),
            catalog: None,
            depends_on: vec![],
        }];
    }
    let mut catalogue = Catalogue::new(releases);
    let file = RepoPath::parse("aws/requests.yaml").unwrap();
    let text = "releases:\n- name: '>= 1.1.0'\n  requests:\n  - {name: cilium, version: '>= 1.3.0'}\n";
    let (requests, problems) = Requests::read(&file, &YamlFile::read(text).unwrap());
    assert_eq!(problems, []);
    catalogue.ask(&Provider::new("aws"), &file, &requests);
    let at = standing("aws/v1.0.0", "1.30");
    let offered = offer(&at, &settings(Track::Any), &catalogue, None, TODAY).unwrap();
    assert_eq!(offered.step().unwrap().to.as_str(), "aws/v1.1.0");
    assert_eq!(
        offered.notes,
        [
            "aws/v1.2.0 is skipped, because it does not have what its provider's requests ask for: cilium is 1.2.5, but aws/requests.yaml:4 requests >= 1.3.0."
        ]
    );
    let asked = ReleaseName::parse("aws/v1.2.0");
    let offered = offer(&at, &settings(Track::Any), &catalogue, asked.as_ref(), TODAY).unwrap();
    assert_eq!(
        offered.notes,
        [
            "aws/v1.2.0 is not offered automatically, because it does not have what its provider's requests ask for: cilium is 1.2.5, but aws/requests.yaml:4 requests >= 1.3.0."
        ]
    );
    let told_way = upgrade_path(&at, &settings(Track::Any), &catalogue, None, TODAY).unwrap();
    assert_eq!(
        step_lines(&told_way),
        [
            "aws/v1.0.0 -> aws/v1.1.0: aws/v1.2.0 does not have what its provider's requests ask for: cilium is 1.2.5, but aws/requests.yaml:4 requests >= 1.3.0."
        ]
    );
}
