//! Snapshots of work trees and commits, judged by git's own tree ids.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::Arc;

use capstan_git::{Checkout, CheckoutError};
use capstan_model::file_change::FileChange;
use capstan_model::tree::{EntryKind, RepoPath, Tree, TreeId};

use capstan_ports::Workspace as _;
use capstan_test_parts::repository::{TestRepository, git};

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn paths(tree: &Arc<dyn Tree>) -> Vec<&str> {
    tree.entries().iter().map(|entry| entry.path.as_str()).collect()
}

fn text(tree: &Arc<dyn Tree>, at: &str) -> String {
    let entry = tree.entry(&path(at)).unwrap();
    String::from_utf8(tree.read(entry).unwrap().to_vec()).unwrap()
}

fn folder_id(tree: &Arc<dyn Tree>, at: &str) -> String {
    tree.folder_id(&path(at)).unwrap().to_string()
}

fn make_executable(repository: &TestRepository, at: &str) {
    fs::set_permissions(repository.at(at), fs::Permissions::from_mode(0o755)).unwrap();
}

/// Releases and clusters with everything that decides a tree id: modes, links, names that sort oddly.
fn fleet() -> TestRepository {
    let repository = TestRepository::new();
    repository.write("aws/v21.0.0/base/machinepool.yaml", "spec:\n  replicas: 2\n");
    repository.write("aws/v21.0.0/base/hook.sh", "#!/bin/sh\n");
    make_executable(&repository, "aws/v21.0.0/base/hook.sh");
    repository.write("gauss/peu01/base/cluster.yaml", "kind: Cluster\n");
    repository.write("gauss/peu01/base.yaml", "sorts: before base/\n");
    repository.write("gauss/peu01/base-0.yaml", "sorts: before base.yaml\n");
    symlink("../../aws/v21.0.0/base/machinepool.yaml", repository.at("gauss/peu01/link.yaml")).unwrap();
    repository.write("gauss/peu01/übung.yaml", "name: utf-8\n");
    repository
}

/// Nine objects that list 35 million files: a folder that holds the one below it twelve times, seven folders deep.
#[test]
fn a_tree_that_holds_itself_costs_its_own_folder_alone() {
    let repository = TestRepository::new();
    repository.write("empty", "");
    let blob = repository.git(&["hash-object", "-w", "empty"]);
    for number in 0..12 {
        repository.git(&["update-index", "--add", "--cacheinfo", &format!("100644,{blob},f{number}")]);
    }
    let mut id = repository.git(&["write-tree"]);
    for _ in 0..6 {
        let lines: String = (0..12).map(|number| format!("040000 tree {id}\td{number:02}\n")).collect();
        repository.write("lines", &lines);
        id = repository.git(&["-c", "alias.made=!git mktree <lines", "made"]);
    }
    let lines = format!("100644 blob {blob}\tkept.yaml\n040000 tree {id}\toverlay\n");
    repository.write("lines", &lines);
    let root = repository.git(&["-c", "alias.made=!git mktree <lines", "made"]);
    let commit = repository.git(&["commit-tree", "-m", "Twelve to the seventh", &root]);
    let checkout = Checkout::open(Some(repository.path())).unwrap();
    let tree = checkout.commit(&commit).unwrap();
    let paths: Vec<&str> = tree.entries().iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(paths, ["kept.yaml", "overlay/files-without-number.yaml"]);
    assert!(tree.read(&tree.entries()[0]).is_ok());
    let refused = tree.read(&tree.entries()[1]).unwrap_err();
    assert_eq!(refused.path.as_str(), "overlay");
    assert!(refused.reason.contains("repeats the same folders"), "{}", refused.reason);
    assert_eq!(tree.folder_id(&refused.path).unwrap().as_str(), id);
}

