//! All or nothing: after a failure the folder is byte for byte as it was.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use capstan_git::{WriteFailure, write_all_or_nothing};
use capstan_model::file_change::FileChange;
use capstan_model::tree::RepoPath;

fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
    FileChange {
        path: RepoPath::parse(path).unwrap(),
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
    }
}

/// Everything below a folder: paths with modes and contents, folders and links included.
fn listing(root: &Path) -> BTreeMap<String, (u32, String)> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_file() {
                fs::read_to_string(&path).unwrap()
            } else if metadata.is_symlink() {
                fs::read_link(&path).unwrap().display().to_string()
            } else {
                open.push(path.clone());
                String::new()
            };
            let name = path.strip_prefix(root).unwrap().display().to_string();
            found.insert(name, (metadata.permissions().mode() & 0o777, content));
        }
    }
    found
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("peu01/base")).unwrap();
    for (name, content) in [("a.yaml", "a: 1\n"), ("b.yaml", "b: 1\n"), ("c.yaml", "c: 1\n")] {
        fs::write(folder.path().join("peu01/base").join(name), content).unwrap();
    }
    fs::set_permissions(folder.path().join("peu01/base/a.yaml"), fs::Permissions::from_mode(0o750)).unwrap();
    folder
}

#[test]
fn files_are_changed_made_and_removed() {
    let folder = folder();
    write_all_or_nothing(
        folder.path(),
        &[
            change("peu01/base/a.yaml", Some("a: 1\n"), Some("a: 2\n")),
            change("peu01/base/b.yaml", Some("b: 1\n"), None),
            change("peu01/new/deep/d.yaml", None, Some("d: 1\n")),
        ],
    )
    .unwrap();
    fs::write(folder.path().join("ordinary"), "").unwrap();
    let ordinary = fs::metadata(folder.path().join("ordinary")).unwrap().permissions().mode() & 0o777;
    let listed = listing(folder.path());
    assert_eq!(listed["peu01/base/a.yaml"], (0o750, "a: 2\n".to_owned()), "keeps its executable bit");
    assert_eq!(listed["peu01/new/deep/d.yaml"], (ordinary, "d: 1\n".to_owned()));
    let names: Vec<&str> = listed.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "ordinary",
            "peu01",
            "peu01/base",
            "peu01/base/a.yaml",
            "peu01/base/c.yaml",
            "peu01/new",
            "peu01/new/deep",
            "peu01/new/deep/d.yaml"
        ]
    );
}

#[test]
fn a_folder_that_a_removal_empties_goes_too() {
    let folder = folder();
    fs::create_dir_all(folder.path().join("peu02/base")).unwrap();
    fs::write(folder.path().join("peu02/base/a.yaml"), "a: 1\n").unwrap();
    write_all_or_nothing(folder.path(), &[change("peu02/base/a.yaml", Some("a: 1\n"), None)]).unwrap();
    assert!(!folder.path().join("peu02").exists());
    assert!(folder.path().join("peu01").exists());
}

/// Every failure, at the first and at the last of the changes, leaves everything as it was.
#[test]
fn a_failure_anywhere_leaves_everything_as_it_was() {
    let good = [
        change("peu01/base/a.yaml", Some("a: 1\n"), Some("a: 2\n")),
        change("peu01/base/b.yaml", Some("b: 1\n"), None),
        change("peu01/new/deep/d.yaml", None, Some("d: 1\n")),
    ];
    type Expected = fn(&WriteFailure) -> bool;
    let bad: [(&str, FileChange, Expected); 9] = [
        ("edited meanwhile", change("peu01/base/c.yaml", Some("c: 0\n"), Some("c: 2\n")), |failure| {
            matches!(failure, WriteFailure::EditedMeanwhile { .. })
        }),
        ("made meanwhile", change("peu01/base/c.yaml", None, Some("c: 2\n")), |failure| {
            matches!(failure, WriteFailure::EditedMeanwhile { .. })
        }),
        ("removed meanwhile", change("peu01/base/x.yaml", Some("x: 1\n"), None), |failure| {
            matches!(failure, WriteFailure::EditedMeanwhile { .. })
        }),
        ("a link", change("link.yaml", Some("c: 1\n"), Some("c: 2\n")), |failure| {
            matches!(failure, WriteFailure::ThroughLink { .. })
        }),
        (
            "a linked folder",
            change("linked/c.yaml", Some("c: 1\n"), Some("c: 2\n")),
            |failure| matches!(failure, WriteFailure::ThroughLink { link, .. } if link.as_str() == "linked"),
        ),
        ("a folder in the way", change("peu01/base", None, Some("c: 2\n")), |failure| {
            matches!(failure, WriteFailure::InTheWay { .. })
        }),
        ("a file on the way", change("peu01/base/c.yaml/d.yaml", None, Some("d: 1\n")), |failure| {
            matches!(failure, WriteFailure::InTheWay { found: "not a folder", .. })
        }),
        ("below .git", change(".git/config", None, Some("[core]\n")), |failure| {
            matches!(failure, WriteFailure::Forbidden { .. })
        }),
        ("twice", change("peu01/base/a.yaml", Some("a: 1\n"), Some("a: 3\n")), |failure| {
            matches!(failure, WriteFailure::Twice { .. })
        }),
    ];
    for (name, bad, expected) in bad {
        for at in [0, good.len()] {
            let folder = folder();
            symlink("peu01/base/c.yaml", folder.path().join("link.yaml")).unwrap();
            symlink("peu01/base", folder.path().join("linked")).unwrap();
            let before = listing(folder.path());
            let mut changes = good.to_vec();
            changes.insert(at, bad.clone());
            let failure = write_all_or_nothing(folder.path(), &changes).unwrap_err();
            assert!(expected(&failure), "{name}: {failure}");
            assert_eq!(listing(folder.path()), before, "{name} at {at}");
        }
    }
}

/// The checks pass and the disk fails in the middle of the renames: a change further on needs a folder
/// where an earlier one of the same set puts a file.
#[test]
fn a_failure_between_two_renames_is_undone() {
    let folder = folder();
    let before = listing(folder.path());
    let failure = write_all_or_nothing(
        folder.path(),
        &[
            change("peu01/base/a.yaml", Some("a: 1\n"), Some("a: 2\n")),
            change("peu01/base/b.yaml", Some("b: 1\n"), None),
            change("peu01/new/d.yaml", None, Some("d: 1\n")),
            change("peu01/new", None, Some("a file where a folder was made\n")),
        ],
    )
    .unwrap_err();
    assert!(failure.to_string().contains("nothing was written"), "{failure}");
    assert_eq!(listing(folder.path()), before);
}

/// A name that fits until a temporary name is made of it does not; neither leaves traces.
#[test]
fn a_name_too_long_for_the_disk_is_an_error_without_traces() {
    let folder = folder();
    let before = listing(folder.path());
    let long = format!("peu01/{}.yaml", "x".repeat(300));
    let failure = write_all_or_nothing(
        folder.path(),
        &[
            change("peu01/base/a.yaml", Some("a: 1\n"), Some("a: 2\n")),
            change("peu01/extra/e.yaml", None, Some("e: 1\n")),
            change(&long, None, Some("long: true\n")),
        ],
    )
    .unwrap_err();
    assert!(matches!(failure, WriteFailure::Io { .. }), "{failure}");
    assert_eq!(listing(folder.path()), before);
}
