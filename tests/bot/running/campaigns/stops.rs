//! What stops a campaign for all: a refusal of what was merged, or a rollback. People resume it by command and by
//! checkbox.

use capstan_forge::{Edit, Permission};
use capstan_live::agent::RolloutState;

use super::limits::{say, tip};
use super::{CLUSTERS, WAVES, dashboard, merge, open, pass, statuses, town};
use crate::agents::{EU, commit, delivered, enrolled, report};
use crate::running::sample;
use crate::running::town::{REPOSITORY, Town};

/// A person ticks the box of the dashboard whose line contains these words.
async fn tick(town: &Town, by: &str, words: &str) {
    let (number, body) = dashboard(town);
    let line = body.lines().find(|line| line.contains(words) && line.contains("- [ ]"));
    let line = line.unwrap_or_else(|| panic!("no box has {words:?}: {body}"));
    let ticked = body.replacen(line, &line.replacen("[ ]", "[x]", 1), 1);
    town.forge.edit_body(REPOSITORY, number, by, &ticked).unwrap();
    town.settle().await;
}

/// A button is the command of who pressed it: GitHub is asked what they may when it is carried out.
#[tokio::test(flavor = "multi_thread")]
async fn a_button_of_the_page_does_what_the_comment_does() {
    let town = town(WAVES).await;
    town.release("v22.0.0", "v1.22.0");
    town.settle().await;
    for by in ["ada", "mallory", "nobody"] {
        let became = town.press_on_page(by, "stop of fleet").await;
        assert_eq!(became, "command-refused campaign-ordered", "{by}");
    }
    let (_, body) = dashboard(&town);
    assert!(
        body.contains("`ada` pressed on Capstan's page `campaign stop of fleet`: `/capstan campaign` was not carried out"),
        "{body}"
    );
    assert!(!body.contains("**stopped**"), "{body}");

    assert_eq!(
        town.press_on_page("olga", "stop wrong image of fleet").await,
        "command-carried-out campaign-ordered"
    );
    let (_, body) = dashboard(&town);
    assert!(
        body.contains(
            "`olga` pressed on Capstan's page `campaign stop wrong image of fleet`: Campaign `fleet` is stopped (wrong image)"
        ),
        "{body}"
    );
    assert!(body.contains("`olga` stopped it (wrong image)."), "{body}");
    merge(&town, "a/canary").await;
    pass(&town, 3 * 3_600).await;
    assert_eq!(open(&town), [""; 0]);
    let unknown = town.press_on_page("olga", "resume of another").await;
    assert_eq!(unknown, "command-not-possible campaign-ordered");
    assert_eq!(town.press_on_page("olga", "resume of fleet").await, "command-carried-out campaign-ordered");
    pass(&town, 3 * 3_600).await;
    assert_eq!(open(&town), ["a/gold1"]);

    // She has lost her admin rights: Capstan checks them when it carries out the order.
    town.forge.grant(REPOSITORY, "olga", Permission::Write).unwrap();
    assert_eq!(town.press_on_page("olga", "stop of fleet").await, "command-refused campaign-ordered");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_and_what_is_rolled_back_stops_it_for_all_and_running_machines_go_on() {
    let settings = WAVES.replace("soak: 2h", "soak: 0s")
        + "managementClusters:\n- {name: mc-eu, uid: 6f1c2d3e-0000-4000-8000-000000000001, clusters: [\"a/*\"]}\n";
    let mut town = town(&settings).await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    for id in CLUSTERS {
        agent.report(report(id, &commit(&tip(&town)), RolloutState::Done, 2)).await.unwrap();
    }
    delivered(&agent).await;
    town.release("v22.0.0", "v1.22.0");
    let release = tip(&town);
    town.settle().await;
    merge(&town, "a/canary").await;
    say(&town, &agent, "a/canary", RolloutState::Refused).await;
    assert_eq!(open(&town), [""; 0]);
    let told = |words: &str| ("failure".to_owned(), format!("aws/v22.0.0 is stopped: {words}."));
    let refused = told("the merged change of `a/canary` was refused");
    assert_eq!(statuses(&town, &release), std::slice::from_ref(&refused));

    // The cluster recovers. A tick resumes the campaign if its author may decide for the whole repository.
    say(&town, &agent, "a/canary", RolloutState::Done).await;
    tick(&town, "ada", "`campaign resume`").await;
    let (_, body) = dashboard(&town);
    assert!(
        body.contains("`ada` ticked `campaign resume of fleet`: `/capstan campaign` was not carried out"),
        "{body}"
    );
    assert_eq!(open(&town), [""; 0]);
    tick(&town, "olga", "`campaign resume`").await;
    assert_eq!(open(&town), ["a/gold1"]);
    let goes_on = ("success".to_owned(), "aws/v22.0.0 continues".to_owned());
    assert_eq!(statuses(&town, &release).last(), Some(&goes_on));

    // Another one is merged, rolls, and is rolled back: what is open stays open, and can be merged and roll.
    merge(&town, "a/gold1").await;
    say(&town, &agent, "a/gold1", RolloutState::Done).await;
    assert_eq!(open(&town), ["a/gold2"]);
    let back = [
        Edit::write("a/gold1/capstan.yaml", "release: aws/v21.0.0\n"),
        sample::machine_pool("a/gold1", "v1.21.4", 2),
    ];
    town.push("main", &back);
    town.settle().await;
    let rolled_back = told("`a/gold1` was rolled back");
    assert_eq!(statuses(&town, &release).last(), Some(&rolled_back));
    assert_eq!(open(&town), ["a/gold2"], "what is open stays open");
    merge(&town, "a/gold2").await;
    say(&town, &agent, "a/gold2", RolloutState::Done).await;
    assert_eq!(open(&town), [""; 0]);
    town.restart_without_database().await;
    assert_eq!(open(&town), [""; 0]);
    let (_, body) = dashboard(&town);
    assert!(body.contains("**stopped** on "), "{body}");
    assert!(body.contains(": `a/gold1` was rolled back."), "{body}");
    let failures = statuses(&town, &release).into_iter().filter(|status| *status == rolled_back).count();
    assert_eq!(failures, 1, "told once, whatever is lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newer_release_supersedes_and_only_the_whole_repositorys_word_steers_it() {
    let settings = WAVES.to_owned()
        + "\
commands:
  permissions:
  - {verbs: [campaign], allow: [\"@rolf\"]}
  - {match: \"a/gold*\", verbs: [campaign], allow: [write]}
";
    let town = town(&settings).await;
    for person in ["rolf", "wanda"] {
        town.forge.create_user(person).unwrap();
        town.forge.grant(REPOSITORY, person, Permission::Write).unwrap();
    }
    town.release("v22.0.0", "v1.22.0");
    let older = tip(&town);
    town.settle().await;
    merge(&town, "a/canary").await;
    pass(&town, 2 * 3_600 + 60).await;
    merge(&town, "a/gold1").await;
    assert_eq!(open(&town), ["a/gold2"]);

    // Who may say it of some clusters may not say it of all.
    let (issue, _) = dashboard(&town);
    let gold = town.open_pulls().into_iter().find(|pull| pull.head_branch.ends_with("gold2")).unwrap().number;
    for (place, order) in [(issue, "stop"), (issue, "resume"), (issue, "skip a/gold2"), (gold, "stop")] {
        town.comment(place, "wanda", &format!("/capstan campaign {order}")).await;
        let answers = town.answers(place);
        let answer = answers.last().unwrap();
        assert!(
            answer.contains("was not carried out") && answer.contains("administrator"),
            "{order}: {answer}"
        );
    }
    let (_, body) = dashboard(&town);
    assert!(!body.contains("**stopped**") && !body.contains("continues without"), "{body}");

    // A newer release: what is open follows it, and a cluster that had the older one begins at the first wave again.
    town.release("v22.1.0", "v1.22.3");
    let newer = tip(&town);
    town.settle().await;
    assert_eq!(open(&town), ["a/canary", "a/gold2"]);
    let body_of = |town: &Town, id: &str| {
        let branch = format!("capstan/upgrade/{id}");
        town.open_pulls().into_iter().find(|pull| pull.head_branch == branch).unwrap().body
    };
    assert!(body_of(&town, "a/gold2").contains("aws/v22.1.0"));
    let (_, why) = town.standing("a/gold1").await;
    assert!(
        why.contains("Wave `gold` of campaign `fleet` waits for wave `canary`: the pull request of `a/canary` is not merged"),
        "{why}"
    );
    let (_, body) = dashboard(&town);
    assert!(body.contains("- `aws/v22.1.0` through campaign `fleet`"), "{body}");

    // A status about the newer release is on the commit that first had it.
    tick(&town, "wanda", "`campaign stop`").await;
    let (_, body) = dashboard(&town);
    assert!(
        body.contains("`wanda` ticked `campaign stop of fleet`: `/capstan campaign` was not carried out"),
        "{body}"
    );
    assert_eq!((statuses(&town, &older).len(), statuses(&town, &newer).len()), (0, 0));
    tick(&town, "rolf", "`campaign stop`").await;
    let (_, body) = dashboard(&town);
    assert!(body.contains("**stopped** on ") && body.contains("`rolf` stopped it"), "{body}");
    assert_eq!((statuses(&town, &older).len(), statuses(&town, &newer).len()), (0, 1));
    town.comment(issue, "olga", "/capstan campaign resume").await;
    merge(&town, "a/canary").await;
    pass(&town, 2 * 3_600 + 60).await;
    assert_eq!(open(&town), ["a/gold2"], "one at a time, and that one is open");
    merge(&town, "a/gold2").await;
    assert_eq!(open(&town), ["a/gold1"]);
    town.done();
}
