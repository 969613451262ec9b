//! A change of a file that clusters share affects all of them, wherever the file is.

use capstan_forge::Edit;

use super::town::Town;

const USERS: [&str; 2] = ["gauss/peu01", "gauss/peu02"];
const OTHER: &str = "gauss/peu03";

/// A component that sets how many machines a pool has.
pub(crate) fn size(replicas: u32) -> Edit {
    Edit::write(
        "shared/size/kustomization.yaml",
        format!(
            "apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
  - target: {{kind: MachinePool}}
    patch: |-
      - {{op: replace, path: /spec/replicas, value: {replicas}}}
"
        ),
    )
}

/// The base of a cluster whose size is that of the component.
pub(crate) fn sized(cluster: &str) -> Edit {
    let kustomization = "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [cluster.yaml, machinepool.yaml]
components: [../../../shared/size]
";
    Edit::write(format!("{cluster}/base/kustomization.yaml"), kustomization)
}

/// Three clusters, of which two have their size from a component beside them.
async fn town() -> Town {
    let town = Town::new("mode: propose\n", &[USERS[0], USERS[1], OTHER]).await;
    let mut edits = vec![size(3), Edit::write("shared/README.md", "What clusters share.\n")];
    edits.extend(USERS.map(sized));
    town.push("main", &edits);
    town.settle().await;
    town
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shared_component_touches_all_who_use_it_and_nobody_else() {
    let town = town().await;
    let number = town.open("ada", "bigger", &[size(5)]);
    let docs = town.open("ada", "docs", &[Edit::write("shared/README.md", "What they share.\n")]);
    town.settle().await;
    let check = town.check(number);
    assert!(check.title.contains("in 2 clusters"), "{} {}", check.title, check.summary);
    for user in USERS {
        assert!(check.summary.contains(user), "{user}: {}", check.summary);
    }
    assert!(check.summary.contains("| `/spec/replicas` | `3` | `5` |"), "{}", check.summary);
    assert!(!check.summary.contains(OTHER), "{}", check.summary);
    assert_eq!(town.check(docs).title, "No cluster is touched");

    // What came to the base since is not this pull request's doing.
    town.push(
        "main",
        &[Edit::write(
            "gauss/peu03/base/extra.yaml",
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
        )],
    );
    town.settle().await;
    assert!(town.check(number).title.contains("in 2 clusters"), "{}", town.check(number).title);
    assert_eq!(town.check(docs).title, "No cluster is touched");
    town.comment(number, "ada", "/capstan plan").await;
    assert!(!town.answers(number)[0].contains("touches no cluster"), "{:?}", town.answers(number));

    // One that takes the component away, or breaks it, touches them too.
    let gone = town.open("ada", "gone", &[Edit::remove("shared/size/kustomization.yaml")]);
    town.settle().await;
    let check = town.check(gone);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{} {}", check.title, check.summary);
    assert!(check.annotations.iter().any(|one| one["title"] == "render-failed"), "{:?}", check.annotations);
    town.done();
}

/// What its render looked for and did not find counts as well: a component that appears beside it.
#[tokio::test(flavor = "multi_thread")]
async fn what_appears_where_a_cluster_looked_touches_it() {
    let town = town().await;
    town.push("main", &[Edit::remove("shared/size/kustomization.yaml")]);
    town.settle().await;
    let mends = town.open("ada", "mends", &[size(4)]);
    town.settle().await;
    let check = town.check(mends);
    assert_ne!(check.title, "No cluster is touched");
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{} {}", check.title, check.summary);
    town.done();
}
