//! The credential of a cloud's controllers inside of their cluster: who mounts it, and whether all of these work with it.

use capstan_live::live_objects::{annotation, is_terminating, text};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

/// The annotation of a pod, and of what pods are made from, that says which credential it began with.
const BEGAN_WITH: &str = "capstan.dev/cloud-credential";

/// How far the clocks of an API server and of the writer of the Secret may differ.
const APART: SignedDuration = SignedDuration::from_mins(1);

/// Whether a pod of this `spec` is given a Secret of that name.
fn is_given(spec: &Value, secret: &str) -> bool {
    let volumes = items(spec, "/volumes").any(|volume| {
        text(volume, "/secret/secretName") == Some(secret)
            || items(volume, "/projected/sources").any(|source| text(source, "/secret/name") == Some(secret))
    });
    let containers = || items(spec, "/containers").chain(items(spec, "/initContainers"));
    volumes
        || containers().any(|container| {
            items(container, "/envFrom").any(|from| text(from, "/secretRef/name") == Some(secret))
                || items(container, "/env")
                    .any(|one| text(one, "/valueFrom/secretKeyRef/name") == Some(secret))
        })
}

fn items<'v>(object: &'v Value, pointer: &str) -> impl Iterator<Item = &'v Value> {
    object.pointer(pointer).and_then(Value::as_array).into_iter().flatten()
}

/// Makes the pods of a workload restart with each credential, where they are given the Secret: a controller reads its
/// file only when it starts.
pub fn begin_with(workload: &mut Value, secret: &str, credential: &str) {
    let is_user = workload.pointer("/spec/template/spec").is_some_and(|spec| is_given(spec, secret));
    let template = workload.pointer_mut("/spec/template").and_then(Value::as_object_mut);
    let Some(template) = template.filter(|_| is_user) else { return };
    let metadata = template.entry("metadata").or_insert_with(|| json!({}));
    if metadata.is_null() {
        *metadata = json!({});
    }
    let Some(metadata) = metadata.as_object_mut() else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if annotations.is_null() {
        *annotations = json!({});
    }
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(BEGAN_WITH.to_owned(), credential.into());
    }
}

/// Whether everybody who is given the Secret works with that credential, which it holds since then: pods that were made
/// from a template that names it, or well after it was written; all of them ready, and at least one.
pub fn is_taken_up(pods: &[Value], secret: &str, credential: &str, since: Timestamp) -> bool {
    let is_over = |pod: &Value| matches!(text(pod, "/status/phase"), Some("Succeeded" | "Failed"));
    let given = |pod: &&Value| pod.get("spec").is_some_and(|spec| is_given(spec, secret));
    let mut users = pods.iter().filter(|pod| !is_over(pod)).filter(given).peekable();
    let since = since.saturating_add(APART).unwrap_or(Timestamp::MAX);
    let is_on = |pod: &Value| {
        let made_at = text(pod, "/metadata/creationTimestamp").and_then(|at| at.parse::<Timestamp>().ok());
        let is_new =
            annotation(pod, BEGAN_WITH) == Some(credential) || made_at.is_some_and(|made_at| made_at > since);
        let is_ready = items(pod, "/status/conditions")
            .any(|one| text(one, "/type") == Some("Ready") && text(one, "/status") == Some("True"));
        is_new && is_ready && !is_terminating(pod)
    };
    users.peek().is_some() && users.all(is_on)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(secret: &str, began_with: Option<&str>, made_at: &str, ready: &str) -> Value {
        json!({"metadata": {"creationTimestamp": made_at, "annotations": {"capstan.dev/cloud-credential": began_with}},
            "spec": {"volumes": [{"name": "config", "secret": {"secretName": secret}}]},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}})
    }

    #[test]
    fn everybody_works_with_it_once_all_pods_began_with_it() {
        let since: Timestamp = "2027-01-01T08:00:00Z".parse().unwrap();
        let (before, soon, later) = ("2027-01-01T07:00:00Z", "2027-01-01T08:00:30Z", "2027-01-01T08:02:00Z");
        let taken_up = |pods: &[Value]| is_taken_up(pods, "cloud-config", "c2", since);
        for (pods, expected, why) in [
            (vec![], false, "nobody is seen"),
            (vec![pod("other", Some("c2"), later, "True")], false, "nobody is given it"),
            (vec![pod("cloud-config", Some("c2"), before, "True")], true, "its template names it"),
            (vec![pod("cloud-config", Some("c1"), later, "True")], true, "it was made later"),
            (vec![pod("cloud-config", None, later, "True")], true, "a chart's, made later"),
            (vec![pod("cloud-config", None, soon, "True")], false, "clocks differ"),
            (vec![pod("cloud-config", Some("c1"), before, "True")], false, "it began with the old one"),
            (vec![pod("cloud-config", Some("c2"), later, "False")], false, "it is not ready"),
            (
                vec![
                    pod("cloud-config", Some("c2"), later, "True"),
                    pod("cloud-config", None, before, "True"),
                ],
                false,
                "one of two",
            ),
            (
                vec![pod("cloud-config", Some("c2"), later, "True"), pod("other", None, before, "True")],
                true,
                "another's does not count",
            ),
        ] {
            assert_eq!(taken_up(&pods), expected, "{why}");
        }
    }

    #[test]
    fn pods_that_use_the_secret_restart_and_others_do_not() {
        let workload = |template: Value| json!({"spec": {"template": template}});
        let given = json!({"volumes": [{"projected": {"sources": [{"secret": {"name": "cloud-config"}}]}}]});
        let mut user = workload(json!({"metadata": null, "spec": given}));
        begin_with(&mut user, "cloud-config", "c2");
        assert_eq!(
            user["spec"]["template"]["metadata"],
            json!({"annotations": {"capstan.dev/cloud-credential": "c2"}})
        );
        let env =
            json!({"containers": [{"env": [{"valueFrom": {"secretKeyRef": {"name": "cloud-config"}}}]}]});
        assert!(is_given(&env, "cloud-config") && !is_given(&env, "another"));
        let mut other = workload(json!({"spec": {"volumes": [{"secret": {"secretName": "tls"}}]}}));
        let before = other.clone();
        begin_with(&mut other, "cloud-config", "c2");
        assert_eq!(other, before);
    }
}
