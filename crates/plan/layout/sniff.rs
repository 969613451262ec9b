//! Whether a file says that its folder is a cluster or a provider set, at the least cost.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::giant_swarm::{ChartSources, names_giant_swarm_release};
use capstan_model::kinds::{KindRole, is_cluster_api, is_of_operator, role};
use capstan_model::object::api_group;
use capstan_model::tree::{Tree, TreeEntry};
use capstan_yaml::manifest::objects;
use capstan_yaml::{Node, YamlError, YamlFile};

/// Cluster API's own group; its providers' groups are subdomains of it.
const CLUSTER_API: &str = "cluster.x-k8s.io";

/// What a file says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Sniffed {
    /// Its folder is a cluster.
    Cluster,
    /// Its folder is a provider set, unless another file says otherwise.
    Providers,
    /// Nothing about clusters.
    Other,
    /// It mentions clusters, but cannot be read.
    Unreadable(YamlError),
}

/// Looks at a file's content.
///
/// A top-level `apiVersion:` line settles most files without parsing them, and lets a cluster with a
/// broken file be refused by name later instead of not being found.
pub(super) fn sniff(bytes: &[u8]) -> Sniffed {
    let versions = || top_level(b"apiVersion:", bytes);
    if versions().any(|version| is_of_clusters(api_group(version))) {
        return Sniffed::Cluster;
    }
    if versions().any(|version| is_of_operator(api_group(version))) {
        return Sniffed::Providers;
    }
    let mentions = |word: &str| bytes.windows(word.len()).any(|window| window == word.as_bytes());
    let may_be = mentions(CLUSTER_API)
        || mentions("release")
            && ["ConfigMap", "HelmRelease", "application.giantswarm.io", "global:"]
                .iter()
                .any(|word| mentions(word));
    // The content behind a pointer of Git LFS is unknown.
    if !may_be && !bytes.starts_with(b"version https://git-lfs.") {
        return Sniffed::Other;
    }
    let file = match YamlFile::read_bytes(bytes) {
        Ok(file) => file,
        Err(error) => return Sniffed::Unreadable(error),
    };
    let objects: Vec<_> = file.documents().iter().flat_map(|document| objects(&document.root)).collect();
    let group_of = |object: &Node| object.text_at("apiVersion").map(|version| api_group(version).to_owned());
    let is_in = |object: &Node, is: fn(&str) -> bool| group_of(object).is_some_and(|group| is(&group));
    let sources = ChartSources::of(objects.iter().map(|(_, object)| *object));
    let is_of_cluster =
        |object: &Node| is_in(object, is_of_clusters) || names_giant_swarm_release(object, &sources);
    if objects.iter().any(|(_, object)| is_of_cluster(object)) {
        Sniffed::Cluster
    } else if objects.iter().any(|(_, object)| is_in(object, is_of_operator)) {
        Sniffed::Providers
    } else {
        Sniffed::Other
    }
}

/// Whether an API group is Cluster API's, and not that of provider objects.
fn is_of_clusters(group: &str) -> bool {
    is_cluster_api(group) && !is_of_operator(group)
}

/// Whether a file holds provider objects, whatever else it holds.
pub(super) fn says_providers(bytes: &[u8]) -> bool {
    if top_level(b"apiVersion:", bytes).any(|version| is_of_operator(api_group(version))) {
        return true;
    }
    let Ok(file) = YamlFile::read_bytes(bytes) else { return false };
    let mut objects = file.documents().iter().flat_map(|document| objects(&document.root));
    objects.any(|(_, object)| {
        object.text_at("apiVersion").is_some_and(|version| is_of_operator(api_group(version)))
    })
}

/// Whether a file is not YAML.
pub(super) fn is_broken(bytes: &[u8]) -> bool {
    YamlFile::read_bytes(bytes).is_err()
}

/// Whether a file seems to hold an object of such a group and kind: a hint before it is read, no more.
pub(crate) fn may_hold(bytes: &[u8], is: impl Fn(&str, &str) -> bool) -> bool {
    let groups: BTreeSet<&str> = top_level(b"apiVersion:", bytes).map(api_group).collect();
    let kinds: BTreeSet<&str> = top_level(b"kind:", bytes).collect();
    groups.iter().any(|group| kinds.iter().any(|kind| is(group, kind)))
}

