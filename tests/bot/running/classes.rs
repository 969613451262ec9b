//! A pull request that edits a ClusterClass, or a template of one, shows what becomes of its users' machines.

use capstan_forge::Edit;

use super::town::Town;
use capstan_test_parts::classes::{CLASS, TEMPLATES, cluster};

const USERS: [&str; 2] = ["acme/a", "acme/b"];

async fn town() -> Town {
    let town = Town::new("mode: propose\n", &["gauss/peu01"]).await;
    let mut edits: Vec<Edit> = USERS
        .iter()
        .map(|id| Edit::write(format!("{id}/base/cluster.yaml"), cluster(&id[5..], "node-1")))
        .collect();
    edits.push(Edit::write("clusterclasses/quick.yaml", CLASS));
    edits.push(Edit::write("clusterclasses/templates.yaml", TEMPLATES));
    town.push("main", &edits);
    town.settle().await;
    town
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_of_a_class_shows_the_rollouts_of_all_who_use_it() {
    let town = town().await;
    let edited = TEMPLATES.replace("content: a", "content: b");
    let number = town.open("ada", "template", &[Edit::write("clusterclasses/templates.yaml", edited)]);
    town.settle().await;
    let check = town.check(number);
    assert!(
        check.title.contains("in 2 clusters, 8 machines are replaced"),
        "{} {}",
        check.title,
        check.summary
    );
    for user in USERS {
        assert!(check.summary.contains(user), "{user}: {}", check.summary);
    }
    assert!(!check.summary.contains("gauss/peu01"), "{}", check.summary);

    // A class with the same content affects no cluster.
    let said = format!("# The class of all.\n{CLASS}");
    let number = town.open("ada", "comment", &[Edit::write("clusterclasses/quick.yaml", said)]);
    town.settle().await;
    let check = town.check(number);
    assert!(!check.summary.contains("acme/a"), "{}", check.summary);
    assert_eq!(check.conclusion.as_deref(), Some("success"));
    town.done();
}
