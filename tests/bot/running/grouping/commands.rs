//! Commands on a group's pull request.

use super::*;

#[tokio::test]
async fn a_command_is_about_all_of_them_or_for_one() {
    let world = world(GROUPED_WITH_DASHBOARD);
    world.sync().await;
    let number = shared(&world).number;
    world.comment(number, "ada", "/capstan hold for c/g/b an audit");
    world.sync().await;
    assert_eq!(state(&world, "c/g/b").0, "held");
    assert_eq!(state(&world, "c/g/a").0, "proposed");
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "one\n", "it left");
    assert!(
        shared(&world).body.contains("- `c/g/b`: held: On hold by `ada`: an audit."),
        "{}",
        shared(&world).body
    );
    let answer = last(&world, number);
    assert!(
        answer.starts_with("`c/g/b`: On hold by `ada`: an audit. `/capstan unhold for c/g/b` undoes it."),
        "{answer}"
    );
    world.lose_database();
    world.sync().await;
    assert_eq!(state(&world, "c/g/b").0, "held", "the dashboard remembers");
    world.comment(number, "ada", "/capstan unhold for c/g/b");
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "two\n");

    world.comment(number, "ada", "/capstan skip for c/g/a");
    world.sync().await;
    let answer = last(&world, number);
    assert!(
        answer.starts_with("`c/g/a`: Capstan does not offer `releases/v2` to it again, only a newer one."),
        "{answer}"
    );
    assert_eq!(state(&world, "c/g/a").0, "declined");
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "one\nmine\n");
    world.comment(number, "ada", "/capstan unskip for c/g/a");
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "two\nmine\n");

    world.comment(number, "ada", "/capstan status");
    world.sync().await;
    let answer = last(&world, number);
    assert!(answer.contains("`c/g/a`") && answer.contains("`c/g/b`"), "{answer}");
    world.comment(number, "ada", "/capstan status for c/x");
    world.sync().await;
    let answer = last(&world, number);
    assert!(answer.contains("`c/x`") && !answer.contains("`c/g/b`"), "{answer}");

    world.comment(number, "ada", "/capstan hold");
    world.sync().await;
    let pull = shared(&world);
    assert!(pull.draft, "all of it is held");
    assert!(
        pull.body.starts_with("> `c/g/a`: On hold by `ada`.\n\n> `c/g/b`: On hold by `ada`.\n\n"),
        "{}",
        pull.body
    );
    world.lose_database();
    world.sync().await;
    assert_eq!((state(&world, "c/g/a").0, state(&world, "c/g/b").0), ("held".into(), "held".into()));
    world.comment(number, "ada", "/capstan unhold");
    world.sync().await;
    assert!(!shared(&world).draft);
    world.comment(number, "ada", "/capstan skip");
    world.sync().await;
    assert_eq!(heads(&world), [X]);
    assert_eq!((state(&world, "c/g/a").0, state(&world, "c/g/b").0), ("declined".into(), "declined".into()));
}

#[tokio::test]
async fn without_a_dashboard_who_would_leave_alone_has_no_place_to_be_noted_in() {
    let world = world(GROUPED);
    world.sync().await;
    let number = shared(&world).number;
    world.comment(number, "ada", "/capstan hold for c/g/b");
    world.sync().await;
    assert!(
        last(&world, number).contains("was not carried out: Capstan would record it in the dashboard issue"),
        "{}",
        last(&world, number)
    );
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "two\n");
}

#[tokio::test]
async fn a_command_needs_the_right_for_every_cluster_and_says_for_which_it_lacks() {
    let world = world(GROUPED_WITH_DASHBOARD);
    world.push("main", &[("CODEOWNERS", Some("/c/g/a/ @ada\n/c/g/b/ @grace\n"))]);
    world.state().permissions.insert("grace".to_owned(), Permission::Write);
    world.sync().await;
    let number = shared(&world).number;
    world.comment(number, "ada", "/capstan skip");
    world.sync().await;
    assert!(
        last(&world, number).contains("was not carried out: it needs for `c/g/b`"),
        "{}",
        last(&world, number)
    );
    assert_eq!(heads(&world), [GROUP, X]);
    world.comment(number, "ada", "/capstan skip for c/g/a");
    world.comment(number, "ada", "/capstan skip for c/g/b");
    world.sync().await;
    assert_eq!((state(&world, "c/g/a").0, state(&world, "c/g/b").0), ("declined".into(), "proposed".into()));
}

#[tokio::test]
async fn skipping_the_last_member_declines_the_pull_request() {
    let world = world(GROUPED);
    world.push("main", &[("c/g/b/base/v", None)]);
    world.sync().await;
    let number = shared(&world).number;
    world.comment(number, "ada", "/capstan skip for c/g/a");
    world.sync().await;
    assert_eq!(heads(&world), [X]);
    assert_eq!(state(&world, "c/g/a").0, "declined");
    world.lose_database();
    world.sync().await;
    assert_eq!(heads(&world), [X]);
    assert_eq!(state(&world, "c/g/a").0, "declined");
}

