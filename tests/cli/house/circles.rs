//! Within a package files import one another in one direction.
//!
//! That holds between folders. A `mod.rs` and the files below it still import one another in some places: those have a
//! number, which may only fall. What a `mod.rs` hands on counts as an import.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Map, PACKAGES, Paths, fs, is_test, module_depth};

/// The module path of a file.
pub(super) type Module = Vec<String>;

/// Each file with those that it imports, and one name that it takes from each.
pub(super) type Arrows = BTreeMap<Module, BTreeMap<Module, String>>;

/// Files in a circle with their `mod.rs`: package, how many.
const WITH_THEIR_FOLDER: &[(&str, usize)] = &[
    ("crates/bot", 19),
    ("crates/bot-core", 5),
    ("crates/database", 2),
    ("crates/demo", 2),
    ("crates/fleet", 7),
    ("crates/hosts", 6),
    ("crates/inventory", 10),
    ("crates/k8s", 8),
    ("crates/live", 2),
    ("crates/model", 15),
    ("crates/plan", 12),
    ("crates/providers", 13),
    ("crates/reconciler", 15),
    ("src", 3),
];

fn arrows_of(package: &str) -> Arrows {
    let map = Map::read(package);
    let files = map.files().into_iter().filter(|file| !is_test(file.strip_prefix(&map.root).unwrap()));
    let read = files.map(|file| (module_depth(&map.root, &file), fs::read_to_string(&file).unwrap()));
    arrows(&read.collect())
}

#[test]
fn files_import_one_another_in_one_direction() {
    let mut found = Vec::new();
    for package in PACKAGES {
        let between = between_folders(arrows_of(package));
        found.extend(circles(&between).into_iter().map(|circle| format!("{package}: {circle}")));
    }
    assert!(found.is_empty(), "files import one another in circles:\n{}", found.join("\n"));
}

#[test]
fn few_files_are_in_a_circle_with_their_folder() {
    let (mut found, mut named) = (BTreeMap::new(), Vec::new());
    for package in PACKAGES {
        let arrows = arrows_of(package);
        let files = in_circles(&arrows);
        if files > 0 {
            found.insert(*package, files);
            named.extend(circles(&arrows).into_iter().map(|circle| format!("{package}: {circle}")));
        }
    }
    let written: BTreeMap<&str, usize> = WITH_THEIR_FOLDER.iter().copied().collect();
    assert_eq!(
        found,
        written,
        "left: what there is, right: what is written in this file. Some of them:\n{}",
        named.join("\n")
    );
}

#[test]
fn the_test_sees_circles_of_files() {
    let read = |files: &[(&str, &str)]| {
        let files = files
            .iter()
            .map(|(module, source)| (module.split('/').map(str::to_owned).collect(), (*source).to_owned()));
        arrows(&files.collect())
    };
    let seen = |files: &[(&str, &str)]| circles(&between_folders(read(files)));
    let b_takes_from_a = ("x/b", "use super::a::A;");
    assert_eq!(
        seen(&[("x", ""), ("x/a", "use super::b; fn f() { b::g(); }"), b_takes_from_a]),
        ["x/a takes `b` from x/b takes `A` from x/a"],
    );
    let three = [
        ("x", ""),
        ("x/a", "use crate::x::b::B;"),
        ("x/b", "use super::c::C;"),
        ("x/c", "use super::a::{self, A};"),
    ];
    assert_eq!(seen(&three), ["x/a takes `B` from x/b takes `C` from x/c takes `a` from x/a"]);
    // What a folder hands on is the file's that it is from.
    let handed_on = ("x", "pub(super) use self::b::B;");
    assert_eq!(
        seen(&[handed_on, ("y", "use super::x::B;"), ("x/b", "use crate::y::Y;")]),
        ["x/b takes `Y` from y takes `B` from x/b"],
    );
    let one_way = ("x/a", "use super::b::B; #[cfg(test)] mod tests { use super::A; }");
    assert_eq!(seen(&[one_way, ("x/b", "#[cfg(test)] mod tests { use super::super::a::A; }")]), [""; 0]);
    let with_its_folder = [("x", "use self::a::A;"), ("x/a", "use super::X;")];
    assert_eq!(seen(&with_its_folder), [""; 0]);
    assert_eq!(in_circles(&read(&with_its_folder)), 2);
    let hands_on = [("x", "pub use self::a::A; pub use self::b::B;"), ("x/a", "use super::B;"), ("x/b", "")];
    assert_eq!(in_circles(&read(&hands_on)), 0);
    let is_seen_by_its_folder = [("x", "use self::a::A;"), ("x/a", "pub(super) struct A;")];
    assert_eq!(in_circles(&read(&is_seen_by_its_folder)), 0);
}

