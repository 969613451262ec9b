//! A provider is done when its webhooks answer, and not before.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::town::{ACME, CORE, Town, components};

/// A town whose webhook of core is silent for as long as that says.
fn town() -> (Town, Arc<AtomicBool>) {
    let town = Town::new();
    for row in [CORE, ACME] {
        town.publish(row, "v1.0.0", &components(row, "old", &["v1beta1"]));
        town.ask(row, "v1.0.0");
    }
    let silent = Arc::new(AtomicBool::new(true));
    let is_silent = Arc::clone(&silent);
    town.live.webhook(move |_, asked| {
        let is_asked = asked["apiVersion"] == "cluster-api.example/v1beta1";
        (is_asked && is_silent.load(Ordering::SeqCst)).then(|| {
            (500, "Internal error occurred: failed calling webhook \"boxes.cluster-api.example\": no endpoints available".to_owned())
        })
    });
    (town, silent)
}

#[tokio::test]
async fn a_provider_whose_webhook_is_silent_is_not_done() {
    let (mut town, silent) = town();
    assert!(town.settle().await.is_waiting);
    assert_eq!(town.installed(CORE), "none");
    let said = town.condition(CORE, "ProviderInstalled");
    let begins =
        "False InstallFailed: it is being applied: webhook boxes.cluster-api.example does not answer: ";
    assert!(said.starts_with(begins), "{said}");
    assert_eq!(town.runs(CORE), "registry.example/cluster-api:old x1", "it runs, and is not done");
    assert_eq!(town.runs(ACME), "nothing", "the next one is not begun");

    silent.store(false, Ordering::SeqCst);
    assert!(!town.settle().await.is_waiting);
    assert_eq!([town.installed(CORE), town.installed(ACME)], ["v1.0.0", "v1.0.0"]);
    let log = town.live.state().log.iter().map(|one| one.object.clone()).collect::<Vec<_>>();
    for namespace in ["core-system", "acme-system"] {
        assert!(log.contains(&format!("Box {namespace}/capstan-asks")), "each webhook was asked: {log:?}");
    }
}

/// What a webhook answers does not matter, only that it does.
#[tokio::test]
async fn a_webhook_that_says_no_has_answered() {
    let (mut town, silent) = town();
    silent.store(false, Ordering::SeqCst);
    town.live.webhook(|_, asked| {
        let denied = "admission webhook \"boxes.cluster-api.example\" denied the request: no name";
        (asked["apiVersion"] == "cluster-api.example/v1beta1").then(|| (403, denied.to_owned()))
    });
    assert!(!town.settle().await.is_waiting, "{}", town.condition(CORE, "ProviderInstalled"));
    assert_eq!(town.installed(CORE), "v1.0.0");
}

/// An upgrade whose webhook stays silent goes back where no definition changed.
#[tokio::test]
async fn an_upgrade_whose_webhook_stays_silent_is_given_up() {
    let (mut town, silent) = town();
    silent.store(false, Ordering::SeqCst);
    town.settle().await;
    town.publish(CORE, "v1.1.0", &components(CORE, "new", &["v1beta1"]));
    town.ask(CORE, "v1.1.0");
    silent.store(true, Ordering::SeqCst);
    town.settle().await;
    assert_eq!(town.runs(CORE), "registry.example/cluster-api:new x1");
    town.wait(10);
    // It is given up; the way back is asked, too.
    town.try_pass().await.unwrap();
    silent.store(false, Ordering::SeqCst);
    town.settle().await;
    assert_eq!(town.runs(CORE), "registry.example/cluster-api:old x1");
    assert_eq!(town.installed(CORE), "v1.0.0");
    let said = town.condition(CORE, "ProviderUpgraded");
    assert!(
        said.contains("v1.1.0 was rolled back: webhook boxes.cluster-api.example does not answer"),
        "{said}"
    );
}

/// cert-manager fills in the CA of the webhooks. If it is missing, a condition says so before anything is applied.
#[tokio::test]
async fn without_cert_manager_nothing_is_applied_and_that_is_said() {
    let mut town = Town::new();
    let certificate = serde_json::json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate",
        "metadata": {"name": "serving", "namespace": ACME.namespace}, "spec": {"secretName": "serving"}});
    let with_certificate = format!("{}\n---\n{certificate}", components(ACME, "old", &["v1beta1"]));
    town.publish(CORE, "v1.0.0", &components(CORE, "old", &["v1beta1"]));
    town.publish(ACME, "v1.0.0", &with_certificate);
    for row in [CORE, ACME] {
        town.ask(row, "v1.0.0");
    }
    town.live.take_writes();
    assert!(town.settle().await.is_waiting);
    let said = town.condition(ACME, "PreflightCheckPassed");
    assert!(
        said.starts_with("False CertManagerNotReady: cert-manager's definitions are not there (Certificate acme-system/serving: "),
        "{said}"
    );
    assert_eq!(town.installed(CORE), "v1.0.0", "it needs no certificate, and goes on");
    let of_acme = town.live.take_writes().into_iter().filter(|write| write.contains("acme"));
    assert!(
        of_acme.clone().all(|write| write == "patch InfrastructureProvider acme-system/acme"),
        "nothing but what is said: {:?}",
        of_acme.collect::<Vec<_>>()
    );

    let kind = ("cert-manager.io".to_owned(), "Certificate".to_owned());
    town.live.state().kinds.insert(kind, capstan_ports::KindScope::Namespaced);
    // It is there, and not ready: its webhook does not answer.
    let silent = Arc::new(AtomicBool::new(true));
    let is_silent = Arc::clone(&silent);
    town.live.webhook(move |_, asked| {
        (asked["kind"] == "Certificate" && is_silent.load(Ordering::SeqCst)).then(|| {
            (500, "Internal error occurred: failed calling webhook \"webhook.cert-manager.io\": connection refused".to_owned())
        })
    });
    assert!(town.settle().await.is_waiting);
    let said = town.condition(ACME, "PreflightCheckPassed");
    let begins = "False CertManagerNotReady: cert-manager does not answer (Certificate acme-system/serving: ";
    assert!(said.starts_with(begins), "{said}");
    let written = town.live.take_writes();
    assert!(written.iter().all(|write| write.contains("Provider ")), "{written:?}");
    silent.store(false, Ordering::SeqCst);
    assert!(!town.settle().await.is_waiting);
    assert_eq!([town.installed(CORE), town.installed(ACME)], ["v1.0.0", "v1.0.0"]);
}
