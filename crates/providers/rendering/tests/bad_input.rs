//! Errors of people and of other projects: reported with file, line or object, and what to do.

use super::*;

const SERVICE: &str = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n";

fn refused(files: &[(&str, &str)]) -> String {
    tried(files, &[("TOKEN", "first\nsecond: injected")], None).unwrap_err()
}

#[test]
fn providers_that_contradict_one_another_or_the_operator() {
    let provider = |kind: &str, name: &str, namespace: &str| {
        format!(
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        )
    };
    let core = provider("CoreProvider", "cluster-api", "a");
    for (files, said) in [
        (
            &[("a.yaml", core.as_str()), ("b.yaml", &provider("CoreProvider", "cluster-api", "b"))][..],
            "b.yaml:1:1: CoreProvider b/cluster-api: a second one of this kind and name; the first is in a.yaml:1:1",
        ),
        (
            &[("a.yaml", &provider("CoreProvider", "capi", "a"))],
            "a.yaml:1:1: CoreProvider a/capi: a core provider must be named `cluster-api`",
        ),
        (
            &[("a.yaml", &provider("InfrastructureProvider", "awss", "a"))],
            "clusterctl knows no InfrastructureProvider of this name, so it needs a source: add `spec.fetchConfig` with `selector`, `oci` or `url`; did you mean `aws`?",
        ),
        (&[("a.yaml", "# operator.cluster.x-k8s.io\na: b: c\n")], "a.yaml:2:"),
    ] {
        let refused = refused(files);
        assert!(refused.contains(said), "{refused}");
    }
    let other =
        provider("BootstrapProvider", "rke2", "a") + "---\n" + &provider("ControlPlaneProvider", "rke2", "a");
    assert!(!refused(&[("a.yaml", &other)]).contains("a second one"), "one name, two kinds");
    // A template of something else is ignored here.
    let refused = refused(&[("a.yaml", &core), ("chart/template.yaml", "{{ if }}\na: b: c\n")]);
    assert!(refused.contains("not available") && !refused.contains("template"), "{refused}");
}

#[test]
fn invalid_config_maps() {
    let whole = config_map(SERVICE);
    let second = whole
        .replace("name: v1.0.0,", "name: other,")
        .replace("{for: acme}", "{for: acme, provider.cluster.x-k8s.io/version: v1.0.0}");
    for (map, said) in [
        (
            whole.replace("  metadata:", "  other:"),
            "m.yaml:1:1: InfrastructureProvider acme-system/acme: ConfigMap acme-system/v1.0.0: it has no `data.metadata`",
        ),
        (whole.replace("  components:", "  other:"), "it has no `data.components`"),
        (whole.replace("name: v1.0.0,", "name: latest,"), "`latest`, which is the name, is not a version"),
        (
            whole.replace("minor: 0", "minor: 2"),
            "m.yaml:5:13: InfrastructureProvider acme-system/acme: no release series of the metadata has v1.0.0",
        ),
        (whole.replace("v1beta2", "v1alpha4"), "uses the contract `v1alpha4`"),
        (
            format!("{whole}---\n{second}"),
            "a second ConfigMap that matches the selector has v1.0.0: keep one",
        ),
    ] {
        let refused = refused(&[("p.yaml", PROVIDER), ("m.yaml", &map)]);
        assert!(refused.contains(said), "{said}\n{refused}");
    }
    let older = format!("{PROVIDER}  version: v1.1.0\n");
    let refused = refused(&[("p.yaml", &older), ("m.yaml", &whole)]);
    assert!(refused.contains("have v1.0.0, but `spec.version` is `v1.1.0`"), "{refused}");
}

