//! A cluster's folder: what names a Secret waits for it, and before a merge it is looked for.

use capstan_model::finding::Severity;
use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_reconciler::reconcile::preflight::preflight;
use capstan_reconciler::reconcile::resources::ConditionType;
use serde_json::json;

use super::town::Town;
use super::vault::CANARY;
use crate::running::world::{id, question};

const CLUSTER: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: peu01, namespace: org-acme}
spec: {paused: false}
";

/// A folder with a reference beside its Cluster.
fn settle(town: &Town, path: &str) {
    town.world.write("gauss/peu01/base/cluster.yaml", CLUSTER);
    town.world.write(
        "gauss/peu01/base/secret.yaml",
        &format!(
            "apiVersion: capstan.dev/v1alpha1\nkind: VaultSecret\nmetadata: {{name: cloud, namespace: org-acme}}\nspec:\n  store: eu\n  refreshSeconds: 60\n  data: {{clouds.yaml: {{mount: kv, path: {path}, key: clouds}}}}\n"
        ),
    );
}

#[tokio::test]
async fn the_secret_is_there_before_what_names_it() {
    let town = Town::new().await;
    settle(&town, "org-acme/fra1");
    let outcome = town.world.reconcile("gauss/peu01").await;
    let ReconcileEnd::Waiting(reasons) = &outcome.ended else { panic!("{:?}", outcome.ended) };
    assert_eq!(reasons[0].kind, "SecretNotResolved");
    assert!(reasons[0].message.contains("there is no such secret or version"), "{}", reasons[0].message);
    assert_eq!(town.live().names("Cluster"), [""; 0]);
    assert_eq!(town.condition("cloud"), "False Missing");

    town.vault.put("kv/org-acme/fra1", json!({"clouds": format!("{CANARY}-one")}));
    town.world.pass_time(60);
    town.live().take_writes();
    let outcome = town.world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    let writes = town.live().take_writes();
    let at = |what: &str| writes.iter().position(|write| write == what).unwrap();
    assert!(at("apply Secret org-acme/cloud") < at("apply Cluster org-acme/peu01"), "{writes:?}");

    // One that cannot be read any more holds nothing up: the Secret is there.
    town.vault.state().is_sealed = true;
    town.world.write("gauss/peu01/base/cluster.yaml", &CLUSTER.replace("false", "true"));
    town.world.pass_time(60);
    let outcome = town.world.reconcile("gauss/peu01").await;
    assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
    assert_eq!(town.world.condition("gauss-peu01", ConditionType::Applied), "True Applied");

    let said = town.everything_but_secrets();
    assert!(!said.contains(CANARY));
    let reports = format!("{:?}", town.world.bot.reports.lock().unwrap());
    assert!(!reports.contains(CANARY));
}

#[tokio::test]
async fn credentials_go_after_their_cluster() {
    let town = Town::new().await;
    settle(&town, "org-acme/fra1");
    town.vault.put("kv/org-acme/fra1", json!({"clouds": format!("{CANARY}-one")}));
    town.world.reconcile("gauss/peu01").await;
    town.world.write("gauss/peu01/capstan.yaml", "delete: cluster\n");
    town.live().change("Cluster", "peu01", |object| {
        object["metadata"]["finalizers"] = json!(["cluster.cluster.x-k8s.io"]);
        object["metadata"]["deletionTimestamp"] = json!("2026-11-01T00:00:00Z");
    });
    town.world.reconcile("gauss/peu01").await;
    town.pass().await;
    assert!(town.secret("cloud").is_some(), "Cluster API needs it to take the cluster down");
    town.live().remove("Cluster", "peu01");
    town.world.reconcile("gauss/peu01").await;
    assert_eq!(town.live().names("VaultSecret"), [""; 0]);
}

#[tokio::test]
async fn before_a_merge_it_is_said_whether_vault_has_it() {
    let town = Town::new().await;
    town.vault.put("kv/org-acme/fra1", json!({"clouds": format!("{CANARY}-one")}));
    town.vault.put("kv/org-beta/fra1", json!({"clouds": format!("{CANARY}-theirs")}));
    let ask = |path: &'static str| {
        let town = &town;
        async move {
            settle(town, path);
            let head = town.world.revision().await;
            let asked = question(&head, &[id("gauss/peu01")]);
            let fleet = town.world.fleet.lock().unwrap().clone();
            let answers = preflight(&town.world.ports(), &fleet, &head, &asked, &[]).await;
            let reasons = answers.into_iter().flat_map(|answer| answer.reasons);
            reasons.map(|reason| (reason.kind, reason.severity)).collect::<Vec<_>>()
        }
    };
    town.live().take_writes();
    assert_eq!(ask("org-acme/fra1").await, Vec::new());
    assert_eq!(ask("org-acme/nowhere").await, [("SecretMissing", Severity::Error)]);
    assert_eq!(ask("org-beta/fra1").await, [("SecretDenied", Severity::Error)]);
    town.vault.state().is_sealed = true;
    assert_eq!(ask("org-acme/fra1").await, [("VaultAway", Severity::Warning)]);
    assert_eq!(town.live().take_writes(), [""; 0]);
}
