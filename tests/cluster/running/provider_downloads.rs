//! Components that a management cluster lacks: fetched from hosts that are named, kept as the operator keeps them, and held
//! against what is recorded of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_forge::{CANARY, Forge, Options};
use capstan_model::digest::sha256;
use capstan_ports::{AllowedHosts, ComponentSource, SourceCredentials};
use capstan_providers::OciArtifact;
use capstan_reconciler::reconcile::ReconcileEnd;
use capstan_registries::Fetcher;
use serde_json::{Value, json};

use super::providers::{Ground, NAMESPACE, provider};
use super::world::World;
use capstan_test_parts::components::registry::{Asks, Registry};
use capstan_test_parts::components::serving::{Serving, answer, artifact};
use capstan_test_parts::components::{COMPONENTS, METADATA, SHA256, limits};

const PATH: &str = "/api/v4/projects/1/packages/generic/own/v1.0.0/infrastructure-components.yaml";

/// A GitLab that has the package.
fn package(path: &str) -> Response<Body> {
    match path.rsplit('/').next() {
        Some("metadata.yaml") => answer(200, &[], METADATA),
        Some("infrastructure-components.yaml") => answer(200, &[], COMPONENTS),
        _ => answer(404, &[], ""),
    }
}

fn packaged(host: &str) -> Value {
    json!({"version": "v1.0.0", "fetchConfig": {"url": format!("http://{host}{PATH}")}})
}

#[tokio::test]
async fn components_are_fetched_from_every_source_and_kept_as_the_operator_keeps_them() {
    let gitlab = Serving::start(package).await;
    let forge = Forge::start(Options::default()).unwrap();
    forge.create_organization("acme").unwrap();
    forge.create_repository("acme/own").unwrap();
    forge.publish("acme/own", true).unwrap();
    let files =
        [("metadata.yaml", METADATA.as_bytes()), ("infrastructure-components.yaml", COMPONENTS.as_bytes())];
    forge.publish_release("acme/own", "v1.0.0", &files).unwrap();
    let github = forge.url().trim_start_matches("http://").to_owned();
    let mut rows = vec![
        (gitlab.host.clone(), packaged(&gitlab.host)),
        (
            github.clone(),
            json!({"version": "v1.0.0", "fetchConfig": {"url": format!("http://{github}/acme/own/releases")}}),
        ),
        // The newest there is; the spec stays as it is.
        (github.clone(), json!({"fetchConfig": {"url": format!("http://{github}/acme/own/releases")}})),
    ];
    let registry = Registry::start(&Asks::Nothing);
    if let Some(registry) = &registry {
        let host = registry.host.clone();
        let artifact = OciArtifact::parse(&format!("http://{host}/own"), Some("v1.0.0")).unwrap();
        let files = [("metadata.yaml", METADATA), ("components.yaml", COMPONENTS)]
            .map(|(title, text)| (title.to_owned(), text.as_bytes().to_vec()));
        let fetcher = Fetcher::new(AllowedHosts::new([host.clone()]), limits()).unwrap();
        fetcher.push(&artifact, &files, &SourceCredentials::default()).await.unwrap();
        let spec = json!({"version": "v1.0.0", "fetchConfig": {"oci": format!("http://{host}/own")}});
        rows.push((host, spec));
    }
    for (host, spec) in rows {
        let mut ground = Ground::new(&[&host]).await;
        ground.live.put(provider(spec.clone()));
        let outcome = ground.pass().await;
        assert_eq!(
            ground.installed().as_deref(),
            Some("v1.0.0"),
            "{:?}",
            ground.condition("ProviderInstalled")
        );
        assert_eq!(outcome.again, None);
        assert!(ground.live.object("ServiceAccount", "manager").is_some());

        let map = ground.live.object("ConfigMap", "infrastructure-own-v1.0.0").unwrap();
        let mut labels = json!({
            "provider.cluster.x-k8s.io/version": "v1.0.0", "provider.cluster.x-k8s.io/type": "infrastructure",
            "provider.cluster.x-k8s.io/name": "own", "managed-by.operator.cluster.x-k8s.io": "true",
        });
        if spec["fetchConfig"].get("oci").is_some() {
            labels["provider.cluster.x-k8s.io/source"] = json!("oci");
        }
        assert_eq!(map["metadata"]["labels"], labels);
        assert_eq!(map["metadata"]["namespace"], NAMESPACE);
        assert_eq!(map["data"], json!({"metadata": METADATA, "components": COMPONENTS}));
        let object = ground.live.object("InfrastructureProvider", "own").unwrap();
        assert_eq!(object["spec"], spec, "a spec is never written");
        assert_eq!(
            map["metadata"]["ownerReferences"],
            json!([{"apiVersion": "operator.cluster.x-k8s.io/v1alpha2", "kind": "InfrastructureProvider",
                "name": "own", "uid": object["metadata"]["uid"]}])
        );

        // What is there is not fetched again, nor is anything written.
        let asked = gitlab.asked().len();
        ground.live.take_writes();
        ground.pass().await;
        assert_eq!(ground.live.take_writes(), [""; 0]);
        assert_eq!(gitlab.asked().len(), asked);
    }
}

