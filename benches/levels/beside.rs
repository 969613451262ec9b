//! The same clusters by a Python script with Jinja2 and libyaml, and by Kapitan.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use capstan_yaml::YamlFile;

use super::{Level, TEMPLATE, cluster, levels};
use crate::process::seconds;

/// The version that `prepare` builds.
const KAPITAN: &str = "kapitan-0.36.3";
const SCRIPT: &str = include_str!("render.py");
/// What the schema says where no level does.
const DEFAULTS: &str = "{control: {replicas: 1}, network: {mtu: 1500, pods: 192.168.0.0/16}, monitoring: {enabled: false, interval: 60}}";
/// The names that the template reads, taken from where Kapitan has them.
const HEAD: &str = "{% set p = inventory.parameters %}{% set cluster = {'name': p.cluster_name} %}{% set customer = p.customer %}{% set labels = p.labels %}{% set monitoring = p.monitoring %}{% set network = p.network %}{% set endpoint = p.endpoint %}{% set cloud = p.cloud %}{% set control = p.control %}{% set kubernetes = p.kubernetes %}{% set flavors = p.flavors %}{% set pools = p.pools %}";

/// What a program took for all clusters, and what it made of the first.
pub(crate) struct Beside {
    /// CPU seconds.
    pub(crate) seconds: f64,
    /// The objects of the first cluster, as JSON.
    pub(crate) objects: BTreeSet<String>,
}

/// The environment's Python, where `prepare` could build it.
pub(crate) fn python() -> Option<PathBuf> {
    let tools = std::env::var_os("CAPSTAN_TOOLS").map(PathBuf::from);
    let tools = tools.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/capstan")))?;
    Some(tools.join(KAPITAN).join("bin/python")).filter(|python| python.is_file())
}

/// The script, over the repository that Capstan reads too.
pub(crate) fn script(python: &Path, repository: &Path, out: &Path) -> Beside {
    let file = out.join("render.py");
    fs::create_dir_all(out).unwrap();
    fs::write(&file, SCRIPT).unwrap();
    let rendered = out.join("rendered");
    let seconds = run(Command::new(python).arg(&file).arg(repository).arg(&rendered));
    Beside { seconds, objects: objects(&rendered.join(cluster(0).name).join("all.yaml")) }
}

/// Kapitan, one process, over an inventory of its own with the same levels and values.
pub(crate) fn kapitan(python: &Path, clusters: usize, folder: &Path) -> Beside {
    let write = |path: String, text: String| {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("templates/all.yaml".to_owned(), format!("{HEAD}{TEMPLATE}"));
    write("inventory/classes/defaults.yml".to_owned(), format!("parameters: {DEFAULTS}\n"));
    for level in levels(clusters) {
        let text = format!("classes: [{}]\nparameters: {}\n", classes(&level).join(", "), level.values);
        write(format!("inventory/classes/{}/{}.yml", level.kind.to_lowercase(), level.name), text);
    }
    for level in (0..clusters).map(cluster) {
        let mut of = vec!["defaults".to_owned()];
        of.extend(classes(&level));
        let values = level.values.strip_prefix('{').unwrap().replace("}]", ", zone: a}]");
        let values = values.replace("zone: b, zone: a", "zone: b").replace("}, {", ", zone: a}, {");
        let text = format!(
            "classes: [{}]\nparameters: {{cluster_name: {name}, kapitan: {{vars: {{target: {name}}}, compile: [{{output_path: ., input_type: jinja2, input_paths: [templates/all.yaml]}}]}}, {values}\n",
            of.join(", "),
            name = level.name,
        );
        write(format!("inventory/targets/{}.yml", level.name), text);
    }
    let program = python.with_file_name("kapitan");
    let seconds = run(Command::new(python).arg(program).args(["compile", "-p", "1"]).current_dir(folder));
    let compiled = folder.join("compiled").join(cluster(0).name).join("all.yaml");
    Beside { seconds, objects: objects(&compiled) }
}

fn classes(level: &Level) -> Vec<String> {
    level.within.iter().map(|(kind, name)| format!("{}.{name}", kind.to_lowercase())).collect()
}

/// The objects of a file, as JSON with sorted keys.
pub(crate) fn objects(file: &Path) -> BTreeSet<String> {
    let read = YamlFile::read_bytes(&fs::read(file).unwrap()).unwrap();
    let object = |document: &capstan_yaml::Document| {
        let mut value = document.root.value();
        value.sort_all_objects();
        value.to_string()
    };
    read.documents().iter().map(object).collect()
}

/// The CPU seconds that a program takes.
fn run(command: &mut Command) -> f64 {
    let before = of_children();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    of_children() - before
}

/// CPU seconds of all children that ended.
fn of_children() -> f64 {
    seconds("self", 13) + seconds("self", 14)
}
