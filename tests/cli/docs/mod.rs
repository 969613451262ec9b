//! What `README.md` and `docs/` say, held against the programs: every block and every command is parsed by what would
//! read it, every link leads somewhere, and what is listed there is what there is, both ways.
//!
//! A block of code is known by its info string, or by what it looks like ([`blocks`]); one that no test looks at fails.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

mod blocks;
mod book;
mod commands;
mod flags;
mod limits;
mod links;
mod lists;
mod settings;
mod tour;
pub(super) mod words;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use capstan_test_parts::page::{Page, of as page};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The README, and every page below `docs`.
fn pages() -> Vec<Page> {
    let mut files = vec![PathBuf::from("README.md")];
    for folder in ["docs", "docs/rules", "docs/tutorials"] {
        let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
        let markdown = entries.filter(|name| Path::new(name).extension().is_some_and(|ext| ext == "md"));
        files.extend(markdown.map(|name| Path::new(folder).join(name)));
    }
    files.sort();
    files.iter().map(|file| page(file.to_str().unwrap())).collect()
}

/// Fails unless both have the same entries, and names the ones that only one of them has.
fn assert_same(documented: BTreeSet<String>, real: BTreeSet<String>, where_: &str) {
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
    let (missing, made_up) = (only(&real, &documented), only(&documented, &real));
    assert!(
        missing.is_empty() && made_up.is_empty(),
        "{where_}: not documented are {missing:#?}, documented and not there are {made_up:#?}"
    );
}

#[test]
fn the_readme_is_short() {
    let lines = fs::read_to_string(root().join("README.md")).unwrap().lines().count();
    assert!(lines <= 150, "{lines} lines: what is for a task belongs to a page in docs/");
}
