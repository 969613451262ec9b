//! The catalogue's own examples are its tests; what they do not show stands below.

mod judging;
mod validating;

use std::collections::{BTreeMap, BTreeSet};

use super::{Change, Example, Facts, Level, Occasion, ReleaseStep, Severities, SeverityRefused};
use crate::finding::{Finding, Severity};
use crate::object::{FieldPath, ObjectId};
use crate::release::{App, Component, Provider, Release, ReleaseId, ReleaseState, Requests};
use crate::render::testing::Files;
use crate::render::{Folders, Rendered, render};
use crate::tree::RepoPath;
use crate::upgrade::AppliedBy;
use crate::version::{KubernetesVersion, LooseVersion, ReleaseVersion};
use crate::yaml::YamlFile;

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn folders() -> Folders {
    Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") }
}

fn render_files(files: &[(&str, &str)]) -> Rendered {
    if files.is_empty() {
        return Rendered::default();
    }
    let files: Vec<(String, Vec<u8>)> =
        files.iter().map(|(path, text)| (format!("c/{path}"), text.as_bytes().to_vec())).collect();
    render(&Files::from_bytes(files), &folders()).unwrap()
}

/// Findings as `rule severity file:line:column object path`.
fn lines(findings: &[Finding]) -> Vec<String> {
    findings
        .iter()
        .map(|finding| {
            let place = match (&finding.file, finding.line, finding.column) {
                (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}"),
                (Some(file), ..) => file.to_string(),
                _ => "-".to_owned(),
            };
            let object = finding.object.as_ref().map_or("-".to_owned(), ToString::to_string);
            let field = finding.path.as_ref().map_or("-".to_owned(), ToString::to_string);
            format!("{} {:?} {place} {object} {field}", finding.rule, finding.severity)
        })
        .collect()
}

fn judged(
    before: &[(&str, &str)],
    after: &[(&str, &str)],
    occasion: Occasion,
    applied_by: AppliedBy,
) -> Vec<Finding> {
    let (before, after) = (render_files(before), render_files(after));
    let folders = folders();
    let facts =
        Facts { folders: &folders, before: &before, after: &after, applied_by, occasion, release: None };
    super::judge(&facts, &Severities::default())
}

fn release(version: &str, kubernetes: &str, components: &[(&str, &str)], apps: &[(&str, &str)]) -> Release {
    Release {
        id: ReleaseId::from_path(&format!("capa/{version}")),
        folder: path(&format!("capa/{version}")),
        provider: Provider::new("capa"),
        version: ReleaseVersion::parse(version).unwrap(),
        state: ReleaseState::Active,
        tree: None,
        date: None,
        kubernetes: KubernetesVersion::parse(kubernetes),
        components: components
            .iter()
            .map(|(name, version)| Component {
                name: (*name).to_owned(),
                version: LooseVersion::new(version),
            })
            .collect(),
        apps: apps
            .iter()
            .map(|(name, version)| App {
                name: (*name).to_owned(),
                version: LooseVersion::new(version),
                catalog: None,
                depends_on: Vec::new(),
            })
            .collect(),
        variables: BTreeMap::new(),
        infrastructure_kinds: BTreeSet::new(),
        base_files: Vec::new(),
        overlay_files: Vec::new(),
        manifest: None,
        notes: None,
        unmet: vec![],
    }
}

/// The example's releases, as far as a rule about releases needs them.
fn release_of(files: &[(&str, &str)], version: &str) -> Option<Release> {
    let text = files.iter().find(|(path, _)| *path == "release.yaml")?.1;
    let file = YamlFile::read(text).unwrap();
    let value = file.documents()[0].root.value();
    let parts = |field: &str| -> Vec<(String, String)> {
        let list = value["spec"][field].as_array().cloned().unwrap_or_default();
        let text = |item: &serde_json::Value, key: &str| item[key].as_str().unwrap().to_owned();
        list.iter().map(|item| (text(item, "name"), text(item, "version"))).collect()
    };
    let borrow = |parts: &[(String, String)]| -> Vec<(String, String)> { parts.to_vec() };
    let (components, apps) = (borrow(&parts("components")), borrow(&parts("apps")));
    let pairs = |parts: &'_ [(String, String)]| -> Vec<(&'static str, &'static str)> {
        parts.iter().map(|(a, b)| (&*a.clone().leak(), &*b.clone().leak())).collect()
    };
    let mut release = release(version, "none", &pairs(&components), &pairs(&apps));
    release.date = value["spec"]["date"].as_str().map(ToOwned::to_owned);
    if let Some((_, text)) = files.iter().find(|(path, _)| *path == "requests.yaml") {
        let file = path("capa/requests.yaml");
        let (requests, problems) = Requests::read(&file, &YamlFile::read(text).unwrap());
        assert_eq!(problems, []);
        release.unmet = requests.unmet(&release, &file);
    }
    Some(release)
}