#[tokio::test]
async fn an_approval_needs_the_right_for_each_and_ends_where_one_leaves() {
    let settings = "mode: propose\nupgrade: {proposals: {group: {by: \"c/*/\"}}, merge: {approvals: 1}}\n";
    let world = world(settings);
    let owners = "/c/g/a/ @ada @alan\n/c/g/b/ @grace @alan\n";
    world.push("main", &[("CODEOWNERS", Some(owners))]);
    for login in ["grace", "alan"] {
        world.state().permissions.insert(login.to_owned(), Permission::Write);
    }
    world.sync().await;
    let number = shared(&world).number;
    world.comment(number, "ada", "/capstan approve");
    world.sync().await;
    assert!(last(&world, number).contains("it needs for `c/g/b`"), "{}", last(&world, number));
    world.comment(number, "alan", "/capstan approve");
    world.sync().await;
    assert_eq!(world.check_on(number).unwrap().conclusion, Some(CheckConclusion::Success));
    world.comment(number, "grace", "/capstan hold for c/g/b");
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "one\n");
    let check = world.check_on(number).unwrap();
    assert_eq!(check.conclusion, Some(CheckConclusion::ActionRequired), "{}", check.summary);
    world.comment(number, "ada", "/capstan approve");
    world.sync().await;
    let check = world.check_on(number).unwrap();
    assert_eq!(check.conclusion, Some(CheckConclusion::Success), "of what is left she is an owner");
}

#[tokio::test]
async fn what_is_asked_of_one_needs_the_right_for_that_one_alone_wherever_it_is_said() {
    let world = world(GROUPED_WITH_DASHBOARD);
    world.push("main", &[("CODEOWNERS", Some("/c/g/a/ @ada\n/c/g/b/ @grace\n"))]);
    world.state().permissions.insert("grace".to_owned(), Permission::Write);
    world.sync().await;
    let (number, other) = (shared(&world).number, open(&world, X).unwrap().number);
    for verb in ["hold", "skip", "override", "keep", "take", "retarget", "upgrade", "rollback"] {
        let text = match verb {
            "override" => "override for c/g/b component-downgrade it is a rename".to_owned(),
            "keep" | "take" => format!("{verb} for c/g/b /spec/replicas"),
            "upgrade" => "upgrade c/g/b".to_owned(),
            "rollback" => "rollback c/g/b".to_owned(),
            verb => format!("{verb} for c/g/b"),
        };
        for on in [number, other] {
            world.comment(on, "ada", &format!("/capstan {text}"));
            world.sync().await;
            let answer = last(&world, on);
            assert!(answer.contains("it needs for `c/g/b`"), "{verb}: {answer}");
        }
    }
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "two\n");
    world.comment(other, "grace", "/capstan hold for c/g/b");
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "one\n");
}

#[tokio::test]
async fn on_a_merged_pull_request_a_command_concerns_the_clusters_it_brought() {
    let world = world(GROUPED_WITH_DASHBOARD);
    world.push("main", &[("CODEOWNERS", Some("/c/g/a/ @ada\n/c/g/b/ @grace\n"))]);
    world.state().permissions.insert("grace".to_owned(), Permission::Write);
    world.sync().await;
    let first = shared(&world).number;
    world.comment(first, "grace", "/capstan hold for c/g/b");
    world.sync().await;
    world.merge(first);
    world.comment(first, "grace", "/capstan unhold for c/g/b");
    world.push("main", &[("releases/v3/base/v", Some("three\n"))]);
    world.sync().await;
    assert_eq!(shared(&world).title, "Upgrade c/g (2 clusters) to releases/v3");
    world.comment(first, "ada", "/capstan skip");
    world.sync().await;
    let answer = last(&world, first);
    assert!(answer.starts_with("`c/g/a`: Capstan does not offer `releases/v3` to it again"), "{answer}");
    assert_eq!(shared(&world).title, "Upgrade c/g (1 cluster) to releases/v3", "hers alone leaves");
    assert_eq!((state(&world, "c/g/a").0, state(&world, "c/g/b").0), ("declined".into(), "proposed".into()));
}

#[tokio::test]
async fn replanning_all_brings_in_no_cluster_skipped_by_name() {
    let world = world(GROUPED_WITH_DASHBOARD);
    world.sync().await;
    let number = shared(&world).number;
    world.comment(number, "ada", "/capstan skip for c/g/a");
    world.sync().await;
    world.push(GROUP, &[("c/g/b/base/v", Some("two\nedited\n"))]);
    world.comment(number, "ada", "/capstan replan");
    world.sync().await;
    assert_eq!(world.file(GROUP, "c/g/a/base/v").unwrap(), "one\nmine\n");
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "two\n");
    let mark = world.state().writes.len();
    world.sync().await;
    assert_eq!(world.writes_since(mark), Vec::<&str>::new());
}

#[tokio::test]
async fn replanning_a_declined_pull_request_offers_its_clusters_again() {
    let world = world(GROUPED_WITH_DASHBOARD);
    world.sync().await;
    let first = shared(&world).number;
    world.close(first);
    world.push("main", &[("c/g/d/base/v", Some("one\n"))]);
    world.sync().await;
    assert_eq!(shared(&world).title, "Upgrade c/g (1 cluster) to releases/v2");
    world.comment(first, "ada", "/capstan replan");
    for _ in 0..2 {
        world.sync().await;
        assert_eq!(shared(&world).title, "Upgrade c/g (3 clusters) to releases/v2");
    }
    assert_eq!(world.file(GROUP, "c/g/b/base/v").unwrap(), "two\n");
}
