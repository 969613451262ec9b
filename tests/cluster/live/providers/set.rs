//! The provider set of the management cluster in Git, at a version of Cluster API.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_forge::Edit;
use serde_json::{Value, json};

use super::node::Program;
use crate::installing::town::{BOOTSTRAP, CONTROL_PLANE, CORE, Row};

pub(super) const FOLDER: &str = "mc/providers";

pub(super) const DOCKER: Row = Row {
    kind: "InfrastructureProvider",
    name: "docker",
    namespace: "capd-system",
    label: "infrastructure-docker",
    file: "infrastructure-components.yaml",
};
/// The in-memory provider keeps its clusters in its memory: nothing of it changes, it is not restarted.
pub(super) const DOCKER_VERSION: &str = "v1.14.0";

/// The providers, each with the program that its image names.
pub(super) const ROWS: [(Row, &str); 4] = [
    (CORE, "capi-core"),
    (BOOTSTRAP, "capi-bootstrap"),
    (CONTROL_PLANE, "capi-controlplane"),
    (DOCKER, "capi-dev"),
];

/// What a set is made of.
pub(super) struct Set<'a> {
    pub(super) components: &'a Path,
    pub(super) programs: &'a [Program],
    /// Who vouches for the webhooks.
    pub(super) authority: &'a [u8],
}

impl Set<'_> {
    /// The provider objects at a version of Cluster API; core's image may have another tag.
    pub(super) fn objects(&self, version: &str, tag_of_core: &str) -> String {
        let mut text = String::new();
        for (row, program) in ROWS {
            let version = if row.label == DOCKER.label { DOCKER_VERSION } else { version };
            let tag = if row.label == CORE.label { tag_of_core } else { version };
            let (Row { kind, name, namespace, .. }, patches) = (row, self.patches(row, program, version));
            text.push_str(&format!(
                "---\napiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: {kind}\nmetadata:\n  name: {name}\n  namespace: {namespace}\n\
                 spec:\n  version: {version}\n  fetchConfig:\n    selector:\n      matchLabels: {{for: {name}}}\n  \
                 deployment:\n    containers:\n    - name: manager\n      imageUrl: registry.example.com/{program}:{tag}\n  patches:\n"
            ));
            for (kind, patch) in patches {
                text.push_str(&format!("  - target: {{kind: {kind}}}\n    patch: '{patch}'\n"));
            }
        }
        text
    }

    /// Nobody routes to Services here: webhooks are called by their manager's address, conversion too.
    fn patches(&self, row: Row, program: &str, version: &str) -> Vec<(&'static str, Value)> {
        let port = self.programs.iter().find(|one| one.name == program).unwrap().webhooks;
        let ca = STANDARD.encode(self.authority);
        let client = |path: &str| json!({"url": format!("https://127.0.0.1:{port}{path}"), "caBundle": ca});
        let file = self.components.join(row.label).join(version).join(row.file);
        let text = std::fs::read_to_string(file).unwrap();
        let mut convert = client("/convert");
        convert["service"] = Value::Null;
        let mut patches = vec![(
            "CustomResourceDefinition",
            json!({"metadata": {"annotations": {"cert-manager.io/inject-ca-from": null}},
                "spec": {"conversion": {"strategy": "Webhook", "webhook": {
                    "conversionReviewVersions": ["v1", "v1beta1"], "clientConfig": convert}}}}),
        )];
        for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
            let is_it = |document: &&str| document.contains(&format!("\nkind: {kind}\n"));
            let Some(document) = text.split("\n---\n").find(is_it) else { continue };
            let paths = document.lines().filter_map(|line| line.trim().strip_prefix("path: "));
            let mut operations = vec![
                json!({"op": "remove", "path": "/metadata/annotations/cert-manager.io~1inject-ca-from"}),
            ];
            operations.extend(paths.enumerate().map(|(at, path)| {
                json!({"op": "replace", "path": format!("/webhooks/{at}/clientConfig"), "value": client(path)})
            }));
            patches.push((kind, json!(operations)));
        }
        if row.label == DOCKER.label {
            // This API server takes no privileged pods, and the in-memory backend needs none.
            let path = "/spec/template/spec/containers/0/securityContext/privileged";
            patches.push(("Deployment", json!([{"op": "remove", "path": path}])));
        }
        patches
    }

    /// The components of these versions, as clusterctl's local repository lays them out.
    pub(super) fn at_hand(&self, versions: &[&str]) -> Vec<Edit> {
        let mut edits = Vec::new();
        for (row, _) in ROWS {
            let versions = if row.label == DOCKER.label { &[DOCKER_VERSION][..] } else { versions };
            for version in versions {
                for file in ["metadata.yaml", row.file] {
                    let path = format!("{}/{version}/{file}", row.label);
                    let text = std::fs::read_to_string(self.components.join(&path)).unwrap();
                    edits.push(Edit::write(format!(".capstan/providers/{path}"), text));
                }
            }
        }
        edits
    }
}
