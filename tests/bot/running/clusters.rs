//! Clusters that come and go by command: pull requests of their own, written once.

use capstan_forge::{Edit, Fault, Matching, MergeMethod, Permission, PullState, Strike};

use super::sample;
use super::town::{REPOSITORY, Town};

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: \"${CLUSTER_NAME}\", namespace: my-org}
spec: {clusterNetwork: {pods: {cidrBlocks: [10.0.0.0/16]}}}
";
const MINE: &str = "managementClusters:\n  - {name: mc-eu, uid: 6f1c0000-0000-0000-0000-000000000000, clusters: [\"gauss/*\"]}\n";
const CREATE: &str = "/capstan create gauss/new from aws/v30.0.0 CLUSTER_NAME=new";
const BRANCH: &str = "capstan/create/gauss/new";

/// A fleet with a release that holds a whole cluster.
async fn town(settings: &str) -> Town {
    let mut files = sample::repository(settings, &["gauss/peu01"]);
    files.push(Edit::write("gauss/peu01/capstan.yaml", "release: aws/v21.0.0\ntrack: none\n"));
    files.push(Edit::write("aws/v30.0.0/base/cluster.yaml", CLUSTER));
    Town::with(&files, None).await
}

fn issue(town: &Town) -> u64 {
    town.forge.open_issue(REPOSITORY, "ada", "A cluster, please", "For the new team.").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_asked_for_in_an_issue_and_merged_it_is_one_like_all_others() {
    let mut town = town("mode: propose\n").await;
    let issue = issue(&town);
    town.comment(issue, "ada", CREATE).await;
    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 1);
    let pull = &pulls[0];
    assert_eq!(
        (pull.title.as_str(), pull.head_branch.as_str(), pull.author.clone()),
        ("Create gauss/new from aws/v30.0.0", BRANCH, town.forge.bot_login())
    );
    for line in [
        "Asked for by `ada` in #1".to_owned(),
        "| `CLUSTER_NAME` | `new` |".to_owned(),
        "- `Cluster my-org/new`".to_owned(),
    ] {
        assert!(pull.body.lines().any(|known| known == line), "{line}\n{}", pull.body);
    }
    assert_eq!(town.file(BRANCH, "gauss/new/base/cluster.yaml"), CLUSTER.replace("${CLUSTER_NAME}", "new"));
    assert!(town.file(BRANCH, "gauss/new/capstan.yaml").contains("release: aws/v30.0.0\nreleaseTree: "));
    let commit = &town.forge.commits(REPOSITORY, BRANCH).unwrap()[0];
    assert!(
        commit.verified && commit.message.contains("\nCapstan-Source: aws/v30.0.0@"),
        "{}",
        commit.message
    );
    assert_eq!(town.answers(issue).len(), 1);
    assert!(
        town.answers(issue)[0].starts_with("#2 is open for `gauss/new`.\n"),
        "{}",
        town.answers(issue)[0]
    );
    assert_eq!(town.check(2).conclusion.as_deref(), Some("success"));

    // Written once: neither a resync, nor a new disk, nor a second wish writes it again.
    let before = town.forge.count_requests(|call| call.method == "POST" && call.path.ends_with("/git/trees"));
    town.restart_with_nothing().await;
    town.comment(issue, "ada", "/capstan create gauss/new from aws/v30.0.0 CLUSTER_NAME=other").await;
    let trees = town.forge.count_requests(|call| call.method == "POST" && call.path.ends_with("/git/trees"));
    assert_eq!((trees, town.pulls().len()), (before, 1));
    assert!(
        town.answers(issue)[1].contains("#2 is already open for `gauss/new`"),
        "{}",
        town.answers(issue)[1]
    );

    town.forge.merge_pull(REPOSITORY, 2, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    assert_eq!(town.standing("gauss/new").await.0, "current");
    town.comment(issue, "ada", CREATE).await;
    assert!(town.answers(issue)[2].contains("already exists"), "{}", town.answers(issue)[2]);
    town.done();
}

/// What GitHub makes of the form in docs/create-cluster.md.
const FORM: &str = "### Cluster to create\n\ngauss/new\n\n### Release to create it from\n\naws/v30.0.0\n\n\
                    ### Values of its variables\n\n```shell\nCLUSTER_NAME=new\n```";

#[tokio::test(flavor = "multi_thread")]
async fn an_issue_opened_by_the_form_is_a_wish_like_the_command() {
    let mut town = town("mode: propose\n").await;
    let open = |by: &str, body: &str| town.forge.open_issue(REPOSITORY, by, "A cluster", body).unwrap();
    let (wish, of_reader) = (open("ada", FORM), open("mallory", &FORM.replace("gauss/new", "gauss/other")));
    let mistaken = open("ada", &FORM.replace("CLUSTER_NAME=new", "new"));
    let asking = open("ada", "What can it do?\n\n/capstan help\n");
    town.settle().await;
    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 1, "{pulls:?}");
    assert_eq!((pulls[0].head_branch.as_str(), pulls[0].number), (BRANCH, 5));
    assert!(pulls[0].body.contains("Asked for by `ada` in #1"), "{}", pulls[0].body);
    assert!(town.answers(wish)[0].starts_with("#5 is open for `gauss/new`.\n"), "{:?}", town.answers(wish));
    assert!(!town.answers(of_reader).iter().any(|answer| answer.contains("is open")));
    assert!(
        town.answers(mistaken)[0].contains("**Values of its variables** needs values such as"),
        "{:?}",
        town.answers(mistaken)
    );
    assert!(town.answers(asking)[0].contains("/capstan hold"), "{:?}", town.answers(asking));

    // Capstan answers once, even if the database is lost, and does not obey an issue that was edited before it was
    // read.
    town.restart_with_nothing().await;
    town.resync().await;
    assert_eq!([wish, mistaken, asking].map(|issue| town.answers(issue).len()), [1, 1, 1]);
    town.stop_bot();
    let edited = town.forge.open_issue(REPOSITORY, "ada", "A cluster", "Not yet.").unwrap();
    town.forge.edit_body(REPOSITORY, edited, "ada", &FORM.replace("gauss/new", "gauss/edited")).unwrap();
    let lost =
        town.forge.open_issue(REPOSITORY, "ada", "A cluster", &FORM.replace("gauss/new", "gauss/lost"));
    town.restart_without_database().await;
    town.settle().await;
    assert!(town.answers(edited)[0].contains("edited"), "{:?}", town.answers(edited));
    let branches: Vec<String> = town.open_pulls().into_iter().map(|pull| pull.head_branch).collect();
    assert_eq!(branches, [BRANCH, "capstan/create/gauss/lost"], "{:?}", town.answers(lost.unwrap()));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_made_is_answered_and_nothing_is_written() {
    let town = town("mode: propose\n").await;
    let issue = issue(&town);
    let writes = || town.forge.count_requests(|call| call.method == "POST" && call.path.contains("/git/"));
    for (comment, expected) in [
        (
            "/capstan create gauss/new from aws/v30.0.0",
            "aws/v30.0.0/base/cluster.yaml:3: ${CLUSTER_NAME} has no value",
        ),
        ("/capstan create gauss/new from aws/v30.0.0 CLUSTER_NAM=new", "did you mean `CLUSTER_NAME`?"),
        ("/capstan create gauss/new from aws/v31.0.0 CLUSTER_NAME=new", "there is no release `aws/v31.0.0`"),
        ("/capstan create gauss/peu01 from aws/v30.0.0 CLUSTER_NAME=new", "already exists"),
        ("/capstan create gauss/new from aws/v21.0.0", "holds no complete `Cluster`"),
        ("/capstan create gauss/new", "needs the new cluster's folder and a release"),
        ("/capstan destroy gauss/peu02", "there is no cluster `gauss/peu02`; did you mean `gauss/peu01`?"),
        ("/capstan destroy gauss/peu01", "no management cluster claims gauss/peu01"),
    ] {
        town.comment(issue, "ada", comment).await;
        let answer = town.answers(issue).pop().unwrap().replace(['\\', '\u{200b}'], "");
        assert!(answer.contains(expected), "{comment}\n{answer}");
    }
    town.comment(issue, "mallory", CREATE).await;
    assert!(!town.answers(issue).pop().unwrap().contains("is open"));
    assert_eq!((writes(), town.pulls().len()), (0, 0));
    town.push("main", &[Edit::write(".capstan.yaml", "mode: observe\n")]);
    town.comment(issue, "ada", CREATE).await;
    assert!(town.answers(issue).pop().unwrap().contains("`mode: observe`"));
    assert_eq!(town.pulls().len(), 0);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_owners_of_the_new_folder_may_have_it_made() {
    let town = town("mode: propose\n").await;
    town.forge.create_user("grace").unwrap();
    town.forge.grant(REPOSITORY, "grace", Permission::Write).unwrap();
    town.push("main", &[Edit::write("CODEOWNERS", "/gauss/ @grace\n")]);
    let issue = issue(&town);
    town.comment(issue, "ada", CREATE).await;
    let answer = town.answers(issue).pop().unwrap();
    assert!(answer.contains("it needs for `gauss/new` an owner of its folder"), "{answer}");
    assert_eq!(town.pulls().len(), 0);
    town.comment(issue, "grace", CREATE).await;
    assert_eq!(town.open_pulls().len(), 1);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_died_before_the_pull_request_is_completed_and_a_persons_branch_is_left_alone() {
    let town = town("mode: propose\n").await;
    let issue = issue(&town);
    let pulls = Matching::any().method("POST").path("/pulls");
    town.forge.fail_next(1, pulls.clone(), Strike::Before, Fault::Status(403));
    town.comment(issue, "ada", CREATE).await;
    let answer = town.answers(issue).pop().unwrap();
    assert!(answer.contains("GitHub refused it"), "{answer}");
    assert!(town.forge.branches(REPOSITORY).unwrap().contains(&BRANCH.to_owned()));
    // It is remembered for a while, and then the branch that is there is taken up.
    town.comment(issue, "ada", CREATE).await;
    assert!(town.answers(issue).pop().unwrap().contains("Capstan does not retry before"));
    assert_eq!(town.pulls().len(), 0);
    let head = town.forge.commits(REPOSITORY, BRANCH).unwrap()[0].id.clone();
    town.pass(11 * 60);
    town.comment(issue, "ada", CREATE).await;
    assert_eq!((town.open_pulls().len(), town.open_pulls()[0].head.clone()), (1, head));

    // After it is closed, another request recreates it, but not over a person's commit.
    let number = town.open_pulls()[0].number;
    town.forge.close(REPOSITORY, number, "ada").unwrap();
    town.comment(issue, "ada", &CREATE.replace("=new", "=newer")).await;
    let second = town.open_pulls().pop().unwrap();
    assert!(second.number != number && town.file(BRANCH, "gauss/new/base/cluster.yaml").contains("newer"));
    town.forge.close(REPOSITORY, second.number, "ada").unwrap();
    town.push(BRANCH, &[Edit::write("gauss/new/base/mine.yaml", "kind: Mine\n")]);
    town.comment(issue, "ada", CREATE).await;
    let answer = town.answers(issue).pop().unwrap();
    assert!(answer.contains("has commits by people"), "{answer}");
    assert!(town.open_pulls().is_empty());
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn destroy_opens_the_tombstone_and_nothing_else() {
    let town = town(&format!("mode: propose\n{MINE}")).await;
    let issue = issue(&town);
    town.comment(issue, "ada", "/capstan destroy gauss/peu01 the team is gone").await;
    let pulls = town.open_pulls();
    assert_eq!(pulls.len(), 1);
    let pull = &pulls[0];
    assert_eq!(
        (pull.title.as_str(), pull.head_branch.as_str()),
        ("Destroy gauss/peu01", "capstan/destroy/gauss/peu01")
    );
    let diff = town.forge.pull_diff(REPOSITORY, pull.number).unwrap();
    assert_eq!((diff.matches("diff --git ").count(), diff.matches("\n+").count() - 1), (1, 1), "{diff}");
    assert!(diff.contains("\n+delete: cluster\n"), "{diff}");
    for text in [
        "**Once this is merged, the live cluster `gauss/peu01` is deleted, with 2 machines.**",
        "Asked for by `ada` in #1: the team is gone",
        "- `MachinePool my-org/peu01-mp-0`: 2 machines",
        "- `Cluster my-org/peu01`",
        "The folder stays.",
    ] {
        assert!(pull.body.contains(text), "{text}\n{}", pull.body);
    }
    let check = town.check(pull.number);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{}", check.summary);
    assert!(check.summary.contains("removes-machines"), "{}", check.summary);
    assert!(check.summary.contains("an owner requested its destruction"), "{}", check.summary);
    // With anything else beside the tombstone it is an error as everywhere.
    let text = town.file(&pull.head_branch, "gauss/peu01/capstan.yaml");
    let edit = |text: &str| [Edit::write("gauss/peu01/capstan.yaml", text)];
    town.push(&pull.head_branch, &edit(&format!("{text}track: minor\n").replace("track: none\n", "")));
    town.settle().await;
    assert_eq!(town.check(pull.number).conclusion.as_deref(), Some("failure"));
    town.push(&pull.head_branch, &edit(&text));
    town.settle().await;
    assert_eq!(town.check(pull.number).conclusion.as_deref(), Some("success"));
    // A merge queue gets the same verdict.
    let group = town.forge.enqueue(REPOSITORY, pull.number, "ada").unwrap();
    town.settle().await;
    let checks = town.forge.checks(REPOSITORY, &group).unwrap();
    assert_eq!(checks[0].conclusion.as_deref(), Some("success"), "{}", checks[0].summary);

    town.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    town.comment(issue, "ada", "/capstan destroy gauss/peu01").await;
    let answer = town.answers(issue).pop().unwrap();
    assert!(answer.contains("already says `delete: cluster`"), "{answer}");
    assert!(town.pulls().iter().all(|pull| pull.state != PullState::Open));
    town.done();
}
