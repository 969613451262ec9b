//! Compares the tables of rooms in each package's `lib.rs` with the imports. A room imports what its line says, and
//! nothing that is listed below it. Within a package no files import one another in a circle ([`circles`]). The heart
//! names nothing of the outside world.

#![expect(clippy::panic, clippy::unwrap_used, reason = "a panic is how a test fails")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use capstan_test_parts::sources::{is_test, walk};
use syn::visit::Visit;

mod circles;
mod methods;
mod names;
mod shape;
mod wording;

/// The packages. One without a table of rooms in its `lib.rs` is one room.
const PACKAGES: &[&str] = &[
    "crates/envsubst",
    "crates/model",
    "crates/yaml",
    "crates/kustomize",
    "crates/inventory",
    "crates/campaign",
    "crates/hosts",
    "crates/providers",
    "crates/plan",
    "crates/drains",
    "crates/live",
    "crates/report",
    "crates/facts",
    "crates/bot-core",
    "crates/ports",
    "crates/budget",
    "crates/fleet",
    "crates/reconciler-core",
    "crates/bot",
    "crates/reconciler",
    "crates/outbound",
    "crates/listener",
    "crates/git",
    "crates/github",
    "crates/database",
    "crates/registries",
    "crates/webhooks",
    "crates/openstack",
    "crates/vault",
    "crates/agent-client",
    "crates/dry-run",
    "crates/planner-process",
    "crates/k8s",
    "crates/controllers",
    "crates/server",
    "crates/forge",
    "crates/telemetry",
    "crates/serve",
    "crates/demo",
    "src",
];

/// The packages of the heart are the first ones, up to this: all of them are pure.
const LAST_OF_HEART: &str = "crates/bot-core";

/// The packages beside it that are as pure: they decide, and others gather and perform.
const CORES: &[&str] = &["crates/reconciler-core"];

/// Packages that stand before the outside world, and know nothing of one another.
const ADAPTERS: &[&str] = &[
    "git",
    "github",
    "database",
    "registries",
    "webhooks",
    "openstack",
    "vault",
    "agent-client",
    "dry-run",
    "planner-process",
    "k8s",
    "controllers",
    "server",
    "forge",
];

/// Crates that carry an outside world; the heart names none of them.
const OUTSIDE: &[&str] = &["tokio", "axum", "kube", "sqlx", "gix", "reqwest", "rand", "tempfile", "capstan"];

/// Modules of the standard library that carry one.
const OUTSIDE_STD: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread"];

/// A package, as its `lib.rs` tells of it: its rooms from the bottom up, each with the rooms that it may import.
struct Map {
    root: PathBuf,
    rooms: Vec<(String, Vec<String>)>,
    /// What `lib.rs` hands on, and the room that it is from.
    handed_on: BTreeMap<String, String>,
}

impl Map {
    fn read(package: &str) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(package);
        let library = fs::read_to_string(root.join("lib.rs")).unwrap();
        let rooms = rooms_of(&library);
        let named = paths(&library).into_iter().filter_map(|path| {
            let from = path.first().filter(|first| rooms.iter().any(|(room, _)| room == *first))?;
            Some((path.last()?.clone(), from.clone()))
        });
        let handed_on = named.filter(|(name, room)| name != room).collect();
        Self { root, rooms, handed_on }
    }

    /// The files of a room, or all of the package where it is one room.
    fn files(&self) -> Vec<PathBuf> {
        if self.rooms.is_empty() {
            return walk(&self.root).into_iter().filter(|file| !file.ends_with("lib.rs")).collect();
        }
        self.rooms.iter().flat_map(|(room, _)| rust_files(&self.root, room)).collect()
    }

    fn has(&self, room: &str) -> bool {
        self.rooms.iter().any(|(name, _)| name == room)
    }

    /// The rooms that a file names, besides its own. `module` is its module path.
    fn imports(&self, module: &[String], source: &str) -> BTreeSet<String> {
        let room = module.first().map(String::as_str).unwrap_or_default();
        let named = paths(source).into_iter().filter_map(|path| {
            let climbs = path.iter().take_while(|part| *part == "super").count();
            let target = match path.first().map(String::as_str) {
                Some("crate" | "capstan") => path.get(1),
                // As many climbs as the module is deep end at the crate's root.
                Some("super") if climbs >= module.len() => path.get(climbs),
                _ => None,
            }?;
            if self.has(target) { Some(target.clone()) } else { self.handed_on.get(target).cloned() }
        });
        named.filter(|target| target != room).collect()
    }
}

