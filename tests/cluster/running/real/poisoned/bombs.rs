//! What a tenant may push to end or to fill the process that renders it: each asks for something else in too great a number.
//! Half of them are refused at a limit; the others stay just below all limits, so that the reconciler itself works with them.

use std::fmt::Write as _;

/// Path in the folder, and text.
pub(super) type Files = Vec<(String, String)>;

/// One of them.
pub(super) struct Bomb {
    pub(super) name: &'static str,
    /// What the folder NAME holds besides its base.
    pub(super) files: fn(&str) -> Files,
    /// A part of what is said of the folder: one of these. Some come to their limit and to that of memory at about the same time.
    pub(super) says: &'static [&'static str],
}

const fn bomb(name: &'static str, files: fn(&str) -> Files, says: &'static [&'static str]) -> Bomb {
    Bomb { name, files, says }
}

/// What is said where the process that tries folders is ended while it is at one.
pub(super) const ENDED: &str = "that one folder may";

/// Their number and that of the folders that they come to have no common divisor: each comes to each.
pub(super) static ALL: [Bomb; 21] = [
    bomb("list just below", |_| list(60_000), &[".large: field not declared in schema"]),
    bomb("list above", |_| list(400_000), &[ENDED]),
    bomb("doubling", doubling, &["the render has more than 1000000 values", ENDED]),
    bomb("kustomizations", kustomizations, &["the render builds more than 1000 kustomizations", ENDED]),
    bomb("links", |_| Vec::new(), &["this is a symbolic link, which Capstan never follows"]),
    bomb("tree", |_| Vec::new(), &["too often to list its files"]),
    bomb("many objects", many_objects, &["belongs to the whole management cluster"]),
    bomb("deep", deep, &["nested deeper than 200 levels"]),
    bomb("aliases", aliases, &["more than 1000000 values, aliases expanded", ENDED]),
    bomb("deepening", deepening, &["the object is nested deeper than 200 levels", ENDED]),
    bomb("text just below", |name| names(name, 2), &[""]),
    bomb(
        "text under many names",
        |name| names(name, 50),
        &["the render has more than 64 MiB of text", ENDED],
    ),
    bomb("list", |_| list(950_000), &[ENDED]),
    bomb("mapping just below", |_| mapping(40_000), &[""]),
    bomb("many files", many_files, &["belongs to the whole management cluster"]),
    bomb("keys", keys, &["more than 1000000 values", ENDED]),
    bomb("huge", huge, &["files above 4194304 are not read"]),
    bomb("documents", documents, &["more than 20000 documents", ENDED]),
    bomb("replacements", replacements, &["the render has more than 64 MiB of text", ENDED]),
    bomb("settings", settings, &["nested deeper than 200 levels"]),
    bomb(
        "settings just below",
        |_| vec![("capstan.yaml".to_owned(), format!("a: [{}]\n", "1,".repeat(60_000)))],
        &[""],
    ),
];

/// So many, the first of them, in a short run.
pub(super) const SHORT: usize = 6;

/// What no folder may bring: it is rendered to its end, and refused.
const ROOT: &str =
    "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: root}\n";

const RESOURCES: &str = "resources: [../base/cluster.yaml, ../base/maps.yaml]\n";

fn overlay(files: impl IntoIterator<Item = (&'static str, String)>) -> Files {
    files.into_iter().map(|(path, text)| (format!("overlay/{path}"), text)).collect()
}

fn map(name: &str, more: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\n{more}\n")
}

fn brackets() -> String {
    format!("a: {}{}\n", "[".repeat(10_000), "]".repeat(10_000))
}

fn deep(_: &str) -> Files {
    overlay([("a.yaml", brackets())])
}

fn settings(_: &str) -> Files {
    vec![("capstan.yaml".to_owned(), brackets())]
}

fn list(values: usize) -> Files {
    overlay([("a.yaml", map("hostile", &format!("large: [{}]", "1,".repeat(values))))])
}

fn mapping(keys: usize) -> Files {
    let fields: String = (0..keys).map(|key| format!("k{key}: 1,")).collect();
    overlay([("a.yaml", map("hostile", &format!("large: {{{fields}}}")))])
}

fn keys(_: &str) -> Files {
    overlay([("a.yaml", map("hostile", &format!("large: {{{}}}", "a,b,c,d,e,f,g,h,i,j,".repeat(200_000))))])
}

fn aliases(_: &str) -> Files {
    let mut text = map("hostile", "a0: &a0 [x, x, x, x, x, x, x, x, x, x]");
    for level in 1..12 {
        let row = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(text, "a{level}: &a{level} [{row}]").unwrap();
    }
    overlay([("a.yaml", text)])
}

fn patched(operations: String) -> Files {
    let patches = "patches:\n- {path: patch.yaml, target: {kind: Cluster}}\n";
    overlay([("kustomization.yaml", format!("{RESOURCES}{patches}")), ("patch.yaml", operations)])
}

fn deepening(_: &str) -> Files {
    let mut text = String::from("- {op: add, path: /a, value: {}}\n");
    for _ in 0..280 {
        text.push_str("- {op: add, path: /b, value: {}}\n- {op: move, from: /a, path: /b/a}\n");
        text.push_str("- {op: move, from: /b, path: /a}\n");
    }
    patched(text)
}

fn doubling(_: &str) -> Files {
    let mut text = String::from("- {op: add, path: /a, value: {b: text}}\n");
    for number in 0..26 {
        writeln!(text, "- {{op: copy, from: /a, path: /a/c{number}}}").unwrap();
    }
    patched(text)
}

/// One file of 4 MiB under so many names.
fn names(_: &str, count: usize) -> Files {
    let mut text = format!("{RESOURCES}configMapGenerator:\n- name: hostile\n  files:\n");
    for number in 0..count {
        writeln!(text, "  - k{number}=big.txt").unwrap();
    }
    overlay([("kustomization.yaml", text), ("big.txt", "x".repeat(4 << 20))])
}

fn kustomizations(_: &str) -> Files {
    let mut files = overlay([
        ("kustomization.yaml", "resources: [../base/cluster.yaml, ../base/maps.yaml, k14]\n".to_owned()),
        ("k0/kustomization.yaml", "resources: [a.yaml]\n".to_owned()),
        ("k0/a.yaml", map("hostile", "")),
    ]);
    let mut write = |path: String, text: String| {
        files.push((format!("overlay/{path}/kustomization.yaml"), text));
    };
    for level in 1..=14 {
        write(format!("k{level}"), "resources: [one, other]\n".to_owned());
        for (folder, prefix) in [("one", "l"), ("other", "r")] {
            let text = format!("namePrefix: {prefix}\nresources: [../../k{}]\n", level - 1);
            write(format!("k{level}/{folder}"), text);
        }
    }
    files
}

fn many_files(_: &str) -> Files {
    let file =
        |number: usize| (format!("overlay/d{}/f{number}.yaml", number / 100), "# Nothing.\n".to_owned());
    (0..10_000).map(file).chain(overlay([("root.yaml", ROOT.to_owned())])).collect()
}

fn many_objects(_: &str) -> Files {
    let objects: Vec<String> = (0..1_500).map(|number| map(&format!("hostile-{number}"), "")).collect();
    overlay([("a.yaml", objects.join("---\n")), ("root.yaml", ROOT.to_owned())])
}

fn documents(_: &str) -> Files {
    overlay([("a.yaml", "---\na: b\n".repeat(20_001))])
}

fn huge(_: &str) -> Files {
    overlay([("a.yaml", format!("# {}\n", "x".repeat(97)).repeat(524_288))])
}

fn replacements(name: &str) -> Files {
    let mut text =
        format!("{RESOURCES}configMapGenerator:\n- {{name: hostile, files: [big.txt]}}\nreplacements:\n");
    for number in 0..80 {
        writeln!(
            text,
            "- {{source: {{kind: ConfigMap, name: hostile, fieldPath: data.big\\.txt}}, targets: [{{select: {{kind: ConfigMap, name: {name}-a}}, fieldPaths: [data.k{number}], options: {{create: true}}}}]}}"
        )
        .unwrap();
    }
    overlay([("kustomization.yaml", text), ("big.txt", "x".repeat(1 << 20))])
}