/// Whether a file seems to hold a `Cluster`.
pub(super) fn has_cluster_object(bytes: &[u8]) -> bool {
    may_hold(bytes, is_cluster_kind)
}

/// Whether group and kind are those of a `Cluster`.
pub(super) fn is_cluster_kind(group: &str, kind: &str) -> bool {
    role(group, kind) == Some(KindRole::Cluster)
}

/// A file's content, or why it cannot be had.
pub(super) fn content(tree: &dyn Tree, entry: &TreeEntry) -> Result<Arc<[u8]>, String> {
    tree.read(entry).map_err(|unreadable| unreadable.reason)
}

/// The values of a key at the start of lines.
fn top_level<'a>(key: &'static [u8], bytes: &'a [u8]) -> impl Iterator<Item = &'a str> {
    bytes.split(|byte| *byte == b'\n').filter_map(move |line| {
        let value = std::str::from_utf8(line.strip_prefix(key)?).ok()?;
        let value = value.split(" #").next().unwrap_or(value);
        Some(value.trim().trim_matches(['"', '\'']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_decides_and_not_what_merely_mentions_it() {
        let cases = [
            ("apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\n", true),
            (
                "# note\n---\napiVersion: \"infrastructure.cluster.x-k8s.io/v1beta2\" # why\nkind: AWSCluster\n",
                true,
            ),
            ("apiVersion: v1\nkind: A\n---\napiVersion: controlplane.cluster.x-k8s.io/v1beta1\n", true),
            ("{\"apiVersion\": \"cluster.x-k8s.io/v1beta1\", \"kind\": \"Cluster\"}", true),
            ("apiVersion: cluster.x-k8s.io/v1beta1\nkind: [broken\n", true),
            ("apiVersion: xcluster.x-k8s.io/v1\nkind: A\n", false),
            ("apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    apiVersion: cluster.x-k8s.io/v1\n", false),
            ("apiVersion: apps/v1\nkind: Deployment\n", false),
            (
                "apiVersion: v1\nkind: List\nitems:\n- apiVersion: cluster.x-k8s.io/v1beta1\n  kind: Cluster\n",
                true,
            ),
            (
                "apiVersion: v1\nkind: Box\nitems:\n- apiVersion: cluster.x-k8s.io/v1beta1\n  kind: Cluster\n",
                false,
            ),
            (
                "apiVersion: v1\nkind: ConfigMap\ndata:\n  values: |\n    global:\n      release:\n        version: 34.5.0\n",
                true,
            ),
            ("apiVersion: v1\nkind: ConfigMap\ndata:\n  values: |\n    release: 34.5.0\n", false),
            ("", false),
        ];
        for (text, is_cluster) in cases {
            assert_eq!(sniff(text.as_bytes()) == Sniffed::Cluster, is_cluster, "{text}");
        }
    }

    #[test]
    fn provider_objects_alone_say_that_a_folder_is_a_provider_set() {
        let provider = "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\n";
        let cluster = "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\n";
        for (text, said, holds_providers) in [
            (provider.to_owned(), Sniffed::Providers, true),
            (format!("{provider}---\napiVersion: v1\nkind: ConfigMap\n"), Sniffed::Providers, true),
            (format!("{provider}---\n{cluster}"), Sniffed::Cluster, true),
            (cluster.to_owned(), Sniffed::Cluster, false),
            (
                "{\"apiVersion\": \"operator.cluster.x-k8s.io/v1alpha1\", \"kind\": \"CoreProvider\"}"
                    .to_owned(),
                Sniffed::Providers,
                true,
            ),
            (
                "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: operator.cluster.x-k8s.io/v1alpha2}\n"
                    .to_owned(),
                Sniffed::Providers,
                true,
            ),
            ("apiVersion: v1\nkind: ConfigMap\n".to_owned(), Sniffed::Other, false),
        ] {
            assert_eq!(sniff(text.as_bytes()), said, "{text}");
            assert_eq!(says_providers(text.as_bytes()), holds_providers, "{text}");
        }
    }

    #[test]
    fn an_unreadable_file_that_mentions_clusters_is_reported() {
        let text = "kind: Cluster\napiVersion : cluster.x-k8s.io/v1\nspec: [\n";
        assert!(matches!(sniff(text.as_bytes()), Sniffed::Unreadable(_)));
    }
}
