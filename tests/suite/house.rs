//! The direction rule of `src/lib.rs`, read off the imports: `domain <- app <- adapters`, adapters
//! never import one another, and the domain names nothing of the outside world.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::Visit;

/// Which rooms of this package a room may name, besides itself.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("app", &[]),
    ("agent_client", &["app"]),
    ("git", &["app"]),
    ("github", &["app"]),
    ("database", &["app"]),
    ("k8s", &["app"]),
    ("server", &["app"]),
    ("controllers", &["app"]),
    ("cli", &["app", "config", "telemetry"]),
    ("forge", &[]),
    ("config", &[]),
    ("telemetry", &[]),
];

/// Crates that carry an outside world; the domain names none of them.
const OUTSIDE: &[&str] =
    &["tokio", "axum", "kube", "sqlx", "gix", "octocrab", "reqwest", "rand", "tempfile", "capstan"];

/// Modules of the standard library that carry one.
const OUTSIDE_STD: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread"];

#[test]
fn rooms_import_only_what_the_map_allows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    for (room, _) in MAY_IMPORT {
        for file in rust_files(&root, room) {
            let source = fs::read_to_string(&file).unwrap();
            found.extend(
                violations(room, &module_depth(&root, &file), &source)
                    .iter()
                    .map(|v| format!("{}: {v}", file.display())),
            );
        }
    }
    assert!(found.is_empty(), "imports against the direction rule of src/lib.rs:\n{}", found.join("\n"));
}

#[test]
fn every_room_of_the_package_stands_on_the_map() {
    let library = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).unwrap();
    let declared: BTreeSet<String> = syn::parse_file(&library)
        .unwrap()
        .items
        .iter()
        .filter_map(
            |item| if let syn::Item::Mod(module) = item { Some(module.ident.to_string()) } else { None },
        )
        .collect();
    let mapped: BTreeSet<String> = MAY_IMPORT.iter().map(|(room, _)| (*room).to_owned()).collect();
    assert_eq!(declared, mapped);
}

#[test]
fn the_domain_names_nothing_of_the_outside_world() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/domain");
    let mut found = Vec::new();
    for file in walk(&root).into_iter().filter(|file| !is_test(file.strip_prefix(&root).unwrap())) {
        let source = fs::read_to_string(&file).unwrap();
        found.extend(impurities(&source).iter().map(|v| format!("{}: {v}", file.display())));
    }
    assert!(found.is_empty(), "the domain must stay pure:\n{}", found.join("\n"));

    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let named: Vec<&&str> = OUTSIDE
        .iter()
        .filter(|krate| manifest.lines().any(|line| line.split(['=', '.', ' ']).next() == Some(**krate)))
        .collect();
    assert!(named.is_empty(), "src/domain/Cargo.toml names {named:?}");
}

#[test]
fn the_test_fails_when_an_adapter_imports_another() {
    let depth = ["git".to_owned(), "mirror".to_owned()];
    assert_eq!(violations("git", &depth, "use crate::github::Client;"), ["names `crate::github`"]);
    assert_eq!(
        violations("git", &depth, "use crate::{app::ports::Mirror, database::Pool};"),
        ["names `crate::database`"]
    );
    assert_eq!(violations("git", &depth, "use super::super::server::Routes;"), ["names `crate::server`"]);
    assert_eq!(
        violations("app", &["app".to_owned()], "fn f() { crate::cli::run(); }"),
        ["names `crate::cli`"]
    );
    assert!(
        violations("git", &depth, "use super::Checkout; use crate::app::ports; // crate::github").is_empty()
    );
}

#[test]
fn the_test_fails_when_the_domain_reads_a_file_or_a_clock() {
    assert_eq!(impurities("use std::{fs, fmt};"), ["names `std::fs`"]);
    assert_eq!(impurities("fn f() { std::time::SystemTime::now(); }"), ["names `SystemTime::now`"]);
    assert_eq!(impurities("fn f() { jiff::Timestamp::now(); }"), ["names `Timestamp::now`"]);
    assert_eq!(impurities("use tokio::sync::Mutex;"), ["names `tokio`"]);
    assert!(impurities("use std::fmt; use jiff::Timestamp;").is_empty());
}

