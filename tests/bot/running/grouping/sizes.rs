//! Limits, many clusters, and odd names.

use super::*;

#[tokio::test]
async fn limits_count_clusters_and_a_group_goes_whole() {
    let settings = "dashboard: {enabled: false}\nupgrade: {proposals: {open: 1, group: {by: \"c/*/\"}, order: [\"c/g/b\"]}}\n";
    let world = world(settings);
    world.sync().await;
    assert_eq!(heads(&world), [GROUP]);
    assert!(
        state(&world, "c/x").1.contains("2 of at most 1 proposals are open"),
        "{:?}",
        state(&world, "c/x")
    );
    // What moves over makes its own room.
    world.push(
        "main",
        &[(".capstan.yaml", Some("dashboard: {enabled: false}\nupgrade: {proposals: {open: 2}}\n"))],
    );
    world.sync().await;
    world.sync().await;
    assert_eq!(heads(&world), [A, B]);
}

/// The most characters that GitHub accepts in a body, and in the summary of a check.
const MOST: usize = 65_535;

#[tokio::test]
async fn of_three_hundred_clusters_a_hundred_share_one_and_the_others_follow() {
    let settings = "mode: propose\ndashboard: {enabled: false}\nupgrade: {proposals: {group: {by: \"c/*/\"}, perHour: 1000}}\n";
    let world = world(settings);
    let paths: Vec<String> = (0..300).map(|at| format!("c/n/cluster-{at:03}/base/v")).collect();
    let files: Vec<(&str, Option<&str>)> = paths.iter().map(|path| (path.as_str(), Some("one\n"))).collect();
    world.push("main", &files);
    let branch = "capstan/upgrade/%group/c%2Fn";
    for round in 0..3 {
        world.sync().await;
        let pull = open(&world, branch).unwrap_or_else(|| panic!("{round}: {:?}", heads(&world)));
        assert_eq!(pull.title, "Upgrade c/n (100 clusters) to releases/v2");
        assert!(pull.body.chars().count() <= MOST, "{}", pull.body.chars().count());
        assert!(pull.body.contains("lists the commands."));
        let check = world.check_on(pull.number).unwrap();
        assert_eq!(check.conclusion, Some(CheckConclusion::Success));
        assert!(check.summary.chars().count() <= MOST, "{}", check.summary.chars().count());
        let (inside, outside) = (round * 100, round * 100 + 100);
        assert_eq!(state(&world, &format!("c/n/cluster-{inside:03}")).0, "proposed");
        if round < 2 {
            let (word, why) = state(&world, &format!("c/n/cluster-{outside:03}"));
            assert!(word == "waiting" && why.contains("at most 100 clusters"), "{why}");
        }
        let mark = world.state().writes.len();
        world.lose_database();
        world.sync().await;
        assert_eq!(world.writes_since(mark), Vec::<&str>::new(), "nothing moved");
        // What is declined stays so, however many others come after.
        if round == 0 { world.close(pull.number) } else { world.merge(pull.number) }
    }
    world.sync().await;
    assert_eq!(open(&world, branch), None, "{:?}", heads(&world));
    assert_eq!(state(&world, "c/n/cluster-000").0, "declined");
    assert_eq!(state(&world, "c/n/cluster-299").0, "current");
}

#[tokio::test]
async fn groups_are_distinguished_by_their_whole_match_and_odd_names_stay_whole() {
    let settings =
        "mode: propose\ndashboard: {enabled: false}\nupgrade: {proposals: {group: {by: \"c/*/\"}}}\n";
    let odd = ["c/größe 1~[x]#2/a", "c/größe 1~[x]#2/@ada", "c/%group/a", "c/..b.lock/a"];
    let world = World::new(&[
        (".capstan.yaml", settings),
        ("releases/v1/base/v", "one\n"),
        ("releases/v2/base/v", "two\n"),
    ]);
    for cluster in odd {
        world.push("main", &[(&format!("{cluster}/base/v"), Some("one\n"))]);
    }
    world.sync().await;
    let mut branches = heads(&world);
    branches.sort();
    let expected = [
        "capstan/upgrade/%group/c%2F%25group",
        "capstan/upgrade/%group/c%2F%2E.b%2Elock",
        "capstan/upgrade/%group/c%2Fgr%C3%B6%C3%9Fe%201%7E%5Bx]#2",
    ];
    assert_eq!(branches, expected);
    let pull = open(&world, expected[2]).unwrap();
    assert_eq!(world.file(expected[2], "c/größe 1~[x]#2/@ada/base/v").unwrap(), "two\n");
    assert!(pull.body.contains("| `c/größe 1~[x]#2/@ada` |"), "{}", pull.body);
    assert!(!pull.title.contains("#2"), "no pull request is mentioned: {}", pull.title);
    let mark = world.state().writes.len();
    world.lose_database();
    world.sync().await;
    assert_eq!(world.writes_since(mark), Vec::<&str>::new(), "all is found again");

    let world = super::world(
        "mode: propose\ndashboard: {enabled: false}\nupgrade: {proposals: {group: {by: \"c/*/eu/\"}}}\n",
    );
    world.push("main", &[("c/g/eu/n/base/v", Some("one\n")), ("c/h/eu/n/base/v", Some("one\n"))]);
    world.sync().await;
    let groups: Vec<String> = heads(&world).into_iter().filter(|head| head.contains("%group")).collect();
    assert_eq!(groups, ["capstan/upgrade/%group/c%2Fg%2Feu", "capstan/upgrade/%group/c%2Fh%2Feu"]);
}
