//! Components as others read them.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_providers::{Provider, Published};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

/// The operator packs components that are larger than this many bytes
/// (<https://github.com/kubernetes-sigs/cluster-api-operator/blob/v0.28.0/internal/controller/manifests_downloader.go>).
const PLAIN_BYTES: usize = 1 << 20;

/// The ConfigMap in which the operator looks for the components: as it would have made it, where it would have
/// downloaded them; where it selects, with the labels that the selector wants. Gzip above 1 MiB.
pub fn config_map(provider: &Provider, published: &Published) -> Value {
    let version = &published.version;
    let mut labels = json!({"provider.cluster.x-k8s.io/version": version});
    let mut annotations = json!({});
    match provider.selected_labels() {
        Some(selected) => {
            for (name, value) in selected {
                labels[name] = json!(value);
            }
        }
        None => {
            labels["provider.cluster.x-k8s.io/type"] = json!(provider.kind.word());
            labels["provider.cluster.x-k8s.io/name"] = json!(provider.name);
            labels["managed-by.operator.cluster.x-k8s.io"] = json!("true");
            if let Some(address) = provider.oci_address() {
                labels["provider.cluster.x-k8s.io/source"] = json!("oci");
                annotations["provider.cluster.x-k8s.io/source"] = json!(address);
            }
        }
    }
    let mut data = json!({"metadata": published.metadata});
    let mut binary = json!({});
    if published.metadata.len() + published.components.len() > PLAIN_BYTES {
        // As the operator has it: this one alone, without the source.
        annotations = json!({"provider.cluster.x-k8s.io/compressed": "true"});
        binary["components"] = json!(STANDARD.encode(packed(published.components.as_bytes())));
    } else {
        data["components"] = json!(published.components);
    }
    let mut map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": format!("{}-{}-{version}", provider.kind.word(), provider.name),
            "namespace": provider.namespace,
            "labels": labels,
        },
        "data": data,
    });
    if annotations != json!({}) {
        map["metadata"]["annotations"] = annotations;
    }
    if binary != json!({}) {
        map["binaryData"] = binary;
    }
    map
}

/// The files of clusterctl's local repository, each with its path: `infrastructure-aws/v2.8.4/metadata.yaml`.
pub fn files(provider: &Provider, published: &Published) -> [(String, String); 2] {
    let folder = format!("{}/{}", provider.label(), published.version);
    [
        (format!("{folder}/metadata.yaml"), published.metadata.clone()),
        (format!("{folder}/{}", provider.kind.components_file()), published.components.clone()),
    ]
}

/// The layers of an artifact, each with its title: the longest names, so that one artifact may hold several providers.
pub fn layers(provider: &Provider, published: &Published) -> Vec<(String, Vec<u8>)> {
    let (metadata, components) = provider.artifact_titles(&published.version);
    let layer = |titles: Vec<String>, text: &String| {
        titles.into_iter().next().map(|title| (title, text.clone().into_bytes()))
    };
    [layer(metadata, &published.metadata), layer(components, &published.components)]
        .into_iter()
        .flatten()
        .collect()
}

/// Gzip without a time in it, so that the same components pack to the same bytes.
fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    let _written = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use capstan_model::tree::RepoPath;
    use capstan_providers::ProviderSet;
    use capstan_test_support::Files;

    use super::*;

    fn packed_as(spec: &str, components: &str) -> Value {
        let text = format!(
            "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: RuntimeExtensionProvider\nmetadata: {{name: own, namespace: own-system}}\nspec: {spec}\n"
        );
        let set = ProviderSet::read(&Files::new(&[("a.yaml", &text)]), &RepoPath::root()).unwrap();
        let published = Published::read("v1.0.0", b"m: 1\n".to_vec(), components.into(), "x").unwrap();
        config_map(&set.providers()[0], &published)
    }

    #[test]
    fn a_config_map_is_as_the_operator_makes_or_selects_it() {
        assert_eq!(
            packed_as("{version: v1.0.0, fetchConfig: {oci: r/own}}", "a: 1\n"),
            json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": "runtimeextension-own-v1.0.0",
                    "namespace": "own-system",
                    "labels": {
                        "provider.cluster.x-k8s.io/version": "v1.0.0",
                        "provider.cluster.x-k8s.io/type": "runtimeextension",
                        "provider.cluster.x-k8s.io/name": "own",
                        "managed-by.operator.cluster.x-k8s.io": "true",
                        "provider.cluster.x-k8s.io/source": "oci",
                    },
                    "annotations": {"provider.cluster.x-k8s.io/source": "r/own"},
                },
                "data": {"metadata": "m: 1\n", "components": "a: 1\n"},
            })
        );
        let selected = packed_as("{fetchConfig: {selector: {matchLabels: {for: own}}}}", "a: 1\n");
        assert_eq!(
            selected["metadata"]["labels"],
            json!({"provider.cluster.x-k8s.io/version": "v1.0.0", "for": "own"})
        );
    }

    #[test]
    fn above_a_mebibyte_components_are_packed_and_read_again() {
        let components = "# a line of sixteen\n".repeat(60_000);
        let map = packed_as("{version: v1.0.0, fetchConfig: {oci: r/own}}", &components);
        assert_eq!(map["metadata"]["annotations"], json!({"provider.cluster.x-k8s.io/compressed": "true"}));
        assert_eq!(map["data"], json!({"metadata": "m: 1\n"}));
        let packed = STANDARD.decode(map["binaryData"]["components"].as_str().unwrap()).unwrap();
        let mut unpacked = String::new();
        std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&packed[..]), &mut unpacked).unwrap();
        assert!(unpacked == components);
    }
}
