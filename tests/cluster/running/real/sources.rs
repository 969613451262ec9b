//! Fleets whose repository is reached by ssh, with the key and the known hosts in a Secret beside them.

use serde_json::json;

use super::{HOME, OTHER_CUSTOMER, Town, rows};
use capstan_test_parts::canary;
use capstan_test_parts::repository::TestRepository;
use capstan_test_parts::ssh_server::SshServer;

/// The repository behind ssh.
pub(super) struct BySsh {
    _server: SshServer,
    _repository: TestRepository,
    head: String,
}

/// One Fleet that knows the host, and one that knows another host of its name; `None` where there is no sshd.
pub(super) fn settle(town: &Town) -> Option<BySsh> {
    let server = SshServer::start()?;
    let repository = TestRepository::new();
    let claim = [(format!("{OTHER_CUSTOMER}/by-ssh"), rows::Claim::Here)];
    repository.write(".capstan.yaml", &rows::settings(&town.plane.uid(), &claim));
    for (path, text) in rows::plain(OTHER_CUSTOMER, "by-ssh") {
        repository.write(&path, &text);
    }
    let head = repository.commit_all("Behind ssh");
    for (name, hosts) in [("by-ssh", server.known_hosts()), ("by-ssh-elsewhere", server.other_hosts())] {
        let metadata = json!({"name": name, "namespace": HOME});
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata,
            "stringData": {"identity": server.key(), "known_hosts": hosts}});
        let source = json!({"git": {"url": server.url(repository.path()), "secretName": name}});
        let fleet = json!({"apiVersion": "capstan.dev/v1alpha1", "kind": "Fleet", "metadata": metadata,
            "spec": {"managementCluster": "mc-eu", "source": source}});
        town.plane.apply(&secret.to_string());
        town.plane.apply(&fleet.to_string());
    }
    Some(BySsh { _server: server, _repository: repository, head })
}

/// The one is applied; the other says why not; neither shows the key.
pub(super) async fn judge(town: &Town, by_ssh: &BySsh) {
    let of_fleet = |name: &str, path: &str| {
        let path = format!("jsonpath={path}");
        town.plane.kubectl(&["get", "fleet", name, "-n", HOME, "-o", &path])
    };
    let said = "{.status.conditions[?(@.type==\"SourceReady\")].message}";
    let missing = town
        .wait(async || {
            let statuses = town.statuses().await;
            let applied = statuses.get("newton-by-ssh").map(|status| rows::ready_and_reasons(status).0);
            let commit = of_fleet("by-ssh", "{.status.commit}");
            let message = of_fleet("by-ssh-elsewhere", said);
            let mut missing = Vec::new();
            if applied.as_deref() != Some("True Done") || commit != by_ssh.head {
                missing.push(format!("by-ssh: {applied:?} at {commit:?}, {}", of_fleet("by-ssh", said)));
            }
            if !message.ends_with("requested strict checking.; Host key verification failed.") {
                missing.push(format!("by-ssh-elsewhere: {message}"));
            }
            missing
        })
        .await;
    assert_eq!(missing, [""; 0]);
    let shown = town.plane.kubectl(&["get", "fleets,managedclusters,events", "-n", HOME, "-o", "yaml"]);
    for (what, text) in [("status", shown), ("log", town.reconciler.log())] {
        assert!(!text.contains("PRIVATE KEY"), "a {what} shows the key");
        canary::assert_none_in(what, text.as_bytes());
    }
    // The key is in a file only as long as ssh reads it.
    let kept = town.wait(async || canary::files_with_secrets(&town.folder.path().join("reconciler"))).await;
    assert_eq!(kept, [""; 0]);
}
