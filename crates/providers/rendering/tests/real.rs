//! The real components of Cluster API, in the ConfigMaps of the operator's own tests; counts and checks by hand.

use capstan_test_support::shared_data;

use super::*;

/// The real ConfigMaps among these providers; nothing where the files are not there.
fn real(providers: &str, variables: &[(&str, &str)]) -> Option<Vec<RenderedObjects>> {
    let files = shared_data::files("providers/operator-configmaps")?;
    let maps =
        files.into_iter().filter(|(path, _)| path.contains("kubeadm-v") || path.contains("cluster-api-v"));
    let named = |(path, bytes): (String, Vec<u8>)| (path.rsplit('/').next().unwrap().to_owned(), bytes);
    let tree = Files::from_bytes(
        maps.map(named).chain([("providers.yaml".to_owned(), providers.as_bytes().to_vec())]),
    );
    Some(of_tree(&tree, variables, Some("")).unwrap())
}

fn providers(version: &str) -> String {
    let one = |kind: &str, name: &str, namespace: &str, word: &str| {
        format!(
            "---\napiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: {kind}\nmetadata: {{name: {name}, namespace: {namespace}}}\nspec:\n  version: '{version}'\n  configSecret: {{name: values}}\n  fetchConfig: {{selector: {{matchLabels: {{provider.cluster.x-k8s.io/type: {word}}}}}}}\n"
        )
    };
    one("CoreProvider", "cluster-api", "capi-system", "core")
        + &one("BootstrapProvider", "kubeadm", "capi-kubeadm-bootstrap-system", "bootstrap")
}

fn kinds(rendered: &RenderedObjects) -> Vec<(&str, usize)> {
    let mut all: Vec<(&str, usize)> = Vec::new();
    for object in &rendered.objects {
        let kind = object["kind"].as_str().unwrap();
        match all.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, count)) => *count += 1,
            None => all.push((kind, 1)),
        }
    }
    all.sort_unstable();
    all
}

fn manager(rendered: &RenderedObjects) -> &Value {
    let deployment = rendered.objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
    &deployment["spec"]["template"]["spec"]["containers"][0]
}

#[test]
fn real_components_are_rendered() {
    let Some(all) = real(&providers("v1.12.0"), &[("EXP_RUNTIME_SDK", "true")]) else { return };
    let [core, bootstrap] = all.as_slice() else { panic!("{}", all.len()) };
    let of_all = |definitions: usize, roles: usize| {
        let mut all = vec![("ClusterRole", roles), ("CustomResourceDefinition", definitions)];
        let once = [
            "Certificate",
            "ClusterRoleBinding",
            "Deployment",
            "Issuer",
            "MutatingWebhookConfiguration",
            "Role",
            "RoleBinding",
            "Service",
            "ServiceAccount",
            "ValidatingWebhookConfiguration",
        ];
        all.extend(once.map(|kind| (kind, 1)));
        all.sort_unstable();
        all
    };
    assert_eq!(kinds(core), of_all(13, 2));
    assert_eq!(kinds(bootstrap), of_all(2, 1));
    assert_eq!((core.label.as_str(), core.contract.as_str()), ("cluster-api", "v1beta2"));
    assert_eq!((bootstrap.label.as_str(), bootstrap.contract.as_str()), ("bootstrap-kubeadm", "v1beta2"));
    assert_eq!(
        core.images.iter().collect::<Vec<_>>(),
        ["registry.k8s.io/cluster-api/cluster-api-controller:v1.12.0"]
    );
    assert_eq!(
        bootstrap.images.iter().collect::<Vec<_>>(),
        ["registry.k8s.io/cluster-api/kubeadm-bootstrap-controller:v1.12.0"]
    );
    let first: Vec<&str> =
        core.objects.iter().take(3).map(|object| object["kind"].as_str().unwrap()).collect();
    assert_eq!(first, ["Certificate", "Issuer", "CustomResourceDefinition"]);
    let labelled =
        |object: &Value| object["metadata"]["labels"]["cluster.x-k8s.io/provider"] == "cluster-api";
    assert!(core.objects.iter().all(labelled));
    let gates = manager(core)["args"]
        .as_array()
        .unwrap()
        .iter()
        .find_map(|argument| argument.as_str()?.strip_prefix("--feature-gates="));
    assert!(
        gates.unwrap().contains("RuntimeSDK=true") && gates.unwrap().contains("ClusterTopology=false"),
        "{gates:?}"
    );
    assert!(core.notes[0].starts_with("Secret capi-system/values is not here"), "{:?}", core.notes);
}

#[test]
fn the_newest_real_version_is_taken_where_none_is_asked_for() {
    let Some(all) = real(&providers(""), &[]) else { return };
    let versions: Vec<&str> = all.iter().map(|rendered| rendered.version.as_str()).collect();
    assert_eq!(versions, ["v1.12.0", "v1.12.0"]);
    let Some(older) = real(&providers("v1.11.0"), &[]) else { return };
    assert_eq!((older[0].version.as_str(), older[0].contract.as_str()), ("v1.11.0", "v1beta2"));
}

/// The provider objects of the operator's own tests and of a real repository are read.
#[test]
fn real_provider_objects_are_read() {
    let Some(files) = shared_data::files("") else { return };
    let mut read = 0;
    for (path, bytes) in files {
        if !path.starts_with("providers/operator-examples/") && !path.ends_with("/gcp-provider.yaml")
            || !path.ends_with(".yaml")
        {
            continue;
        }
        let tree = Files::from_bytes([("p.yaml".to_owned(), bytes)]);
        let set = ProviderSet::read(&tree, &RepoPath::root())
            .unwrap_or_else(|refused| panic!("{path}: {refused:?}"));
        read += set.providers().len();
    }
    assert_eq!(read, 59);
}
