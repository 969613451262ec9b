//! The order in which kustomize prints objects: by kind, those first that others rely on.

use serde_json::Value;

use super::id::{Gvk, Id};
use crate::render::error::RenderError;
use crate::render::keys::spelled;
use crate::render::placed::PlacedValue;
use crate::render::resource::RenderedResource;

/// What `sortOptions` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::render) enum SortOrder {
    /// As they come.
    FirstInFirstOut,
    /// By kind: these first, those last.
    ByKind { first: Vec<String>, last: Vec<String> },
}

const FIRST: [&str; 22] = [
    "Namespace",
    "ResourceQuota",
    "StorageClass",
    "CustomResourceDefinition",
    "ServiceAccount",
    "PodSecurityPolicy",
    "Role",
    "ClusterRole",
    "RoleBinding",
    "ClusterRoleBinding",
    "ConfigMap",
    "Secret",
    "Endpoints",
    "Service",
    "LimitRange",
    "PriorityClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Deployment",
    "StatefulSet",
    "CronJob",
    "PodDisruptionBudget",
];
const LAST: [&str; 2] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

impl Default for SortOrder {
    fn default() -> Self {
        Self::ByKind { first: FIRST.map(str::to_owned).to_vec(), last: LAST.map(str::to_owned).to_vec() }
    }
}

impl SortOrder {
    /// Reads `sortOptions`.
    pub(super) fn read(options: &PlacedValue) -> Result<Self, RenderError> {
        let wrong = |place| {
            RenderError::malformed(
                place,
                "`sortOptions` has `order: fifo`, or `order: legacy` and with it `legacySortOptions` (orderFirst, orderLast)",
            )
        };
        let known = ["order", "legacySortOptions"];
        let options = &*spelled(options, &known)?;
        if let Some((_, value)) = options.entries().iter().find(|(key, _)| !known.contains(&key.as_str())) {
            return Err(wrong(&value.place));
        }
        let legacy = options.field("legacySortOptions").filter(|legacy| !legacy.is_null());
        match (options.text_at(&["order"]), legacy) {
            (Some("fifo"), None) => Ok(Self::FirstInFirstOut),
            (Some("legacy"), None) => Ok(Self::default()),
            (Some("legacy"), Some(legacy)) => {
                let legacy = spelled(legacy, &["orderFirst", "orderLast"])?;
                let kinds = |key: &str| match legacy.field(key).map(PlacedValue::to_value) {
                    None | Some(Value::Null) => Ok(Vec::new()),
                    Some(value) => serde_json::from_value(value).map_err(|_| wrong(&legacy.place)),
                };
                Ok(Self::ByKind { first: kinds("orderFirst")?, last: kinds("orderLast")? })
            }
            _ => Err(wrong(&options.place)),
        }
    }

    /// Sorts objects.
    pub(super) fn apply(&self, resources: &mut [RenderedResource]) {
        let Self::ByKind { first, last } = self else { return };
        let rank = |kind: &str| {
            let at = |list: &[String]| list.iter().rposition(|known| known == kind);
            let place = |at: usize| i64::try_from(at).unwrap_or(i64::MAX);
            match (at(last), at(first)) {
                (Some(at), _) => place(at) + 1,
                (None, Some(at)) => place(at) - place(first.len()),
                (None, None) => 0,
            }
        };
        resources.sort_by_cached_key(|resource| {
            let id = resource.id();
            (rank(&id.gvk.kind), gvk_text(&id.gvk), id_text(&id))
        });
    }
}

/// What is empty sorts behind every word.
fn or(text: &str, empty: &str) -> String {
    if text.is_empty() { empty } else { text }.to_owned()
}

fn gvk_text(gvk: &Gvk) -> String {
    // Kubernetes' own Namespaces come before all others of that name.
    if gvk.kind == "Namespace" && gvk.group.is_empty() {
        return String::new();
    }
    format!("{}_{}_{}", or(&gvk.group, "~G"), or(&gvk.version, "~V"), or(&gvk.kind, "~K"))
}

fn id_text(id: &Id) -> String {
    format!("{}|{}", or(&id.namespace, "~X"), or(&id.name, "~N"))
}
