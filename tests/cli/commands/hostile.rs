//! Hostile and broken input: each is a finding of that file alone, the other clusters are planned, and
//! memory stays bounded (the child runs under a limit on its address space).

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;

use capstan_test_support::tally;
use serde_json::Value;

use super::{RECORD, release, workers};
use capstan_test_parts::sandbox::{Said, Sandbox};

/// Kibibytes of address space that a run may take: far more than it needs, far less than a bomb would.
const LIMIT: u32 = 1_500_000;

/// A cluster's name, the content of its base, and what Capstan reports: line and column, and the beginning of the
/// message.
type Hostile = (&'static str, Vec<u8>, Option<(u64, u64)>, &'static str);

fn hostile() -> Vec<Hostile> {
    let bomb = (1..12).fold(String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"), |mut text, level| {
        let row = vec![format!("*a{}", level - 1); 10].join(", ");
        let _ = writeln!(text, "a{level}: &a{level} [{row}]");
        text
    });
    let flow = format!("a: {}{}\n", "[".repeat(10_000), "]".repeat(10_000));
    let block = format!("{}x\n", "- ".repeat(10_000));
    let huge = format!("# {}\n", "x".repeat(97)).repeat(524_288);
    let million = (0..1_000_000).fold(String::new(), |mut text, number| {
        let _ = writeln!(text, "k{number}: {number}");
        text
    });
    // As many keys as fit below the limit on bytes; most stand twice.
    let dense = format!("{{{}}}\n", "a,b,c,d,e,f,g,h,i,j,".repeat(200_000));
    let lfs = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";
    vec![
        ("alias-bomb", bomb.into(), Some((6, 40)), "more than 1000000 values, aliases expanded"),
        ("deep-block", block.into(), Some((1, 401)), "nested deeper than 200 levels"),
        ("deep-flow", flow.into(), Some((1, 204)), "nested deeper than 200 levels"),
        ("dense", dense.into(), Some((1, 1_000_001)), "more than 1000000 values"),
        ("huge", huge.into(), None, "the file has 52428800 bytes; files above 4194304 are not read"),
        (
            "latin1",
            b"kind: ConfigMap\nmetadata: {name: caf\xe9}\n".to_vec(),
            Some((2, 21)),
            "byte 36 is not UTF-8",
        ),
        ("lfs", lfs.into(), Some((1, 1)), "a pointer of Git LFS, not the file itself"),
        ("million", million.into(), None, "the file has 15777780 bytes"),
        ("nul", b"a: \0\n".to_vec(), Some((1, 4)), "unexpected character"),
        ("utf16", b"\xff\xfek\0i\0n\0d\0".to_vec(), Some((1, 1)), "byte 0 is not UTF-8"),
    ]
}