/// The table of a `lib.rs`: `| [`room`] | what it owns | `other`, `another` |`.
fn rooms_of(library: &str) -> Vec<(String, Vec<String>)> {
    let rows = library.lines().filter_map(|line| {
        let cells: Vec<&str> = line.strip_prefix("//! | [`")?.split(" | ").collect();
        let [room, _, may_import] = cells.as_slice() else { panic!("no three cells: {line}") };
        let quoted = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        Some((room.trim_end_matches("`]").to_owned(), quoted(may_import)))
    });
    rows.collect()
}

#[test]
fn rooms_import_what_their_line_on_the_map_says() {
    let mut found = Vec::new();
    for package in PACKAGES {
        let map = Map::read(package);
        for (room, may_import) in &map.rooms {
            let mut imports = BTreeSet::new();
            for file in rust_files(&map.root, room) {
                if is_test(file.strip_prefix(&map.root).unwrap()) {
                    continue;
                }
                let source = fs::read_to_string(&file).unwrap();
                let named = map.imports(&module_depth(&map.root, &file), &source);
                let against = named.iter().filter(|target| !may_import.contains(target));
                found.extend(against.map(|target| format!("{}: names `{target}`", file.display())));
                imports.extend(named);
            }
            let unused = may_import.iter().filter(|other| !imports.contains(*other));
            found.extend(unused.map(|other| format!("{package}: `{room}` does not import `{other}`")));
        }
    }
    assert!(found.is_empty(), "imports and the tables of rooms differ:\n{}", found.join("\n"));
}

/// A room may import those above its line alone, so that there is no circle.
#[test]
fn every_room_has_a_line_on_the_map_below_those_that_it_imports() {
    for package in PACKAGES {
        let map = Map::read(package);
        if map.rooms.is_empty() {
            continue;
        }
        let library = fs::read_to_string(map.root.join("lib.rs")).unwrap();
        let declared = modules_of(&library);
        let mapped: BTreeSet<String> = map.rooms.iter().map(|(room, _)| room.clone()).collect();
        assert_eq!(declared, mapped, "{package}");
        for (at, (room, may_import)) in map.rooms.iter().enumerate() {
            for other in may_import {
                let above = map.rooms[..at].iter().any(|(name, _)| name == other);
                assert!(above, "{package}: `{room}` may import `{other}`, which stands below it");
            }
        }
    }
}

fn modules_of(library: &str) -> BTreeSet<String> {
    let file = syn::parse_file(library).unwrap();
    let declared = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if !is_for_tests(&module.attrs) => Some(module.ident.to_string()),
        _ => None,
    });
    declared.collect()
}

#[test]
fn the_heart_and_the_cores_name_nothing_of_the_outside_world() {
    let heart = PACKAGES.iter().position(|package| *package == LAST_OF_HEART).unwrap();
    for package in PACKAGES[..=heart].iter().chain(CORES) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(package);
        let mut found = Vec::new();
        for file in walk(&root).into_iter().filter(|file| !is_test(file.strip_prefix(&root).unwrap())) {
            let source = fs::read_to_string(&file).unwrap();
            found.extend(impurities(&source).iter().map(|v| format!("{}: {v}", file.display())));
        }
        assert!(found.is_empty(), "the heart and the cores must stay pure:\n{}", found.join("\n"));

        let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let named: Vec<&&str> = OUTSIDE
            .iter()
            .filter(|krate| manifest.lines().any(|line| line.split(['=', '.', ' ']).next() == Some(**krate)))
            .collect();
        assert!(named.is_empty(), "{package}/Cargo.toml names {named:?}");
    }
}

