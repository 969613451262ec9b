//! Whose an object is, of several folders that render it.

use super::super::testing::{id, placed};
use super::super::{AppliedInventory, Scopes};
use super::*;
use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use capstan_plan::settings::RepositorySettings;

#[test]
fn one_object_belongs_to_one_folder() {
    let folder = |id: &str| ClusterId::new(RepoPath::parse(id).unwrap());
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shared, namespace: org}\n";
    let shared = id("ConfigMap org/shared");
    let mut applied = AppliedInventory::default();
    applied.intend(&shared, "v1", "shared");
    let (rendered, home) = placed(config, "");
    let (settings, scopes) = (RepositorySettings::default(), Scopes::default());
    let verdict = |index: &OwnerIndex, of: &str| -> Vec<Beyond> {
        let folder = folder(of);
        let around = Surroundings { folder: &folder, settings: &settings, scopes: &scopes, neighbours: None };
        let found = boundary(&rendered, &home, &around, index);
        found.into_iter().map(|outside| outside.why).collect()
    };
    let (one, two) = (folder("one"), folder("two"));

    let mut both = OwnerIndex::default();
    both.renders(&one, [&shared]);
    both.renders(&two, [&shared]);
    assert_eq!(verdict(&both, "one"), [Beyond::TwoFolders(two.clone())], "nobody can say who is right");
    assert_eq!(verdict(&both, "two"), [Beyond::TwoFolders(one.clone())]);

    both.records(&one, &applied);
    assert_eq!(verdict(&both, "one"), [], "who has applied it keeps it");
    assert_eq!(verdict(&both, "two"), [Beyond::AnothersObject(one.clone())]);

    let mut moved = OwnerIndex::default();
    moved.renders(&two, [&shared]);
    moved.records(&one, &applied);
    assert_eq!(verdict(&moved, "two"), [], "what the one gave up is the other's");

    moved.unreadable(&one);
    assert_eq!(verdict(&moved, "two"), [Beyond::PerhapsAnothers(one)], "nobody knows whether it gave it up");
}
