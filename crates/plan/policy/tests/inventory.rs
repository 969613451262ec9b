//! What `validate` says of records of values and of templates that nobody uses.

use std::sync::Arc;

use super::validating::{CLUSTER, validated, validated_tree};
use crate::settings::RepositorySettings;
use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId, Unreadable};
use capstan_test_support::Files;

/// A snapshot of which one file cannot be read.
struct Without<'t> {
    tree: &'t Files,
    file: &'t str,
}

impl Tree for Without<'_> {
    fn entries(&self) -> &[TreeEntry] {
        self.tree.entries()
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        if entry.path.as_str() == self.file {
            return Err(Unreadable {
                path: entry.path.clone(),
                reason: "it is larger than 4 MiB".to_owned(),
            });
        }
        self.tree.read(entry)
    }

    fn folder_id(&self, folder: &RepoPath) -> Option<TreeId> {
        self.tree.folder_id(folder)
    }
}

#[test]
fn an_unreadable_record_is_reported() {
    let file = "gauss/peu01/capstan-values.yaml";
    let tree = Files::new(&[("gauss/peu01/base/c.yaml", CLUSTER), (file, "{}")]);
    let found = validated_tree(&RepositorySettings::default(), &Without { tree: &tree, file }, None);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with(&format!("unreadable-file Error {file} ")), "{found:?}");
    let found = validated_tree(&RepositorySettings::default(), &tree, None);
    assert!(found.len() == 1 && found[0].contains("values-edited"), "{found:?}");
}

#[test]
fn templates_of_a_release_that_nobody_uses_are_tried() {
    let now = [
        ("os/v1.0.0/schema.yaml", "type: object\nproperties: {a: {type: string, example: b}}\n"),
        (
            "os/v1.0.0/templates/a.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ a }}}\ndata: {b: {{ b }}}\n",
        ),
        ("os/v1.0.0/base/c.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n"),
        ("gauss/peu01/base/c.yaml", CLUSTER),
    ];
    let found = validated("", &now, None);
    assert!(found.len() == 1 && found[0].contains("os/v1.0.0/templates/a.yaml:4:14"), "{found:?}");
}
