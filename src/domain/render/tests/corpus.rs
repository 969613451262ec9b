//! Every kustomization of the shared corpus renders, or is refused with a reason; none panics.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::render::testing::Files;
use crate::render::{Folders, Trouble, render};
use crate::tree::{RepoPath, Tree};

fn shared_data() -> PathBuf {
    std::env::var_os("CAPSTAN_SHARED_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
            files.push((name, std::fs::read(&path).unwrap()));
        }
    }
}

#[test]
fn every_kustomization_of_the_corpus_renders_or_is_refused_with_a_reason() {
    let root = shared_data();
    if !root.is_dir() {
        println!("SKIPPED: {} does not exist", root.display());
        return;
    }
    let mut files = Vec::new();
    collect(&root, &root, &mut files);
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
                assert!(error.line().is_some(), "{}: {error}", error.file());
                match error.trouble() {
                    Trouble::Unsupported => error.to_string().split(" of ").next().unwrap().to_owned(),
                    Trouble::Reference => "names what is not in the corpus".to_owned(),
                    _ => format!("{}: {error}", error.file()),
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