/// A file that nobody sees would be a way past every rule: an overlay's, or a whole folder of it.
#[test]
fn a_file_with_an_unreadable_name_is_still_an_entry() {
    let repository = TestRepository::new();
    repository.write("peu01/base/cluster.yaml", "a: 1\n");
    repository.write("peu01/base/cluster\\.yaml", "b: 1\n");
    repository.write("peu01/base/cluster%5C.yaml", "c: 1\n");
    repository.write("peu01/base/more\\/one.yaml", "d: 1\n");
    repository.write("peu01/base/more\\/deep/two.yaml", "e: 1\n");
    fs::write(repository.at("peu01/base").join(OsStr::from_bytes(b"\xff.yaml")), "f: 1\n").unwrap();
    let commit = repository.commit_all("Names");
    let checkout = Checkout::open(Some(repository.path())).unwrap();
    for tree in [checkout.commit(&commit).unwrap(), checkout.work_tree().unwrap()] {
        let listed: Vec<_> = tree.entries().iter().map(|entry| (entry.path.as_str(), entry.kind)).collect();
        assert_eq!(
            listed,
            [
                ("peu01/base/%FF.yaml", EntryKind::Unnamed),
                ("peu01/base/cluster%5C.yaml", EntryKind::File),
                ("peu01/base/cluster%5C.yaml%", EntryKind::Unnamed),
                ("peu01/base/cluster.yaml", EntryKind::File),
                ("peu01/base/more%5C", EntryKind::Unnamed),
            ]
        );
        let unnamed = tree.entries().iter().filter(|entry| entry.kind == EntryKind::Unnamed);
        assert!(unnamed.into_iter().all(|entry| tree.read(entry).is_err()));
        assert_eq!(text(&tree, "peu01/base/cluster%5C.yaml"), "c: 1\n");
        let folder = repository.git(&["rev-parse", "HEAD:peu01/base"]);
        assert_eq!(folder_id(&tree, "peu01/base"), folder);
    }
}

#[test]
fn a_clean_work_tree_has_the_tree_ids_that_git_has() {
    let repository = fleet();
    repository.commit_all("A fleet");
    let checkout = Checkout::open(Some(repository.path())).unwrap();
    for tree in [checkout.work_tree().unwrap(), checkout.commit("HEAD").unwrap()] {
        assert_eq!(
            paths(&tree),
            [
                "aws/v21.0.0/base/hook.sh",
                "aws/v21.0.0/base/machinepool.yaml",
                "gauss/peu01/base-0.yaml",
                "gauss/peu01/base.yaml",
                "gauss/peu01/base/cluster.yaml",
                "gauss/peu01/link.yaml",
                "gauss/peu01/übung.yaml",
            ]
        );
        assert_eq!(folder_id(&tree, ""), repository.git(&["rev-parse", "HEAD^{tree}"]));
        for folder in ["aws", "aws/v21.0.0", "aws/v21.0.0/base", "gauss", "gauss/peu01", "gauss/peu01/base"] {
            assert_eq!(
                folder_id(&tree, folder),
                repository.git(&["rev-parse", &format!("HEAD:{folder}")]),
                "{folder}"
            );
        }
        assert_eq!(tree.folder_id(&path("aws/v22.0.0")), None);
        assert_eq!(tree.folder_id(&path("gauss/peu01/base.yaml")), None, "a file is no folder");
        let kind = |at: &str| tree.entry(&path(at)).unwrap().kind;
        assert_eq!(kind("aws/v21.0.0/base/hook.sh"), EntryKind::Executable);
        assert_eq!(kind("gauss/peu01/link.yaml"), EntryKind::Symlink);
        assert_eq!(text(&tree, "gauss/peu01/link.yaml"), "../../aws/v21.0.0/base/machinepool.yaml");
        assert_eq!(text(&tree, "aws/v21.0.0/base/machinepool.yaml"), "spec:\n  replicas: 2\n");
        for entry in tree.entries() {
            let listed = repository.git(&["rev-parse", &format!("HEAD:{}", entry.path)]);
            assert_eq!(entry.blob.to_string(), listed, "{}", entry.path);
        }
    }
}

