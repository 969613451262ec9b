//! The seven kinds of providers (`operator.cluster.x-k8s.io/v1alpha2`), as they are installed where no Cluster API operator
//! is: what `capstan crds --providers` prints and `deploy/providers/definitions/crds.yaml` holds.
//!
//! Fields, bounds, defaults, the two rules, columns and short names are those of the operator's own definitions at v0.28.0,
//! so that an object is taken, completed and refused alike by both; the words are Capstan's. `make test-real` holds a table
//! of objects against both.
//!
//! The schemas are JSON by hand: they are another program's, and Capstan has no types of these specs. It reads single
//! fields by their paths, and keeps the rest as it is.
//!
//! | file | tells |
//! |---|---|
//! | `spec` | the fields of `spec` and `status` |
//! | `pods` | the fields that are Kubernetes' own: affinity, tolerations, environment, resources |

mod pods;
mod spec;

use capstan_providers::{GROUP, ProviderKind, VERSION};
use serde_json::{Value, json};

/// The definitions of the seven kinds, in the order in which a set is upgraded.
pub fn provider_definitions() -> Vec<Value> {
    ProviderKind::all().map(definition).collect()
}

fn definition(kind: ProviderKind) -> Value {
    let plural = kind.plural();
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind.name(),
                "listKind": format!("{kind}List"),
                "plural": plural,
                "shortNames": [kind.short_name()],
                "singular": kind.name().to_ascii_lowercase(),
            },
            "scope": "Namespaced",
            "versions": [{
                "additionalPrinterColumns": [
                    {"jsonPath": ".status.installedVersion", "name": "InstalledVersion", "type": "string"},
                    {"jsonPath": ".status.conditions[?(@.type=='Ready')].status", "name": "Ready", "type": "string"},
                ],
                "name": VERSION,
                "schema": {"openAPIV3Schema": spec::provider(kind)},
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
            }],
        },
    })
}
