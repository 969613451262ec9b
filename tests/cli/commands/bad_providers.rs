//! What people and strangers get wrong about providers: file, line or object, and what to do, whichever command meets it;
//! and nothing is written.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use capstan_test_parts::components::serving::{Serving, answer};
use capstan_test_parts::sandbox::Sandbox;

const SET: &str = "mc-eu/providers";
const FILE: &str = "mc-eu/providers/base/a.yaml";
const MAP: &str = "mc-eu/providers/base/maps.yaml";

const PROVIDER: &str = "\
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: InfrastructureProvider
metadata: {name: acme, namespace: acme-system}
spec:
  version: v1.0.0
  fetchConfig: {selector: {matchLabels: {for: acme}}}
";
const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n";
const METADATA: &str = "releaseSeries: [{major: 1, minor: 0, contract: v1beta2}]";
const SECRET: &str = "s3cret\nadded: true";

/// A ConfigMap of v1.0.0 with these components.
fn config_map(components: &str) -> String {
    let indented: String = components.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: v1.0.0, namespace: acme-system, labels: {{for: acme}}}}\ndata:\n  metadata: \"{METADATA}\"\n  components: |\n{indented}"
    )
}

/// The same with these bytes for packed components.
fn packed_map(bytes: &[u8]) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: v1.0.0\n  namespace: acme-system\n  labels: {{for: acme}}\n  annotations: {{provider.cluster.x-k8s.io/compressed: \"true\"}}\ndata:\n  metadata: \"{METADATA}\"\nbinaryData:\n  components: {}\n",
        STANDARD.encode(bytes)
    )
}

fn packed(text: impl Iterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    text.for_each(|part| encoder.write_all(&part).unwrap());
    encoder.finish().unwrap()
}

/// A gibibyte, packed.
fn bomb() -> Vec<u8> {
    packed((0..1024).map(|_| vec![b'a'; 1 << 20]))
}

fn provider(kind: &str, name: &str) -> String {
    format!(
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: {kind}\nmetadata: {{name: {name}, namespace: acme-system}}\n"
    )
}

/// A set with these files, and a release for it.
fn sandbox(set: &[(&str, String)]) -> Sandbox {
    let newer = PROVIDER.to_owned() + "  deployment: {replicas: 2}\n";
    let mut files = vec![
        ("mc/v1.0.0/base/a.yaml", PROVIDER.to_owned()),
        ("mc/v2.0.0/base/a.yaml", newer),
        ("mc-eu/providers/capstan.yaml", "release: mc/v1.0.0\n".to_owned()),
    ];
    files.extend(set.iter().cloned());
    Sandbox::with(&files.iter().map(|(path, text)| (*path, text.as_str())).collect::<Vec<_>>())
}

/// Whether any text of an answer contains a message.
fn says(value: &Value, message: &str) -> bool {
    match value {
        Value::String(text) => text.contains(message),
        Value::Array(items) => items.iter().any(|item| says(item, message)),
        Value::Object(fields) => fields.values().any(|field| says(field, message)),
        _ => false,
    }
}

/// One mistake: its name, the set's files, the place that is reported, and the message.
type Row = (&'static str, Vec<(&'static str, String)>, &'static str, String);

