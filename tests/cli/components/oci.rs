//! Artifacts of a real registry.

use capstan_fleet::components::layers;
use capstan_forge::CANARY;
use capstan_ports::{AllowedHosts, ComponentSource, FetchError, SourceCredentials};
use capstan_providers::OciArtifact;
use capstan_registries::Fetcher;
use capstan_test_support::tally;

use super::{COMPONENTS, METADATA, SHA256, credentials, fetched, limits, recorded, set};
use capstan_test_parts::components::registry::{Asks, REFRESH_TOKEN, Registry, TokenServer, USER};
use capstan_test_parts::components::serving::{Serving, answer};

/// Pushes files under these titles.
async fn push(
    host: &str,
    path: &str,
    files: &[(&str, &str)],
    who: &SourceCredentials,
    hosts: &[&str],
) -> Result<String, FetchError> {
    let artifact = OciArtifact::parse(&format!("http://{host}/{path}"), Some("v1.0.0")).unwrap();
    let files: Vec<(String, Vec<u8>)> =
        files.iter().map(|(title, text)| ((*title).to_owned(), text.as_bytes().to_vec())).collect();
    let fetcher = Fetcher::new(AllowedHosts::new(hosts.iter().copied()), limits()).unwrap();
    fetcher.push(&artifact, &files, who).await
}

fn spec(host: &str, path: &str) -> String {
    format!("{{version: v1.0.0, fetchConfig: {{oci: 'http://{host}/{path}'}}}}")
}

#[tokio::test]
async fn layers_are_found_by_their_titles_the_longest_first() {
    let Some(registry) = Registry::start(&Asks::Nothing) else { return };
    let (host, hosts) = (registry.host.as_str(), [registry.host.as_str()]);
    let nobody = SourceCredentials::default();
    let full = ("infrastructure-own-v1.0.0-metadata.yaml", "infrastructure-own-v1.0.0-components.yaml");
    for (path, files, taken) in [
        (
            "full",
            vec![(full.0, METADATA), (full.1, COMPONENTS), ("metadata.yaml", "x"), ("components.yaml", "x")],
            COMPONENTS,
        ),
        (
            "typed",
            vec![
                ("metadata.yaml", METADATA),
                ("infrastructure-components.yaml", COMPONENTS),
                ("components.yaml", "x"),
            ],
            COMPONENTS,
        ),
        (
            "short",
            vec![("metadata.yaml", METADATA), ("components.yaml", "b: 1\n"), ("core-components.yaml", "x")],
            "b: 1\n",
        ),
    ] {
        push(host, path, &files, &nobody, &hosts).await.unwrap();
        let published = fetched(&spec(host, path), &hosts, nobody.clone()).await.unwrap();
        assert_eq!((published.metadata.as_str(), published.components.as_str()), (METADATA, taken), "{path}");
        assert_eq!(published.version, "v1.0.0");
    }
    let published = fetched(&spec(host, "full"), &hosts, nobody.clone()).await.unwrap();
    assert_eq!(published.sha256(), SHA256);
    // What `fetch --push` writes is found again.
    let set = set(&spec(host, "again"));
    let written = layers(&set.providers()[0], &published);
    let titles: Vec<&str> = written.iter().map(|(title, _)| title.as_str()).collect();
    assert_eq!(titles, [full.0, full.1]);

    for (path, files, said) in [
        (
            "no-metadata",
            vec![("components.yaml", COMPONENTS)],
            "has no metadata: it needs a layer with the title infrastructure-own-v1.0.0-metadata.yaml or metadata.yaml",
        ),
        (
            "no-components",
            vec![("metadata.yaml", METADATA)],
            "has no components: it needs a layer with the title infrastructure-own-v1.0.0-components.yaml or infrastructure-components.yaml or components.yaml",
        ),
        (
            "no-series",
            vec![("metadata.yaml", "releaseSeries: []\n"), ("components.yaml", COMPONENTS)],
            "no release series of the metadata has v1.0.0",
        ),
    ] {
        push(host, path, &files, &nobody, &hosts).await.unwrap();
        let error = fetched(&spec(host, path), &hosts, nobody.clone()).await.unwrap_err().to_string();
        assert!(error.contains(said), "{path}: {error}");
    }
    let error = fetched(&spec(host, "never"), &hosts, nobody.clone()).await.unwrap_err();
    assert!(matches!(error, FetchError::NotFound { .. }), "{error}");
    let error = fetched(&spec(host, "full"), &["registry.example"], nobody).await.unwrap_err();
    assert!(matches!(&error, FetchError::HostNotAllowed { host: refused, .. } if refused == host), "{error}");
}

#[tokio::test]
async fn a_tag_that_moved_is_refused() {
    let Some(registry) = Registry::start(&Asks::Nothing) else { return };
    let (host, hosts) = (registry.host.as_str(), [registry.host.as_str()]);
    let nobody = SourceCredentials::default();
    let files = [("metadata.yaml", METADATA), ("components.yaml", COMPONENTS)];
    push(host, "own", &files, &nobody, &hosts).await.unwrap();
    recorded(&spec(host, "own"), &hosts, nobody.clone(), Some(SHA256)).await.unwrap();
    push(host, "own", &[files[0], ("components.yaml", "other: 1\n")], &nobody, &hosts).await.unwrap();
    let error = recorded(&spec(host, "own"), &hosts, nobody, Some(SHA256)).await.unwrap_err();
    assert!(
        matches!(&error, FetchError::Moved { version, recorded, .. } if version == "v1.0.0" && recorded == SHA256),
        "{error}"
    );
}

