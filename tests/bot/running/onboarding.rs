//! First contact: one pull request for a repository without settings, and nothing else.

use capstan_forge::{Edit, Fault, Matching, MergeMethod, NewPull, PullState, Strike};

use super::sample;
use super::town::{REPOSITORY, Town};

const BRANCH: &str = "capstan/onboarding";
const FILE: &str = ".capstan.yaml";
const PEU01: &str = "gauss/peu01";

/// Two releases and two clusters, of which the second records nothing; no settings.
async fn town() -> Town {
    let mut files = vec![sample::release("v21.0.0", "v1.21.4"), sample::release("v22.0.0", "v1.22.5")];
    files.extend(sample::cluster(PEU01));
    let is_record =
        |edit: &Edit| matches!(edit, Edit::Write { path, .. } if path == "gauss/peu02/capstan.yaml");
    files.extend(sample::cluster("gauss/peu02").into_iter().filter(|edit| !is_record(edit)));
    Town::with(&files, None).await
}

/// A cluster in a folder of its own, for Flux.
fn flat(name: &str) -> Edit {
    Edit::write(
        format!("fleet/{name}/cluster.yaml"),
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: {name}\nspec: {{}}\n"
        ),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_without_settings_gets_one_pull_request_and_nothing_else() {
    let town = town().await;
    let pulls = town.pulls();
    assert_eq!(pulls.len(), 1);
    let pull = &pulls[0];
    assert_eq!(
        (pull.title.as_str(), pull.head_branch.as_str(), pull.author.clone()),
        ("Set up Capstan: add .capstan.yaml", BRANCH, town.forge.bot_login())
    );
    for line in [
        "2 clusters, 2 releases.",
        "| `gauss/peu01` | `aws/v21.0.0` | recorded | none found |",
        "| `gauss/peu02` | `aws/v21.0.0` | 100%: 1 field equal, 0 otherwise, 0 missing | none found |",
        "| `gauss/peu01` | `aws/v22.0.0` | 1 change, replaces 2 machines |",
    ] {
        assert!(pull.body.lines().any(|known| known == line), "{line}\n{}", pull.body);
    }
    let file = town.file(BRANCH, FILE);
    assert!(file.contains("\nmode: observe\n") && !file.contains("clusters:"), "{file}");
    let commit = &town.forge.commits(REPOSITORY, BRANCH).unwrap()[0];
    assert!(commit.verified, "no author is sent, so GitHub signs");
    let diff = town.forge.pull_diff(REPOSITORY, pull.number).unwrap();
    assert_eq!(diff.matches("diff --git ").count(), 1, "{diff}");

    // No check on it, none on a person's, no answer, no other branch; and no call while nothing moves.
    let mine = town.open("ada", "mine", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    town.comment(mine, "ada", "/capstan plan").await;
    town.resync().await;
    assert_eq!(town.forge.write_calls(), 4, "a tree, a commit, a branch and a pull request");
    assert!(
        town.check_named("capstan", mine).is_none() && town.check_named("capstan", pull.number).is_none()
    );
    assert!(town.answers(mine).is_empty());
    assert_eq!(town.forge.branches(REPOSITORY).unwrap(), [BRANCH, "main", "mine"]);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn merged_checks_begin_and_it_is_never_asked_again() {
    let mut town = town().await;
    let mine = town.open("ada", "mine", &[sample::machine_pool(PEU01, "v1.20.1", 2)]);
    town.settle().await;
    town.forge.merge_pull(REPOSITORY, 1, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    assert_eq!(town.check(mine).conclusion.as_deref(), Some("failure"));
    assert_eq!(town.open_pulls().len(), 1, "observing opens no pull request");

    town.push("main", &[Edit::remove(FILE)]);
    town.restart_without_database().await;
    assert_eq!(town.pulls().len(), 2, "whoever takes the settings away again is not asked either");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_by_a_person_it_is_declined_also_when_the_database_is_lost() {
    let mut town = town().await;
    town.forge.close(REPOSITORY, 1, "ada").unwrap();
    town.settle().await;
    let before = town.forge.write_calls();
    town.push("main", &[flat("new")]);
    town.settle().await;
    town.forge.delete_branch(REPOSITORY, BRANCH, "ada").unwrap();
    town.restart_with_nothing().await;
    assert_eq!((town.pulls().len(), town.forge.write_calls()), (1, before));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn pointed_at_another_branch_it_is_not_asked_a_second_time() {
    let town = town().await;
    town.push("develop", &[Edit::write("README.md", "hello\n")]);
    town.forge.retarget(REPOSITORY, 1, "ada", "develop").unwrap();
    town.settle().await;
    let before = town.forge.write_calls();
    town.push("main", &[flat("new")]);
    town.settle().await;
    town.forge.close(REPOSITORY, 1, "ada").unwrap();
    town.push("main", &[flat("newer")]);
    town.settle().await;
    assert_eq!((town.pulls().len(), town.forge.write_calls()), (1, before));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn declined_stays_declined_when_the_default_branch_has_another_name() {
    let town = town().await;
    town.forge.close(REPOSITORY, 1, "ada").unwrap();
    town.settle().await;
    let before = town.forge.write_calls();
    town.push("trunk", &[flat("new")]);
    town.forge.make_default(REPOSITORY, "trunk").unwrap();
    town.resync().await;
    assert_eq!((town.pulls().len(), town.forge.write_calls()), (1, before));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn file_and_body_follow_the_repository_until_a_person_works_on_the_branch() {
    let town = Town::with(&[flat("one"), flat("two")], None).await;
    assert!(town.file(BRANCH, FILE).contains("  paths: [\"fleet/*\"]\n"));
    let said = town.pull(1).body;
    assert!(said.contains("capstan init --release platform/v1.0.0 --from fleet/one --write"), "{said}");

    let note = format!("Please wait for Ada.\n\n{said}");
    town.forge.edit_body(REPOSITORY, 1, "ada", &note).unwrap();
    town.push("main", &[Edit::write("README.md", "hello\n")]);
    town.settle().await;
    assert_eq!(town.pull(1).body, note, "nothing new to say");

    town.push("main", &[Edit::write("fleet/addons/cni.yaml", "kind: DaemonSet\n")]);
    town.settle().await;
    let file = town.file(BRANCH, FILE);
    assert!(file.contains("  paths: [\"fleet/one\", \"fleet/two\"]\n"), "{file}");
    assert_eq!(town.pulls().len(), 1);

    let head = town.push(BRANCH, &[Edit::write(FILE, "mode: propose\n")]);
    town.push("main", &[flat("three")]);
    town.settle().await;
    town.resync().await;
    assert_eq!(town.pull(1).head, head);
    assert_eq!(town.file(BRANCH, FILE), "mode: propose\n");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_come_otherwise_close_it_with_the_reason() {
    let town = town().await;
    town.push("main", &[Edit::write(FILE, "mode: observe\n")]);
    town.settle().await;
    let pull = town.pull(1);
    assert_eq!(pull.state, PullState::Closed);
    assert!(
        pull.body
            .starts_with("> Closed by Capstan: `.capstan.yaml` is on the default branch now, and applies.\n"),
        "{}",
        pull.body
    );
    town.resync().await;
    assert_eq!(town.pulls().len(), 1);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_branch_of_that_name_is_theirs() {
    let town = Town::with(&[Edit::write("README.md", "hello\n")], None).await;
    assert!(town.pulls().is_empty() && town.forge.write_calls() == 0, "nothing for Capstan is here");
    town.push(BRANCH, &[Edit::write(FILE, "mode: propose\n")]);
    town.push("main", &[flat("one")]);
    town.settle().await;
    assert!(town.pulls().is_empty() && town.forge.write_calls() == 0);
    let new = NewPull {
        title: "Mine".to_owned(),
        head: BRANCH.to_owned(),
        base: "main".to_owned(),
        ..NewPull::default()
    };
    let number = town.forge.open_pull(REPOSITORY, "ada", new).unwrap();
    town.push("main", &[flat("two")]);
    town.settle().await;
    assert_eq!((town.pull(number).body.as_str(), town.forge.write_calls()), ("", 0));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_archived_repository_gets_nothing_until_it_is_unarchived() {
    let town = Town::with(&[Edit::write("README.md", "hello\n")], None).await;
    town.push("main", &[flat("one")]);
    town.forge.archive(REPOSITORY, true).unwrap();
    town.settle().await;
    town.resync().await;
    assert_eq!((town.pulls().len(), town.forge.write_calls()), (0, 0));
    town.forge.archive(REPOSITORY, false).unwrap();
    town.resync().await;
    assert_eq!(town.pulls().len(), 1);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fork_gets_nothing() {
    let town = Town::with(&[Edit::write("README.md", "hello\n")], None).await;
    let fork = town.forge.fork(REPOSITORY, "ada").unwrap();
    town.forge.install("ada", capstan_forge::Selection::All).unwrap();
    town.settle().await;
    town.forge.commit(&fork, "main", "ada", "Mine", &[flat("one")]).unwrap();
    town.settle().await;
    town.resync().await;
    assert!(town.forge.pulls(&fork).unwrap().is_empty() && town.forge.write_calls() == 0);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_remembered_and_a_death_between_two_writes_is_made_good() {
    let files = [flat("one")];
    let town = Town::with(&[Edit::write("README.md", "hello\n")], None).await;
    let tried =
        || town.forge.count_requests(|call| call.method == "POST" && call.path.ends_with("/git/trees"));
    let trees = Matching::any().method("POST").path("/git/trees");
    town.forge.fail_next(1, trees, Strike::Before, Fault::Status(403));
    town.push("main", &files);
    town.settle().await;
    assert_eq!((town.pulls().len(), tried()), (0, 1));
    town.resync().await;
    assert_eq!(tried(), 1, "it is left alone for a while");
    town.pass(11 * 60);
    let opening = Matching::any().method("POST").path("/pulls");
    town.forge.fail_next(1, opening, Strike::Before, Fault::Status(403));
    town.resync().await;
    assert_eq!((town.pulls().len(), tried()), (0, 2), "the branch stands, its pull request does not");
    town.pass(40 * 60);
    town.resync().await;
    assert_eq!((town.pulls().len(), tried()), (1, 2), "the same commit gets it");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_repository_gets_a_proposal_for_its_readable_part_and_the_bot_continues() {
    // A bomb of YAML anchors, a kustomization that includes itself, and a file that is not YAML.
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let before = format!("*a{}", level - 1);
        bomb.push_str(&format!("a{level}: &a{level} [{}]\n", [before.as_str(); 8].join(", ")));
    }
    let circle = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [../circle, ../fleet/one]\nnamePrefix: a-\n";
    let town = Town::with(
        &[
            flat("one"),
            Edit::write(
                "fleet/bomb/cluster.yaml",
                format!("apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: b\n{bomb}"),
            ),
            Edit::write("circle/kustomization.yaml", circle),
            Edit::write(
                "fleet/@acme <img src=x>/cluster.yaml",
                "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nspec: [\n",
            ),
        ],
        None,
    )
    .await;
    let pull = town.pull(1);
    assert!(pull.body.contains("| `fleet/one` |"), "{}", pull.body);
    assert!(pull.body.contains("`fleet/@acme <img src=x>/cluster.yaml:3:7`"), "{}", pull.body);
    town.push("main", &[flat("two")]);
    town.settle().await;
    assert!(town.pull(1).body.contains("| `fleet/two` |"), "{}", town.pull(1).body);
    town.done();
}
