//! `/capstan retarget`: an overlay that patches a template which gets a new name.

use capstan_forge::Edit;

use super::town::{REPOSITORY, Town};

const PEU01: &str = "gauss/peu01";
const BRANCH: &str = "capstan/upgrade/gauss/peu01";
const PATCH: &str = "gauss/peu01/overlay/template.yaml";
const WORKERS: &str = "gauss/peu01/base/workers.yaml";
/// printf '%s' '{"template":{"spec":{"instanceType":"m6i.large"}}}' | sha256sum
const NEW_NAME: &str = "peu01-md-0-5ef978e2";

fn patch(name: &str) -> String {
    format!(
        "# ours\napiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: AWSMachineTemplate\nmetadata:\n  name: {name} # the workers'\n  namespace: my-org\nspec:\n  template:\n    spec:\n      sshKeyName: customer\n"
    )
}

fn workers(replicas: u32) -> Edit {
    Edit::write(
        WORKERS,
        format!(
            "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {{name: peu01-md-0, namespace: my-org}}
spec:
  replicas: {replicas}
  template:
    spec:
      version: v1.21.4
      infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSMachineTemplate, name: peu01-md-0}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSMachineTemplate
metadata: {{name: peu01-md-0, namespace: my-org}}
spec: {{template: {{spec: {{instanceType: m5.large}}}}}}
"
        ),
    )
}

fn release(name: &str, instance: &str) -> Edit {
    Edit::write(
        format!("aws/{name}/base/workers.yaml"),
        format!("kind: AWSMachineTemplate\nspec: {{template: {{spec: {{instanceType: {instance}}}}}}}\n"),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_of_a_template_that_is_renamed_blocks_until_a_writer_says_retarget() {
    let mut town = Town::new("mode: propose\n", &[PEU01]).await;
    town.push("main", &[release("v21.0.0", "m5.large"), workers(3), Edit::write(PATCH, patch("peu01-md-0"))]);
    town.push("main", &[release("v22.0.0", "m6i.large")]);
    town.settle().await;
    assert!(town.open_pulls().is_empty(), "the upgrade is blocked");

    // Any pull request that touches the cluster is a place to say it.
    let mine = town.open("ada", "mine", &[Edit::write("gauss/peu01/overlay/notes.txt", "ours\n")]);
    town.settle().await;
    town.comment(mine, "mallory", "/capstan retarget").await;
    assert!(town.answers(mine)[0].contains("it needs write permission"), "{:?}", town.answers(mine));
    assert_eq!(town.open_pulls().len(), 1, "nothing is offered");
    town.comment(mine, "ada", "/capstan plan").await;
    assert!(
        town.answers(mine)[1].contains("The overlay patches AWSMachineTemplate peu01-md-0"),
        "{:?}",
        town.answers(mine)
    );

    town.comment(mine, "ada", "/capstan retarget").await;
    let answer = &town.answers(mine)[2];
    assert!(
        answer.contains("Names in its overlay follow their templates; nothing else in its overlay changes."),
        "{answer}"
    );
    let number = town.open_pulls().iter().find(|pull| pull.head_branch == BRANCH).unwrap().number;
    assert!(answer.contains(&format!("See #{number}.")), "{answer}");
    assert_eq!(town.file(BRANCH, PATCH), patch(NEW_NAME), "that name and nothing else");
    assert!(town.file(BRANCH, WORKERS).contains(&format!("name: {NEW_NAME}")));
    assert_eq!(town.check(number).conclusion.as_deref(), Some("success"), "{}", town.check(number).summary);

    // It holds as long as the proposal does, whatever becomes of the database.
    town.restart_without_database().await;
    town.push("main", &[workers(5)]);
    town.settle().await;
    assert!(town.file(BRANCH, WORKERS).contains("replicas: 5"));
    assert_eq!(town.file(BRANCH, PATCH), patch(NEW_NAME));

    town.forge.merge_pull(REPOSITORY, number, "ada", capstan_forge::MergeMethod::Squash).unwrap();
    town.settle().await;
    assert_eq!(town.file("main", PATCH), patch(NEW_NAME));

    // The next one needs a new permission: the earlier one was not for ever.
    town.push("main", &[release("v23.0.0", "m7i.large")]);
    town.settle().await;
    assert!(town.open_pulls().iter().all(|pull| pull.head_branch != BRANCH), "the upgrade is blocked again");
    town.done();
}

/// A block in the body of one pull request decides nothing in the next one of the same branch.
#[tokio::test(flavor = "multi_thread")]
async fn a_block_that_somebody_copies_from_an_earlier_pull_request_is_not_obeyed() {
    let town = Town::new("mode: propose\n", &[PEU01]).await;
    let notes = |name: &str| {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: notes, namespace: my-org}\n";
        Edit::write(format!("aws/{name}/base/notes.yaml"), text)
    };
    town.push("main", &[release("v21.0.0", "m5.large"), workers(3), Edit::write(PATCH, patch("peu01-md-0"))]);
    town.push("main", &[release("v22.0.0", "m6i.large")]);
    let mine = town.open("ada", "mine", &[Edit::write("gauss/peu01/overlay/notes.txt", "ours\n")]);
    town.settle().await;
    town.comment(mine, "ada", "/capstan retarget").await;
    let of_branch = |town: &Town| {
        let pulls = town.open_pulls();
        pulls.iter().find(|pull| pull.head_branch == BRANCH).map(|pull| pull.number)
    };
    let first = of_branch(&town).unwrap();
    assert_eq!(town.file(BRANCH, PATCH), patch(NEW_NAME));
    let decided = town.pull(first).body;
    town.forge.close(REPOSITORY, first, "ada").unwrap();
    town.settle().await;

    // The next release renames nothing, and gets a new pull request.
    town.push("main", &[release("v22.1.0", "m5.large"), notes("v22.1.0")]);
    town.settle().await;
    let next = of_branch(&town).unwrap();
    assert!(next != first && town.file(BRANCH, PATCH) == patch("peu01-md-0"));
    town.forge.edit_body(REPOSITORY, next, "mallory", &decided).unwrap();
    town.push("main", &[release("v22.2.0", "m6i.large"), notes("v22.2.0")]);
    town.settle().await;
    assert_eq!(town.file(BRANCH, PATCH), patch("peu01-md-0"), "nobody allowed that here");
    town.done();
}