#[tokio::test]
async fn passwords_are_sent_to_registries_that_ask_for_them() {
    let Some(registry) = Registry::start(&Asks::Passwords) else { return };
    let (host, hosts) = (registry.host.as_str(), [registry.host.as_str()]);
    let ada = credentials(&[("OCI_USERNAME", USER.0), ("OCI_PASSWORD", USER.1)]);
    let files = [("metadata.yaml", METADATA), ("components.yaml", COMPONENTS)];
    push(host, "own", &files, &ada, &hosts).await.unwrap();
    assert_eq!(fetched(&spec(host, "own"), &hosts, ada).await.unwrap().sha256(), SHA256);
    for wrong in [&[][..], &[("OCI_USERNAME", USER.0), ("OCI_PASSWORD", CANARY)]] {
        let error = fetched(&spec(host, "own"), &hosts, credentials(wrong)).await.unwrap_err();
        assert!(matches!(error, FetchError::Unauthorized { status: 401, .. }), "{error}");
        assert!(error.to_string().contains("`OCI_USERNAME` and `OCI_PASSWORD`"), "{error}");
    }
}

/// Its realm may be an inside address, whose answer would go to the registry as a token: being named makes nobody its server.
#[tokio::test]
async fn a_registry_sends_nobody_elsewhere_for_a_token() {
    let inside = Serving::start(|_| answer(200, &[], r#"{"token": "inside-content"}"#)).await;
    let realm = format!("Bearer realm=\"http://{}/token\"", inside.host);
    let registry = Serving::start(move |_| answer(401, &[("www-authenticate", &realm)], "")).await;
    for who in [
        credentials(&[("OCI_USERNAME", USER.0), ("OCI_PASSWORD", USER.1)]),
        credentials(&[("OCI_REFRESH_TOKEN", REFRESH_TOKEN)]),
        SourceCredentials::default(),
    ] {
        let hosts = [registry.host.as_str(), inside.host.as_str()];
        let error = fetched(&spec(&registry.host, "own"), &hosts, who).await.unwrap_err().to_string();
        assert!(error.contains("it names another host for a token, which Capstan does not ask"), "{error}");
        assert!(!error.contains(&inside.host), "{error}");
    }
    assert!(inside.asked().is_empty(), "{:?}", inside.asked());
}

#[tokio::test]
async fn a_registry_gives_tokens_itself() {
    let server = TokenServer::start().await;
    let Some(registry) = Registry::start(&Asks::Tokens(&server)) else { return };
    server.behind.set(registry.host.clone()).unwrap();
    let (host, hosts) = (server.host.as_str(), [server.host.as_str()]);
    let ada = credentials(&[("OCI_USERNAME", USER.0), ("OCI_PASSWORD", USER.1)]);
    let files = [("metadata.yaml", METADATA), ("components.yaml", COMPONENTS)];
    push(host, "own", &files, &ada, &hosts).await.unwrap();
    server.asked.lock().unwrap().clear();
    assert_eq!(fetched(&spec(host, "own"), &hosts, ada).await.unwrap().sha256(), SHA256);
    assert_eq!(*server.asked.lock().unwrap(), ["GET ada repository:own:pull"]);
    let refresh = credentials(&[("OCI_REFRESH_TOKEN", REFRESH_TOKEN)]);
    fetched(&spec(host, "own"), &hosts, refresh).await.unwrap();
    assert_eq!(server.asked.lock().unwrap().last().unwrap(), "POST repository:own:pull");
    let nobody = fetched(&spec(host, "own"), &hosts, SourceCredentials::default()).await.unwrap_err();
    assert!(matches!(nobody, FetchError::Unauthorized { .. }), "{nobody}");
}

#[tokio::test]
async fn an_artifact_without_titles_and_bytes_of_another_digest_are_refused() {
    let manifest = r#"{"schemaVersion": 2, "layers": [LAYER]}"#;
    let untitled = r#"{"mediaType": "x", "digest": "sha256:aa", "size": 3}"#;
    let zeros = "0".repeat(64);
    let titled = format!(
        r#"{{"mediaType": "x", "digest": "sha256:{zeros}", "size": 3, "annotations": {{"org.opencontainers.image.title": "metadata.yaml"}}}}"#
    );
    let huge = titled.replace(r#""size": 3"#, r#""size": 99999999999"#);
    for (layer, said) in [
        (untitled.to_owned(), "has no layer with the annotation `org.opencontainers.image.title`"),
        (titled, "has another digest"),
        (huge, "has more than 1048576 bytes"),
        ("7".to_owned(), "its manifest is not valid"),
    ] {
        let text = manifest.replace("LAYER", &layer);
        let server = Serving::start(move |path| {
            if path.contains("/manifests/") {
                answer(200, &[], text.clone())
            } else {
                answer(200, &[], "abc")
            }
        })
        .await;
        let error = fetched(&spec(&server.host, "own"), &[&server.host], SourceCredentials::default()).await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// What people push with oras is fetched, where oras is.
#[tokio::test]
async fn what_oras_pushes_is_fetched() {
    if tally::command("oras").arg("version").output().is_err() {
        println!("SKIPPED: there is no oras");
        return;
    }
    let Some(registry) = Registry::start(&Asks::Nothing) else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("metadata.yaml"), METADATA).unwrap();
    std::fs::write(folder.path().join("components.yaml"), COMPONENTS).unwrap();
    let pushed = tally::command("oras")
        .args([
            "push",
            "--plain-http",
            &format!("{}/own:v1.0.0", registry.host),
            "metadata.yaml",
            "components.yaml",
        ])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(pushed.status.success(), "{}", String::from_utf8_lossy(&pushed.stderr));
    let hosts = [registry.host.as_str()];
    let published = fetched(&spec(&registry.host, "own"), &hosts, SourceCredentials::default()).await;
    assert_eq!(published.unwrap().sha256(), SHA256);
}
