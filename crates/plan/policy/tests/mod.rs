//! The catalogue's own examples are its tests. The modules below test what the examples do not show.

mod add_ons;
mod examples;
mod inventory;
mod judging;
mod limits;
mod minors;
mod own_kinds;
mod real_definitions;
mod validating;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::civil::Date;

use super::{Occasion, PolicyFacts, ReleaseStep};
use crate::merge::AppliedBy;
use crate::release::{App, Release, ReleaseComponent, ReleaseState};
use capstan_kustomize::render::{Folders, RenderedFolder, render};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::{
    Finding, Severities, Severity, SeverityChange, SeverityLevel, SeverityRefused, rules,
};
use capstan_model::ids::{Provider, ReleaseId};
use capstan_model::target::TargetKind;
use capstan_model::tree::RepoPath;
use capstan_model::version::{KubernetesVersion, LooseVersion, ReleaseVersion};
use capstan_test_support::Files;

/// The day on which tests judge.
const TODAY: Date = Date::constant(2026, 3, 1);

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn folders() -> Folders {
    Folders { cluster: path("c"), base: path("c/base"), overlay: path("c/overlay") }
}

fn render_files(files: &[(&str, &str)]) -> RenderedFolder {
    if files.is_empty() {
        return RenderedFolder::default();
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
            let place = finding.place.as_ref().map_or("-".to_owned(), ToString::to_string);
            let object = finding.object.as_ref().map_or("-".to_owned(), ToString::to_string);
            let field = finding.path.as_ref().map_or("-".to_owned(), ToString::to_string);
            format!("{} {:?} {place} {object} {field}", finding.rule.id(), finding.severity())
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
    let facts = PolicyFacts {
        folders: &folders,
        before: &before,
        after: &after,
        inside: &[],
        applied_by,
        occasion,
        release: None,
        schemas: Schemas::built_in(),
        cluster_api: None,
        boundary: None,
        today: TODAY,
        values: None,
    };
    super::judge(&facts, &Severities::default())
}

fn release(version: &str, kubernetes: &str, components: &[(&str, &str)], apps: &[(&str, &str)]) -> Release {
    Release {
        kind: TargetKind::Cluster,
        id: ReleaseId::from_path(&format!("capa/{version}")),
        folder: path(&format!("capa/{version}")),
        provider: Provider::new("capa"),
        version: ReleaseVersion::parse(version).unwrap(),
        state: ReleaseState::Active,
        content: None,
        date: None,
        kubernetes: KubernetesVersion::parse(kubernetes),
        components: components
            .iter()
            .map(|(name, version)| ReleaseComponent {
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
        services: Vec::new().into(),
        rendering: Arc::default(),
        manifest: None,
        notes: None,
        unmet: vec![],
        class_versions: vec![],
    }
}

#[test]
fn the_catalogue_is_sorted_and_every_entry_is_complete() {
    let ids: Vec<&str> = super::ids().collect();
    assert_eq!(ids, rules::ALL.iter().map(|rule| rule.id()).collect::<Vec<_>>());
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]), "{ids:?}");
    for rule in super::catalogue() {
        let about = rule.about();
        let id = about.entry.id();
        assert!(about.page().starts_with(&format!("# {id}\n\n{}", &about.summary()[..20])), "{id}");
        assert!(about.summary().ends_with('.') && about.reason().len() > 40, "{id}");
        assert!(about.source().starts_with("https://"), "{id}");
        assert!(
            about.entry.change() == SeverityChange::Free || about.entry.severity() == Severity::Error,
            "{}",
            about.entry.id()
        );
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
        ("incomplete-upgrade", Severity::Error),
        ("template-edited-in-place", Severity::Error),
        ("release-record-differs", Severity::Warning),
        ("overlay-hides-change", Severity::Warning),
        ("unknown-template", Severity::Warning),
        ("rollout-without-change", Severity::Warning),
        ("unmatched-fragment", Severity::Warning),
    ];
    for (id, severity) in expected {
        assert_eq!(Severities::default().of(rules::named(id).unwrap()), Some(severity), "{id}");
    }
}

#[test]
fn settings_change_severities_but_not_those_that_are_fixed() {
    let mut severities = Severities::default();
    severities.set("component-downgrade", SeverityLevel::Warning).unwrap();
    severities.set("overlay-hides-change", SeverityLevel::Off).unwrap();
    assert_eq!(severities.of(rules::COMPONENT_DOWNGRADE), Some(Severity::Warning));
    assert_eq!(severities.of(rules::OVERLAY_HIDES_CHANGE), None);
    for fixed in [
        "kubernetes-downgrade",
        "provider-contract",
        "provider-digest-differs",
        "provider-downgrade",
        "reads-other-cluster",
    ] {
        for level in [SeverityLevel::Off, SeverityLevel::Warning] {
            assert_eq!(severities.set(fixed, level), Err(SeverityRefused::Fixed(fixed)));
        }
    }
    assert_eq!(
        severities.set("kubernetes-donwgrade", SeverityLevel::Off),
        Err(SeverityRefused::Unknown("kubernetes-donwgrade".to_owned()))
    );
    assert_eq!(severities.of(rules::KUBERNETES_DOWNGRADE), Some(Severity::Error));
}
