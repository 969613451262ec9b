//! Where components are found, and which version of several.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;

/// Components that say their version.
fn components(version: &str) -> String {
    format!("apiVersion: v1\nkind: Service\nmetadata: {{name: of-{version}}}\n")
}

fn map(name: &str, labels: &str, version: &str) -> String {
    config_map(&components(version))
        .replace("name: v1.0.0,", &format!("name: {name},"))
        .replace("{for: acme}", &format!("{{{labels}}}"))
}

fn found(files: &[(&str, &str)]) -> Result<(String, String), String> {
    let rendered = tried(files, &[], None)?.remove(0);
    Ok((rendered.version, rendered.objects[0]["metadata"]["name"].as_str().unwrap().to_owned()))
}

fn pair(version: &str, name: &str) -> Result<(String, String), String> {
    Ok((version.to_owned(), name.to_owned()))
}

#[test]
fn a_selector_finds_config_maps_by_labels_and_expressions() {
    let a = map("a", "for: acme, tier: x, provider.cluster.x-k8s.io/version: v1.0.0", "a");
    let b = map("v1.1.3", "for: acme, tier: y", "b");
    let elsewhere = map("v1.1.9", "for: acme, tier: y", "elsewhere").replace("acme-system", "other");
    for (selector, version, expected) in [
        // The newest, by number; the version from the label, else the name.
        ("{matchLabels: {for: acme}}", "", pair("v1.1.3", "of-b")),
        ("{matchLabels: {for: acme}}", "v1.0.0", pair("v1.0.0", "of-a")),
        ("{matchLabels: {for: acme, tier: x}}", "", pair("v1.0.0", "of-a")),
        ("{matchExpressions: [{key: tier, operator: In, values: [x, z]}]}", "", pair("v1.0.0", "of-a")),
        (
            "{matchExpressions: [{key: tier, operator: NotIn, values: [x]}, {key: for, operator: Exists}]}",
            "",
            pair("v1.1.3", "of-b"),
        ),
        (
            "{matchExpressions: [{key: provider.cluster.x-k8s.io/version, operator: DoesNotExist}]}",
            "",
            pair("v1.1.3", "of-b"),
        ),
        ("{}", "v1.0.0", pair("v1.0.0", "of-a")),
    ] {
        let provider =
            PROVIDER.replace("{matchLabels: {for: acme}}", selector) + &format!("  version: '{version}'\n");
        let files = [("p.yaml", provider.as_str()), ("a.yaml", &a), ("b.yaml", &b), ("c.yaml", &elsewhere)];
        assert_eq!(found(&files), expected, "{selector} {version}");
    }
}