#[test]
fn every_command_tells_what_is_wrong_with_a_set_and_writes_nothing() {
    let acme = "InfrastructureProvider acme-system/acme: ";
    let whole = config_map(SERVICE);
    let with_map = |map: String| vec![(FILE, PROVIDER.to_owned()), (MAP, map)];
    let alone = |text: String| vec![(FILE, text)];
    let text = b"apiVersion: v1\n".to_vec();
    let two_namespaces = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n";
    let rows: Vec<Row> = vec![
        (
            "no metadata",
            with_map(whole.replace("  metadata:", "  other:")),
            "mc-eu/providers/base/maps.yaml:1:1",
            format!("{acme}ConfigMap acme-system/v1.0.0: it has no `data.metadata`, the provider's metadata.yaml: add it"),
        ),
        (
            "a version in no series",
            with_map(whole.replace("minor: 0", "minor: 2")),
            "mc-eu/providers/base/maps.yaml:5:13",
            format!("{acme}no release series of the metadata has v1.0.0: put the metadata.yaml of that release there, or correct the version"),
        ),
        (
            "two providers of a name",
            vec![
                (FILE, PROVIDER.to_owned()),
                ("mc-eu/providers/base/b.yaml", PROVIDER.replace("acme-system", "other-system")),
                (MAP, whole.clone()),
            ],
            "mc-eu/providers/base/b.yaml:1:1",
            "InfrastructureProvider other-system/acme: a second one of this kind and name; the first is in mc-eu/providers/base/a.yaml:1:1. A management cluster has only one: remove or rename one, or name the folder to use".to_owned(),
        ),
        (
            "core that is not `cluster-api`",
            alone(provider("CoreProvider", "capi")),
            "mc-eu/providers/base/a.yaml:1:1",
            "CoreProvider acme-system/capi: a core provider must be named `cluster-api`: rename it".to_owned(),
        ),
        (
            "two sources",
            alone(PROVIDER.replace("{selector: {matchLabels: {for: acme}}}", "{oci: r.example.com/a, url: 'https://github.com/a/b/releases'}")),
            "mc-eu/providers/base/a.yaml:6:16",
            format!("{acme}`spec.fetchConfig` names more than one source: keep only one of `oci`, `url` and `selector`"),
        ),
        (
            "an unknown name without source",
            alone(provider("InfrastructureProvider", "awss")),
            "mc-eu/providers/base/a.yaml:1:1",
            "InfrastructureProvider acme-system/awss: clusterctl knows no InfrastructureProvider of this name, so it needs a source: add `spec.fetchConfig` with `selector`, `oci` or `url`; did you mean `aws`?".to_owned(),
        ),
        (
            "an unknown kind",
            vec![(FILE, PROVIDER.to_owned()), ("mc-eu/providers/base/b.yaml", provider("CoreProvidr", "cluster-api")), (MAP, whole.clone())],
            "mc-eu/providers/base/b.yaml:1:1",
            "operator.cluster.x-k8s.io has no kind `CoreProvidr`; did you mean `CoreProvider`?".to_owned(),
        ),
        (
            "gzip that is none",
            with_map(packed_map(b"apiVersion: v1")),
            "mc-eu/providers/base/maps.yaml:11:15",
            format!("{acme}ConfigMap acme-system/v1.0.0: `binaryData.components` is not gzip, or broken: recreate it"),
        ),
        (
            "gzip that is cut",
            with_map(packed_map(&packed([text].into_iter())[..20])),
            "mc-eu/providers/base/maps.yaml:11:15",
            format!("{acme}ConfigMap acme-system/v1.0.0: `binaryData.components` is gzip that ends too early: recreate it"),
        ),
        (
            "gzip of a gibibyte",
            with_map(packed_map(&bomb())),
            "mc-eu/providers/base/maps.yaml:11:15",
            format!("{acme}ConfigMap acme-system/v1.0.0: `binaryData.components` unpacks to more than 33554432 bytes, which is too large: recreate it"),
        ),
        (
            "two Namespaces",
            with_map(config_map(two_namespaces)),
            "mc-eu/providers/base/maps.yaml:6:15",
            format!("{acme}its components: they have the Namespaces a and b, but a provider has one: remove one"),
        ),
        (
            "duplicate objects",
            with_map(config_map(&format!("{SERVICE}---\n{SERVICE}"))),
            "mc-eu/providers/base/a.yaml:1:1",
            format!("{acme}Service acme-system/a: it is twice among the components, including additional manifests: keep one"),
        ),
        (
            "a document that is not an object",
            with_map(config_map("apiVersion: v1\nmetadata: {name: a}\n")),
            "mc-eu/providers/base/maps.yaml:6:15",
            format!("{acme}its components: line 1: this document has no `kind`, so it is not a Kubernetes object"),
        ),
        (
            "a value that leaves its scalar",
            vec![
                (FILE, format!("{PROVIDER}  configSecret: {{name: values}}\n")),
                (MAP, config_map(&format!("{SERVICE}spec:\n  token: ${{TOKEN}}\n"))),
                (
                    "mc-eu/providers/base/secret.yaml",
                    format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: values, namespace: acme-system}}\nstringData: {{TOKEN: {}}}\n", serde_json::to_string(SECRET).unwrap()),
                ),
            ],
            "mc-eu/providers/base/maps.yaml:6:15",
            format!("{acme}its components: line 5: the value of the variable `TOKEN` does not fit into one scalar: it has a line break, a quote or another character that YAML treats specially. Give it another value"),
        ),
    ];
    for (what, files, place, message) in rows {
        let sandbox = sandbox(&files);
        let before = sandbox.files();
        let render = sandbox.capstan(&["providers", "render", SET]);
        let lines: Vec<&str> = render.ended(1).err_before_page().lines().collect();
        let wanted = format!("error: {place}: {message}");
        assert_eq!((render.out.as_str(), lines.as_slice()), ("", &[wanted.as_str()][..]), "{what}");
        let validate = sandbox.capstan(&["validate", SET, "-o", "json"]);
        assert!(says(&validate.json(3), &message), "{what}: {}", validate.out);
        let plan = sandbox.capstan(&["plan", SET, "--to", "mc/v2.0.0", "-o", "json"]);
        let told: Value = serde_json::from_str(&plan.out).unwrap_or_default();
        assert!(plan.code != 0 && (says(&told, &message) || plan.err.contains(&message)), "{what}: {plan:?}");
        let upgrade = sandbox.capstan(&["upgrade", SET, "--to", "mc/v2.0.0"]);
        for said in [&render, &validate, &plan, &upgrade] {
            assert!(!format!("{said:?}").contains("s3cret"), "{what}: {said:?}");
        }
        assert_eq!(sandbox.files(), before, "{what}: nothing is written");
    }
}

