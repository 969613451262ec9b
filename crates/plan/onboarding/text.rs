//! The text of a `.capstan.yaml`: what is needed, and why.

use capstan_model::finding::FileError;
use capstan_model::tree::RepoPath;
use capstan_model::wording::{count, is_unfit};

const HEAD: &str = "\
# Settings of Capstan for this repository. Everything else has a default; `capstan schema` lists all keys.

# observe: checks on pull requests and answers to commands; no branch, commit or pull request of Capstan's.
# propose: newer releases are offered to clusters, each as a pull request.
mode: observe
";

/// What the settings are for.
#[derive(Debug, Clone, Copy)]
pub(super) struct SettingsSurvey<'a> {
    /// How many clusters they find.
    pub(super) clusters: usize,
    /// Patterns of the clusters whose objects are in bases that several overlays build.
    pub(super) shared: &'a [String],
    /// The folders that are provider sets by their shape.
    pub(super) sets: &'a [&'a str],
    /// What is not taken in.
    pub(super) left: &'a [FileError],
}

/// Where the shape of folders tells what is a cluster.
pub(super) fn by_shape(found: SettingsSurvey<'_>) -> String {
    let mut text = HEAD.to_owned();
    if found.clusters > 0 {
        text.push_str(&format!(
            "\n# Clusters are found by their shape, a folder with `base/` and perhaps `overlay/`: {} today.\n",
            count(found.clusters, "cluster", "clusters")
        ));
        if !found.shared.is_empty() {
            text.push_str("clusters:\n");
            text.push_str(&rules(found.shared));
        }
    } else if !found.left.is_empty() {
        text.push_str(NOTHING_YET);
    }
    text + &sets(found.sets)
}

/// The provider sets as a comment: a set does not say which management cluster runs it.
fn sets(sets: &[&str]) -> String {
    const SHOWN: usize = 10;
    let Some(first) = sets.first() else { return String::new() };
    let shown: String = sets.iter().take(SHOWN).map(|set| format!("#   {}\n", quoted(set))).collect();
    let more =
        if sets.len() > SHOWN { format!("#   and {} more\n", sets.len() - SHOWN) } else { String::new() };
    format!(
        "\n# Provider sets are found by their shape, too: folders whose `base/` holds provider objects of the Cluster API operator.\n{shown}{more}\
         # Which management cluster runs one, and who applies it, is written so:\n#\n# managementClusters:\n#   - name: NAME\n\
         #     uid: UID  # kubectl get namespace kube-system -o jsonpath={{.metadata.uid}}\n\
         #     providers: {{path: {}, by: others}}\n",
        quoted(first)
    )
}

/// An upgrade writes to a cluster's own folder. If the cluster's objects are elsewhere, the upgrade would create a
/// second one.
fn rules(shared: &[String]) -> String {
    if shared.is_empty() {
        return String::new();
    }
    let rules = shared.iter().map(|pattern| format!("    - {{match: {}, track: none}}\n", quoted(pattern)));
    let rules: String = rules.collect();
    format!(
        "  rules:\n    # Their objects are in bases that several clusters build, so an upgrade of one cluster cannot change them. Nothing is\n    \
         # offered to these until each has manifests of its own (`capstan render CLUSTER` prints them).\n{rules}"
    )
}

/// Where folders have the shape of a cluster, and none of them is one.
pub(super) fn without_clusters(found: SettingsSurvey<'_>) -> String {
    by_shape(found) + NO_CLUSTERS
}

const NO_CLUSTERS: &str = "
clusters:
  # Folders with `base/` look like clusters here, but are not: list the patterns of the cluster folders.
  paths: []
";

const NOTHING_YET: &str = "
# No folder is a cluster of its own yet. Once each has one, its manifests directly in it, write for example:
#
# clusters:
#   paths: [\"clusters/*\"]
#   base: \".\"
";

/// Where patterns do; the root for a base that is the cluster's folder itself.
pub(super) fn by_pattern(paths: &[String], base: &RepoPath, found: SettingsSurvey<'_>) -> String {
    if paths.is_empty() {
        return by_shape(SettingsSurvey { clusters: 0, ..found });
    }
    let quoted: Vec<String> = paths.iter().map(|path| quoted(path)).collect();
    let one_line = format!("  paths: [{}]\n", quoted.join(", "));
    let paths = if one_line.len() <= 100 {
        one_line
    } else {
        let lines: String = quoted.iter().map(|path| format!("    - {path}\n")).collect();
        format!("  paths:\n{lines}")
    };
    let base = match base.as_str() {
        "base" => String::new(),
        "" => "  # Their manifests are directly in these folders.\n  base: \".\"\n".to_owned(),
        base => {
            format!("  # The folder of a cluster's manifests, inside its folder.\n  base: {base}\n")
        }
    };
    let clusters = count(found.clusters, "cluster", "clusters");
    let rules = rules(found.shared);
    format!(
        "{HEAD}\nclusters:\n  # Each folder that one of these patterns matches is a cluster, by its path: {clusters} today.\n{paths}{base}{rules}"
    )
}

/// A text between double quotes. What JSON escapes, YAML reads; what a reader would not see is escaped too.
fn quoted(text: &str) -> String {
    use std::fmt::Write as _;

    let mut quoted = String::new();
    for letter in serde_json::Value::from(text).to_string().chars() {
        if is_unfit(letter) {
            let _ = write!(quoted, "\\U{:08X}", u32::from(letter));
        } else {
            quoted.push(letter);
        }
    }
    quoted
}
