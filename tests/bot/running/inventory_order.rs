//! Order and limits of what the inventory brings, and what is refused on the way: as for releases.

use capstan_forge::Edit;

use super::inventory::{
    SETTINGS, annotated, branch, brought, environment, heads, level, line, made, merge_all, release,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_skips_a_minor_of_kubernetes_is_let_through_by_no_check_and_the_next_minor_is() {
    let town = made().await;
    let version = |version: &str| {
        let spec = format!(
            "  release: openstack/v1.4.0\n  values: {{replicas: 3, kubernetes: {{version: {version}}}}}\n"
        );
        level("Environment", "prod", &spec)
    };
    town.push("main", &[version("v1.34.0")]);
    town.settle().await;
    // As with a requested release: it is shown, but its check prevents a merge.
    assert_eq!(heads(&town), [branch("inventory", "peu01")]);
    let number = town.open_pulls()[0].number;
    assert!(town.pull(number).draft, "as a draft (U14)");
    let check = town.check(number);
    let (path, _, message) = annotated(&check, "kubernetes-minor-skip").unwrap();
    assert_eq!(
        (check.conclusion.as_deref(), path.as_str()),
        (Some("failure"), "acme/peu01/base/workers.yaml")
    );
    assert!(message.contains("v1.32.1") && message.contains("v1.34.0"), "{message}");
    town.push("main", &[version("v1.33.0")]);
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01")]);
    let written = town.file(&branch("inventory", "peu01"), "acme/peu01/base/workers.yaml");
    assert!(line(&written, "version: v1.33.0"), "{written}");
    assert_eq!(town.check(number).conclusion.as_deref(), Some("success"));
    assert!(!town.pull(number).draft);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_track_of_a_level_is_followed_below_it_and_a_lower_level_says_otherwise() {
    let town = made().await;
    let track = |name: &str, track: &str| {
        level("Environment", name, &format!("  track: {track}\n  values: {{replicas: 3}}\n"))
    };
    let mut files = release("v1.4.1", "v1.32.2");
    files.extend(release("v1.5.0", "v1.33.0"));
    files.extend([track("prod", "patch"), environment("dev", "openstack/v1.4.0", 1)]);
    town.push("main", &files);
    town.settle().await;
    assert_eq!(heads(&town), [branch("upgrade", "peu01")], "dev stays where it says");
    let step = town.file(&branch("upgrade", "peu01"), "acme/peu01/capstan.yaml");
    assert!(line(&step, "release: openstack/v1.4.1"), "patch releases, no minor: {step}");
    merge_all(&town).await;
    assert_eq!(heads(&town), Vec::<String>::new());
    town.push("main", &[track("prod", "minor")]);
    town.settle().await;
    assert_eq!(heads(&town), [branch("upgrade", "peu01")]);
    let step = town.file(&branch("upgrade", "peu01"), "acme/peu01/capstan.yaml");
    assert!(line(&step, "release: openstack/v1.5.0"), "{step}");
    // A lower level wins.
    let own = level("ClusterDefinition", "peu01", "  in: {environment: prod, site: fra1}\n  track: none\n");
    town.push("main", &[own]);
    town.settle().await;
    assert_eq!(heads(&town), Vec::<String>::new());
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_open_proposals_is_limited_and_the_next_follows_in_order() {
    let town = made().await;
    let limited = format!("{SETTINGS}upgrade: {{proposals: {{open: 1}}}}\n");
    town.push("main", &[Edit::write(".capstan.yaml", limited)]);
    town.push(
        "main",
        &[environment("prod", "openstack/v1.4.0", 5), environment("dev", "openstack/v1.4.0", 5)],
    );
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01")]);
    assert_eq!(brought(&town, "acme/peu02").await.0, "waiting");
    merge_all(&town).await;
    assert_eq!(heads(&town), [branch("inventory", "peu02")]);
    merge_all(&town).await;
    assert_eq!(heads(&town), Vec::<String>::new());
    town.done();
}