#[test]
fn components_that_cannot_be_rendered() {
    let namespaces = "apiVersion: v1\nkind: Namespace\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: b}\n";
    let token = format!(
        "{SERVICE}spec: {{token: \"x${{TOKEN}}\"}}\n---\n{}spec:\n  token: ${{TOKEN}}\n",
        SERVICE.replace("name: a", "name: b")
    );
    let image = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: c, image: busybox}]}}}\n";
    for (components, said) in [
        (namespaces.to_owned(), "its components: they have the Namespaces a and b"),
        (format!("{SERVICE}---\n{SERVICE}"), "Service acme-system/a: it is twice"),
        (
            "kind: Service\nmetadata: {name: a}\n".to_owned(),
            "its components: line 1: this Service has no `apiVersion`",
        ),
        ("apiVersion: v1\nmetadata: {name: a}\n".to_owned(), "line 1: this document has no `kind`"),
        ("apiVersion: v1\nkind: List\nitems: []\n".to_owned(), "this List has no `metadata.name`"),
        (token, "line 11: the value of the variable `TOKEN` does not fit into one scalar"),
        (
            "a: ${V-d}\n".to_owned(),
            "its components: line 1 has an expression that clusterctl does not understand",
        ),
        (
            format!("{SERVICE}spec: {{a: \"${{A}}\", b: \"${{B}}\"}}\n"),
            "neither value nor default: A, B; put them into Secret acme-system/s",
        ),
        (image.to_owned(), "Deployment d: the image of container `c` is not a full name"),
        ("a: b: c\n".to_owned(), "its components: this is not YAML"),
    ] {
        let provider = format!("{PROVIDER}  configSecret: {{name: s}}\n");
        let refused = refused(&[("p.yaml", &provider), ("m.yaml", &config_map(&components))]);
        assert!(refused.contains(said), "{said}\n{refused}");
        assert!(
            refused.contains("InfrastructureProvider acme-system/acme: ") && !refused.contains("injected"),
            "{refused}"
        );
    }
    let nameless = refused(&[("p.yaml", PROVIDER), ("m.yaml", &config_map("a: ${A}\n"))]);
    assert!(nameless.contains("name a Secret that has them in `spec.configSecret`"), "{nameless}");
    let manifests = format!("{PROVIDER}  additionalManifests: {{name: more}}\n");
    let missing = refused(&[("p.yaml", &manifests), ("m.yaml", &config_map(SERVICE))]);
    assert!(
        missing.contains("ConfigMap acme-system/more, which `additionalManifests` names, is missing"),
        "{missing}"
    );
    let secret =
        "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: acme-system}\ndata: {A: '***'}\n";
    let named = format!("{PROVIDER}  configSecret: {{name: s}}\n");
    let broken = refused(&[("p.yaml", &named), ("s.yaml", secret), ("m.yaml", &config_map(SERVICE))]);
    assert!(
        broken.starts_with("s.yaml:4:11: ")
            && broken.contains("`data.A` of Secret acme-system/s is not base64"),
        "{broken}"
    );
    assert!(!broken.contains("***"), "{broken}");
}

/// Whatever a stranger writes: an answer in time and memory, and no end of the program.
#[test]
fn hostile_components_are_bounded() {
    let folder = ".capstan/providers/ipam-in-cluster/v1.0.0";
    let provider = "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: IPAMProvider\nmetadata: {name: in-cluster, namespace: a}\nspec: {version: v1.0.0, configSecret: {name: s}}\n";
    let tried = |components: Vec<u8>| {
        let tree = Files::from_bytes([
            ("p.yaml".to_owned(), provider.as_bytes().to_vec()),
            (format!("{folder}/metadata.yaml"), METADATA.as_bytes().to_vec()),
            (format!("{folder}/ipam-components.yaml"), components),
        ]);
        of_tree(&tree, &[("V", "v"), ("LONG", &"l".repeat(1 << 16))], None).unwrap_err()
    };
    let laughs = {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
        }
        text.into_bytes()
    };
    for (components, said) in [
        ("[".repeat(100_000).into_bytes(), "nested deeper"),
        (vec![b'a'; (32 << 20) + 1], "exceed the limit of 33554432"),
        (b"a: \0\n".to_vec(), "has a NUL character"),
        (b"a: \xff\n".to_vec(), "not UTF-8"),
        (laughs, "1000000"),
        ("${LONG}".repeat(1 << 10).into_bytes(), "more than 33554432 bytes"),
        ("$".repeat(1 << 20).into_bytes(), "a document must be a mapping"),
        ("${V:=".repeat(10_000).into_bytes(), "nested too deeply"),
    ] {
        let refused = tried(components);
        assert!(refused.contains(said), "{said}: {}", &refused[..refused.len().min(300)]);
    }
}