/// What a server says to a path.
type Answers = fn(&str) -> Response<Body>;

#[tokio::test]
async fn why_components_are_not_fetched_is_said_and_nothing_is_written() {
    let rows: [(Answers, &str, &str); 8] = [
        (|_| answer(401, &[], ""), "", "401, so it needs other credentials: set `GITLAB_ACCESS_TOKEN`"),
        (|_| answer(404, &[], ""), "", "does not exist (404): correct the address or the version"),
        (
            |_| answer(302, &[("location", &format!("http://elsewhere.example/x?token={CANARY}"))], ""),
            "",
            "redirects to, named in the log, is not among the hosts that the reconciler may contact (HOST)",
        ),
        (|_| answer(302, &[("location", "/again")], ""), "", "redirects more than 3 times"),
        (|_| answer(200, &[], vec![b'a'; 5 << 20]), "", "has more than"),
        (|_| answer(200, &[], "a: b: c"), "", "the metadata is not YAML"),
        (
            |_| answer(429, &[("retry-after", "900")], ""),
            "",
            "HOST accepts no more requests until 2027-01-15 08:15 UTC",
        ),
        (
            package,
            "v1.0.0 sha256:0000000000000000000000000000000000000000000000000000000000000000",
            "provider-digest-differs: http://HOST/PATH changed: its components have SHA-256 SHA256, but 0000",
        ),
    ];
    for (wrong, recorded, said) in rows {
        let server = Serving::start(wrong).await;
        let mut ground = Ground::new(&[&server.host]).await;
        let mut object = provider(packaged(&server.host));
        if !recorded.is_empty() {
            object["metadata"]["annotations"] = json!({"capstan.dev/components": recorded});
        }
        ground.live.put(object);
        let outcome = ground.pass().await;
        let (reason, message) = ground.condition("ProviderInstalled");
        let said = said.replace("/PATH", PATH).replace("HOST", &server.host).replace("SHA256", SHA256);
        assert!(reason == "ComponentsFetchError" && message.contains(&said), "{said}: {reason} {message}");
        ground.shows_no_secret();
        assert!(outcome.again.is_some_and(|again| again > Duration::from_secs(500)), "{:?}", outcome.again);
        let patched = format!("patch InfrastructureProvider {NAMESPACE}/own");
        assert_eq!(ground.live.take_writes(), [patched], "its status and nothing else");

        // While the error lasts, the next pass writes nothing and fetches nothing.
        let asked = server.asked().len();
        ground.pass().await;
        assert_eq!((ground.live.take_writes(), server.asked().len()), (Vec::new(), asked), "{said}");
    }
}

