//! Real files, where the folder with them exists.

use std::path::{Path, PathBuf};

/// The folder of the shared data; `None`, said aloud, where there is none.
pub(crate) fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("CAPSTAN_SHARED_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"), PathBuf::from);
    if !folder.is_dir() {
        println!("SKIPPED: real files: no folder {} (set CAPSTAN_SHARED_DATA)", folder.display());
        return None;
    }
    Some(folder)
}

/// All YAML files of the shared data, ordered.
pub(crate) fn yaml_files() -> Option<Vec<PathBuf>> {
    let folder = folder()?;
    let mut files = Vec::new();
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if matches!(path.extension().and_then(|end| end.to_str()), Some("yaml" | "yml")) {
                files.push(path);
            }
        }
    }
    files.sort();
    Some(files)
}
