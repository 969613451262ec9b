//! A manager that does not come to run in its time stops the set; what frees it.

use super::town::{ACME, CORE, Town, components};

const UNAVAILABLE: &str = "Deployment core-system/cluster-api-manager is not available: Deployment does not have minimum \
                           availability., since 2027-01-15T08:00:00Z";

/// Both at v1.0.0, and both asked for v1.1.0, whose core never runs. Its definition serves these.
async fn stopped(served: &[&str]) -> Town {
    let mut town = Town::new();
    for row in [CORE, ACME] {
        town.publish(row, "v1.0.0", &components(row, "old", &["v1beta1"]));
        town.ask(row, "v1.0.0");
    }
    let outcome = town.settle().await;
    assert!(!outcome.is_waiting, "{}", town.condition(CORE, "ProviderInstalled"));
    assert_eq!([town.installed(CORE), town.installed(ACME)], ["v1.0.0", "v1.0.0"]);
    town.broken.lock().unwrap().insert("registry.example/cluster-api:bad".to_owned());
    for (row, image) in [(CORE, "bad"), (ACME, "new")] {
        town.publish(row, "v1.1.0", &components(row, image, served));
        town.ask(row, "v1.1.0");
    }
    let outcome = town.settle().await;
    assert!(outcome.is_waiting);
    assert_eq!(town.runs(CORE), "registry.example/cluster-api:bad x1");
    town
}

#[tokio::test]
async fn a_manager_that_never_runs_stops_the_set_and_a_corrected_release_frees_it() {
    let mut town = stopped(&["v1beta1", "v1beta2"]).await;
    let underway = "False Upgrading: it is being applied: Deployment core-system/cluster-api-manager is not available: \
                    Deployment does not have minimum availability.";
    assert_eq!(town.condition(CORE, "ProviderUpgraded"), underway);
    town.wait(9);
    town.settle().await;
    assert_eq!(town.condition(CORE, "ProviderUpgraded"), underway);

    town.wait(1);
    // A process that is started meanwhile knows it as well.
    town.restart();
    assert!(town.settle().await.is_waiting);
    let only = "definitions of v1.1.0 may already be installed, so it can only go forward: to v1.1.0 with other settings, or to a later version";
    assert_eq!(
        town.condition(CORE, "ProviderUpgraded"),
        format!("False TimedOutWaitingForDeployment: it is being applied: {UNAVAILABLE}; {only}")
    );
    assert_eq!(
        town.condition(ACME, "PreflightCheckPassed"),
        format!(
            "False WaitingForSet: CoreProvider core-system/cluster-api goes first, but is stuck: {UNAVAILABLE}; {only}"
        )
    );
    assert_eq!(
        town.condition(CORE, "PreflightCheckPassed"),
        "True PreflightChecksPassed: All preflight checks passed"
    );
    assert_eq!([town.installed(CORE), town.installed(ACME)], ["v1.0.0", "v1.0.0"]);
    assert_eq!(town.runs(ACME), "registry.example/acme:old x1");
    town.live.take_writes();
    town.settle().await;
    assert_eq!(town.live.take_writes(), [""; 0], "it waits, and writes nothing");

    // Requesting the old version does not help.
    town.ask(CORE, "v1.0.0");
    town.settle().await;
    let older = town.condition(CORE, "ProviderInstalled");
    assert!(older.contains("It can only go forward: request v1.1.0 or a later version"), "{older}");

    // The second release.
    town.publish(CORE, "v1.1.1", &components(CORE, "good", &["v1beta1", "v1beta2"]));
    town.ask(CORE, "v1.1.1");
    let outcome = town.settle().await;
    assert!(!outcome.is_waiting, "{}", town.condition(CORE, "ProviderUpgraded"));
    assert_eq!([town.installed(CORE), town.installed(ACME)], ["v1.1.1", "v1.1.0"]);
    assert_eq!(
        town.condition(CORE, "ProviderUpgraded"),
        "True ProviderUpgraded: Provider upgraded successfully"
    );
    let record = town.record(CORE);
    assert_eq!((record.get("waitingSince"), record.get("stopped")), (None, None), "{record}");
}

#[tokio::test]
async fn where_no_definition_changes_the_old_manager_comes_back() {
    let mut town = stopped(&["v1beta1"]).await;
    town.wait(10);
    town.settle().await;
    assert_eq!(town.runs(CORE), "registry.example/cluster-api:old x1");
    assert_eq!(
        town.condition(CORE, "ProviderUpgraded"),
        format!(
            "False TimedOutWaitingForDeployment: v1.1.0 was rolled back: {UNAVAILABLE}. v1.0.0 runs again, or will soon: request another version, or this one with other settings"
        )
    );
    assert_eq!(
        town.condition(CORE, "Ready"),
        "False VersionNotInstalled: v1.0.0 is installed, v1.1.0 is requested"
    );
    // The installed core supports the contract of the other provider, so that one is upgraded.
    assert_eq!(town.installed(ACME), "v1.1.0");

    // It is not tried again by itself, and drift is repaired meanwhile.
    town.wait(600);
    town.live.take_writes();
    town.restart();
    town.settle().await;
    assert_eq!(town.live.take_writes(), [""; 0]);
    town.live.remove("ServiceAccount", "cluster-api-manager");
    town.settle().await;
    assert_eq!(town.live.take_writes(), ["apply ServiceAccount core-system/cluster-api-manager"]);

    // The same version, rendered otherwise.
    town.ask_with(
        CORE,
        "v1.1.0",
        serde_json::json!({"deployment": {"containers": [
        {"name": "manager", "imageUrl": "registry.example/cluster-api:good"}]}}),
    );
    assert!(!town.settle().await.is_waiting, "{}", town.condition(CORE, "ProviderUpgraded"));
    assert_eq!([town.installed(CORE), town.installed(ACME)], ["v1.1.0", "v1.1.0"]);
    assert_eq!(town.record(CORE).get("givenUp"), None);
}

#[tokio::test]
async fn a_first_install_that_never_runs_says_so() {
    let mut town = Town::new();
    town.broken.lock().unwrap().insert("registry.example/cluster-api:bad".to_owned());
    for (row, image) in [(CORE, "bad"), (ACME, "new")] {
        town.publish(row, "v1.0.0", &components(row, image, &["v1beta1"]));
        town.ask(row, "v1.0.0");
    }
    town.settle().await;
    town.wait(10);
    town.settle().await;
    let said = town.condition(CORE, "ProviderInstalled");
    let begins = format!("False TimedOutWaitingForDeployment: it is being applied: {UNAVAILABLE}; ");
    assert!(said.starts_with(&begins), "{said}");
    assert_eq!(town.runs(ACME), "nothing");

    // It comes to run after all.
    town.broken.lock().unwrap().clear();
    town.live.change("Deployment", "cluster-api-manager", |deployment| {
        deployment["status"]["availableReplicas"] = 1.into();
        deployment["status"]["readyReplicas"] = 1.into();
        deployment["status"]["conditions"][0]["status"] = "True".into();
    });
    assert!(!town.settle().await.is_waiting);
    assert_eq!([town.installed(CORE), town.installed(ACME)], ["v1.0.0", "v1.0.0"]);
}
