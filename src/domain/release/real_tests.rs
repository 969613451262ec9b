//! The real releases that lie beside the checkout, for tests.

use std::path::{Path, PathBuf};

/// Path and content of every file of the real releases; `None` (said aloud) where they are not there.
pub(crate) fn files() -> Option<Vec<(String, Vec<u8>)>> {
    let data = std::env::var_os("CAPSTAN_SHARED_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    let root = data.join("releases/giantswarm");
    if !root.is_dir() {
        println!(
            "SKIPPED: the real releases are not at {} (CAPSTAN_SHARED_DATA names the folder)",
            root.display()
        );
        return None;
    }
    let mut files = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                files.push((name, std::fs::read(&path).unwrap()));
            }
        }
    }
    Some(files)
}
