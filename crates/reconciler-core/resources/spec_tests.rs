//! What people ask of a Fleet: what is left out, and what is at the edge.

use std::time::Duration;

use capstan_model::ids::ClusterId;
use capstan_model::tree::RepoPath;
use serde_json::{Value, json};

use super::spec::{
    Adopt, CreateClusters, FleetSpec, Guards, ManagedClusterSpec, ServiceAccountSpec, SourceSpec,
};

fn fleet(with: Value) -> Result<FleetSpec, serde_json::Error> {
    let mut spec =
        json!({"managementCluster": "mc", "source": {"git": {"url": "https://git.example.com/fleet"}}});
    spec.as_object_mut().unwrap().extend(with.as_object().unwrap().clone());
    serde_json::from_value(spec)
}

#[test]
fn a_fleet_that_says_the_least_checks_every_five_minutes_and_deletes_little() {
    let spec = fleet(json!({})).unwrap();
    let times = [spec.interval, spec.timeout, spec.stuck_after].map(|time| time.as_secs());
    assert_eq!((times, spec.concurrency, spec.suspend), ([300, 300, 1200], 4, false));
    assert_eq!(
        spec.service_account,
        ServiceAccountSpec { name: "capstan-applier".to_owned(), namespace: None }
    );
    let guards = spec.guards;
    assert_eq!((guards.max_deletions, guards.max_rolling_clusters), (5, None));
    assert_eq!((guards.adopt, guards.create_clusters), (Adopt::Preview, CreateClusters::Recorded));
}

#[test]
fn a_time_is_never_zero_and_never_negative() {
    for (written, expected) in [
        (json!(0), Some(1)),
        (json!(1), Some(1)),
        (json!(86_400), Some(86_400)),
        (json!(-1), None),
        (json!(1.5), None),
        (json!("300"), None),
        (json!(4_294_967_296_u64), None),
    ] {
        let read = fleet(json!({"intervalSeconds": written.clone()})).ok();
        assert_eq!(read.map(|spec| spec.interval), expected.map(Duration::from_secs), "{written}");
    }
}

#[test]
fn a_time_is_written_as_whole_seconds() {
    let spec = FleetSpec { timeout: Duration::from_millis(5_999), ..fleet(json!({})).unwrap() };
    assert_eq!(serde_json::to_value(spec).unwrap()["timeoutSeconds"], 5);
}

#[test]
fn guards_that_name_one_bound_keep_the_others() {
    for (written, deletions, rolling) in [
        (json!({}), 5, None),
        (json!({"maxDeletions": 0}), 0, None),
        (json!({"maxRollingClusters": 1}), 5, Some(1)),
        (json!({"adopt": "take", "createClusters": "always"}), 5, None),
    ] {
        let guards: Guards = serde_json::from_value(written.clone()).unwrap();
        assert_eq!((guards.max_deletions, guards.max_rolling_clusters), (deletions, rolling), "{written}");
    }
}

#[test]
fn what_people_consent_to_is_written_in_lowercase_alone() {
    for (word, adopt) in
        [("preview", Some(Adopt::Preview)), ("take", Some(Adopt::Take)), ("Take", None), ("", None)]
    {
        assert_eq!(serde_json::from_value(json!(word)).ok(), adopt, "{word}");
    }
    for (word, create) in [
        ("recorded", Some(CreateClusters::Recorded)),
        ("always", Some(CreateClusters::Always)),
        ("never", None),
    ] {
        assert_eq!(serde_json::from_value(json!(word)).ok(), create, "{word}");
    }
}

#[test]
fn a_bot_needs_its_secret_and_a_public_repository_none() {
    let bot = json!({"url": "https://capstan.example.com", "repository": "acme/fleet"});
    let with_secret =
        json!({"url": "https://capstan.example.com", "repository": "acme/fleet", "secretName": "join"});
    for (source, expected) in [
        (json!({"bot": bot}), None),
        (json!({"bot": with_secret}), Some(Some("join"))),
        (json!({"git": {"url": "file:///fleet"}}), Some(None)),
        (json!({"git": {"url": "file:///fleet", "secretName": "git"}}), Some(Some("git"))),
        (json!({"inventory": {}}), Some(None)),
        (json!({"bot": with_secret, "inventory": {}}), None),
    ] {
        let read: Option<SourceSpec> = serde_json::from_value(source.clone()).ok();
        assert_eq!(read.as_ref().map(SourceSpec::secret), expected, "{source}");
    }
}

#[test]
fn a_source_that_says_little_is_main_and_labelled_releases() {
    let git: SourceSpec = serde_json::from_value(json!({"git": {"url": "file:///fleet"}})).unwrap();
    assert_eq!(
        serde_json::to_value(git).unwrap(),
        json!({"git": {"url": "file:///fleet", "branch": "main"}})
    );
    let inventory: SourceSpec = serde_json::from_value(json!({"inventory": {}})).unwrap();
    let labels = json!({"inventory": {"releases": {"matchLabels": {"capstan.dev/release": "true"}}}});
    assert_eq!(serde_json::to_value(inventory).unwrap(), labels);
}

#[test]
fn a_folder_is_applied_in_its_own_namespace_unless_the_fleet_names_one() {
    for (written, expected) in [
        (json!({}), ("my-org", "capstan-applier")),
        (json!({"name": "applier"}), ("my-org", "applier")),
        (json!({"namespace": "capstan"}), ("capstan", "capstan-applier")),
    ] {
        let spec: ServiceAccountSpec = serde_json::from_value(written).unwrap();
        let account = spec.of("my-org");
        assert_eq!((account.namespace.as_str(), account.name.as_str()), expected);
    }
}

#[test]
fn a_new_managed_cluster_asks_for_nothing() {
    let spec = ManagedClusterSpec::of(&ClusterId::new(RepoPath::parse("gauss/peu01").unwrap()), "fleet");
    let written = json!({"cluster": "gauss/peu01", "fleet": "fleet", "suspend": false});
    assert_eq!(serde_json::to_value(spec).unwrap(), written);
}
