//! The shapes of GitOps repositories with Cluster API: a small tree in, `.capstan.yaml` and the reports out.

mod flat;
mod left;
mod made_by_others;
mod real;
mod shared;

use std::collections::BTreeSet;

use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

use super::{Proposed, propose};
use crate::layout::{Layout, discover};
use crate::settings::{REPOSITORY_FILE, RepositorySettings, RuleIds};

pub(super) const CLUSTER: &str =
    "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: NAME\nspec: {}\n";
pub(super) const POOL: &str = "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata:\n  name: NAME-md-0\nspec:\n  clusterName: NAME\n";
pub(super) const APP: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n";

/// The comment and the mode with which every proposed file begins.
const HEAD: &str = "\
# Settings of Capstan for this repository. Everything else has a default; `capstan schema` lists all keys.

# observe: checks on pull requests and answers to commands; no branch, commit or pull request of Capstan's.
# propose: newer releases are offered to clusters, each as a pull request.
mode: observe
";

/// An object called otherwise.
pub(super) fn named(text: &str, name: &str) -> String {
    text.replace("NAME", name)
}

pub(super) fn cluster(name: &str) -> String {
    named(CLUSTER, name)
}

pub(super) fn kustomization(rest: &str) -> String {
    format!("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n{rest}")
}

pub(super) fn flux(name: &str, path: &str, more: &str) -> String {
    format!(
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {{name: {name}, namespace: flux-system}}\n\
         spec:\n  path: {path}\n  sourceRef: {{kind: GitRepository, name: flux-system}}\n{more}"
    )
}

pub(super) fn argo(kind: &str, name: &str, spec: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}, namespace: argocd}}\nspec:\n{spec}"
    )
}

/// What is proposed for these files: merged, it is read as what it was proposed to be, and finds what it was to find.
pub(super) fn proposed(files: &[(&str, String)]) -> Proposed {
    let mut files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let proposed = propose(&Files::new(&files)).unwrap();
    files.push((REPOSITORY_FILE, proposed.text.as_str()));
    let path = RepoPath::parse(REPOSITORY_FILE).unwrap();
    let settings = RepositorySettings::read(&path, &proposed.text, &RuleIds::default()).unwrap();
    assert_eq!(settings, proposed.settings);
    let layout = discover(&Files::new(&files), &settings);
    let found = |layout: &Layout| -> BTreeSet<String> {
        layout.targets.iter().map(|found| format!("{:?} {}", found.kind, found.id)).collect()
    };
    assert_eq!(found(&layout), found(&proposed.layout), "{}", proposed.text);
    let told: BTreeSet<&str> = proposed.clusters.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(layout.clusters().map(|found| found.id.as_str()).collect::<BTreeSet<_>>(), told);
    proposed
}

/// Looks at the file behind its head, at the clusters that it finds, and at who applies each.
pub(super) fn check(files: &[(&str, String)], text: &str, clusters: &[(&str, &str)]) -> Proposed {
    let proposed = proposed(files);
    assert_eq!(proposed.text, format!("{HEAD}{text}"));
    let found: Vec<(String, String)> = proposed
        .clusters
        .iter()
        .map(|(id, appliers)| {
            let names =
                appliers.iter().map(|applier| format!("{} {}", applier.with.in_words(), applier.name));
            (id.to_string(), names.collect::<Vec<_>>().join(", "))
        })
        .collect();
    let expected: Vec<(String, String)> =
        clusters.iter().map(|(id, by)| ((*id).to_owned(), (*by).to_owned())).collect();
    assert_eq!(found, expected);
    proposed
}

/// The same, where nothing is left out.
pub(super) fn takes_all(files: &[(&str, String)], text: &str, clusters: &[(&str, &str)]) {
    let proposed = check(files, text, clusters);
    assert_eq!(left_lines(&proposed), [""; 0]);
}

pub(super) fn left_lines(proposed: &Proposed) -> Vec<String> {
    proposed.left.iter().map(ToString::to_string).collect()
}