#[test]
fn an_edited_work_tree_is_what_git_add_would_make_of_it() {
    let repository = fleet();
    repository.write(".gitignore", "*.log\nbuild/\n!keep.log\n");
    repository.write("tracked.log", "ignored, but tracked\n");
    repository.git(&["add", "-f", "tracked.log"]);
    repository.write("build/tracked.txt", "in an ignored folder, but tracked\n");
    repository.git(&["add", "-f", "build/tracked.txt"]);
    repository.commit_all("A fleet with ignored files");

    repository.write("gauss/peu01/base/cluster.yaml", "kind: Cluster # edited\n");
    repository.write("gauss/peu02/base/cluster.yaml", "kind: Cluster # new\n");
    repository.write("noise.log", "ignored\n");
    repository.write("keep.log", "not ignored\n");
    repository.write("build/out.txt", "ignored\n");
    repository.write("gauss/build/out.txt", "ignored\n");
    fs::remove_file(repository.at("gauss/peu01/base.yaml")).unwrap();
    fs::remove_file(repository.at("gauss/peu01/link.yaml")).unwrap();
    repository.write("gauss/peu01/link.yaml", "now a file\n");
    make_executable(&repository, "gauss/peu01/base-0.yaml");
    fs::create_dir_all(repository.at("empty/folder")).unwrap();
    repository.write("nested/file.yaml", "in a repository of its own\n");
    git(&repository.at("nested"), &["init", "-q"]);

    let tree = Checkout::open(Some(repository.path())).unwrap().work_tree().unwrap();
    assert_eq!(
        paths(&tree),
        [
            ".gitignore",
            "aws/v21.0.0/base/hook.sh",
            "aws/v21.0.0/base/machinepool.yaml",
            "build/tracked.txt",
            "gauss/peu01/base-0.yaml",
            "gauss/peu01/base/cluster.yaml",
            "gauss/peu01/link.yaml",
            "gauss/peu01/übung.yaml",
            "gauss/peu02/base/cluster.yaml",
            "keep.log",
            "tracked.log",
        ]
    );
    assert_eq!(text(&tree, "gauss/peu01/base/cluster.yaml"), "kind: Cluster # edited\n");
    assert_eq!(tree.folder_id(&path("empty")), None, "Git knows no empty folders");

    fs::remove_dir_all(repository.at("nested")).unwrap();
    repository.git(&["add", "-A"]);
    assert_eq!(folder_id(&tree, ""), repository.git(&["write-tree"]));
}

#[test]
fn an_edit_that_keeps_size_and_time_is_seen() {
    let repository = TestRepository::new();
    repository.write("a.yaml", "replicas: 2\n");
    repository.commit_all("Two");
    repository.write("a.yaml", "replicas: 3\n");
    let tree = Checkout::open(Some(repository.path())).unwrap().work_tree().unwrap();
    // `printf 'replicas: 3\n' | git hash-object --stdin`
    assert_eq!(tree.entries()[0].blob.as_str(), repository.git(&["hash-object", "a.yaml"]));
}

#[test]
fn a_file_that_changes_after_the_snapshot_is_refused_not_mixed() {
    let repository = TestRepository::new();
    repository.write("a.yaml", "replicas: 2\n");
    let tree = Checkout::open(Some(repository.path())).unwrap().work_tree().unwrap();
    repository.write("a.yaml", "replicas: 2\nversion: v1.21.4\n");
    let error = tree.read(&tree.entries()[0]).unwrap_err();
    assert_eq!(error.to_string(), "a.yaml: changed while it was being read; try again");
}

#[test]
fn a_submodule_is_an_entry_that_is_never_entered() {
    let inner = TestRepository::new();
    inner.write("file.yaml", "a: 1\n");
    let commit = inner.commit_all("Inner");
    let repository = fleet();
    repository.git(&["submodule", "--quiet", "add", inner.path().to_str().unwrap(), "shared"]);
    repository.commit_all("With a submodule");
    let checkout = Checkout::open(Some(repository.path())).unwrap();
    for tree in [checkout.work_tree().unwrap(), checkout.commit("HEAD").unwrap()] {
        let entry = tree.entry(&path("shared")).unwrap();
        assert_eq!((entry.kind, entry.blob.as_str()), (EntryKind::Submodule, commit.as_str()));
        assert!(tree.read(entry).unwrap_err().reason.starts_with("a submodule"));
        assert_eq!(tree.entries_in(&path("shared")).len(), 0);
        assert_eq!(folder_id(&tree, ""), repository.git(&["rev-parse", "HEAD^{tree}"]));
    }
}

