//! Releases of the forge, which is held against GitHub's description of itself.

use std::time::{Duration, Instant};

use capstan_forge::{CANARY, Fault, Forge, Matching, Options, Strike};
use capstan_ports::{FetchError, SourceCredentials};

use super::{COMPONENTS, METADATA, SHA256, credentials, fetched};
use capstan_test_parts::components::serving::{Serving, answer};
use capstan_test_parts::conformance::assert_conforms;

/// A forge with releases of `acme/own`, and its host.
fn forge() -> (Forge, String) {
    let forge = Forge::start(Options::default()).unwrap();
    forge.create_organization("acme").unwrap();
    forge.create_repository("acme/own").unwrap();
    forge.publish("acme/own", true).unwrap();
    let files =
        [("metadata.yaml", METADATA.as_bytes()), ("infrastructure-components.yaml", COMPONENTS.as_bytes())];
    for tag in ["v1.0.0", "v1.0.2", "v1.0.10", "v1.1.0-rc.1", "nightly"] {
        forge.publish_release("acme/own", tag, &files).unwrap();
    }
    let host = forge.url().trim_start_matches("http://").to_owned();
    (forge, host)
}

fn spec(host: &str, rest: &str) -> String {
    format!("{{{rest}fetchConfig: {{url: 'http://{host}/acme/own/releases'}}}}")
}

#[tokio::test]
async fn files_of_a_release_are_fetched_of_the_version_else_of_the_newest() {
    let (forge, host) = forge();
    let hosts = [host.as_str()];
    for (rest, version) in
        [("version: v1.0.2, ", "v1.0.2"), ("", "v1.0.10"), ("version: v1.1.0-rc.1, ", "v1.1.0-rc.1")]
    {
        let published = fetched(&spec(&host, rest), &hosts, SourceCredentials::default()).await;
        // v1.1 has no series.
        if version == "v1.1.0-rc.1" {
            let error = published.unwrap_err().to_string();
            assert!(error.contains("no release series of the metadata has v1.1.0-rc.1"), "{error}");
            continue;
        }
        let published = published.unwrap();
        assert_eq!((published.version.as_str(), published.sha256().as_str()), (version, SHA256));
    }
    assert_conforms(&forge);
}

#[tokio::test]
async fn what_a_release_lacks_is_told_by_name() {
    let (forge, host) = forge();
    let hosts = [host.as_str()];
    let nobody = SourceCredentials::default();
    let gone = fetched(&spec(&host, "version: v3.0.0, "), &hosts, nobody.clone()).await.unwrap_err();
    assert!(matches!(gone, FetchError::NotFound { .. }), "{gone}");
    forge.publish_release("acme/own", "v1.0.3", &[("infrastructure-components.yaml", b"a: 1\n")]).unwrap();
    let lacks = fetched(&spec(&host, "version: v1.0.3, "), &hosts, nobody.clone()).await.unwrap_err();
    assert_eq!(
        lacks.to_string(),
        format!("release v1.0.3 of {host}/acme/own has no metadata: it needs a file `metadata.yaml`")
    );
    forge.publish_release("acme/own", "v1.0.4", &[("metadata.yaml", METADATA.as_bytes())]).unwrap();
    let lacks = fetched(&spec(&host, "version: v1.0.4, "), &hosts, nobody.clone()).await.unwrap_err();
    assert!(
        lacks.to_string().ends_with("has no components: it needs a file `infrastructure-components.yaml`")
    );
    let token = format!("ghp_{CANARY}");
    let wrong =
        fetched(&spec(&host, ""), &hosts, credentials(&[("github-token", &token)])).await.unwrap_err();
    assert!(matches!(wrong, FetchError::Unauthorized { status: 401, .. }), "{wrong}");
    assert_conforms(&forge);
}

#[tokio::test]
async fn a_limit_is_waited_for_up_to_a_bound() {
    let (forge, host) = forge();
    let hosts = [host.as_str()];
    let path = "/api/v3/repos/acme/own/releases/tags/v1.0.2";
    let plan =
        |fault: Fault| forge.fail_next(1, Matching::any().method("GET").path(path), Strike::Before, fault);
    plan(Fault::SecondaryLimit { retry_after_seconds: 1 });
    let begun = Instant::now();
    fetched(&spec(&host, "version: v1.0.2, "), &hosts, SourceCredentials::default()).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));
    plan(Fault::PrimaryLimit { reset_after_seconds: 900 });
    let begun = Instant::now();
    let error = fetched(&spec(&host, "version: v1.0.2, "), &hosts, SourceCredentials::default()).await;
    let error = error.unwrap_err();
    assert!(
        matches!(error, FetchError::RateLimited { wait, .. } if wait > Duration::from_secs(800)),
        "{error}"
    );
    assert!(begun.elapsed() < Duration::from_secs(3));
}

#[tokio::test]
async fn files_kept_elsewhere_come_from_hosts_that_are_named_and_no_token_goes_there() {
    let (forge, host) = forge();
    let storage = Serving::start(|_| answer(200, &[], METADATA)).await;
    forge.keep_files_at(format!("http://{}", storage.host));
    let spec = spec(&host, "version: v1.0.2, ");
    forge.create_user("alice").unwrap();
    let token = forge.token_for("alice").unwrap();
    let who = credentials(&[("GITHUB_TOKEN", &token)]);
    let error = fetched(&spec, &[&host], who.clone()).await.unwrap_err();
    assert!(matches!(&error, FetchError::RedirectedElsewhere { to, .. } if *to == storage.host), "{error}");
    assert!(storage.asked().is_empty());
    fetched(&spec, &[&host, &storage.host], who).await.unwrap();
    assert!(storage.asked().iter().all(|asked| !asked.contains("Bearer")), "{:?}", storage.asked());
    assert_eq!(storage.asked().len(), 2);
}
