//! The kinds of an inventory, as the API server knows them.
//!
//! They take and refuse what `capstan_inventory::kinds` takes and refuses in files: one table of files is tried on both
//! (`tests/cluster/k8s/inventory_definitions.rs`). What is between objects, a name that is nowhere say, no definition can
//! tell. The `status` is written where a Fleet has them as its source, and nowhere else.
//!
//! The schemas are JSON by hand. `capstan_inventory` reads documents with their places, so there is no type of a spec that a
//! schema could be derived from; and `kubectl explain` says of each condition which ones this kind has.

use capstan_inventory::kinds::SETTINGS;
use capstan_inventory::origin::LevelKind;
use serde_json::{Value, json};

use super::parts::{about, boolean, integer, list, object, sized, text, with};
use super::{GROUP, VERSION};

/// Part of a path: neither empty nor `.` nor `..`, without backslash and NUL.
const PART: &str = r"([^/\\.\x00][^/\\\x00]*|\.[^/\\.\x00][^/\\\x00]*|\.\.[^/\\\x00]+)";
/// A version as <https://semver.org> has it, `v` before it or not.
const RELEASE_VERSION: &str = r"v?(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(\.(0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*)?(\+[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?";
/// Text in a folder's pattern besides `{name}`.
const FOLDER_PART: &str = r"([^{}]|\{(name|environment|customer|site|infraProvider)\})*";

/// A column of `kubectl get`: its name, its type and the path of its value.
type Column = (&'static str, &'static str, &'static str);

const OF_CLUSTER: &[Column] = &[
    ("Customer", "string", ".spec.in.customer"),
    ("Site", "string", ".spec.in.site"),
    ("Release", "string", ".status.release"),
    ("Rollout", "string", ".status.rollout"),
    ("Ready", "string", ".status.conditions[?(@.type==\"Ready\")].status"),
    ("Rendered", "string", ".status.conditions[?(@.type==\"Rendered\")].status"),
    ("Digest", "string", ".status.digest"),
];
const OF_MANAGEMENT: &[Column] = &[
    ("Environment", "string", ".spec.in.environment"),
    ("Customer", "string", ".spec.in.customer"),
    ("Site", "string", ".spec.in.site"),
    ("Release", "string", ".spec.release"),
];
const OF_LEVEL: &[Column] = &[
    ("Release", "string", ".spec.release"),
    ("Track", "string", ".spec.track"),
    ("Clusters", "integer", ".status.clusters"),
];

/// The definitions, by their names.
pub(super) fn definitions() -> Vec<(String, Value)> {
    let inventory = ShownKind {
        kind: SETTINGS,
        plural: "inventories",
        short: &[],
        about: "An Inventory sets the order in which levels of values override each other, and the folder of a new cluster. There is at most one; without it, the defaults apply.",
        columns: &[("Levels", "string", ".spec.levels"), ("Folder", "string", ".spec.folder")],
    };
    let inventory = definition(&inventory, settings(), None);
    let one = |kind: LevelKind| {
        let (plural, short, words) = words(kind);
        let (status, columns): (Option<Value>, &'static [Column]) = match kind {
            LevelKind::ClusterDefinition => (Some(status_of_cluster()), OF_CLUSTER),
            LevelKind::ManagementClusterDefinition => (None, OF_MANAGEMENT),
            _ => (Some(status_of_level()), OF_LEVEL),
        };
        let shown = ShownKind { kind: kind.kind(), plural, short, about: words, columns };
        definition(&shown, spec(kind), status)
    };
    std::iter::once(inventory).chain(LevelKind::OF_OBJECTS.map(one)).collect()
}

/// Plural, short name, and what it is.
const fn words(kind: LevelKind) -> (&'static str, &'static [&'static str], &'static str) {
    match kind {
        LevelKind::Default | LevelKind::Environment => (
            "environments",
            &[],
            "An Environment sets values for all clusters in it: production, staging, development.",
        ),
        LevelKind::Customer => {
            ("customers", &[], "A Customer sets values for all clusters of this customer.")
        }
        LevelKind::Site => ("sites", &[], "A Site sets values for all clusters at this site."),
        LevelKind::InfraProvider => (
            "infraproviders",
            &[],
            "An InfraProvider sets values for all clusters in one account or region of a cloud. It installs nothing: an InfrastructureProvider of the Cluster API operator installs the program.",
        ),
        LevelKind::ClusterDefinition => (
            "clusterdefinitions",
            &["cdef"],
            "A ClusterDefinition is one cluster of the inventory: the levels that it belongs to, and its own values.",
        ),
        LevelKind::ManagementClusterDefinition => (
            "managementclusterdefinitions",
            &["mcdef"],
            "A ManagementClusterDefinition is one management cluster of the inventory, which Cluster API does not make: the levels that it belongs to, and its own values.",
        ),
    }
}

/// A kind as `kubectl` shows it.
struct ShownKind {
    kind: &'static str,
    plural: &'static str,
    short: &'static [&'static str],
    about: &'static str,
    columns: &'static [Column],
}

fn definition(shown: &ShownKind, spec: Value, status: Option<Value>) -> (String, Value) {
    let ShownKind { kind, plural, short, about: words, columns } = *shown;
    let name = format!("{plural}.{GROUP}");
    let mut schema = object(
        [
            ("apiVersion", text()),
            ("kind", text()),
            ("metadata", json!({"type": "object"})),
            ("spec", about("What it says.", spec)),
        ],
        &[],
    );
    let has_status = status.is_some();
    if let Some(status) = status {
        schema["properties"]["status"] =
            about("Its state, if a Fleet uses it as its source. The reconciler writes it.", status);
    }
    let mut columns: Vec<Value> = columns
        .iter()
        .map(|(name, kind, path)| json!({"jsonPath": path, "name": name, "type": kind}))
        .collect();
    columns.push(json!({"jsonPath": ".metadata.creationTimestamp", "name": "Age", "type": "date"}));
    let mut names = json!({
        "categories": ["capstan"],
        "kind": kind,
        "listKind": format!("{kind}List"),
        "plural": plural,
        "singular": kind.to_ascii_lowercase(),
    });
    if !short.is_empty() {
        names["shortNames"] = json!(short);
    }
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": name},
        "spec": {
            "group": GROUP,
            "names": names,
            "scope": "Namespaced",
            "versions": [{
                "additionalPrinterColumns": columns,
                "name": VERSION,
                "schema": {"openAPIV3Schema": about(words, schema)},
                "served": true,
                "storage": true,
                "subresources": if has_status { json!({"status": {}}) } else { json!({}) },
            }],
        },
    });
    (name, definition)
}