/// An answer of a server to a path.
type Answers = Box<dyn Fn(&str) -> http::Response<axum::body::Body> + Send + Sync>;

/// One row an answer: what a server says, and what is said of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_faulty_source_is_reported_and_nothing_is_written() {
    const PATH: &str = "/api/v4/projects/7/packages/generic/own/v1.0.0/components.yaml";
    let oci = r#"{"schemaVersion": 2, "layers": [{"mediaType": "x", "digest": "sha256:aa", "size": 3}]}"#;
    let rows: Vec<(&str, Answers, &str)> = vec![
        (
            "url",
            Box::new(|_| answer(401, &[], "")),
            "http://HOST/PATH: 401, so it needs other credentials: set `GITLAB_ACCESS_TOKEN` in the environment, or `gitlab-access-token` in the config Secret",
        ),
        (
            "url",
            Box::new(|_| answer(404, &[], "")),
            "http://HOST/PATH does not exist (404): correct the address or the version, or give credentials that may read it",
        ),
        (
            "url",
            Box::new(|_| answer(429, &[("retry-after", "900")], "")),
            "http://HOST/PATH: the limit of requests is reached for another 900 s, and 300 s are waited: try later, or give credentials",
        ),
        (
            "url",
            Box::new(|_| answer(302, &[("location", "https://elsewhere.example/x?token=s3cret")], "")),
            "http://HOST/PATH redirects to elsewhere.example, which is not among the allowed hosts (HOST): give `--host elsewhere.example`; `providers.hosts` of .capstan.yaml alone allows only public registries and forges",
        ),
        (
            "oci",
            Box::new(move |_| answer(200, &[], oci)),
            "http://HOST/own:v1.0.0 has no layer with the annotation `org.opencontainers.image.title`: push it with a client that names files, such as oras or `capstan providers fetch --push`",
        ),
    ];
    for (source, wrong, message) in rows {
        let server = Serving::start(wrong).await;
        let address = if source == "oci" {
            format!("{{oci: 'http://{}/own'}}", server.host)
        } else {
            format!("{{url: 'http://{}{PATH}'}}", server.host)
        };
        let object = PROVIDER.replace("{selector: {matchLabels: {for: acme}}}", &address);
        let settings = format!("providers: {{hosts: ['{}']}}\n", server.host);
        let sandbox = sandbox(&[(FILE, object), (".capstan.yaml", settings)]);
        let before = sandbox.files();
        let said = tokio::task::block_in_place(|| {
            sandbox.capstan(&["providers", "fetch", SET, "--host", &server.host])
        });
        let message = message.replace("/PATH", PATH).replace("HOST", &server.host);
        said.refused(1, &format!("error: InfrastructureProvider acme-system/acme: {message}"));
        assert_eq!(sandbox.files(), before, "nothing is written");
    }
}
