//! The kinds of the inventory: what a real API server takes and refuses, the reader of files takes and refuses too.
//!
//! Only what one object says alone: a name that is nowhere, two Inventories and the like no definition can tell.

use capstan_inventory::kinds::{InventoryFiles, SourceText};
use capstan_model::tree::RepoPath;

use super::{definitions, shared};

/// What becomes of a file.
enum Becomes {
    /// Both take it.
    Taken,
    /// Both refuse it: the reader with this, the API server with that.
    Refused(&'static str, &'static str),
}

use Becomes::{Refused, Taken};

/// Kinds and their plurals.
const KINDS: [(&str, &str); 7] = [
    ("Inventory", "inventories"),
    ("Environment", "environments"),
    ("Customer", "customers"),
    ("Site", "sites"),
    ("InfraProvider", "infraproviders"),
    ("ClusterDefinition", "clusterdefinitions"),
    ("ManagementClusterDefinition", "managementclusterdefinitions"),
];

/// A kind and what is written from its `metadata` on.
const FILES: &[(&str, &str, Becomes)] = &[
    ("Site", "metadata: {name: a}", Taken),
    ("Site", "metadata: {name: a}\nspec: {}", Taken),
    ("Site", "metadata: {name: a}\nspec:", Taken),
    (
        "Site",
        "metadata: {name: a}\nspec: {in: {infraProvider: os, environment: prod, customer: acme, site: b}, release: openstack/v1.4.0, track: minor, components: [components/audit], values: {network: {external: x}}, final: [/network/external]}",
        Taken,
    ),
    ("Site", "metadata: {name: a}\nspec: {in: , release: , track: , components: , values: , final: }", Taken),
    ("Site", "metadata: {name: a}\nspec: {release: }", Taken),
    ("Site", "metadata: {name: a}\nspec: {in: }", Taken),
    ("Site", "metadata: {name: a}\nspec: {track: }", Taken),
    ("Site", "metadata: {name: a}\nspec: {components: }", Taken),
    (
        "Site",
        "metadata: {name: a}\nspec: {components: [null]}",
        Refused(
            "inventory-type i/a.yaml:4:21 `spec.components[0]` must be text, found nothing; for the text, write",
            "spec.components[0] in body must be",
        ),
    ),
    ("Site", "metadata: {name: a}\nspec: {values: }", Taken),
    ("Site", "metadata: {name: a}\nspec: {final: }", Taken),
    ("Site", "metadata: {name: a}\nspec: {in: {site: }}", Taken),
    ("ClusterDefinition", "metadata: {name: a}\nspec: {folder: }", Taken),
    ("ClusterDefinition", "metadata: {name: a}\nspec: {retire: }", Taken),
    ("Site", "metadata: {name: a, labels: }", Taken),
    ("Site", "metadata: {name: a, labels: {a: }}", Taken),
    ("Site", "metadata: {name: a, annotations: {a: }}", Taken),
    ("Site", "metadata: {name: a, namespace: }", Taken),
    ("Site", "metadata: {name: a, namespace: default}", Taken),
    (
        "Site",
        "metadata: {name: a, labels: {team: blue, example.com/x: \"\"}, annotations: {a/b: any thing}}",
        Taken,
    ),
    (
        "Site",
        "metadata: {name: a, labels: {team: 1}}",
        Refused(
            "inventory-type i/a.yaml:3:36 `metadata.labels.team` must be text, found `1`, which is a number; for",
            "Site in version \"v1alpha1\" cannot be handled as a Site: json: cannot unmarshal n",
        ),
    ),
    (
        "Site",
        "metadata: {name: a, annotations: {team: true}}",
        Refused(
            "inventory-type i/a.yaml:3:41 `metadata.annotations.team` must be text, found `true`, which is true",
            "Site in version \"v1alpha1\" cannot be handled as a Site: json: cannot unmarshal b",
        ),
    ),
    (
        "Site",
        "metadata: {name: a, labels: {a b: x}}",
        Refused(
            "inventory-type i/a.yaml:3:30 `a b` is not a key of labels: write a name of letters, digits, `-`, `_` and",
            "Site.capstan.dev \"a\" is invalid: metadata.labels: Invalid value: \"a b\": name par",
        ),
    ),
    (
        "Site",
        "metadata: {name: a, labels: {a: b c}}",
        Refused(
            "inventory-type i/a.yaml:3:33 `b c` is not a value of a label: use letters, digits, `-`, `_` and `.`, at",
            "Site.capstan.dev \"a\" is invalid: metadata.labels: Invalid value: \"b c\": a valid ",
        ),
    ),
    (
        "Site",
        "metadata: {name: a, labels: [a]}",
        Refused(
            "inventory-type i/a.yaml:3:29 `metadata.labels` must be a mapping, found a list",
            "Site in version \"v1alpha1\" cannot be handled as a Site: json: cannot unmarshal a",
        ),
    ),
    ("Site", "metadata: {name: a, annotations: {A.com/x: \"\"}}", Taken),
    ("Site", "metadata: {name: a, annotations: {a.com/X: \"\"}}", Taken),
    (
        "Site",
        "metadata: {name: a, label: {}}",
        Refused(
            "inventory-type i/a.yaml:3:21 unknown key `metadata.label`; did you mean `labels`?",
            "unknown field \"metadata.label\"",
        ),
    ),
    (
        "Site",
        "metadata: {name: A}",
        Refused(
            "inventory-type i/a.yaml:3:18 `A` is not a valid name: use lowercase letters, digits, `-` and `.`, at most 253",
            "Site.capstan.dev \"A\" is invalid: metadata.name: Invalid value: \"A\": a lowercase ",
        ),
    ),
    (
        "Site",
        "metadata: {name: a_b}",
        Refused(
            "inventory-type i/a.yaml:3:18 `a_b` is not a valid name: use lowercase letters, digits, `-` and `.`, at most 253",
            "Site.capstan.dev \"a_b\" is invalid: metadata.name: Invalid value: \"a_b\": a lowerc",
        ),
    ),
    ("Site", "metadata: {name: a.b}", Taken),
    (
        "Site",
        "metadata: {name: 1}",
        Refused(
            "inventory-type i/a.yaml:3:18 this Site has no `metadata.name`, which must be text",
            "Site in version \"v1alpha1\" cannot be handled as a Site: json: cannot unmarshal n",
        ),
    ),
    ("Site", "metadata: {name: 1a}", Taken),
    (
        "Site",
        "metadata: {}",
        Refused(
            "inventory-type i/a.yaml:1:1 this Site has no `metadata.name`, which must be text",
            "Site.capstan.dev \"\" is invalid: metadata.name: Required value: name or generateN",
        ),
    ),
    (
        "Site",
        "spec: {}",
        Refused(
            "inventory-type i/a.yaml:1:1 this Site has no `metadata.name`, which must be text",
            "Site.capstan.dev \"\" is invalid: metadata.name: Required value: name or generateN",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspecs: {}",
        Refused(
            "inventory-type i/a.yaml:4:1 unknown key `specs`; did you mean `spec`?",
            "unknown field \"specs\"",
        ),
    ),
    (
        "ManagementClusterDefinition",
        "metadata: {name: a}\nstatus: {}",
        Refused(
            "inventory-type i/a.yaml:4:1 unknown key `status`; known: apiVersion, kind, metadata, spec",
            "unknown field \"status\"",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: []",
        Refused("inventory-type i/a.yaml:4:7 `spec` must be a mapping, found a list", "spec in body must be"),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {vlaues: {}}",
        Refused(
            "inventory-type i/a.yaml:4:8 unknown key `spec.vlaues`; did you mean `values`?",
            "unknown field \"spec.vlaues\"",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {folder: a}",
        Refused(
            "inventory-type i/a.yaml:4:8 unknown key `spec.folder`; known: in, release, track, components,",
            "unknown field \"spec.folder\"",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {retire: true}",
        Refused(
            "inventory-type i/a.yaml:4:8 unknown key `spec.retire`; known: in, release, track, components,",
            "unknown field \"spec.retire\"",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {in: {infraprovider: a}}",
        Refused(
            "inventory-type i/a.yaml:4:13 unknown key `spec.in.infraprovider`; did you mean `infraProvider`?",
            "unknown field \"spec.in.infraprovider\"",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {in: {cluster: a}}",
        Refused(
            "inventory-type i/a.yaml:4:13 unknown key `spec.in.cluster`; known: environment, customer, site,",
            "unknown field \"spec.in.cluster\"",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {in: {customer: 1}}",
        Refused(
            "inventory-type i/a.yaml:4:23 `spec.in.customer` must be text, found `1`, which is a number; for the",
            "spec.in.customer in body must be",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {in: {customer: [a]}}",
        Refused(
            "inventory-type i/a.yaml:4:23 `spec.in.customer` must be text, found a list",
            "spec.in.customer in body must be",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {in: [a]}",
        Refused(
            "inventory-type i/a.yaml:4:12 `spec.in` must be a mapping, found a list",
            "spec.in in body must be",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: 1.4}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be text, found `1.4`, which is a number; for the",
            "spec.release in body must be",
        ),
    ),
    ("Site", "metadata: {name: a}\nspec: {release: v1.4.0}", Taken),
    ("Site", "metadata: {name: a}\nspec: {release: 1.4.0}", Taken),
    ("Site", "metadata: {name: a}\nspec: {release: a/archived/1.4.0-rc.1+b.2}", Taken),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: openstack/v1.4}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be a release's path, like `openstack/v1.4.0`,",
            "spec.release in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: openstack/v01.4.0}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be a release's path, like `openstack/v1.4.0`,",
            "spec.release in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: openstack/v1.4.0-01}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be a release's path, like `openstack/v1.4.0`,",
            "spec.release in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: openstack/v1.4.0-}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be a release's path, like `openstack/v1.4.0`,",
            "spec.release in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: openstack}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be a release's path, like `openstack/v1.4.0`,",
            "spec.release in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: /openstack/v1.4.0}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be a release's path, like `openstack/v1.4.0`,",
            "spec.release in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: ../openstack/v1.4.0}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be a release's path, like `openstack/v1.4.0`,",
            "spec.release in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: a/./v1.4.0}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be a release's path, like `openstack/v1.4.0`,",
            "spec.release in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: a//v1.4.0}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be a release's path, like `openstack/v1.4.0`,",
            "spec.release in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: 'a\\b/v1.4.0'}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be a release's path, like `openstack/v1.4.0`,",
            "spec.release in body should match",
        ),
    ),
    ("Site", "metadata: {name: a}\nspec: {release: .a/..b/...c/v1.4.0}", Taken),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: openstack/v1.4.0/}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be a release's path, like `openstack/v1.4.0`,",
            "spec.release in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {release: \"\"}",
        Refused(
            "inventory-type i/a.yaml:4:17 `spec.release` must be a release's path, like `openstack/v1.4.0`,",
            "spec.release in body should match",
        ),
    ),
    ("Site", "metadata: {name: a}\nspec: {track: any}", Taken),
    ("Site", "metadata: {name: a}\nspec: {track: none}", Taken),
    (
        "Site",
        "metadata: {name: a}\nspec: {track: major}",
        Refused(
            "inventory-type i/a.yaml:4:15 `spec.track` has no word `major`; did you mean `minor`?",
            "Site.capstan.dev \"a\" is invalid: spec.track: Unsupported value: \"major\": support",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {track: Minor}",
        Refused(
            "inventory-type i/a.yaml:4:15 `spec.track` has no word `Minor`; did you mean `minor`?",
            "Site.capstan.dev \"a\" is invalid: spec.track: Unsupported value: \"Minor\": support",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {track: \"\"}",
        Refused(
            "inventory-type i/a.yaml:4:15 `spec.track` has no word ``; known: any, minor, patch, none",
            "Site.capstan.dev \"a\" is invalid: spec.track: Unsupported value: \"\": supported va",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {components: components/audit}",
        Refused(
            "inventory-type i/a.yaml:4:20 `spec.components` must be a list, found the text `components/audit`",
            "spec.components in body must be",
        ),
    ),
    ("Site", "metadata: {name: a}\nspec: {components: []}", Taken),
    ("Site", "metadata: {name: a}\nspec: {components: [\"a b/größe\"]}", Taken),
    (
        "Site",
        "metadata: {name: a}\nspec: {components: [../a]}",
        Refused(
            "inventory-type i/a.yaml:4:21 `../a` is not a path inside the repository (relative, without `.`,",
            "spec.components[0] in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {components: [/a]}",
        Refused(
            "inventory-type i/a.yaml:4:21 `/a` is not a path inside the repository (relative, without `.`, `..`,",
            "spec.components[0] in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {components: [a/]}",
        Refused(
            "inventory-type i/a.yaml:4:21 `a/` is not a path inside the repository (relative, without `.`, `..`,",
            "spec.components[0] in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {components: [\"\"]}",
        Refused(
            "inventory-type i/a.yaml:4:21 a component's path must not be empty",
            "spec.components[0] in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {components: [.]}",
        Refused(
            "inventory-type i/a.yaml:4:21 `.` is not a path inside the repository (relative, without `.`, `..`,",
            "spec.components[0] in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {components: [1]}",
        Refused(
            "inventory-type i/a.yaml:4:21 `spec.components[0]` must be text, found `1`, which is a number; for",
            "spec.components[0] in body must be",
        ),
    ),
    ("Site", "metadata: {name: a}\nspec: {components: [a, a]}", Taken),
    (
        "Site",
        "metadata: {name: a}\nspec: {components: [\"a\\0b\"]}",
        Refused(
            "inventory-type i/a.yaml:4:21 `a\0b` is not a path inside the repository (relative, without `.`,",
            "spec.components[0] in body should match",
        ),
    ),
    ("Site", "metadata: {name: a}\nspec: {final: [/a, /a/0, \"/\", \"/a~1b\"]}", Taken),
    (
        "Site",
        "metadata: {name: a}\nspec: {final: [\"\"]}",
        Refused(
            "inventory-type i/a.yaml:4:16 `` is not a JSON Pointer to a value: write it like `/network/external`",
            "spec.final[0] in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {final: [a]}",
        Refused(
            "inventory-type i/a.yaml:4:16 `a` is not a JSON Pointer to a value: write it like `/network/external`",
            "spec.final[0] in body should match",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {final: /a}",
        Refused(
            "inventory-type i/a.yaml:4:15 `spec.final` must be a list, found the text `/a`",
            "spec.final in body must be",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {values: {a: null, b: [1, {c: x}], d: 1.5, e: !!str 1, \"f g\": true}}",
        Taken,
    ),
    ("Site", "metadata: {name: a}\nspec: {values: {a: &x {b: 1}, c: *x}}", Taken),
    ("Site", "metadata: {name: a}\nspec: {values: {1: a, true: b}}", Taken),
    (
        "Site",
        "metadata: {name: a}\nspec: {values: []}",
        Refused(
            "inventory-type i/a.yaml:4:16 `spec.values` must be a mapping, found a list",
            "spec.values in body must be",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {values: text}",
        Refused(
            "inventory-type i/a.yaml:4:16 `spec.values` must be a mapping, found the text `text`",
            "spec.values in body must be",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {values: {cluster: 1}}",
        Refused(
            "inventory-type i/a.yaml:4:17 `cluster` is not allowed as a name: in templates it is the cluster itself.",
            "Site.capstan.dev \"a\" is invalid: <nil>: Invalid value: \"\": \"spec.values\" must no",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {values: {clusters: []}}",
        Refused(
            "inventory-type i/a.yaml:4:17 `clusters` is not allowed as a name: in templates it is",
            "Site.capstan.dev \"a\" is invalid: <nil>: Invalid value: \"\": \"spec.values\" must no",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {values: {levels: }}",
        Refused(
            "inventory-type i/a.yaml:4:17 `levels` is not allowed as a name: in templates it is the cluster itself.",
            "Site.capstan.dev \"a\" is invalid: <nil>: Invalid value: \"\": \"spec.values\" must no",
        ),
    ),
    ("Site", "metadata: {name: a}\nspec: {values: {a: {cluster: 1}}}", Taken),
    (
        "Site",
        "metadata: {name: a}\nspec: {values: {a: 1, a: 2}}",
        Refused(
            "invalid-yaml i/a.yaml:4:23 the key `a` occurs twice",
            "Site in version \"v1alpha1\" cannot be handled as a Site: strict decoding error: y",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {track: any, track: any}",
        Refused(
            "invalid-yaml i/a.yaml:4:20 the key `track` occurs twice",
            "Site in version \"v1alpha1\" cannot be handled as a Site: strict decoding error: y",
        ),
    ),
    (
        "Site",
        "metadata: {name: a}\nspec: {values: {a: [}}",
        Refused(
            "invalid-yaml i/a.yaml:4:20 mismatched bracket '[' closed by '}'",
            "the object provided is unrecognized (must be of type Site): yaml: line 3: did no",
        ),
    ),
    ("Environment", "metadata: {name: a}\nspec: {in: {customer: a}, values: {a: 1}}", Taken),
    ("Customer", "metadata: {name: a}\nspec: {values: {a: 1}}", Taken),
    ("InfraProvider", "metadata: {name: a}\nspec: {values: {a: 1}}", Taken),
    (
        "InfraProvider",
        "metadata: {name: a}\nspec: {retire: false}",
        Refused(
            "inventory-type i/a.yaml:4:8 unknown key `spec.retire`; known: in, release, track, components,",
            "unknown field \"spec.retire\"",
        ),
    ),
    (
        "ClusterDefinition",
        "metadata: {name: a}\nspec: {in: {site: a}, folder: acme/a, retire: false, values: {}, release: a/v1.0.0}",
        Taken,
    ),
    ("ClusterDefinition", "metadata: {name: a}\nspec: {retire: true}", Taken),
    ("ClusterDefinition", "metadata: {name: a}\nspec: {retire: yes}", Taken),
    (
        "ClusterDefinition",
        "metadata: {name: a}\nspec: {retire: \"true\"}",
        Refused(
            "inventory-type i/a.yaml:4:16 `spec.retire` must be true or false, found the text `true`",
            "spec.retire in body must be",
        ),
    ),
    (
        "ClusterDefinition",
        "metadata: {name: a}\nspec: {retire: 1}",
        Refused(
            "inventory-type i/a.yaml:4:16 `spec.retire` must be true or false, found `1`, which is a number",
            "spec.retire in body must be",
        ),
    ),
    (
        "ClusterDefinition",
        "metadata: {name: a}\nspec: {folder: \"\"}",
        Refused(
            "inventory-type i/a.yaml:4:16 `spec.folder` must not be empty",
            "spec.folder in body should match",
        ),
    ),
    (
        "ClusterDefinition",
        "metadata: {name: a}\nspec: {folder: ../a}",
        Refused(
            "inventory-type i/a.yaml:4:16 `../a` is not a path inside the repository (relative, without `.`,",
            "spec.folder in body should match",
        ),
    ),
    (
        "ClusterDefinition",
        "metadata: {name: a}\nspec: {folder: 5}",
        Refused(
            "inventory-type i/a.yaml:4:16 `spec.folder` must be text, found `5`, which is a number; for the",
            "spec.folder in body must be",
        ),
    ),
    (
        "ManagementClusterDefinition",
        "metadata: {name: mc-eu}\nspec: {in: {environment: prod}, folder: management/mc-eu, release: management/v2.0.0}",
        Taken,
    ),
    (
        "ManagementClusterDefinition",
        "metadata: {name: mc-eu}\nspec: {retire: true}",
        Refused(
            "inventory-type i/a.yaml:4:8 unknown key `spec.retire`; known: in, release, track, components,",
            "unknown field \"spec.retire\"",
        ),
    ),
    ("Inventory", "metadata: {name: inventory}", Taken),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {levels: [Environment, Customer, Site, InfraProvider], folder: \"{customer}/{name}\"}",
        Taken,
    ),
    ("Inventory", "metadata: {name: inventory}\nspec: {levels: [Site]}", Taken),
    ("Inventory", "metadata: {name: inventory}\nspec: {levels: []}", Taken),
    ("Inventory", "metadata: {name: inventory}\nspec: {levels: }", Taken),
    ("Inventory", "metadata: {name: inventory}\nspec: {folder: }", Taken),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {levels: [Site, Site]}",
        Refused(
            "inventory-type i/a.yaml:4:23 `Site` occurs twice",
            "Inventory.capstan.dev \"inventory\" is invalid: spec.levels[1]: Duplicate value: \"",
        ),
    ),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {levels: [Cluster]}",
        Refused(
            "inventory-type i/a.yaml:4:17 `Cluster` is not a level; known: Environment, Customer, Site,",
            "Inventory.capstan.dev \"inventory\" is invalid: spec.levels[0]: Unsupported value:",
        ),
    ),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {levels: [ClusterDefinition]}",
        Refused(
            "inventory-type i/a.yaml:4:17 `ClusterDefinition` is not a level; known: Environment, Customer, Site,",
            "Inventory.capstan.dev \"inventory\" is invalid: spec.levels[0]: Unsupported value:",
        ),
    ),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {levels: Site}",
        Refused(
            "inventory-type i/a.yaml:4:16 `spec.levels` must be a list, found the text `Site`",
            "spec.levels in body must be",
        ),
    ),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {level: [Site]}",
        Refused(
            "inventory-type i/a.yaml:4:8 unknown key `spec.level`; did you mean `levels`?",
            "unknown field \"spec.level\"",
        ),
    ),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {folder: \"clusters/{environment}-{site}/{infraProvider}.{name}\"}",
        Taken,
    ),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {folder: \"{customer}\"}",
        Refused(
            "inventory-type i/a.yaml:4:16 `{customer}` lacks `{name}`, so all clusters would share a folder",
            "spec.folder in body should match",
        ),
    ),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {folder: \"{custmer}/{name}\"}",
        Refused(
            "inventory-type i/a.yaml:4:16 `{custmer}` is not a level; did you mean `customer`?",
            "spec.folder in body should match",
        ),
    ),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {folder: \"{name\"}",
        Refused(
            "inventory-type i/a.yaml:4:16 `{name` has a `{` without its `}`",
            "spec.folder in body should match",
        ),
    ),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {folder: \"a}{name}\"}",
        Refused(
            "inventory-type i/a.yaml:4:16 `a}{name}` has a `}` without its `{`",
            "spec.folder in body should match",
        ),
    ),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {folder: \"{name}}\"}",
        Refused(
            "inventory-type i/a.yaml:4:16 `{name}}` has a `}` without its `{`",
            "spec.folder in body should match",
        ),
    ),
    (
        "Inventory",
        "metadata: {name: Inventory}",
        Refused(
            "inventory-type i/a.yaml:3:18 `Inventory` is not a valid name: use lowercase letters, digits, `-` and `.`, at",
            "Inventory.capstan.dev \"Inventory\" is invalid: metadata.name: Invalid value: \"Inv",
        ),
    ),
    (
        "Inventory",
        "metadata: {name: inventory, labels: {a: 1}}",
        Refused(
            "inventory-type i/a.yaml:3:41 `metadata.labels.a` must be text, found `1`, which is a number; for",
            "Inventory in version \"v1alpha1\" cannot be handled as a Inventory: json: cannot u",
        ),
    ),
    (
        "Inventory",
        "metadata: {name: inventory}\nspec: {values: {a: 1}}",
        Refused(
            "inventory-type i/a.yaml:4:8 unknown key `spec.values`; known: levels, folder",
            "unknown field \"spec.values\"",
        ),
    ),
];

#[tokio::test]
async fn what_the_api_server_takes_the_reader_takes_and_nothing_else() {
    let Some(plane) = shared() else { return };
    definitions::install(plane);
    let client = plane.client().await;
    let mut differ = Vec::new();
    for (kind, rest, becomes) in FILES {
        let text = format!("apiVersion: capstan.dev/v1alpha1\nkind: {kind}\n{rest}\n");
        let (_, plural) = KINDS.iter().find(|(known, _)| known == kind).unwrap_or(&KINDS[3]);
        let read = read(&text);
        let request = http::Request::post(format!(
            "/apis/capstan.dev/v1alpha1/namespaces/default/{plural}?dryRun=All&fieldValidation=Strict"
        ))
        .header("content-type", "application/yaml")
        .body(text.clone().into_bytes())
        .unwrap();
        let sent = client.request_text(request).await.map(drop).map_err(|error| match error {
            kube::Error::Api(status) => status.message,
            other => other.to_string(),
        });
        let fits = match (becomes, &read, &sent) {
            (Taken, Ok(()), Ok(())) => true,
            (Refused(reader, server), Err(read), Err(sent)) => read.contains(reader) && sent.contains(server),
            _ => false,
        };
        if !fits {
            differ.push(format!("{text}  the reader: {read:?}\n  the API server: {sent:?}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// What the reader says of a file.
fn read(text: &str) -> Result<(), String> {
    let source = SourceText { path: RepoPath::parse("i/a.yaml").unwrap(), bytes: Ok(text.as_bytes().into()) };
    let findings = InventoryFiles::read(&[source]).findings;
    if findings.is_empty() {
        return Ok(());
    }
    let line = |finding: &capstan_model::finding::Finding| {
        format!("{} {} {}", finding.rule.id(), finding.place.as_ref().unwrap(), finding.message)
    };
    Err(findings.iter().map(line).collect::<Vec<_>>().join("\n"))
}