#[test]
fn what_a_sparse_checkout_leaves_out_is_still_there() {
    let repository = fleet();
    repository.commit_all("A fleet");
    for index in ["--no-sparse-index", "--sparse-index"] {
        repository.git(&["sparse-checkout", "set", "--cone", index, "gauss"]);
        assert!(!repository.at("aws").exists());
        let tree = Checkout::open(Some(repository.path())).unwrap().work_tree().unwrap();
        assert_eq!(folder_id(&tree, ""), repository.git(&["rev-parse", "HEAD^{tree}"]), "{index}");
        assert_eq!(text(&tree, "aws/v21.0.0/base/machinepool.yaml"), "spec:\n  replicas: 2\n");
    }
}

#[test]
fn a_write_to_what_a_sparse_checkout_leaves_out_names_the_folder_to_add() {
    let repository = fleet();
    repository.commit_all("A fleet");
    repository.git(&["sparse-checkout", "set", "--cone", "gauss"]);
    let checkout = Checkout::open(Some(repository.path())).unwrap();
    let change = |at: &str, before: &str| FileChange {
        path: path(at),
        before: Some(before.to_owned()),
        after: Some("spec:\n  replicas: 3\n".to_owned()),
    };
    let left_out = change("aws/v21.0.0/base/machinepool.yaml", "spec:\n  replicas: 2\n");
    let there = change("gauss/peu01/base/cluster.yaml", "kind: Cluster\n");
    let refused = checkout.write(&[there.clone(), left_out.clone()]).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "aws/v21.0.0/base/machinepool.yaml: is outside of the sparse checkout, so it is not on disk; nothing was written. Run `git sparse-checkout add aws/v21.0.0/base`, and the command again"
    );
    checkout.write(&[there]).unwrap();
    repository.git(&["sparse-checkout", "add", "aws/v21.0.0/base"]);
    checkout.write(&[left_out]).unwrap();
    assert_eq!(
        fs::read_to_string(repository.at("aws/v21.0.0/base/machinepool.yaml")).unwrap(),
        "spec:\n  replicas: 3\n"
    );
}

#[test]
fn a_commit_is_read_at_any_revision() {
    let repository = TestRepository::new();
    repository.write("a.yaml", "replicas: 2\n");
    let first = repository.commit_all("Two");
    repository.git(&["tag", "-a", "two", "-m", "annotated"]);
    repository.write("a.yaml", "replicas: 3\n");
    repository.commit_all("Three");
    let checkout = Checkout::open(Some(repository.path())).unwrap();
    for revision in ["HEAD~1", "two", &first, &first[..10], "main^"] {
        assert_eq!(text(&checkout.commit(revision).unwrap(), "a.yaml"), "replicas: 2\n", "{revision}");
        assert_eq!(checkout.commit_id(revision).unwrap().to_string(), first);
    }
    assert_eq!(text(&checkout.commit("main").unwrap(), "a.yaml"), "replicas: 3\n");
    let error = checkout.commit("v9").err().unwrap();
    assert!(matches!(&error, CheckoutError::NoSuchRevision { revision, .. } if revision == "v9"), "{error}");
    let error = checkout.commit("HEAD^{tree}").err().unwrap();
    assert!(matches!(&error, CheckoutError::NotACommit { kind, .. } if kind == "tree"), "{error}");
}

#[test]
fn a_revision_that_is_not_there_is_refused_with_what_may_be_meant() {
    let repository = fleet();
    repository.commit_all("A fleet");
    repository.write("a.yaml", "replicas: 2\n");
    repository.commit_all("Two");
    repository.git(&["branch", "team/canary"]);
    repository.git(&["tag", "v21.0.0"]);
    let checkout = Checkout::open(Some(repository.path())).unwrap();
    for (revision, hint) in [
        ("nope", ""),
        ("mian", "; did you mean `main`?"),
        ("canary", "; did you mean `team/canary`?"),
        ("v21", "; did you mean `v21.0.0`?"),
        ("HEAD~5", "; `HEAD` has 2 commits"),
        ("mian~1", "; did you mean `main`?"),
    ] {
        let error = checkout.commit(revision).err().unwrap().to_string();
        let (_, said) = error.split_once(": ").unwrap();
        assert_eq!(said, format!("there is no revision `{revision}`{hint}"));
    }
}