fn arrows(files: &BTreeMap<Module, String>) -> Arrows {
    let read: BTreeMap<&Module, Arc<Paths>> =
        files.iter().map(|(module, source)| (module, Paths::of(source))).collect();
    let house = House { read: &read };
    let mut arrows = Arrows::new();
    for (module, paths) in &read {
        for path in &paths.named {
            let Some((file, name)) = house.file_of(module, path, 0) else { continue };
            if file != **module {
                arrows.entry((*module).clone()).or_default().entry(file).or_insert(name);
            }
        }
    }
    arrows
}

/// Without the arrows between a `mod.rs` and the files below it.
fn between_folders(mut arrows: Arrows) -> Arrows {
    for (from, targets) in &mut arrows {
        targets.retain(|to, _| !to.starts_with(from) && !from.starts_with(to));
    }
    arrows
}

fn in_circles(arrows: &Arrows) -> usize {
    arrows.keys().filter(|file| circle_through(arrows, file).is_some()).count()
}

struct House<'a> {
    read: &'a BTreeMap<&'a Module, Arc<Paths>>,
}

impl House<'_> {
    /// The file that a path leads to, seen from a module, and the name that is taken from it.
    fn file_of(&self, from: &Module, path: &[String], followed: usize) -> Option<(Module, String)> {
        let climbs = path.iter().take_while(|part| *part == "super").count();
        let (mut file, mut rest): (Module, &[String]) = match path.first()?.as_str() {
            "crate" | "capstan" => (Vec::new(), &path[1..]),
            "self" => (from.clone(), &path[1..]),
            "super" => (from[..from.len().checked_sub(climbs)?].to_vec(), &path[climbs..]),
            first if self.has(from, first) => (from.clone(), path),
            _ => return None,
        };
        while let Some(next) = rest.first().filter(|next| self.has(&file, next)) {
            file.push(next.clone());
            rest = &rest[1..];
        }
        // A module that is named is used.
        let Some(name) = rest.first().filter(|name| *name != "self") else {
            return Some((file.clone(), file.last()?.clone()));
        };
        // Handing on leads from file to file; a circle of it would not compile.
        let handed_on = self.read.get(&file).and_then(|paths| {
            let (_, path) = paths.handed_on.iter().find(|(known, _)| known == name)?;
            self.file_of(&file, path, followed + 1).filter(|_| followed < 10)
        });
        handed_on.or_else(|| self.read.contains_key(&file).then(|| (file, name.clone())))
    }

    fn has(&self, folder: &Module, name: &str) -> bool {
        let module: Module = folder.iter().cloned().chain([name.to_owned()]).collect();
        self.read.contains_key(&module)
    }
}

/// A shortest circle through each file that is in one, each circle once.
fn circles(arrows: &Arrows) -> Vec<String> {
    let mut told: BTreeSet<&Module> = BTreeSet::new();
    let mut circles = Vec::new();
    for start in arrows.keys() {
        let Some(circle) =
            circle_through(arrows, start).filter(|circle| !circle.iter().any(|one| told.contains(one)))
        else {
            continue;
        };
        let ends = circle.iter().skip(1).chain([&start]);
        let steps = circle
            .iter()
            .zip(ends)
            .map(|(from, to)| format!("{} takes `{}` from ", from.join("/"), arrows[*from][*to]));
        circles.push(format!("{}{}", steps.collect::<String>(), start.join("/")));
        told.extend(circle);
    }
    circles
}

pub(super) fn circle_through<'a>(arrows: &'a Arrows, start: &'a Module) -> Option<Vec<&'a Module>> {
    let mut came_from: BTreeMap<&Module, &Module> = BTreeMap::new();
    let mut reached = vec![start];
    while !reached.is_empty() {
        let mut next = Vec::new();
        for from in reached {
            for to in arrows.get(from).into_iter().flat_map(BTreeMap::keys) {
                if to == start {
                    let mut circle = vec![from];
                    while let Some(before) = circle.last().and_then(|one| came_from.get(one)) {
                        circle.push(before);
                    }
                    circle.reverse();
                    return Some(circle);
                }
                if !came_from.contains_key(to) {
                    came_from.insert(to, from);
                    next.push(to);
                }
            }
        }
        reached = next;
    }
    None
}