fn findings_of(example: &Example) -> Vec<Finding> {
    let cluster = |files: &[(&'static str, &'static str)]| -> Vec<(&'static str, &'static str)> {
        files.iter().filter(|(path, _)| !["release.yaml", "requests.yaml"].contains(path)).copied().collect()
    };
    let after = render_files(&cluster(example.after));
    let before =
        if example.before.is_empty() { after.clone() } else { render_files(&cluster(example.before)) };
    let (from, to) = (release_of(example.before, "v29.0.0"), release_of(example.after, "v29.1.0"));
    let folders = folders();
    let facts = Facts {
        folders: &folders,
        before: &before,
        after: &after,
        applied_by: AppliedBy::Others,
        occasion: Occasion::Revision,
        release: to.as_ref().map(|to| ReleaseStep { from: from.as_ref(), to, place: None }),
    };
    super::judge(&facts, &Severities::default())
}

/// The rules whose verdict falls in this room.
const JUDGED_HERE: [&str; 11] = [
    "component-downgrade",
    "kubernetes-downgrade",
    "kubernetes-minor-skip",
    "missing-reference",
    "overlay-hides-change",
    "overlay-loses-target",
    "release-breaks-requests",
    "release-goes-back-in-time",
    "removes-machines",
    "template-edited-in-place",
    "unknown-template",
];

#[test]
fn bad_examples_break_their_rule_and_good_ones_break_none_of_its_kind() {
    for id in JUDGED_HERE {
        let about = super::rule(id).unwrap().about();
        let broken = |example: &Example| findings_of(example).iter().filter(|found| found.rule == id).count();
        assert_eq!(broken(&about.bad), 1, "{id}: the bad example");
        assert_eq!(broken(&about.good), 0, "{id}: the good example");
    }
}

#[test]
fn the_catalogue_is_ordered_and_every_entry_says_what_and_why_and_by_whom() {
    let ids: Vec<&str> = super::ids().collect();
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
    for rule in super::catalogue() {
        let about = rule.about();
        assert!(about.summary.ends_with('.') && about.reason.len() > 40, "{}", about.id);
        assert!(about.source.starts_with("https://"), "{}", about.id);
        assert!(!about.bad.after.is_empty() && !about.good.after.is_empty(), "{}", about.id);
        assert!(about.change == Change::Free || about.severity == Severity::Error, "{}", about.id);
    }
}

#[test]
fn severities_are_those_of_the_contract() {
    let expected = [
        ("overlay-loses-target", Severity::Error),
        ("overlay-names-template", Severity::Error),
        ("component-downgrade", Severity::Error),
        ("kubernetes-minor-skip", Severity::Error),
        ("kubernetes-downgrade", Severity::Error),
        ("step-group-split", Severity::Error),
        ("removes-cluster", Severity::Error),
        ("removes-machines", Severity::Error),
        ("ambiguous-match", Severity::Error),
        ("unbound-variable", Severity::Error),
        ("edit-refused", Severity::Error),
        ("template-edited-in-place", Severity::Error),
        ("release-record-differs", Severity::Warning),
        ("overlay-hides-change", Severity::Warning),
        ("unknown-template", Severity::Warning),
        ("rollout-without-change", Severity::Warning),
        ("unmatched-fragment", Severity::Warning),
    ];
    for (id, severity) in expected {
        assert_eq!(Severities::default().of(id), Some(severity), "{id}");
    }
}

#[test]
fn settings_change_severities_but_not_those_that_are_fixed() {
    let mut severities = Severities::default();
    severities.set("component-downgrade", Level::Warning).unwrap();
    severities.set("overlay-hides-change", Level::Off).unwrap();
    assert_eq!(severities.of("component-downgrade"), Some(Severity::Warning));
    assert_eq!(severities.of("overlay-hides-change"), None);
    assert_eq!(
        severities.set("kubernetes-downgrade", Level::Off),
        Err(SeverityRefused::Fixed("kubernetes-downgrade"))
    );
    assert_eq!(
        severities.set("kubernetes-donwgrade", Level::Off),
        Err(SeverityRefused::Unknown("kubernetes-donwgrade".to_owned()))
    );
    assert_eq!(severities.of("kubernetes-downgrade"), Some(Severity::Error));
}

#[test]
fn only_errors_that_are_not_there_already_are_new() {
    let finding = |rule, severity, name: &str, field: &str, line| Finding {
        rule,
        severity,
        message: "said".to_owned(),
        file: Some(path("a.yaml")),
        line: Some(line),
        column: Some(1),
        object: Some(ObjectId {
            group: String::new(),
            kind: "K".to_owned(),
            namespace: None,
            name: name.to_owned(),
        }),
        path: FieldPath::parse(field),
    };
    let skip = "kubernetes-minor-skip";
    let before = [
        finding(skip, Severity::Error, "a", "/spec/version", 5),
        finding(skip, Severity::Warning, "b", "/spec/version", 9),
    ];
    let after = [
        finding(skip, Severity::Error, "a", "/spec/version", 7),
        finding(skip, Severity::Error, "b", "/spec/version", 9),
        finding("overlay-hides-change", Severity::Warning, "c", "/x", 1),
    ];
    assert_eq!(super::new_errors(&before, &after), [&after[1]]);
}
