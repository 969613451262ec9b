//! A branch as a source, reached by ssh: one key opens it, the host's key is checked, and no error shows a secret.

use std::sync::Arc;

use capstan_git::{BranchSource, MirrorLimits, Mirrors, RemoteCredential};
use capstan_model::tree::RepoPath;
use capstan_reconciler::reconcile::ports::{SourceError, SourceTree, TreeSource};
use secrecy::SecretString;

use capstan_test_parts::canary;
use capstan_test_parts::repository::TestRepository;
use capstan_test_parts::ssh_server::SshServer;

async fn fetch(url: &str, key: &str, known_hosts: &str) -> Result<SourceTree, SourceError> {
    canary::watch_log();
    let state = tempfile::tempdir().unwrap();
    let mirrors = Arc::new(Mirrors::open(state.path(), MirrorLimits::default()).unwrap());
    let access = RemoteCredential::Key { key: SecretString::from(key), known_hosts: known_hosts.to_owned() };
    let source = BranchSource::open(mirrors, state.path(), "capstan-system/fleet", url, "main", access);
    let fetched = match source {
        Ok(source) => source.fetch().await,
        Err(error) => Err(error),
    };
    if let Err(error) = &fetched {
        canary::assert_none_in("an error", format!("{error} {error:?}").as_bytes());
    }
    assert_eq!(canary::files_with_secrets(state.path()), [""; 0], "what is kept once it is fetched");
    assert_eq!(canary::logged(), [""; 0]);
    fetched
}

#[tokio::test]
async fn a_key_opens_a_repository_behind_ssh_and_the_host_has_to_be_known() {
    let Some(server) = SshServer::start() else { return };
    let repository = TestRepository::new();
    repository.write("gauss/peu01/base/cluster.yaml", "one");
    let commit = repository.commit_all("One");
    let url = server.url(repository.path());
    let (key, hosts) = (server.key(), server.known_hosts());

    let tree = fetch(&url, &key, &hosts).await.unwrap();
    let path = RepoPath::parse("gauss/peu01/base/cluster.yaml").unwrap();
    let read = tree.tree.read(tree.tree.entry(&path).unwrap()).unwrap();
    assert_eq!((tree.commit.to_string(), &*read), (commit, &b"one"[..]));

    let missing = format!("{url}-missing");
    let shown = url.split_once('@').unwrap().1;
    for (what, url, key, hosts, words) in [
        (
            "another host's key",
            &url,
            &key,
            server.other_hosts(),
            "Host key for [127.0.0.1]:PORT has changed and you have requested strict checking.; Host key verification failed.",
        ),
        (
            "a host that nobody knows",
            &url,
            &key,
            String::new(),
            "No ED25519 host key is known for [127.0.0.1]:PORT and you have requested strict checking.; Host key verification failed.",
        ),
        (
            "a key that opens nothing",
            &url,
            &server.strangers_key(),
            hosts.clone(),
            "Permission denied (publickey).",
        ),
        (
            "no key at all",
            &url,
            &"no key".to_owned(),
            hosts.clone(),
            "Load key \"key\": error in libcrypto; ",
        ),
        ("no repository", &missing, &key, hosts.clone(), "does not appear to be a git repository"),
    ] {
        let error = fetch(url, key, &hosts).await.err().unwrap();
        let said = error.to_string().replace(&server.port().to_string(), "PORT");
        let shown = shown.replace(&server.port().to_string(), "PORT");
        assert!(said.contains(words) && said.contains(&shown), "{what}: {said}");
        assert!(!said.contains("PRIVATE KEY") && !said.contains("capstan-ssh-"), "{what}: {said}");
    }
}
