//! Every kustomization of the shared data.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::kubectl::{Kubectl, Printed};
use super::verdict::{Files, Table, compare, ours};
use capstan_test_support::shared_data;

#[test]
fn every_kustomization_of_the_shared_data_renders_as_kubectl_renders_it() {
    let (Some(root), Some(files)) = (shared_data::folder(), shared_data::files("")) else { return };
    let Some(kubectl) = Kubectl::find() else { return };
    let files: BTreeMap<String, Vec<u8>> = files.into_iter().collect();
    let is_kustomization = |path: &&String| {
        ["kustomization.yaml", "kustomization.yml", "Kustomization"]
            .contains(&path.rsplit('/').next().unwrap())
    };
    // What is remote is fetched by kubectl and by nobody else: there is no network in tests.
    let remote =
        |path: &&String| !String::from_utf8_lossy(&files[*path]).contains("://raw.githubusercontent.com");
    let folders: Vec<String> = files
        .keys()
        .filter(is_kustomization)
        .filter(remote)
        .map(|path| path.rsplit_once('/').unwrap().0.to_owned())
        .collect();
    let tree = Files::new(files.clone());
    let paths: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    let printed = kubectl.render_all(&paths);
    let mut table = Table::default();
    for (folder, theirs) in folders.iter().zip(&printed) {
        table.add(folder, compare(ours(&tree, folder), theirs));
    }
    table.print("kustomizations of the shared data");
    assert!(table.different.is_empty(), "{}", table.different.join("\n"));

    // The driver is kubectl's code; that it prints what kubectl prints is seen here.
    let step = if std::env::var_os("CAPSTAN_KUBECTL_ALL").is_some() { 1 } else { 25 };
    for (path, theirs) in paths.iter().zip(&printed).step_by(step) {
        match (kubectl.render(path), theirs) {
            (Printed::Failed(_), Printed::Failed(_)) => {}
            (printed, theirs) => assert_eq!(printed, *theirs, "{}", path.display()),
        }
    }
}
