//! A second Fleet whose tree renders what the first one has applied.

use serde_json::json;

use super::{CUSTOMER, HOME, Town, rows};
use capstan_test_parts::repository::TestRepository;

/// Its folder, which renders the cluster of the first Fleet's `gauss/neighbour`.
const FOLDER: &str = "gauss/twin";

/// The second Fleet, and its tree.
pub(super) fn settle(town: &Town) -> TestRepository {
    let repository = TestRepository::new();
    let claim = [(FOLDER.to_owned(), rows::Claim::Here)];
    repository.write(".capstan.yaml", &rows::settings(&town.plane.uid(), &claim));
    for (path, text) in rows::plain(CUSTOMER, "neighbour") {
        let path = path.replace("gauss/neighbour", FOLDER);
        repository.write(&path, &text.replace("\"1\"", "stolen"));
    }
    repository.commit_all("A twin");
    let fleet = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet",
        "metadata": {"name": "second", "namespace": HOME},
        "spec": {"managementCluster": "mc-eu",
            "source": {"git": {"url": format!("file://{}", repository.path().display())}}}});
    town.plane.apply(&fleet.to_string());
    repository
}

/// It is refused by name, and has nothing.
pub(super) fn wrong(statuses: &super::Statuses) -> Vec<String> {
    let say = |line: &str, what: &str| {
        format!(
            "OwnedByAnotherFleet {FOLDER}/base/{line}: {what} belongs to the Fleet fleet, which applies it from the folder gauss/neighbour. An object belongs to one folder: rename it, or remove it there first"
        )
    };
    let expected = (
        "False Refused".to_owned(),
        vec![
            say("maps.yaml:1", "ConfigMap gauss/neighbour-a"),
            say("maps.yaml:6", "ConfigMap gauss/neighbour-b"),
            say("cluster.yaml:1", "Cluster gauss/neighbour"),
        ],
    );
    let told = statuses
        .get("gauss-twin")
        .map(|status| (rows::ready_and_reasons(status), status.inventory.objects().len()));
    let is_right = told.as_ref() == Some(&(expected.clone(), 0));
    (!is_right).then(|| format!("twin:\n    is {told:?}\n    not {expected:?}")).into_iter().collect()
}
