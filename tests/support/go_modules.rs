//! Sources that tests of real controllers are built from.

use std::path::{Path, PathBuf};

/// A folder of the cache of Go's modules, for example `k8s.io/kubernetes@v1.36.3/pkg/features`; `None`, said aloud, where it
/// is not there.
pub fn folder(path: &str) -> Option<PathBuf> {
    let cache = std::env::var_os("GOMODCACHE").map(PathBuf::from).or_else(|| {
        let home = PathBuf::from(std::env::var_os("HOME")?);
        Some(std::env::var_os("GOPATH").map_or_else(|| home.join("go"), PathBuf::from).join("pkg/mod"))
    });
    let found = cache.map(|cache| cache.join(path)).filter(|folder| folder.is_dir());
    if found.is_none() {
        println!("SKIPPED: no {path} in the cache of Go's modules (`make plane` fetches it)");
    }
    found
}

/// The text of every Go file below a folder, without tests.
pub fn texts(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        let name = path.file_name().unwrap().to_string_lossy();
        if path.is_dir() {
            found.extend(texts(&path));
        } else if name.ends_with(".go") && !name.ends_with("_test.go") {
            found.push(std::fs::read_to_string(&path).unwrap());
        }
    }
    found
}
