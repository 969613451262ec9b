//! Only the table describes kinds: no other product file writes a kind's name, except for a few that know
//! something else of single kinds.

use std::path::{Path, PathBuf};

use super::super::rows;

/// Files and folders that name kinds, and what they know of them that is not the table's.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("live/applying/plan/mod.rs", "a phase is called so"),
    ("kustomize/conversion", "how single kinds are written in each version of their API"),
    ("model/kinds", "the table"),
    ("plan/boundary/home.rs", "which kinds have no namespace"),
    ("plan/boundary/trusted.rs", "which kinds make Secrets of other controllers"),
    ("plan/boundary/selectors.rs", "what an empty selector selects"),
    ("plan/policy/api_version_not_served.rs", "which kinds Cluster API's own releases serve"),
    ("plan/policy/contract_mismatch.rs", "which kinds Cluster API's own releases serve"),
    ("plan/policy/control_plane_replicas_even.rs", "where kubeadm is told about etcd"),
    ("plan/policy/kubeadm.rs", "where kubeadm's configuration stands"),
    ("plan/policy/kubernetes_version_without_v.rs", "how two control planes' webhooks read a version"),
    ("plan/policy/removed_apis.rs", "which API versions end, kind by kind"),
    ("plan/policy/refused_change.rs", "which fields kubeadm's webhook lets change"),
    ("kustomize/render", "kustomize's own tables"),
    ("live/owners/kubeconfig.rs", "what a kubeconfig calls itself"),
    ("live/cloud", "what OpenStack's kinds ask of a cloud"),
    ("live/rollout/pools.rs", "which fields of single providers' pools replace instances"),
    ("live/rollout/facts.rs", "which fields of single providers' kinds replace machines"),
    ("kustomize/schema", "which kinds the definitions that are built in define"),
    ("plan/templates/references.rs", "where objects of a kind name others"),
    ("plan/templates/role.rs", "how contracts want the kinds called that an owner names in a role"),
    ("k8s/crd/managed_cluster.rs", "a column's heading"),
    ("plan/onboarding/model.rs", "how kinds of infrastructure end after their provider's name"),
];

/// The packages that are read. In the others such words mean something else or only play a part: GitHub's stand-in, pages,
/// metrics.
const ROOMS: &[&str] = &[
    "../src/cli",
    "agent-client",
    "bot",
    "budget",
    "fleet",
    "k8s",
    "kustomize",
    "live",
    "model",
    "plan",
    "ports",
    "reconciler",
    "report",
    "yaml",
];

#[test]
fn no_other_product_file_writes_the_name_of_a_kind() {
    let mut found = Vec::new();
    for (name, text) in product_files() {
        if !EXCEPTIONS.iter().any(|(exception, _)| name.starts_with(exception)) {
            let lines = product_lines(&text).filter(|(_, line)| names_a_kind(line));
            found.extend(lines.map(|(number, line)| format!("crates/{name}:{number}: {}", line.trim())));
        }
    }
    assert_eq!(found, [""; 0], "ask `kinds` what an object is:\n{}", found.join("\n"));
}

#[test]
fn every_exception_is_needed() {
    let files = product_files();
    for (exception, why) in EXCEPTIONS {
        let mut excepted = files.iter().filter(|(name, _)| name.starts_with(exception));
        let is_needed = excepted.any(|(_, text)| product_lines(text).any(|(_, line)| names_a_kind(line)));
        assert!(is_needed, "{exception} ({why}) names no kind any more");
    }
}

#[test]
fn a_name_is_found_however_it_is_compared() {
    for line in [
        r#"if id.kind == "Cluster" {"#,
        r#"matches!(kind, "MachineSet" | "Widget")"#,
        r#"kind.ends_with("ControlPlane")"#,
        r#"("infrastructure.cluster.x-k8s.io", "ExampleMachineTemplate") => true,"#,
        r#"kind.strip_suffix("Template")"#,
    ] {
        assert!(names_a_kind(line), "{line}");
    }
    for line in [
        r#"is_cluster(id) && id.name == "peu01""#,
        r#"("helm.toolkit.fluxcd.io", "HelmRelease")"#,
        r#"format!("{id} is no Cluster")"#,
        r#"id.kind == "ConfigMap""#,
    ] {
        assert!(!names_a_kind(line), "{line}");
    }
}

/// Whether a line holds a text that is a kind of Cluster API's and its providers' as far as the table knows
/// them, or the ending of some. (Kubernetes' own kinds mean what they mean there, whatever a cluster makes of them.)
fn names_a_kind(line: &str) -> bool {
    let is_kind = |word: &str| {
        let providers = rows().filter(|row| row.fits_group("infrastructure.cluster.x-k8s.io") || is_own(row));
        let mut patterns = providers.flat_map(|row| row.kinds).filter(|pattern| **pattern != "*");
        patterns.any(|pattern| match pattern.strip_prefix('*') {
            Some(ending) => word.ends_with(ending) && !NO_KINDS.contains(&word),
            None => word == *pattern,
        })
    };
    line.split('"').skip(1).step_by(2).any(|word| {
        let is_word = word.starts_with(char::is_uppercase) && word.chars().all(char::is_alphanumeric);
        is_word && is_kind(word)
    })
}

/// Rows of Cluster API's own groups.
fn is_own(row: &super::row::KindRow) -> bool {
    ["", "addons.", "bootstrap.", "controlplane.", "exp."]
        .iter()
        .any(|group| row.fits_group(&format!("{group}cluster.x-k8s.io")))
}

/// Words that end as kinds do: phases, reasons of conditions, kinds of other groups.
const NO_KINDS: &[&str] =
    &["ManagedCluster", "NoCluster", "OtherManagementCluster", "UnknownManagementCluster"];

/// The lines of a file before its tests, without comments, with their numbers.
fn product_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut lines = (1..).zip(text.lines()).peekable();
    let mut done = false;
    std::iter::from_fn(move || {
        let (number, line) = lines.next().filter(|_| !done)?;
        done = line == "#[cfg(test)]" && lines.peek().is_some_and(|(_, next)| next.ends_with('{'));
        Some((number, line))
    })
    .filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Product files of the packages: their names below `crates`, and their texts.
fn product_files() -> Vec<(String, String)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut folders: Vec<PathBuf> = ROOMS.iter().map(|room| source.join(room)).collect();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(source).unwrap().to_str().unwrap().to_owned();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let is_test = ["tests", "testing"].contains(&stem) || stem.ends_with("_tests");
            if path.is_dir() && !is_test {
                folders.push(path);
            } else if name.ends_with(".rs") && !is_test {
                found.push((name, std::fs::read_to_string(&path).unwrap()));
            }
        }
    }
    assert!(found.len() > 200, "{} files", found.len());
    found.sort();
    found
}