fn packed(packed: &[u8], head: &str) -> String {
    format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: v1.0.0\n  namespace: acme-system\n  labels: {{for: acme}}\n{head}data: {{metadata: \"{METADATA}\"}}\nbinaryData: {{components: {}}}\n",
        STANDARD.encode(packed)
    )
}

const COMPRESSED: &str = "  annotations: {provider.cluster.x-k8s.io/compressed: 'true'}\n";

#[test]
fn gzip_is_unpacked_and_other_data_is_refused() {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(components("gzip").as_bytes()).unwrap();
    let gzip = encoder.finish().unwrap();
    let tried = |map: String| found(&[("p.yaml", PROVIDER), ("m.yaml", &map)]);
    assert_eq!(tried(packed(&gzip, COMPRESSED)), pair("v1.0.0", "of-gzip"));
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let block = vec![b'#'; 1 << 20];
    (0..1024).for_each(|_| bomb.write_all(&block).unwrap());
    let mut latin = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    latin.write_all(b"kind: \xe4\n").unwrap();
    for (map, said) in [
        (packed(b"kind: Service", COMPRESSED), "is not gzip"),
        (packed(&gzip[..gzip.len() - 4], COMPRESSED), "is gzip that ends too early"),
        (packed(&bomb.finish().unwrap(), COMPRESSED), "unpacks to more than 33554432 bytes"),
        (packed(&latin.finish().unwrap(), COMPRESSED), "does not unpack to UTF-8"),
        (
            packed(&gzip, ""),
            "`binaryData.components` is gzip, but no annotation says so: add `provider.cluster.x-k8s.io/compressed: \"true\"`",
        ),
        (packed(b"kind: Service", ""), "put the text into `data.components`"),
        (packed(&gzip, COMPRESSED).replace("components: ", "other: "), "no `binaryData.components`"),
        (packed(&gzip, COMPRESSED).replace("components: ", "components: '!', x: "), "is not base64"),
    ] {
        let refused = tried(map).unwrap_err();
        assert!(refused.starts_with("m.yaml:") && refused.contains(said), "{refused}");
        let subject = "InfrastructureProvider acme-system/acme: ConfigMap acme-system/v1.0.0: ";
        assert!(refused.contains(subject), "{refused}");
    }
}

#[test]
fn a_folder_is_laid_out_as_clusterctls_local_repository() {
    let sourceless = "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: IPAMProvider\nmetadata: {name: in-cluster, namespace: ipam}\nspec: {VERSION}\n";
    let folder = |version: &str| format!(".capstan/providers/ipam-in-cluster/{version}");
    let (old, new) = (folder("v1.0.9"), folder("v1.0.10"));
    let files = |provider: &str| {
        let file = |folder: &str, name: &str, text: &str| (format!("{folder}/{name}"), text.to_owned());
        let all = [
            ("mc/p.yaml".to_owned(), provider.to_owned()),
            file(&old, "metadata.yaml", METADATA),
            file(&old, "ipam-components.yaml", &components("old")),
            file(&new, "metadata.yaml", METADATA),
            file(&new, "ipam-components.yaml", &components("new")),
            // Not a version, so no release.
            file(&folder("latest"), "metadata.yaml", ""),
        ];
        let tree = Files::from_bytes(all.into_iter().map(|(path, text)| (path, text.into_bytes())));
        let rendered = of_tree(&tree, &[], None)?.remove(0);
        Ok((rendered.version, rendered.objects[0]["metadata"]["name"].as_str().unwrap().to_owned()))
    };
    for (spec, expected) in [
        ("version: v1.0.9", pair("v1.0.9", "of-old")),
        ("", pair("v1.0.10", "of-new")),
        ("fetchConfig: {oci: ghcr.io/a/b}, version: v1.0.10", pair("v1.0.10", "of-new")),
        ("fetchConfig: {selector: {matchLabels: {a: b}}}", pair("v1.0.10", "of-new")),
    ] {
        assert_eq!(files(&sourceless.replace("VERSION", spec)), expected, "{spec}");
    }
    for (spec, said) in [
        (
            "version: v1.0.11",
            "they come from the releases that clusterctl knows for this name; fetch them with `capstan providers fetch`, or put `metadata.yaml` and `ipam-components.yaml` of the release into .capstan/providers/ipam-in-cluster/v1.0.11/",
        ),
        (
            "version: v2.0.0, fetchConfig: {url: 'https://me:secret@github.com/a/b/releases'}",
            "they come from `https://github.com/a/b/releases`",
        ),
        ("version: v2.0.0, fetchConfig: {oci: ghcr.io/a/b}", "the OCI artifact `ghcr.io/a/b`"),
        (
            "version: v2.0.0, fetchConfig: {selector: {matchLabels: {a: b}}}",
            "no ConfigMap of namespace `ipam` here matches `a=b`",
        ),
    ] {
        let refused = files(&sourceless.replace("VERSION", spec)).unwrap_err();
        assert!(
            refused
                .starts_with("mc/p.yaml:1:1: IPAMProvider ipam/in-cluster: its components are not available"),
            "{refused}"
        );
        assert!(refused.contains(said) && !refused.contains("secret"), "{refused}");
    }
    let incomplete = [
        ("p.yaml", &*sourceless.replace("VERSION", "version: v1.0.0")),
        (".capstan/providers/ipam-in-cluster/v1.0.0/ipam-components.yaml", ""),
    ];
    let refused = found(&incomplete).unwrap_err();
    assert!(
        refused.starts_with(".capstan/providers/ipam-in-cluster/v1.0.0/metadata.yaml: ")
            && refused.contains("is missing"),
        "{refused}"
    );
}

/// What the operator downloaded and somebody exported serves as well.
#[test]
fn config_maps_of_the_operator_s_own_are_found_by_their_labels() {
    let provider = PROVIDER
        .replace("fetchConfig: {selector: {matchLabels: {for: acme}}}", "fetchConfig: {oci: ghcr.io/a/b}");
    let labels = "provider.cluster.x-k8s.io/name: acme, provider.cluster.x-k8s.io/type: infrastructure, provider.cluster.x-k8s.io/version: v1.0.0, managed-by.operator.cluster.x-k8s.io: 'true'";
    let oci = format!("{labels}, provider.cluster.x-k8s.io/source: oci");
    assert_eq!(
        found(&[("p.yaml", &provider), ("m.yaml", &map("x", &oci, "kept"))]),
        pair("v1.0.0", "of-kept")
    );
    assert!(
        found(&[("p.yaml", &provider), ("m.yaml", &map("x", labels, "kept"))])
            .unwrap_err()
            .contains("not available")
    );
}

/// A set may be a base with an overlay, a kustomization, or one file.
#[test]
fn sets_are_rendered_before_they_are_read() {
    let components = config_map(&components("set"));
    let tree = Files::new(&[
        ("mc/base/provider.yaml", PROVIDER),
        ("mc/base/components.yaml", &components),
        (
            "mc/overlay/patch.yaml",
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: InfrastructureProvider\nmetadata: {name: acme, namespace: acme-system}\nspec: {patches: [{patch: 'metadata: {annotations: {a: b}}'}]}\n",
        ),
        (
            "other/kustomization.yaml",
            "resources: [../mc/base/provider.yaml, ../mc/base/components.yaml]\nnamespace: elsewhere\n",
        ),
        (
            "one.yaml",
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: operator.cluster.x-k8s.io/v1alpha2, kind: CoreProvider, metadata: {name: cluster-api, namespace: a}}\n",
        ),
    ]);
    let read = |path: &str| ProviderSet::read(&tree, &RepoPath::parse(path).unwrap()).unwrap();
    let values = VariableValues::default();
    for (path, namespace, annotated) in [("mc", "acme-system", true), ("other", "elsewhere", false)] {
        let set = read(path);
        let inputs = Inputs { tree: &tree, set: &set, variables: &values, configuration: None };
        let object = render(&set.providers()[0], inputs).unwrap().objects.remove(0);
        assert_eq!(object["metadata"]["namespace"], namespace);
        assert_eq!(object["metadata"]["annotations"]["a"] == "b", annotated);
    }
    assert_eq!(read("one.yaml").providers()[0].subject(), "CoreProvider a/cluster-api");
    assert_eq!(read("one.yaml").providers().len(), 1);
}
