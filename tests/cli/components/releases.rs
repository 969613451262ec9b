//! Releases of the forge, which is held against GitHub's description of itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use capstan_model::digest::sha256;

use capstan_forge::{CANARY, Fault, Forge, Matching, Options, Strike};
use capstan_ports::{FetchError, SourceCredentials};

use super::{COMPONENTS, METADATA, SHA256, credentials, fetched};
use capstan_test_parts::components::serving::{Serving, answer, artifact};
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
async fn what_a_release_lacks_is_reported_by_name() {
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
    let asked = || forge.count_requests(|exchange| path.ends_with(&exchange.path));
    plan(Fault::SecondaryLimit { retry_after_seconds: 1 });
    fetched(&spec(&host, "version: v1.0.2, "), &hosts, SourceCredentials::default()).await.unwrap();
    assert_eq!(asked(), 2, "asked again after the wait, and no more");
    plan(Fault::PrimaryLimit { reset_after_seconds: 900 });
    let error = fetched(&spec(&host, "version: v1.0.2, "), &hosts, SourceCredentials::default()).await;
    let error = error.unwrap_err();
    assert!(
        matches!(error, FetchError::RateLimited { wait, .. } if wait > Duration::from_secs(800)),
        "{error}"
    );
    assert_eq!(asked(), 3, "a longer wait is an error, and is not begun");
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

/// What a server says to the nth question, which is for this path. It knows its own host.
type Says = Box<dyn Fn(usize, &str, &str) -> Response<Body> + Send + Sync>;

/// What comes of fetching from a server that answers so: nothing, or the error.
async fn refusal(source: &str, says: Says) -> (String, Option<String>) {
    let (asked, own) = (AtomicUsize::new(0), Arc::new(OnceLock::<String>::new()));
    let host = Arc::clone(&own);
    let server =
        Serving::start(move |path| says(asked.fetch_add(1, Ordering::SeqCst), path, own.get().unwrap()))
            .await;
    host.set(server.host.clone()).unwrap();
    let spec = format!("{{{}}}", source.replace("HOST", &server.host));
    let fetched = fetched(&spec, &[&server.host], SourceCredentials::default()).await;
    (server.host, fetched.err().map(|error| error.to_string()))
}

/// A text made longer by what means nothing in JSON.
fn padded(text: &str, bytes: usize) -> String {
    format!("{text}{}", " ".repeat(bytes - text.len()))
}

/// The same by a comment of YAML.
fn commented(text: &str, bytes: usize) -> String {
    format!("{text}#{}", "x".repeat(bytes - text.len() - 1))
}

const FILES: [(&str, &str); 2] = [("metadata.yaml", METADATA), ("components.yaml", COMPONENTS)];

/// Its manifest, as it is served.
async fn manifest() -> String {
    let served = artifact("/v2/own/manifests/v1.0.0", &FILES);
    let bytes = axum::body::to_bytes(served.into_body(), 1 << 20).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[tokio::test]
async fn an_answer_is_read_at_each_bound_and_refused_beyond() {
    let registry = "version: v1.0.0, fetchConfig: {oci: 'http://HOST/own'}";
    let releases = "fetchConfig: {url: 'http://HOST/acme/own/releases'}";
    let package =
        "fetchConfig: {url: 'http://HOST/api/v4/projects/acme%2Fown/packages/generic/own/v1.0.0/infra.yaml'}";
    let manifest = manifest().await;
    let of_bytes = |bytes: usize| -> Says {
        let manifest = padded(&manifest, bytes);
        Box::new(move |_, path, _| match path.contains("/manifests/") {
            true => answer(200, &[], manifest.clone()),
            false => artifact(path, &FILES),
        })
    };
    let of_manifests = |count: usize| -> Says {
        let manifest = manifest.clone();
        let digest = format!("sha256:{}", sha256(manifest.as_bytes()));
        let one = format!(r#"{{"mediaType": "x", "digest": "{digest}", "size": 1}}"#);
        let index = format!(r#"{{"manifests": [{}]}}"#, vec![one; count].join(", "));
        Box::new(move |_, path, _| match path {
            _ if path.ends_with("/manifests/v1.0.0") => answer(200, &[], index.clone()),
            _ if path.ends_with(&digest) => answer(200, &[], manifest.clone()),
            _ => artifact(path, &FILES),
        })
    };
    let of_a_token = |bytes: usize| -> Says {
        let token = padded(r#"{"token": "t"}"#, bytes);
        Box::new(move |n, path, host| match path {
            "/token" => answer(200, &[], token.clone()),
            _ if n == 0 => {
                answer(401, &[("www-authenticate", &format!("Bearer realm=\"http://{host}/token\""))], "")
            }
            _ => artifact(path, &FILES),
        })
    };
    let release = r#"{"tag_name": "v1.0.0", "assets": [{"id": 1, "name": "metadata.yaml"},
        {"id": 2, "name": "infrastructure-components.yaml"}]}"#;
    let of_a_list = |bytes: usize| -> Says {
        let list = padded(&format!("[{release}]"), bytes);
        Box::new(move |_, path, _| match path.rsplit('/').next() {
            Some("releases") => answer(200, &[], list.clone()),
            Some("1") => answer(200, &[], METADATA),
            _ => answer(200, &[], COMPONENTS),
        })
    };
    // Three pages are read: see `limits`.
    let of_releases = |count: usize| -> Says {
        Box::new(move |page, path, _| match path.rsplit('/').next() {
            Some("releases") => {
                let page = count.saturating_sub(100 * page).min(100);
                answer(200, &[], format!("[{}]", vec![release; page].join(", ")))
            }
            Some("1") => answer(200, &[], METADATA),
            _ => answer(200, &[], COMPONENTS),
        })
    };
    let of_files = |metadata: usize, components: usize| -> Says {
        let (metadata, components) = (commented(METADATA, metadata), commented(COMPONENTS, components));
        Box::new(move |_, path, _| match path.ends_with("metadata.yaml") {
            true => answer(200, &[], metadata.clone()),
            false => answer(200, &[], components.clone()),
        })
    };
    // Three redirects are followed: see `limits`.
    let of_redirects = |count: usize| -> Says {
        Box::new(move |n, path, _| match path.ends_with("metadata.yaml") {
            true => answer(200, &[], METADATA),
            false if n < count => answer(302, &[("location", "infra.yaml")], ""),
            false => answer(200, &[], COMPONENTS),
        })
    };
    let at = |path: &str, told: &str| Some(format!("http://HOST/{path}{told}"));
    let file = |name: &str, told: &str| {
        at(&format!("api/v4/projects/acme%2Fown/packages/generic/own/v1.0.0/{name}"), told)
    };
    for (what, source, says, refused) in [
        ("a manifest", registry, of_bytes(4_194_304), None),
        (
            "a byte more",
            registry,
            of_bytes(4_194_305),
            at("v2/own/manifests/v1.0.0", " has more than 4194304 bytes: use another source"),
        ),
        ("manifests of an index", registry, of_manifests(16), None),
        (
            "one more",
            registry,
            of_manifests(17),
            at("own:v1.0.0", ": its index names 17 manifests, but at most 16 are read"),
        ),
        ("a token", registry, of_a_token(1_048_576), None),
        (
            "a byte more",
            registry,
            of_a_token(1_048_577),
            at("token", " has more than 1048576 bytes: use another source"),
        ),
        ("a list of releases", releases, of_a_list(16_777_216), None),
        (
            "a byte more",
            releases,
            of_a_list(16_777_217),
            at("api/v3/repos/acme/own/releases", " has more than 16777216 bytes: use another source"),
        ),
        ("pages", releases, of_releases(300), None),
        (
            "a release more",
            releases,
            of_releases(301),
            at(
                "api/v3/repos/acme/own/releases",
                ": its list of releases has more than 3 pages of 100, which is too much to read: name a version",
            ),
        ),
        ("metadata and components", package, of_files(1_048_576, 33_554_432), None),
        (
            "a byte more of metadata",
            package,
            of_files(1_048_577, 1_000),
            file("metadata.yaml", " has more than 1048576 bytes: use another source"),
        ),
        (
            "a byte more of components",
            package,
            of_files(1_000, 33_554_433),
            file("infra.yaml", " has more than 33554432 bytes: use another source"),
        ),
        ("redirects", package, of_redirects(3), None),
        ("one more", package, of_redirects(4), file("infra.yaml", " redirects more than 3 times")),
    ] {
        let (host, told) = refusal(source, says).await;
        let refused = refused.map(|refused| refused.replace("HOST", &host));
        match (told, refused) {
            (None, None) => {}
            (Some(told), Some(refused)) => assert!(told.starts_with(&refused), "{what}: {told}"),
            (told, refused) => panic!("{what}: {told:?} instead of {refused:?}"),
        }
    }
}