/// The tag was judged with other components than it leads to when they are applied, or at a later pass.
#[tokio::test]
async fn a_tag_that_moves_is_refused_with_both_digests_and_what_runs_stays() {
    let has_moved = Arc::new(AtomicBool::new(false));
    let moved = Arc::clone(&has_moved);
    let others = COMPONENTS.replace("manager", "forged");
    let forged = others.clone();
    let server = Serving::start(move |path| {
        let components = if moved.load(Ordering::SeqCst) { forged.as_str() } else { COMPONENTS };
        artifact(path, &[("metadata.yaml", METADATA), ("components.yaml", components)])
    })
    .await;
    let mut object =
        provider(json!({"version": "v1.0.0", "fetchConfig": {"oci": format!("http://{}/own", server.host)}}));
    object["metadata"]["annotations"] = json!({"capstan.dev/components": format!("v1.0.0 sha256:{SHA256}")});
    let said = format!(
        "provider-digest-differs: http://{}/own:v1.0.0 changed: its components have SHA-256 {}, but {SHA256} was recorded for v1.0.0",
        server.host,
        sha256(others.as_bytes())
    );
    assert_ne!(others, COMPONENTS);

    // Between the merge and the pass.
    has_moved.store(true, Ordering::SeqCst);
    let mut ground = Ground::new(&[&server.host]).await;
    ground.live.put(object.clone());
    ground.pass().await;
    let (reason, message) = ground.condition("ProviderInstalled");
    assert!(reason == "ComponentsFetchError" && message.contains(&said), "{reason} {message}");
    assert_eq!(ground.live.names("ServiceAccount"), ["core-manager"], "nothing of it is applied");

    // Between one pass and another.
    has_moved.store(false, Ordering::SeqCst);
    let mut ground = Ground::new(&[&server.host]).await;
    ground.live.put(object);
    ground.pass().await;
    assert_eq!(ground.installed().as_deref(), Some("v1.0.0"), "{:?}", ground.condition("ProviderInstalled"));
    has_moved.store(true, Ordering::SeqCst);
    ground.later(24 * 3_600);
    ground.pass().await;
    assert_eq!(ground.live.names("ServiceAccount"), ["core-manager", "manager"]);
    // Somebody removes what was kept of it, and it is fetched again.
    ground.live.remove("ConfigMap", "infrastructure-own-v1.0.0");
    ground.pass().await;
    let (reason, message) = ground.condition("ProviderInstalled");
    assert!(reason == "ComponentsFetchError" && message.contains(&said), "{reason} {message}");
    assert_eq!(ground.live.names("ServiceAccount"), ["core-manager", "manager"], "what runs stays");
}

#[tokio::test]
async fn a_host_that_nobody_named_is_never_spoken_to() {
    let server = Serving::start(package).await;
    for hosts in [vec![], vec!["elsewhere.example"]] {
        let mut ground = Ground::new(&hosts).await;
        ground.live.put(provider(packaged(&server.host)));
        let outcome = ground.pass().await;
        let named = if hosts.is_empty() { "none" } else { hosts[0] };
        let said = format!(
            "its components are unknown: {} is not among the hosts that the reconciler may contact ({named}): add it to its setting `provider-hosts`, or put the components into a ConfigMap, as `capstan providers fetch` prints it",
            server.host
        );
        assert_eq!(ground.condition("ProviderInstalled"), ("ComponentsFetchError".to_owned(), said));
        assert_eq!(outcome.again, None);
        assert_eq!(ground.live.names("ConfigMap"), ["core"], "the core provider's own");
    }
    assert_eq!(server.asked(), [""; 0]);
}

#[tokio::test]
async fn a_limit_is_waited_for_until_the_host_says() {
    let is_free = Arc::new(AtomicBool::new(false));
    let says = Arc::clone(&is_free);
    let server = Serving::start(move |path| match says.load(Ordering::SeqCst) {
        true => package(path),
        false => answer(429, &[("retry-after", "900")], ""),
    })
    .await;
    let mut ground = Ground::new(&[&server.host]).await;
    ground.live.put(provider(packaged(&server.host)));
    assert_eq!(ground.pass().await.again, Some(Duration::from_secs(900)));
    is_free.store(true, Ordering::SeqCst);
    ground.later(600);
    assert_eq!(ground.pass().await.again, Some(Duration::from_secs(300)));
    assert_eq!(server.asked().len(), 1, "not before");
    ground.later(301);
    assert_eq!(ground.pass().await.again, None);
    assert_eq!(ground.installed().as_deref(), Some("v1.0.0"));
}

#[tokio::test]
async fn credentials_are_those_of_the_config_secret_of_the_providers_own_namespace() {
    let server = Serving::start(package).await;
    let mut spec = packaged(&server.host);
    spec["configSecret"] = json!({"name": "credentials"});
    let token = format!("glpat-{CANARY}");
    let mut ground = Ground::new(&[&server.host]).await;
    // A Secret of the same name in another namespace is not used.
    ground.live.put(json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "credentials", "namespace": "org"}, "data": {"GITLAB_ACCESS_TOKEN": "ZWxzZQ=="}}));
    ground.live.put(provider(spec));
    ground.pass().await;
    assert_eq!(server.asked(), [""; 0], "the Secret is missing, and rendering says so");
    assert!(ground.condition("ProviderInstalled").1.contains("does not exist: create it"));
    ground.live.put(json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "credentials", "namespace": NAMESPACE},
        "data": {"GITLAB_ACCESS_TOKEN": STANDARD.encode(&token)}}));
    ground.pass().await;
    let bearer = format!(" Bearer {token}");
    assert!(server.asked().iter().all(|asked| asked.ends_with(&bearer)), "{:?}", server.asked());
    assert_eq!(ground.installed().as_deref(), Some("v1.0.0"));
    ground.shows_no_secret();
}

