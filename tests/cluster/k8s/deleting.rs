//! Deleting what is meant, and nothing else.

use capstan_ports::{ApiObject, Contested, Deleted, LiveError, ManagementCluster as _, Preconditions, Run};
use serde_json::{Value, json};

use super::Ground;

/// That object, whatever has become of it.
fn only(uid: &str) -> Preconditions<'_> {
    Preconditions { uid, resource_version: None }
}

fn uid(live: &Value) -> String {
    live["metadata"]["uid"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn only_the_object_with_that_uid_is_deleted() {
    let Some(ground) = Ground::prepare("deleting").await else { return };
    let by = ground.applier();
    let manifest = ground.config_map("a", &json!({}));
    let object = ApiObject::of(&manifest).unwrap();
    let first = ground.cluster.apply(&by, &manifest, Run::Real, Contested::Refuse).await.unwrap();

    let tried = ground.cluster.delete(&by, &object, only(&uid(&first)), Run::Dry).await.unwrap();
    assert_eq!(tried, Deleted::Gone);
    assert!(ground.live(&manifest).await.is_some(), "a dry run deletes nothing");

    assert_eq!(
        ground.cluster.delete(&by, &object, only(&uid(&first)), Run::Real).await.unwrap(),
        Deleted::Gone
    );
    assert_eq!(
        ground.cluster.delete(&by, &object, only(&uid(&first)), Run::Real).await.unwrap(),
        Deleted::Absent
    );

    let second = ground.cluster.apply(&by, &manifest, Run::Real, Contested::Refuse).await.unwrap();
    assert_eq!(
        ground.cluster.delete(&by, &object, only(&uid(&first)), Run::Real).await.unwrap(),
        Deleted::Replaced
    );
    assert_eq!(uid(&ground.live(&manifest).await.unwrap()), uid(&second));
}

#[tokio::test]
async fn an_object_that_changed_after_it_was_read_stays() {
    let Some(ground) = Ground::prepare("changed").await else { return };
    let by = ground.applier();
    let manifest = ground.config_map("a", &json!({}));
    let object = ApiObject::of(&manifest).unwrap();
    let seen = ground.cluster.apply(&by, &manifest, Run::Real, Contested::Refuse).await.unwrap();
    let changed = ground.config_map("a", &json!({"key": "1"}));
    let now = ground.cluster.apply(&by, &changed, Run::Real, Contested::Refuse).await.unwrap();
    let version = |live: &Value| live["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    for (live, expected) in [(&seen, Deleted::Changed), (&now, Deleted::Gone)] {
        let (uid, version) = (uid(live), version(live));
        let only = Preconditions { uid: &uid, resource_version: Some(&version) };
        assert_eq!(ground.cluster.delete(&by, &object, only, Run::Real).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn what_has_a_finalizer_is_terminating_until_it_is_through() {
    let Some(ground) = Ground::prepare("finalizing").await else { return };
    let by = ground.applier();
    let mut manifest = ground.config_map("held", &json!({}));
    manifest["metadata"]["finalizers"] = json!(["test.capstan.dev/hold"]);
    let object = ApiObject::of(&manifest).unwrap();
    let live = ground.cluster.apply(&by, &manifest, Run::Real, Contested::Refuse).await.unwrap();
    for _ in 0..2 {
        let deleted = ground.cluster.delete(&by, &object, only(&uid(&live)), Run::Real).await.unwrap();
        assert_eq!(deleted, Deleted::Terminating);
    }
    let release = r#"{"metadata": {"finalizers": null}}"#;
    ground.plane.kubectl(&["patch", "configmap", "held", "-n", "finalizing", "--type=merge", "-p", release]);
    let deleted = ground.cluster.delete(&by, &object, only(&uid(&live)), Run::Real).await.unwrap();
    assert_eq!(deleted, Deleted::Absent);
}

#[tokio::test]
async fn a_delete_that_could_mean_more_than_one_object_is_never_sent() {
    let Some(ground) = Ground::prepare("sparing").await else { return };
    let by = ground.applier();
    let manifest = ground.config_map("a", &json!({}));
    let live = ground.cluster.apply(&by, &manifest, Run::Real, Contested::Refuse).await.unwrap();
    let named = |name: &str| ApiObject { name: name.to_owned(), ..ApiObject::of(&manifest).unwrap() };
    for (object, uid) in [(named(""), uid(&live)), (named(".."), uid(&live)), (named("a"), String::new())] {
        let error = ground.cluster.delete(&by, &object, only(&uid), Run::Real).await.unwrap_err();
        assert!(matches!(error, LiveError::Malformed { .. }), "{error}");
    }
    assert!(ground.live(&manifest).await.is_some());
}
