//! Trees made at random.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::generator::{FEATURES, Generated, tree};
use super::kubectl::{Kubectl, Printed};
use super::verdict::{Files, Table, Verdict, compare, ours};
use capstan_test_support::random::{Random, seed};

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
        let made = tree(&mut random);
        let folder = root.join(index.to_string());
        for (path, bytes) in &made.files {
            let file = folder.join(path);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, bytes).unwrap();
        }
        paths.push(folder.join("top"));
        trees.push(made);
    }
    let printed = kubectl.render_all(&paths);
    let mut table = Table::default();
    // In how many trees each feature came up, and in how many of those both sides are equal.
    let mut seen: BTreeMap<&str, (usize, usize)> = FEATURES.map(|feature| (feature, (0, 0))).into();
    for (index, (Generated { files, uses }, theirs)) in trees.into_iter().zip(&printed).enumerate() {
        let verdict = compare(ours(&Files::new(files), "top"), theirs);
        for feature in uses {
            let (all, equal) = seen.entry(feature).or_default();
            *all += 1;
            *equal += usize::from(matches!(verdict, Verdict::Equal));
        }
        table.add(&format!("tree {index}"), verdict);
    }
    table.print("generated trees");
    println!("features: trees that have them, trees of those that both sides render the same");
    for (feature, (all, equal)) in &seen {
        println!("{all:6} {equal:6} {feature}");
    }
    if std::env::var_os("CAPSTAN_KUBECTL_ALL").is_some() {
        for (path, theirs) in paths.iter().zip(&printed) {
            match (kubectl.render(path), theirs) {
                (Printed::Failed(_), Printed::Failed(_)) => {}
                (printed, theirs) => assert_eq!(printed, *theirs, "{}", path.display()),
            }
        }
        println!("kubectl itself prints the same for all of them");
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
    // Few trees show few things.
    if count < TREES {
        return;
    }
    let failed = printed.iter().filter(|printed| matches!(printed, Printed::Failed(_))).count();
    assert!(failed * 100 <= count * 15, "{failed} of {count} trees fail in kubectl: these show nothing");
    let rare: Vec<&str> =
        seen.iter().filter(|(_, (_, equal))| equal * 200 < count).map(|(name, _)| *name).collect();
    assert!(rare.is_empty(), "hardly a tree shows {rare:?}");
}