/// The packages of this workspace that one names in its manifest, its tests apart, as `crates/<name>`.
fn named_packages(package: &str) -> Vec<String> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join(package).join("Cargo.toml");
    let manifest = fs::read_to_string(manifest).unwrap();
    let dependencies = manifest.lines().skip_while(|line| *line != "[dependencies]").skip(1);
    let dependencies = dependencies.take_while(|line| !line.starts_with('['));
    let names = dependencies.filter_map(|line| line.strip_prefix("capstan-")?.split([' ', '.']).next());
    names.map(|name| format!("crates/{name}")).collect()
}

/// What Cargo does not hold: it lets any package name any other, as long as there is no circle.
#[test]
fn packages_name_those_before_them_and_adapters_no_other_adapter() {
    let is_adapter = |package: &str| ADAPTERS.iter().any(|name| package == format!("crates/{name}"));
    let mut named = 0;
    for (at, package) in PACKAGES.iter().enumerate().filter(|(_, package)| **package != "src") {
        for other in named_packages(package) {
            named += 1;
            assert!(
                PACKAGES[..at].contains(&other.as_str()),
                "{package} names {other}, which is not before it"
            );
            assert!(
                !(is_adapter(package) && is_adapter(&other)),
                "{package} names {other}: both are adapters"
            );
        }
    }
    assert!(named > 100, "{named} packages are named: the others are not seen");
}

#[test]
fn every_package_is_held() {
    let crates = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("crates")).unwrap();
    let there: BTreeSet<String> =
        crates.map(|folder| format!("crates/{}", folder.unwrap().file_name().to_string_lossy())).collect();
    let held = PACKAGES.iter().filter(|package| **package != "src").map(|package| (*package).to_owned());
    assert_eq!(there, held.collect());
}

/// What tests start is counted, so that `tests/budget` can hold it: through `tally::command`.
#[test]
fn processes_of_tests_are_counted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let own = |path: &&Vec<String>| {
        path.ends_with(&["Command".to_owned(), "new".to_owned()])
            && path.first().is_none_or(|first| first != "tokio")
    };
    let uncounted = ["bot", "cluster", "cli", "parts"]
        .iter()
        .flat_map(|program| walk(&root.join(program)))
        .filter(|file| {
            let source = fs::read_to_string(file).unwrap();
            source.contains("Command::new") && paths(&source).iter().any(|path| own(&path))
        });
    let uncounted: Vec<String> = uncounted.map(|file| file.display().to_string()).collect();
    assert!(uncounted.is_empty(), "these start processes that nobody counts:\n{}", uncounted.join("\n"));
}

#[test]
fn the_test_sees_what_a_room_imports() {
    let map = Map::read("src");
    let imports = |module: &[&str], source: &str| {
        let module: Vec<String> = module.iter().map(|part| (*part).to_owned()).collect();
        map.imports(&module, source).into_iter().collect::<Vec<_>>()
    };
    let output = ["cli", "output"];
    assert_eq!(imports(&output, "use crate::config::Config;"), ["config"]);
    assert_eq!(
        imports(&output, "use crate::{config::Config, state_folder::Notes};"),
        ["config", "state_folder"]
    );
    assert_eq!(imports(&output, "use super::super::state_folder::Notes;"), ["state_folder"]);
    assert_eq!(imports(&["config"], "fn f() { crate::cli::run(); }"), ["cli"]);
    assert_eq!(imports(&output, "use super::Printed; // crate::config"), [""; 0]);
    assert_eq!(imports(&output, "#[cfg(test)] mod tests { use crate::config::Config; }"), [""; 0]);
    let report = Map::read("crates/report");
    let module = ["closing".to_owned()];
    assert_eq!(report.imports(&module, "use super::Block;").into_iter().collect::<Vec<_>>(), ["block"]);
}

