//! Real files that lie beside the checkout.

use std::path::{Path, PathBuf};

/// The folder that `CAPSTAN_SHARED_DATA` names, else `../shared/data` beside the checkout; `None`, said
/// aloud, where there is none.
pub fn folder() -> Option<PathBuf> {
    let beside = || {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        package.ancestors().map(|folder| folder.join("../shared/data")).find(|folder| folder.is_dir())
    };
    let named = std::env::var_os("CAPSTAN_SHARED_DATA").map(PathBuf::from).or_else(beside);
    let found = named.and_then(|folder| folder.canonicalize().ok()).filter(|folder| folder.is_dir());
    if found.is_none() {
        println!("SKIPPED: no real files: no ../shared/data beside the checkout, nor a CAPSTAN_SHARED_DATA");
    }
    found
}

/// Every file below a folder of it, ordered: its path from there, and its content.
pub fn files(below: &str) -> Option<Vec<(String, Vec<u8>)>> {
    let root = folder()?.join(below);
    let named = |path: PathBuf| {
        let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read(&path).unwrap())
    };
    Some(paths(&root).into_iter().map(named).collect())
}

/// Every file of definitions of custom resources in it: its path from there, and its content.
pub fn definition_files() -> Option<Vec<(String, Vec<u8>)>> {
    let below = |folder: &str| {
        let named = |(name, bytes): (String, Vec<u8>)| (format!("{folder}/{name}"), bytes);
        Some(files(folder)?.into_iter().map(named).collect::<Vec<_>>())
    };
    let mut found = [below("crds")?, below("providers/operator-configmaps")?].concat();
    found.retain(|(name, _)| name.ends_with(".yaml"));
    Some(found)
}

/// Every YAML file of it, ordered.
pub fn yaml_files() -> Option<Vec<PathBuf>> {
    let is_yaml = |path: &PathBuf| path.extension().is_some_and(|end| end == "yaml" || end == "yml");
    Some(paths(&folder()?).into_iter().filter(is_yaml).collect())
}

fn paths(root: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(folder) = folders.pop() {
        for entry in
            std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}
