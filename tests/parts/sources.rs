//! The files of the product.

use std::fs;
use std::path::{Path, PathBuf};

/// Test modules in files of their own, which may read the shared corpus: `tests/…`, `tests.rs`,
/// `testing.rs`, `…_tests.rs`.
pub fn is_test(file: &Path) -> bool {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file.iter().any(|part| part == "tests")
        || stem == "tests"
        || stem == "testing"
        || stem.ends_with("_tests")
}

/// Every file of the product, with its tests that stand beside it.
pub fn sources() -> Vec<PathBuf> {
    let root = crate::root();
    ["crates", "src"].iter().flat_map(|folder| walk(&root.join(folder))).collect()
}

/// The Rust files below a folder, in order.
pub fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(walk(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}