fn fleet() -> Sandbox {
    let sandbox = Sandbox::with(&[
        ("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2)),
        ("aws/v1.1.0/base/md.yaml", &release("v1.31.2", 3)),
    ]);
    let names: Vec<&str> = hostile().iter().map(|(name, ..)| *name).collect();
    for name in names.iter().chain(&["fine", "link-in", "link-out", "link-to-folder", "module"]) {
        sandbox.write(&format!("acme/{name}/base/md.yaml"), &workers(name, 2, "v1.30.4"));
        sandbox.write(&format!("acme/{name}/capstan.yaml"), RECORD);
    }
    for (name, bytes, ..) in hostile() {
        std::fs::write(sandbox.at(&format!("acme/{name}/base/hostile.yaml")), bytes).unwrap();
    }
    let link = |target: &str, path: &str| std::os::unix::fs::symlink(target, sandbox.at(path)).unwrap();
    link("/etc/hostname", "acme/link-out/base/hostile.yaml");
    link("../../fine/base/md.yaml", "acme/link-in/base/hostile.yaml");
    link("../../fine/base", "acme/link-to-folder/base/hostile");
    let folder = sandbox.at("acme/module/base/hostile");
    std::fs::create_dir(folder).unwrap();
    sandbox.repository.git(&["add", "-A"]);
    let module = format!("160000,{},acme/module/base/hostile", "9d1f".repeat(10));
    sandbox.repository.git(&["update-index", "--add", "--cacheinfo", &module]);
    sandbox.repository.git(&["commit", "-qm", "hostile"]);
    sandbox
}

/// Runs the binary under the limit.
fn bounded(sandbox: &Sandbox, arguments: &[&str]) -> Said {
    let output = tally::command("bash")
        .args(["-c", &format!("ulimit -v {LIMIT} && exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_capstan")])
        .args(arguments)
        .current_dir(sandbox.repository.path())
        .output()
        .unwrap();
    Said {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

const LINK: &str = "this is a symbolic link, which Capstan never follows: put the file itself here";
const MODULE: &str = "this is a submodule, which Capstan never enters: put its files here";

#[test]
fn what_is_hostile_is_refused_by_file_and_line_and_the_others_are_planned() {
    let sandbox = fleet();
    // The work tree, and the commit as the bot reads it.
    for revision in [&[][..], &["--at", "HEAD"]] {
        let plans = bounded(&sandbox, &[&["plan", "--all", "-o", "json"], revision].concat()).json(1);
        let plan = |name: &str| {
            let id = format!("acme/{name}");
            plans.as_array().unwrap().iter().find(|plan| plan["cluster"] == id.as_str()).unwrap()
        };
        assert_eq!(plan("fine")["to"], "aws/v1.1.0", "{revision:?}");
        assert_eq!(plan("fine")["changes"].as_array().unwrap().len(), 2);
        for (name, _, place, message) in hostile() {
            refused(plan(name), "hostile.yaml", place, message);
        }
        refused(plan("link-in"), "hostile.yaml", None, LINK);
        refused(plan("link-out"), "hostile.yaml", None, LINK);
        refused(plan("link-to-folder"), "hostile", None, LINK);
        refused(plan("module"), "hostile", None, MODULE);
    }
}

fn refused(plan: &Value, file: &str, place: Option<(u64, u64)>, message: &str) {
    let (error, cluster) = (&plan["error"], plan["cluster"].as_str().unwrap());
    assert_eq!(error["file"], format!("{cluster}/base/{file}"), "{plan}");
    let told = error["line"].as_u64().zip(error["column"].as_u64());
    assert_eq!(told, place, "{plan}");
    assert!(error["message"].as_str().unwrap().contains(message), "{plan}");
}

/// A file whose name Capstan cannot read is reported with the escaped name, and is not skipped.
#[test]
fn a_name_that_cannot_be_read_is_an_error_and_the_others_are_planned() {
    let sandbox = Sandbox::with(&[
        ("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2)),
        ("aws/v1.1.0/base/md.yaml", &release("v1.31.2", 3)),
    ]);
    for name in ["aside", "bytes", "fine", "slash"] {
        sandbox.write(&format!("acme/{name}/base/md.yaml"), &workers(name, 2, "v1.30.4"));
        sandbox.write(&format!("acme/{name}/capstan.yaml"), RECORD);
    }
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, namespace: acme}\n";
    sandbox.write("acme/aside/notes\\1.txt", "Beside base and overlay.\n");
    sandbox.write("acme/slash/base/a\\b.yaml", map);
    std::fs::write(sandbox.at("acme/bytes/base").join(OsStr::from_bytes(b"\xff.yaml")), map).unwrap();
    sandbox.repository.commit_all("Names");
    for revision in [&[][..], &["--at", "HEAD"]] {
        let said = sandbox.capstan(&[&["validate"], revision].concat());
        let why = "the name of this file or folder has a backslash or is not UTF-8 (shown as `%5C`), so Capstan cannot read it: rename it";
        assert_eq!(
            said.ended(3).out,
            format!(
                "\
error[unreadable-file] acme/aside/notes%5C1.txt: {why}
error[unreadable-file] acme/bytes/base/%FF.yaml: {why}
error[unreadable-file] acme/slash/base/a%5Cb.yaml: {why}
3 errors, 0 warnings; checked 4 clusters, 2 releases
`capstan rules RULE` says what a rule means
"
            )
        );
        let plans = sandbox.capstan(&[&["plan", "--all", "-o", "json"], revision].concat()).json(1);
        let told: Vec<_> = plans
            .as_array()
            .unwrap()
            .iter()
            .map(|plan| {
                (plan["cluster"].as_str().unwrap(), plan["to"].as_str(), plan["error"]["file"].as_str())
            })
            .collect();
        assert_eq!(
            told,
            [
                ("acme/aside", Some("aws/v1.1.0"), None),
                ("acme/bytes", None, Some("acme/bytes/base/%FF.yaml")),
                ("acme/fine", Some("aws/v1.1.0"), None),
                ("acme/slash", None, Some("acme/slash/base/a%5Cb.yaml")),
            ]
        );
    }
}

/// A command may run in a workflow of GitHub's, which takes lines of its log for commands, and in a terminal.
#[test]
fn names_forge_no_line_of_text_and_move_no_cursor() {
    const NAME: &str = "acme/a\n::error::forged\u{1b}]0;forged\u{7}\u{1b}[8m\u{202e}";
    /// Of an object, in YAML.
    const OBJECT: &str = r#"name: "c\nerror: all lost\e[8m""#;
    const SHOWN: &str = "acme/a\\n::error::forged\\u{1b}]0;forged\\u{7}\\u{1b}[8m\\u{202e}";
    let sandbox = Sandbox::with(&[
        ("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2)),
        ("aws/v1.1.0/base/md.yaml", &release("v1.31.2", 3)),
        (&format!("{NAME}/base/md.yaml"), &workers("a", 2, "v1.30.4")),
        (&format!("{NAME}/capstan.yaml"), RECORD),
        ("acme/c/base/md.yaml", &workers("c", 2, "v1.30.4").replace("name: c-md-0", OBJECT)),
        ("acme/c/capstan.yaml", RECORD),
        (&format!("{NAME}-b/base/md.yaml"), "a: [\n"),
        (&format!("{NAME}-b/capstan.yaml"), RECORD),
    ]);
    for arguments in [
        &["validate"][..],
        &["validate", "-o", "github"],
        &["clusters"],
        &["plan", "--all"],
        &["plan", "--all", "-o", "diff"],
        &["plan", "--all", "--path"],
        &["plan", "--all", "-o", "markdown"],
        &["plan", "--all", "--path", "-o", "markdown"],
        &["plan", "acme/c", "--explain"],
        &["upgrade", NAME, "-o", "text"],
        &["upgrade", "acme/c", "-o", "text"],
        &[NAME],
        &["render", &format!("{NAME}-b")],
        &["adopt"],
        &["plan", &format!("{NAME}-c")],
    ] {
        let output = tally::command(env!("CARGO_BIN_EXE_capstan"))
            .args(arguments)
            .env("CLICOLOR_FORCE", "1")
            .current_dir(sandbox.repository.path())
            .output()
            .unwrap();
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let plain = ["0", "1", "4", "31", "32", "33"]
            .iter()
            .fold(said.clone(), |plain, colour| plain.replace(&format!("\u{1b}[{colour}m"), ""));
        let is_unfit = |c: char| c != '\n' && (c.is_control() || c == '\u{202e}');
        assert!(!plain.contains(is_unfit), "{arguments:?}: {said:?}");
        let command = plain.lines().find(|line| {
            let line = line.trim_start();
            line.starts_with("::") && !line.starts_with("::error file=acme/")
        });
        assert_eq!(command, None, "{arguments:?}: {said}");
        let forged = plain.lines().find(|line| line.starts_with("error: all lost"));
        assert_eq!(forged, None, "{arguments:?}: {said}");
        let is_named = plain.contains("forged") || plain.contains("all lost");
        assert!(is_named, "{arguments:?} says nothing of the name: {said}");
    }
    let told = sandbox.capstan(&["validate"]);
    assert!(told.out.starts_with(&format!("error[invalid-yaml] {SHOWN}-b/base/md.yaml:1:4: ")), "{told:?}");
    let told = sandbox.capstan(&["clusters"]);
    assert_eq!(told.out.lines().count(), 4, "{told:?}");
}

#[test]
fn validate_says_each_once_and_render_refuses_with_the_place() {
    let sandbox = fleet();
    for revision in [&[][..], &["--at", "HEAD"]] {
        let told = bounded(&sandbox, &[&["validate", "-o", "json"], revision].concat()).json(3);
        let findings = told.as_array().or_else(|| told["findings"].as_array()).unwrap();
        let mut files: Vec<&str> = findings.iter().map(|finding| finding["file"].as_str().unwrap()).collect();
        let number = files.len();
        files.dedup();
        assert_eq!(files.len(), number, "one finding a file: {findings:#?}");
        let mut wanted: Vec<String> =
            hostile().iter().map(|(name, ..)| format!("acme/{name}/base/hostile.yaml")).collect();
        wanted.extend(["link-in", "link-out"].map(|name| format!("acme/{name}/base/hostile.yaml")));
        wanted.extend(["link-to-folder", "module"].map(|name| format!("acme/{name}/base/hostile")));
        wanted.sort();
        assert_eq!(files, wanted);
    }
    for name in ["alias-bomb", "huge", "lfs"] {
        let said = bounded(&sandbox, &["render", &format!("acme/{name}")]);
        let place = format!("acme/{name}/base/hostile.yaml");
        assert!(said.ended(1).err.contains(&place) && said.out.is_empty(), "{said:?}");
    }
    bounded(&sandbox, &["render", "acme/fine"]).ended(0);
}

/// An overlay of nine objects that list 35 million files: its cluster is refused by the folder, the others are planned.
#[test]
fn a_tree_that_holds_itself_in_one_overlay_costs_that_cluster_alone() {
    let sandbox = Sandbox::with(&[
        ("aws/v1.0.0/base/md.yaml", &release("v1.30.4", 2)),
        ("aws/v1.1.0/base/md.yaml", &release("v1.31.2", 2)),
        ("acme/fine/base/md.yaml", &workers("fine", 2, "v1.30.4")),
        ("acme/fine/capstan.yaml", RECORD),
        ("acme/huge/base/md.yaml", &workers("huge", 2, "v1.30.4")),
        ("acme/huge/capstan.yaml", RECORD),
    ]);
    let git = |arguments: &[&str]| sandbox.repository.git(arguments);
    let blob = git(&["hash-object", "-w", "acme/fine/base/md.yaml"]);
    let made = |lines: String| {
        sandbox.write("lines", &lines);
        git(&["-c", "alias.made=!git mktree <lines", "made"])
    };
    let mut id = made((0..12).map(|at| format!("100644 blob {blob}\tf{at:02}.yaml\n")).collect());
    for _ in 0..7 {
        id = made((0..12).map(|at| format!("040000 tree {id}\td{at:02}\n")).collect());
    }
    let list = |folder: &str| git(&["ls-tree", &format!("HEAD:{folder}")]);
    let cluster = made(format!("{}\n040000 tree {id}\toverlay\n", list("acme/huge")));
    let with = |list: String, name: &str, tree: &str| -> String {
        let others = list.lines().filter(|line| !line.ends_with(&format!("\t{name}")));
        others.map(|line| format!("{line}\n")).chain([format!("040000 tree {tree}\t{name}\n")]).collect()
    };
    let folder = made(with(list("acme"), "huge", &cluster));
    let root = made(with(list(""), "acme", &folder));
    let commit = git(&["commit-tree", "-m", "Twelve to the eighth", &root]);
    let plans = bounded(&sandbox, &["plan", "acme/fine", "acme/huge", "--at", &commit, "-o", "json"]).json(1);
    assert_eq!(plans[0]["to"], "aws/v1.1.0");
    let error = &plans[1]["error"];
    assert_eq!(error["file"], "acme/huge/overlay", "{error}");
    assert!(error["message"].as_str().unwrap().contains("too often to list its files"), "{error}");
}