#[test]
fn a_release_that_is_gone_from_head_is_found_by_its_tree_id() {
    let repository = fleet();
    repository.commit_all("A fleet");
    let id = TreeId::parse(&repository.git(&["rev-parse", "HEAD:aws/v21.0.0"])).unwrap();
    repository.git(&["rm", "-rq", "aws"]);
    repository.commit_all("Without releases");
    repository.git(&["gc", "-q"]);
    let checkout = Checkout::open(Some(repository.path())).unwrap();
    let folder = checkout.folder_by_tree(&id).unwrap();
    assert_eq!(paths(&folder), ["base/hook.sh", "base/machinepool.yaml"]);
    assert_eq!(text(&folder, "base/machinepool.yaml"), "spec:\n  replicas: 2\n");
    assert_eq!(folder.folder_id(&RepoPath::root()), Some(id));

    let absent = TreeId::parse("9d1f000000000000000000000000000000000000").unwrap();
    assert!(checkout.folder_by_tree(&absent).is_none());
    let commit = TreeId::parse(&repository.git(&["rev-parse", "HEAD"])).unwrap();
    assert!(checkout.folder_by_tree(&commit).is_none(), "a commit's id is no folder's id");

    let clone = tempfile::tempdir().unwrap();
    let url = format!("file://{}", repository.path().display());
    git(clone.path(), &["clone", "-q", "--depth=1", &url, "shallow"]);
    let shallow = Checkout::open(Some(&clone.path().join("shallow"))).unwrap();
    assert!(shallow.folder_by_tree(folder.folder_id(&RepoPath::root()).as_ref().unwrap()).is_none());
    let error = shallow.commit("HEAD~1").err().unwrap().to_string();
    assert!(error.contains("git fetch --unshallow"), "{error}");
}

#[test]
fn a_file_above_the_limit_is_listed_and_not_read() {
    let repository = TestRepository::new();
    fs::write(repository.at("large.bin"), vec![b'x'; 4 * 1024 * 1024 + 1]).unwrap();
    repository.commit_all("Large");
    let checkout = Checkout::open(Some(repository.path())).unwrap();
    for tree in [checkout.work_tree().unwrap(), checkout.commit("HEAD").unwrap()] {
        let error = tree.read(&tree.entries()[0]).unwrap_err();
        assert_eq!(error.reason, "the file has 4194305 bytes; files above 4194304 are not read");
    }
}

#[test]
fn the_repository_around_a_folder_is_found() {
    let repository = fleet();
    repository.commit_all("A fleet");
    let checkout = Checkout::open(Some(&repository.at("gauss/peu01/base"))).unwrap();
    assert_eq!(checkout.root().unwrap(), repository.path().canonicalize().unwrap());
    let linked = tempfile::tempdir().unwrap();
    let linked = linked.path().join("linked");
    repository.git(&["worktree", "add", "-q", linked.to_str().unwrap(), "HEAD"]);
    let tree = Checkout::open(Some(&linked)).unwrap().work_tree().unwrap();
    assert_eq!(folder_id(&tree, ""), repository.git(&["rev-parse", "HEAD^{tree}"]));
}

#[test]
fn what_cannot_be_opened_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    fs::create_dir(&plain).unwrap();
    let error = Checkout::open(Some(&plain)).unwrap_err();
    assert!(matches!(error, CheckoutError::NoRepository { .. }), "{error}");
    assert!(error.to_string().contains("run `git init`"), "{error}");

    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Checkout::open(Some(&file)).unwrap_err();
    assert!(error.to_string().ends_with("not a directory; give a Git checkout with --repo"), "{error}");

    let error = Checkout::open(Some(&folder.path().join("absent"))).unwrap_err();
    assert!(error.to_string().contains("absent: there is no such directory"), "{error}");

    git(folder.path(), &["init", "-q", "--bare", "bare.git"]);
    let error = Checkout::open(Some(&folder.path().join("bare.git"))).unwrap().work_tree().err().unwrap();
    assert!(
        error.to_string().ends_with("a bare repository has no work tree; read a commit of it with --at REV")
    );

    let unborn = TestRepository::new();
    unborn.write("a.yaml", "a: 1\n");
    let checkout = Checkout::open(Some(unborn.path())).unwrap();
    assert_eq!(paths(&checkout.work_tree().unwrap()), ["a.yaml"]);
    let error = checkout.commit("HEAD").err().unwrap();
    assert!(
        error.to_string().ends_with("`HEAD` cannot be read, the branch main has no commit yet"),
        "{error}"
    );
}