/// What a file of `room` names against the map. `depth` is the module path of the file.
fn violations(room: &str, depth: &[String], source: &str) -> Vec<String> {
    let allowed = MAY_IMPORT.iter().find(|(name, _)| *name == room).map_or(&[][..], |(_, allowed)| allowed);
    let mut found: Vec<String> = Vec::new();
    for path in paths(source) {
        let target = match path.first().map(String::as_str) {
            Some("crate" | "capstan") => path.get(1).cloned(),
            Some("super") => {
                let climbs = path.iter().take_while(|part| *part == "super").count();
                // As many climbs as the module is deep end at the crate's root.
                (climbs >= depth.len()).then(|| path.get(climbs).cloned()).flatten()
            }
            _ => None,
        };
        let Some(target) = target else { continue };
        let is_room = MAY_IMPORT.iter().any(|(name, _)| *name == target);
        if is_room && target != room && !allowed.contains(&target.as_str()) {
            found.push(format!("names `crate::{target}`"));
        }
    }
    found.dedup();
    found
}

/// Test modules in files of their own, which may read the shared corpus: `tests/…`, `tests.rs`,
/// `testing.rs`, `…_tests.rs`.
pub(crate) fn is_test(file: &Path) -> bool {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    file.iter().any(|part| part == "tests")
        || stem == "tests"
        || stem == "testing"
        || stem.ends_with("_tests")
}

/// What a file of the domain names of the outside world.
fn impurities(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for path in paths(source) {
        let parts: Vec<&str> = path.iter().map(String::as_str).collect();
        if let Some(first) = parts.first()
            && OUTSIDE.contains(first)
            && parts.len() > 1
        {
            found.push(format!("names `{first}`"));
        }
        if parts.first() == Some(&"std")
            && let Some(module) = parts.get(1)
            && OUTSIDE_STD.contains(module)
        {
            found.push(format!("names `std::{module}`"));
        }
        for pair in parts.windows(2) {
            if pair[1] == "now" && ["SystemTime", "Instant", "Timestamp", "Zoned"].contains(&pair[0]) {
                found.push(format!("names `{}::now`", pair[0]));
            }
        }
    }
    found.dedup();
    found
}

/// Every path that a file names: each leaf of its `use` trees, and every path in types and expressions.
fn paths(source: &str) -> Vec<Vec<String>> {
    #[derive(Default)]
    struct Paths(Vec<Vec<String>>);

    impl Paths {
        fn add_tree(&mut self, prefix: &[String], tree: &syn::UseTree) {
            let with = |ident: &syn::Ident| [prefix, &[ident.to_string()]].concat();
            match tree {
                syn::UseTree::Path(path) => self.add_tree(&with(&path.ident), &path.tree),
                syn::UseTree::Name(name) => self.0.push(with(&name.ident)),
                syn::UseTree::Rename(rename) => self.0.push(with(&rename.ident)),
                syn::UseTree::Glob(_) => self.0.push(prefix.to_vec()),
                syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.add_tree(prefix, tree)),
            }
        }
    }

    impl<'ast> Visit<'ast> for Paths {
        fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
            self.add_tree(&[], &item.tree);
        }

        fn visit_path(&mut self, path: &'ast syn::Path) {
            self.0.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
            syn::visit::visit_path(self, path);
        }
    }

    let mut paths = Paths::default();
    paths.visit_file(&syn::parse_file(source).unwrap_or_else(|error| panic!("not Rust: {error}")));
    paths.0
}

/// The module path of a file below `root`: `src/git/mirror.rs` -> `[git, mirror]`.
fn module_depth(root: &Path, file: &Path) -> Vec<String> {
    let below = file.strip_prefix(root).unwrap().with_extension("");
    below.iter().map(|part| part.to_string_lossy().into_owned()).filter(|part| part != "mod").collect()
}

fn rust_files(root: &Path, room: &str) -> Vec<PathBuf> {
    let mut files = walk(&root.join(room));
    files.extend([root.join(format!("{room}.rs"))].into_iter().filter(|file| file.exists()));
    files
}

pub(crate) fn walk(folder: &Path) -> Vec<PathBuf> {
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
