//! Trees made at random.

use std::path::PathBuf;

use super::generator::tree;
use super::kubectl::{Kubectl, Printed};
use super::verdict::{Files, Table, compare, ours};
use crate::random::{Random, seed};

/// In every run; a thousand and more when asked.
const TREES: usize = 300;

#[test]
fn generated_trees_render_as_kubectl_renders_them() {
    let Some(kubectl) = Kubectl::find() else { return };
    let count =
        std::env::var("CAPSTAN_KUSTOMIZE_TREES").ok().and_then(|count| count.parse().ok()).unwrap_or(TREES);
    let seed = seed();
    println!("{count} trees from CAPSTAN_SEED={seed}");
    let root = std::env::temp_dir().join(format!("capstan-kustomize-{}", std::process::id()));
    let mut trees = Vec::new();
    let mut paths: Vec<PathBuf> = Vec::new();
    for index in 0..count {
        let mut random =
            Random::new(seed.wrapping_add(u64::try_from(index).unwrap().wrapping_mul(0x9e37_79b9)));
        let files = tree(&mut random);
        let folder = root.join(index.to_string());
        for (path, bytes) in &files {
            let file = folder.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, bytes).unwrap();
        }
        paths.push(folder.join("top"));
        trees.push(files);
    }
    let printed = kubectl.render_all(&paths);
    let mut table = Table::default();
    for (index, (files, theirs)) in trees.into_iter().zip(&printed).enumerate() {
        let tree = Files::new(files);
        table.add(&format!("tree {index}"), compare(ours(&tree, "top"), theirs));
    }
    table.print("generated trees");
    if std::env::var_os("CAPSTAN_KUBECTL_ALL").is_some() {
        for (path, theirs) in paths.iter().zip(&printed) {
            match (kubectl.render(path), theirs) {
                (Printed::Failed(_), Printed::Failed(_)) => {}
                (printed, theirs) => assert_eq!(printed, *theirs, "{}", path.display()),
            }
        }
    }
    if table.different.is_empty() {
        std::fs::remove_dir_all(&root).unwrap();
    }
    let shown: Vec<&str> = table.different.iter().take(20).map(String::as_str).collect();
    assert!(
        shown.is_empty(),
        "{} differ, in {}:\n{}",
        table.different.len(),
        root.display(),
        shown.join("\n")
    );
    let failed = printed.iter().filter(|printed| matches!(printed, Printed::Failed(_))).count();
    assert!(failed * 2 < count, "{failed} of {count} trees fail in kubectl: the generator shows too little");
}
