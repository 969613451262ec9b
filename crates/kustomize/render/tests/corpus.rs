//! Every kustomization of the shared corpus renders, or is refused with a reason; none panics.

use std::collections::BTreeMap;

use crate::render::{Folders, RenderErrorKind, diff, render};
use capstan_model::tree::{RepoPath, Tree};
use capstan_test_support::{Files, shared_data};

/// Folders without a kustomization, as bases: objects, or an error with a reason.
#[test]
fn every_folder_of_the_corpus_renders_or_is_refused_with_a_reason() {
    let Some(files) = shared_data::files("") else { return };
    let tree = Files::from_bytes(files);
    let mut folders: Vec<RepoPath> = tree.entries().iter().filter_map(|entry| entry.path.parent()).collect();
    folders.dedup();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for base in folders {
        let nowhere = RepoPath::parse("nowhere").unwrap();
        let folders = Folders { cluster: nowhere.clone(), base, overlay: nowhere };
        let outcome = match render(&tree, &folders) {
            Ok(rendered) => {
                assert_eq!(diff(&rendered.objects, &rendered.objects).len(), 0);
                "rendered".to_owned()
            }
            Err(error) => {
                assert!(!error.to_string().is_empty() && !error.place().file().is_root());
                format!("{:?}", error.trouble())
            }
        };
        *counts.entry(outcome).or_default() += 1;
    }
    println!("{counts:?}");
    assert!(counts.get("rendered").copied().unwrap_or_default() >= 140, "{counts:?}");
}

#[test]
fn every_kustomization_of_the_corpus_renders_or_is_refused_with_a_reason() {
    let Some(files) = shared_data::files("") else { return };
    let tree = Files::from_bytes(files);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for entry in tree.entries() {
        if entry.path.name() != "kustomization.yaml" {
            continue;
        }
        let base = entry.path.parent().unwrap();
        let nowhere = RepoPath::parse("nowhere").unwrap();
        let folders = Folders { cluster: nowhere.clone(), base, overlay: nowhere };
        let outcome = match render(&tree, &folders) {
            Ok(rendered) if rendered.patches.iter().any(|patch| patch.lost.is_some()) => {
                "rendered, with a patch that finds nothing".to_owned()
            }
            Ok(_) => "rendered".to_owned(),
            Err(error) => {
                assert!(error.place().line().is_some(), "{}: {error}", error.place().file());
                match error.trouble() {
                    RenderErrorKind::Unsupported => {
                        error.to_string().split(" of ").next().unwrap().to_owned()
                    }
                    RenderErrorKind::Reference => "names what is not in the corpus".to_owned(),
                    _ => format!("{}: {error}", error.place().file()),
                }
            }
        };
        *counts.entry(outcome).or_default() += 1;
    }
    for (outcome, count) in &counts {
        println!("{count:4} {outcome}");
    }
    assert!(counts.get("rendered").copied().unwrap_or_default() >= 60, "{counts:?}");
}
