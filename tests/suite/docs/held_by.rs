//! Where a page says which test holds a row, there is that test.

use std::fs;
use std::path::Path;

use super::page::Table;
use super::{pages, root};

/// All Rust texts below a folder.
fn sources(folder: &Path, texts: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, texts);
        } else if path.extension().is_some_and(|end| end == "rs") {
            texts.push((path.to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn the_tests_that_pages_name_are_there() {
    let mut texts = Vec::new();
    for folder in ["src", "tests"] {
        sources(&root().join(folder), &mut texts);
    }
    let mut named = 0;
    for page in pages() {
        let is_held = |table: &&Table| {
            table.rows.first().and_then(|row| row.last()).is_some_and(|cell| cell.text == "held by")
        };
        let cells =
            page.tables.iter().filter(is_held).flat_map(|table| &table.rows).filter_map(|row| row.last());
        for test in cells.flat_map(|cell| &cell.codes) {
            named += 1;
            let (module, name) = test.rsplit_once("::").unwrap();
            let is_there = texts
                .iter()
                .any(|(path, text)| path.contains(module) && text.contains(&format!("fn {name}(")));
            assert!(is_there, "{} names the test {test}, which is not there", page.path);
        }
    }
    assert!(named > 20, "the tables are not found: {named}");
}