#[test]
fn the_test_fails_when_the_heart_reads_a_file_or_a_clock_or_waits() {
    assert_eq!(impurities("use std::{fs, fmt};"), ["names `std::fs`"]);
    assert_eq!(impurities("fn f() { std::time::SystemTime::now(); }"), ["names `SystemTime::now`"]);
    assert_eq!(impurities("fn f() { jiff::Timestamp::now(); }"), ["names `Timestamp::now`"]);
    assert_eq!(impurities("use tokio::sync::Mutex;"), ["names `tokio`"]);
    for waits in [
        "async fn f() {}",
        "trait T { async fn f(); }",
        "fn f() { g(async { 1 }); }",
        "fn f() { g(async || 1); }",
    ] {
        assert_eq!(impurities(waits), ["waits"], "{waits}");
    }
    assert!(impurities("use std::fmt; use jiff::Timestamp;").is_empty());
}

/// Whether something is compiled for tests alone.
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// What a file of the heart names of the outside world.
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
    found.extend(Paths::of(source).waits.then(|| "waits".to_owned()));
    found
}

/// Every path that a file names: each leaf of its `use` trees, and every path in types and expressions.
fn paths(source: &str) -> Vec<Vec<String>> {
    Paths::of(source).named.clone()
}

/// What a file outside of its tests names and hands on.
#[derive(Default)]
struct Paths {
    /// Each leaf of its `use` trees, and every path in types and expressions.
    named: Vec<Vec<String>>,
    /// Each leaf of its `pub use` trees, in whatever part of the crate that is seen, and the name that it has there.
    handed_on: Vec<(String, Vec<String>)>,
    /// Whether anything in it is asynchronous.
    waits: bool,
}

impl Paths {
    /// Several tests look at all files: each is parsed once.
    fn of(source: &str) -> Arc<Self> {
        static PARSED: Mutex<BTreeMap<String, Arc<Paths>>> = Mutex::new(BTreeMap::new());
        let known = || PARSED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(paths) = known().get(source) {
            return Arc::clone(paths);
        }
        let mut paths = Self::default();
        paths.visit_file(&syn::parse_file(source).unwrap_or_else(|error| panic!("not Rust: {error}")));
        Arc::clone(known().entry(source.to_owned()).or_insert_with(|| Arc::new(paths)))
    }

    /// The leaves of a `use` tree, each with the name that it is known by.
    fn leaves(prefix: &[String], tree: &syn::UseTree, leaves: &mut Vec<(String, Vec<String>)>) {
        let with = |ident: &syn::Ident| [prefix, &[ident.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => Self::leaves(&with(&path.ident), &path.tree, leaves),
            syn::UseTree::Name(name) => leaves.push((name.ident.to_string(), with(&name.ident))),
            syn::UseTree::Rename(rename) => leaves.push((rename.rename.to_string(), with(&rename.ident))),
            syn::UseTree::Glob(_) => leaves.push(("*".to_owned(), prefix.to_vec())),
            syn::UseTree::Group(group) => {
                group.items.iter().for_each(|tree| Self::leaves(prefix, tree, leaves));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Paths {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            syn::visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut leaves = Vec::new();
        Self::leaves(&[], &item.tree, &mut leaves);
        self.named.extend(leaves.iter().map(|(_, path)| path.clone()));
        if !matches!(item.vis, syn::Visibility::Inherited) {
            self.handed_on.extend(leaves);
        }
    }

    fn visit_signature(&mut self, signature: &'ast syn::Signature) {
        self.waits |= signature.asyncness.is_some();
        syn::visit::visit_signature(self, signature);
    }

    fn visit_expr_async(&mut self, block: &'ast syn::ExprAsync) {
        self.waits = true;
        syn::visit::visit_expr_async(self, block);
    }

    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        self.waits |= closure.asyncness.is_some();
        syn::visit::visit_expr_closure(self, closure);
    }

    /// `pub(super)` names no module: it says who sees an item.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.named.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }
}

/// The module path of a file below `root`: `src/cli/output.rs` -> `[cli, output]`.
fn module_depth(root: &Path, file: &Path) -> Vec<String> {
    let below = file.strip_prefix(root).unwrap().with_extension("");
    below.iter().map(|part| part.to_string_lossy().into_owned()).filter(|part| part != "mod").collect()
}

fn rust_files(root: &Path, room: &str) -> Vec<PathBuf> {
    let mut files = walk(&root.join(room));
    files.extend([root.join(format!("{room}.rs"))].into_iter().filter(|file| file.exists()));
    files
}
