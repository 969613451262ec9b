//! What the `ManagedCluster` of a cluster folder is called.
//!
//! A folder that has one keeps its name for ever; a new one is called after its id, `gauss/peu01` ->
//! `gauss-peu01`, with eight hex digits of the id behind it where that name is taken, or where the id holds
//! what a name may not.

use std::collections::BTreeMap;

use capstan_model::dns_name::{LONGEST_LABEL, is_label};
use capstan_model::ids::ClusterId;
use capstan_plan::templates::SpecDigest;

/// Names for all clusters of a Fleet. `taken` are the ManagedClusters that exist in its namespace: name and
/// cluster id.
pub fn resource_names<'c>(
    clusters: impl IntoIterator<Item = &'c ClusterId>,
    taken: &BTreeMap<String, String>,
) -> BTreeMap<ClusterId, String> {
    let of_cluster: BTreeMap<&str, &str> =
        taken.iter().map(|(name, id)| (id.as_str(), name.as_str())).collect();
    let mut used: BTreeMap<String, String> = taken.clone();
    let mut names = BTreeMap::new();
    for id in clusters {
        let name = match of_cluster.get(id.as_str()) {
            Some(name) => (*name).to_owned(),
            None => {
                let plain = plain_name(id.as_str());
                match plain.filter(|name| !used.contains_key(name)) {
                    Some(name) => name,
                    None => hashed_name(id.as_str()),
                }
            }
        };
        used.insert(name.clone(), id.as_str().to_owned());
        names.insert(id.clone(), name);
    }
    names
}

/// The id with `-` for `/`, where that is a name and says all that the id says.
fn plain_name(id: &str) -> Option<String> {
    let name = id.replace('/', "-");
    is_label(&name).then_some(name)
}

fn hashed_name(id: &str) -> String {
    let hash = SpecDigest::of(&serde_json::Value::from(id)).short();
    let mut name: String = id
        .chars()
        .map(|letter| match letter.to_ascii_lowercase() {
            letter @ ('a'..='z' | '0'..='9') => letter,
            _ => '-',
        })
        .take(LONGEST_LABEL - 9)
        .collect();
    name = name.trim_matches('-').to_owned();
    if name.is_empty() { format!("cluster-{hash}") } else { format!("{name}-{hash}") }
}

#[cfg(test)]
mod tests {
    use capstan_model::tree::RepoPath;

    use super::*;

    fn ids(ids: &[&str]) -> Vec<ClusterId> {
        ids.iter().map(|id| ClusterId::new(RepoPath::parse(id).unwrap())).collect()
    }

    fn named(clusters: &[&str], taken: &[(&str, &str)]) -> Vec<String> {
        let taken = taken.iter().map(|(name, id)| ((*name).to_owned(), (*id).to_owned())).collect();
        let ids = ids(clusters);
        let names = resource_names(&ids, &taken);
        ids.iter().map(|id| names[id].clone()).collect()
    }

    #[test]
    fn a_folder_is_called_after_its_path() {
        assert_eq!(named(&["gauss/peu01"], &[]), ["gauss-peu01"]);
    }

    #[test]
    fn two_folders_with_one_name_get_different_names() {
        // printf '%s' '"a/b-c"' | sha256sum
        assert_eq!(named(&["a-b/c", "a/b-c"], &[]), ["a-b-c", "a-b-c-29818b5a"]);
        // The cluster that has the name keeps it, whichever comes first in the tree.
        assert_eq!(named(&["a-b/c", "a/b-c"], &[("a-b-c", "a/b-c")])[1], "a-b-c");
        assert_ne!(named(&["a-b/c", "a/b-c"], &[("a-b-c", "a/b-c")])[0], "a-b-c");
    }

    #[test]
    fn what_no_name_may_hold_is_replaced() {
        let name = &named(&["Gauß/peu_01"], &[])[0];
        assert!(name.starts_with("gau--peu-01-"), "{name}");
    }

    #[test]
    fn a_long_path_fits() {
        let long = format!("a/{}", "x".repeat(100));
        assert_eq!(named(&[&long], &[])[0].len(), 63);
    }
}
