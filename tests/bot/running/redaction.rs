//! Secrets that people committed to a repository: no check, comment, body, page, record or line of the log repeats one.

use capstan_forge::{CANARY, Edit};
use serde_json::json;

use super::sample;
use super::town::Town;

const PEU01: &str = "gauss/peu01";
const PEU02: &str = "gauss/peu02";

/// Secrets in every form that Capstan recognises by name or content, each beside a value that is not secret.
fn secrets(turn: &str) -> String {
    let secret = format!("{CANARY}-{turn}");
    let applied = json!({"kind": "Secret", "stringData": {"anything": secret}}).to_string();
    let kubeconfig = format!(
        "apiVersion: v1\nkind: Config\nclusters: []\ncontexts: []\nusers:\n- name: a\n  user: {{data: {secret}}}\n"
    );
    let env = format!(
        "env:\n- name: DB_PASSWORD\n  value: {secret}\ncommand: kubeadm join 10.0.0.1 --token {secret}\nlevel: {turn}\n"
    );
    let objects = [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "my-org"},
        "data": {
            "api-token": secret, "db_password": secret, "clientSecret": secret, "ACCESS_KEY": secret,
            "aws-credentials": secret, "url": format!("https://capstan:{secret}@db.example.com/fleet"),
            "request": format!("curl -H 'Authorization: Bearer {secret}' https://example.com"),
            "kubeconfig": kubeconfig, "values.yaml": env, "level": turn,
        }}),
        json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "login", "namespace": "my-org", "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": applied, "level": turn}},
            "stringData": {"anything": secret}}),
        json!({"apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": "ingress", "namespace": "my-org"},
            "spec": {"interval": "1m", "values": {"level": turn, "auth": {"adminPassword": secret, "tokens": [secret]},
                "database": {"url": format!("postgres://capstan:{secret}@db.example.com/fleet")},
                "env": [{"name": "API_TOKEN", "value": secret}]}}}),
    ];
    objects.iter().map(|object| format!("---\n{object:#}\n")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_people_committed_is_repeated_nowhere() {
    let town = Town::new("mode: propose\ndashboard: {enabled: true}\n", &[PEU01, PEU02]).await;
    let part = |cluster: &str, part: &str, turn: &str| {
        Edit::write(format!("{cluster}/{part}/secrets.yaml"), secrets(turn))
    };
    town.push("main", &[part(PEU01, "base", "one"), part(PEU02, "overlay", "one")]);
    town.settle().await;

    // Secrets that are changed, added and removed, in base and overlay, and files whose error is right at a secret.
    let broken = |text: String| Edit::write(format!("{PEU02}/base/broken.yaml"), text);
    let heads = [
        town.open("ada", "changes", &[part(PEU01, "base", "two"), part(PEU02, "overlay", "two")]),
        town.open("ada", "brings", &[part(PEU01, "overlay", "three")]),
        town.open("ada", "removes", &[Edit::remove(format!("{PEU01}/base/secrets.yaml"))]),
        town.open("ada", "unclosed", &[broken(format!("password: [{CANARY}-four\n"))]),
        town.open("ada", "twice", &[broken(format!("password: {CANARY}-four\npassword: {CANARY}-five\n"))]),
        town.open("ada", "settings", &[Edit::write(".capstan.yaml", format!("token: {CANARY}-six\n"))]),
    ];
    town.settle().await;
    for number in heads {
        assert!(town.check(number).conclusion.is_some(), "#{number}");
        town.comment(number, "ada", "/capstan plan").await;
        assert_eq!(town.answers(number).len(), 1, "#{number}");
    }
    let check = town.check(heads[0]);
    let said = format!("{} {:?}", check.summary, check.text);
    assert!(said.contains("two") && said.contains("hidden"), "what is none is shown beside them: {said}");

    // Proposals, the dashboard, and pages that show a cluster's error.
    town.release("v22.0.0", "v1.22.5");
    town.settle().await;
    town.push("main", &[broken(format!("password: [{CANARY}-seven\n"))]);
    town.push("main", &[sample::release("v22.1.0", "v1.22.9")]);
    town.settle().await;
    let cluster = format!("/clusters/acme/gitops/{PEU02}");
    for page in ["/", "/queue", "/deliveries", "/audit", &cluster, "/metrics"] {
        let shown = town.page(page).await;
        assert!(!shown.contains(CANARY), "{page}: {shown}");
    }
    // What was sent to GitHub, what is kept, what was logged.
    town.done();
}