#[tokio::test]
async fn a_token_that_github_refuses_is_said_as_the_operator_says_it() {
    let server = Serving::start(|_| answer(401, &[], "")).await;
    let url = format!("http://{}/acme/own/releases", server.host);
    let mut ground = Ground::new(&[&server.host]).await;
    ground.live.put(json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "credentials", "namespace": NAMESPACE},
        "data": {"github-token": STANDARD.encode(format!("ghp_{CANARY}"))}}));
    ground.live.put(provider(json!({"version": "v1.0.0", "configSecret": {"name": "credentials"},
        "fetchConfig": {"url": url}})));
    ground.pass().await;
    let (reason, message) = ground.condition("PreflightCheckPassed");
    assert_eq!(reason, "InvalidGithubTokenError", "{message}");
    ground.shows_no_secret();
}

#[tokio::test]
async fn components_of_config_maps_are_held_against_the_record_too() {
    let mut ground = Ground::new(&[]).await;
    ground.live.put(json!({"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": "v1.0.0", "namespace": NAMESPACE, "labels": {"for": "own"}},
        "data": {"metadata": METADATA, "components": COMPONENTS}}));
    let spec = json!({"version": "v1.0.0", "fetchConfig": {"selector": {"matchLabels": {"for": "own"}}}});
    let recorded = |digest: &str| {
        let mut object = provider(spec.clone());
        object["metadata"]["annotations"] =
            json!({"capstan.dev/components": format!("v1.0.0 sha256:{digest}")});
        object
    };
    ground.live.put(recorded(&"0".repeat(64)));
    ground.pass().await;
    let (reason, message) = ground.condition("ProviderInstalled");
    assert_eq!(reason, "ComponentsFetchError");
    let said =
        format!("provider-digest-differs: its components have SHA-256 {SHA256}, but the set records 0000");
    assert!(message.starts_with(&said), "{message}");
    assert_eq!(ground.live.object("ServiceAccount", "manager"), None);
    ground.live.put(recorded("none"));
    ground.pass().await;
    assert!(ground.condition("ProviderInstalled").1.contains("the annotation `capstan.dev/components` is"));
    ground.live.put(recorded(SHA256));
    ground.pass().await;
    assert_eq!(ground.installed().as_deref(), Some("v1.0.0"), "{:?}", ground.condition("ProviderInstalled"));
}

/// From the set's `capstan.yaml` to the provider object, of the version that it asks for and of no other.
#[tokio::test]
async fn a_set_gives_its_record_to_the_installer() {
    for (by, version, expected) in [
        ("capstan", "v1.0.0", Some(format!("v1.0.0 sha256:{SHA256}"))),
        ("capstan", "v1.0.1", None),
        ("operator", "v1.0.0", None),
    ] {
        let world = World::new();
        let settings = format!("{}  providers: {{path: mc/providers, by: {by}}}\n", super::world::SETTINGS);
        world.write(".capstan.yaml", &settings);
        let object = format!(
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: InfrastructureProvider\nmetadata: {{name: own, namespace: org}}\nspec: {{version: {version}, fetchConfig: {{oci: r.example/own}}}}\n"
        );
        world.write("mc/providers/base/a.yaml", &object);
        let record =
            format!("components:\n  infrastructure-own:\n    version: v1.0.0\n    sha256: {SHA256}\n");
        world.write("mc/providers/capstan.yaml", &record);
        if by == "operator" {
            world.live.put(json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "capi-operator", "namespace": "operators", "labels": {
                    "clusterctl.cluster.x-k8s.io/core": "capi-operator", "control-plane": "controller-manager"}},
                "spec": {"replicas": 1}}));
        }
        let outcome = world.reconcile("mc/providers").await;
        assert!(matches!(outcome.ended, ReconcileEnd::Applied), "{:?}", outcome.ended);
        let live = world.live.object("InfrastructureProvider", "own").unwrap();
        let annotation = live["metadata"]["annotations"]["capstan.dev/components"].as_str();
        assert_eq!(annotation, expected.as_deref(), "{by} {version}");
        world.live.take_writes();
        world.reconcile("mc/providers").await;
        assert_eq!(world.live.take_writes(), [""; 0], "it is no drift");
    }
}