fn settings() -> Value {
    let level = with(text(), "enum", json!(LevelKind::SHARED.map(LevelKind::kind)));
    let levels =
        with(with(list(level), "x-kubernetes-list-type", "set"), "maxItems", LevelKind::SHARED.len());
    object(
        [
            (
                "levels",
                about(
                    "The levels, upper ones first: a later one overrides an earlier one, and a kind left out is not used. Default: Environment, Customer, Site, InfraProvider.",
                    levels,
                ),
            ),
            (
                "folder",
                about(
                    "The folder of a new cluster: text and, in braces, name, environment, customer, site or infraProvider. Default: {customer}/{name}.",
                    pattern(&format!(r"^{FOLDER_PART}\{{name\}}{FOLDER_PART}$")),
                ),
            ),
        ],
        &[],
    )
}

/// The status of a live inventory's cluster.
fn status_of_cluster() -> Value {
    let condition = object(
        [
            ("type", about("The type: Rendered, Ready or RetireFirst.", text())),
            (
                "status",
                about("Whether it is true.", with(text(), "enum", json!(["True", "False", "Unknown"]))),
            ),
            ("observedGeneration", about("The generation that was observed.", sized("int64"))),
            ("lastTransitionTime", about("Since when.", with(text(), "format", "date-time"))),
            ("reason", about("A CamelCase word for programs.", text())),
            ("message", about("A sentence or two for people.", text())),
        ],
        &["type", "status", "observedGeneration", "lastTransitionTime", "reason", "message"],
    );
    let conditions = with(list(condition), "x-kubernetes-list-type", "map");
    let states = json!(["Waiting", "Rolling", "Done", "Stuck", "Unknown"]);
    object(
        [
            ("release", about("The release that its objects were made from.", text())),
            (
                "digest",
                about("SHA-256 of the other inputs of its render: levels, components, values.", text()),
            ),
            ("managedCluster", about("The ManagedCluster that reports what was applied.", text())),
            ("rollout", about("The state of its machines.", with(text(), "enum", states))),
            (
                "conditions",
                about(
                    "Whether its objects could be made (Rendered), whether the cluster matches them (Ready), and whether it must be retired before its deletion (RetireFirst).",
                    with(conditions, "x-kubernetes-list-map-keys", json!(["type"])),
                ),
            ),
        ],
        &[],
    )
}

/// How many clusters are of an object that they share.
fn status_of_level() -> Value {
    object([("clusters", about("How many clusters are in it.", integer()))], &[])
}

fn spec(kind: LevelKind) -> Value {
    let whose = if kind.is_cluster() { "it" } else { "it, and every cluster in it," };
    let levels = LevelKind::SHARED.map(|level| {
        let words = format!("The name of its {}.", level.kind());
        (level.word(), about(&words, text()))
    });
    let path = || pattern(&format!("^{PART}(/{PART})*$"));
    let mut spec = object(
        [
            (
                "in",
                about(
                    &format!("The objects that {whose} belongs to: at most one of a level."),
                    object(levels, &[]),
                ),
            ),
            (
                "release",
                about(
                    "The release, by its path in the repository: openstack/v1.4.0. A lower level may set another.",
                    pattern(&format!("^({PART}/)*{RELEASE_VERSION}$")),
                ),
            ),
            (
                "track",
                about(
                    "Which newer releases are offered: any, those of the same major (minor), of the same minor version (patch), or none.",
                    with(text(), "enum", json!(["any", "minor", "patch", "none"])),
                ),
            ),
            (
                "components",
                about(
                    "Kustomize components over the output of the templates, by their paths from the repository's root. Components of all levels apply, upper ones first.",
                    list(path()),
                ),
            ),
            (
                "values",
                about(
                    "Values, as the schema of the release describes them. The names cluster, clusters and levels are reserved for templates.",
                    values(),
                ),
            ),
            (
                "final",
                about(
                    "JSON Pointers to values that lower levels may not change: /network/external.",
                    list(pattern("^/")),
                ),
            ),
        ],
        &[],
    );
    if kind.is_cluster() {
        spec["properties"]["folder"] =
            about("The cluster's folder, if it differs from the Inventory's pattern.", path());
    }
    if kind == LevelKind::ClusterDefinition {
        spec["properties"]["retire"] = about("Whether the cluster is to be deleted.", boolean());
    }
    spec
}

/// Anything, without the names that templates know the cluster itself by.
fn values() -> Value {
    let taken: Vec<Value> =
        ["cluster", "clusters", "levels"].into_iter().map(|name| json!({"required": [name]})).collect();
    json!({
        "type": "object",
        "x-kubernetes-preserve-unknown-fields": true,
        "not": {"anyOf": taken},
    })
}

fn pattern(pattern: &str) -> Value {
    with(text(), "pattern", pattern)
}
