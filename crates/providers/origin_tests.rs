//! Addresses, and where nothing is written.

use capstan_model::tree::RepoPath;
use capstan_test_support::Files;

use crate::set::ProviderSet;

/// The origin of a provider with this kind, name and rest of its spec, or why there is none.
fn origin(kind: &str, name: &str, spec: &str) -> Result<Option<String>, String> {
    let text = format!(
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: {kind}\nmetadata: {{name: {name}, namespace: own}}\nspec: {spec}\n"
    );
    let tree = Files::new(&[("set/a.yaml", &text)]);
    let set = ProviderSet::read(&tree, &RepoPath::parse("set").unwrap()).map_err(|all| all[0].to_string())?;
    match set.providers()[0].origin() {
        Ok(origin) => Ok(origin.map(|origin| origin.to_string())),
        Err(refusal) => Err(refusal.message().to_owned()),
    }
}

#[test]
fn an_origin_is_read_from_the_source_else_known() {
    for (kind, name, spec, expected) in [
        (
            "InfrastructureProvider",
            "aws",
            "{version: v2.8.4}",
            "https://github.com/kubernetes-sigs/cluster-api-provider-aws/releases/v2.8.4/infrastructure-components.yaml",
        ),
        (
            "InfrastructureProvider",
            "docker",
            "{}",
            "https://github.com/kubernetes-sigs/cluster-api/releases/latest/infrastructure-components-development.yaml",
        ),
        (
            "InfrastructureProvider",
            "own",
            "{version: v1.0.0, fetchConfig: {url: 'https://ghe.example.com/acme/own/releases'}}",
            "https://ghe.example.com/acme/own/releases/v1.0.0/infrastructure-components.yaml",
        ),
        (
            "AddonProvider",
            "own",
            "{fetchConfig: {url: 'https://github.com/acme/own/releases/v0.2.0/own.yaml'}}",
            "https://github.com/acme/own/releases/v0.2.0/own.yaml",
        ),
        (
            "AddonProvider",
            "own",
            "{version: v0.3.0, fetchConfig: {url: 'http://127.0.0.1:3000/acme/own/releases/latest/own.yaml'}}",
            "http://127.0.0.1:3000/acme/own/releases/v0.3.0/own.yaml",
        ),
        (
            "InfrastructureProvider",
            "own",
            "{version: v1.1.0, fetchConfig: {url: 'https://gitlab.example.com/api/v4/projects/acme%2Fown/packages/generic/own/v1.0.0/infra.yaml'}}",
            "https://gitlab.example.com/api/v4/projects/acme%2Fown/packages/generic/own/v1.1.0/infra.yaml",
        ),
        (
            "CoreProvider",
            "cluster-api",
            "{version: v1.12.0, fetchConfig: {oci: 'registry.example.com:5000/mirror/capi'}}",
            "registry.example.com:5000/mirror/capi:v1.12.0",
        ),
        (
            "CoreProvider",
            "cluster-api",
            "{version: v1.12.0, fetchConfig: {oci: 'http://registry/capi:stable'}}",
            "http://registry/capi:stable",
        ),
    ] {
        assert_eq!(origin(kind, name, spec), Ok(Some(expected.to_owned())));
    }
    let selected = "{fetchConfig: {selector: {matchLabels: {a: b}}}}";
    assert_eq!(origin("CoreProvider", "cluster-api", selected), Ok(None));
}

#[test]
fn an_invalid_address_is_refused_with_its_fault() {
    for (spec, said) in [
        (
            "{fetchConfig: {oci: registry.example.com/a}}",
            "it has no tag, and the provider has no `spec.version`",
        ),
        ("{version: v1.0.0, fetchConfig: {oci: registry}}", "it names no repository"),
        ("{version: v1.0.0, fetchConfig: {oci: 'oci://r/a'}}", "something other than `http://`"),
        ("{version: v1.0.0, fetchConfig: {oci: 'r/a@sha256:00'}}", "it has a digest or a user"),
        ("{version: v1.0.0, fetchConfig: {oci: 'r/../a'}}", "its repository may only have"),
        ("{version: 'v1.0.0+x', fetchConfig: {oci: 'r/a'}}", "its tag may only have"),
        ("{fetchConfig: {url: 'http://github.com/a/b/releases'}}", "it does not begin with `https://`"),
        ("{fetchConfig: {url: 'https://github.com/a/b/archive/x'}}", "its path is another one"),
        ("{fetchConfig: {url: 'https://github.com/a/../releases'}}", "`..` cannot be part of a path"),
        ("{fetchConfig: {url: 'https://github.com/a/b/releases?x'}}", "it has a query or a fragment"),
        (
            "{fetchConfig: {url: 'https://gitlab.com/api/v4/projects/1/x'}}",
            "not the address of a file of a generic",
        ),
        ("{fetchConfig: {url: 'releases'}}", "it is not a URL"),
    ] {
        let refused = origin("AddonProvider", "own", spec).unwrap_err();
        assert!(refused.contains(said), "{spec}: {refused}");
    }
    let secret = "{fetchConfig: {url: 'https://me:s3cret@github.com/a/b/releases'}}";
    let refused = origin("AddonProvider", "own", secret).unwrap_err();
    assert!(refused.contains("its host is not a host name") && !refused.contains("s3cret"), "{refused}");
    assert!(origin("AddonProvider", "own", "{}").unwrap_err().contains("it needs a source"));
}
