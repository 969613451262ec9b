//! Cluster API's own kinds, judged without any definition in the repository.

use jiff::civil::{Date, date};

use super::{TODAY, path};
use crate::layout::discover;
use crate::policy::{InstalledProviders, Snapshot, ValidationScope, validate};
use crate::settings::{RepositorySettings, RuleIds};
use capstan_model::finding::{Finding, Severity, rules};
use capstan_test_support::Files;

/// What the rules say of the objects in one file and others beside it.
fn judged(settings: &str, text: &str, beside: &[(&str, &str)], today: Date) -> Vec<Finding> {
    let settings =
        RepositorySettings::read(&path(".capstan.yaml"), settings, &RuleIds::of_catalogue()).unwrap();
    let files = beside.iter().copied().chain([("peu01/base/a.yaml", text)]);
    let tree = Files::new(&files.collect::<Vec<_>>());
    let layout = discover(&tree, &settings);
    let schemas = crate::layout::schemas_of(&tree, &layout);
    let installed = InstalledProviders::read(&tree, &layout);
    let (cluster_api, flux) = (installed.core(), None);
    let now = Snapshot {
        tree: &tree,
        layout: &layout,
        schemas: &schemas,
        cluster_api,
        flux,
        neighbours: None,
        supplies: None,
    };
    validate(now, None, &settings, ValidationScope::Everything, today)
}

/// What `unknown-field` and `wrong-type` say of them: severity, line, column and message.
fn said(settings: &str, text: &str, beside: &[(&str, &str)]) -> Vec<String> {
    let found = judged(settings, text, beside, TODAY);
    let found = found.iter().filter(|found| matches!(found.rule, rules::UNKNOWN_FIELD | rules::WRONG_TYPE));
    found
        .map(|found| {
            let (line, column) = (found.line().unwrap_or_default(), found.column().unwrap_or_default());
            let severity = if found.severity() == Severity::Error { "error" } else { "warning" };
            format!("{severity} {line}:{column} {}", found.message)
        })
        .collect()
}

/// A worker pool with a field that no Cluster API has.
const MISSPELT: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: w, namespace: org}
spec:
  replcas: 3
";

const MISSPELT_SAID: &str = "`/spec/replcas` is not a field of MachineDeployment in cluster.x-k8s.io/v1beta2 (Cluster API up to 1.14 knows none): the API server drops it or refuses the object. \
     Did you mean `/spec/replicas`?";

const NEWER: &str =
    " If your Cluster API is newer and has it, add its CustomResourceDefinition to .capstan/crds.";

fn core(version: &str) -> String {
    format!(
        "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\n\
         metadata: {{name: cluster-api, namespace: capi}}\nspec: {{version: {version}}}\n"
    )
}

#[test]
fn a_misspelt_field_is_said_with_its_place_and_the_right_name() {
    assert_eq!(said("", MISSPELT, &[]), [format!("warning 5:3 {MISSPELT_SAID}{NEWER}")]);
    // The settings go before what the rule thinks of it.
    let strict = "policy: {unknown-field: error}\n";
    assert_eq!(said(strict, MISSPELT, &[]), [format!("error 5:3 {MISSPELT_SAID}{NEWER}")]);
}

#[test]
fn the_version_of_cluster_api_decides_how_an_unknown_field_is_reported() {
    let of = |version: &str, text: &str| said("", text, &[("capi/core.yaml", &core(version))]);
    assert_eq!(of("v1.13.2", MISSPELT), [format!("error 5:3 {MISSPELT_SAID}")]);
    assert_eq!(of("v1.15.0", MISSPELT), [format!("warning 5:3 {MISSPELT_SAID}{NEWER}")]);
    let invented = MISSPELT.replace("replcas: 3", "hibernation: true");
    assert_eq!(of("v1.15.0", &invented), [""; 0], "a newer one may well have it");
    let told = "`/spec/hibernation` is not a field of MachineDeployment in cluster.x-k8s.io/v1beta2 (Cluster API \
                up to 1.14 knows none): the API server drops it or refuses the object.";
    assert_eq!(said("", &invented, &[]), [format!("warning 5:3 {told}{NEWER}")]);
    assert_eq!(of("v1.14.0", &invented), [format!("error 5:3 {told}")]);
}

#[test]
fn a_field_of_the_other_api_version_is_said_with_the_place_that_it_has_here() {
    let text = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: w, namespace: org}
spec:
  template:
    spec:
      nodeDrainTimeout: 10m
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: peu01, namespace: org}
spec:
  topology:
    workers:
      machineDeployments:
      - {class: a, name: one}
      - {class: a, name: two, nodeDrainTimeout: 10m}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: old, namespace: org}
spec:
  rollout: {after: 2026-01-01T00:00:00Z}
";
    let dropped = "(Cluster API up to 1.14 knows none): the API server drops it or refuses the object.";
    assert_eq!(
        said("", text, &[]),
        [
            format!(
                "error 7:7 `/spec/template/spec/nodeDrainTimeout` is not a field of MachineDeployment in \
                 cluster.x-k8s.io/v1beta2 {dropped} v1beta1 has it; in this version it is `/spec/template/spec/deletion/nodeDrainTimeoutSeconds`."
            ),
            format!(
                "error 17:31 `/spec/topology/workers/machineDeployments/1/nodeDrainTimeout` is not a field of \
                 Cluster in cluster.x-k8s.io/v1beta2 {dropped} v1beta1 has it; in this version it is `/spec/topology/workers/machineDeployments/1/deletion/nodeDrainTimeoutSeconds`."
            ),
            format!(
                "error 23:3 `/spec/rollout` is not a field of MachineDeployment in cluster.x-k8s.io/v1beta1 \
                 {dropped} v1beta2 has it."
            ),
        ]
    );
}

#[test]
fn a_value_of_another_type_is_said_whatever_cluster_api_is_installed() {
    let text = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: cp, namespace: org}
spec:
  replicas: '3'
  version: v1.30.1
  kubeadmConfigSpec:
    clusterConfiguration:
      apiServer:
        extraArgs: {v: 4}
    users: {name: admin}
    verbosity: ${VERBOSITY}
    preKubeadmCommands: null
  rolloutStrategy: {rollingUpdate: {maxSurge: 1}}
";
    let said = said("", text, &[("capi/core.yaml", &core("v1.15.0"))]);
    let api = "controlplane.cluster.x-k8s.io/v1beta1 (as Cluster API 1.14 defines it)";
    let object = "KubeadmControlPlane org/cp";
    assert_eq!(
        said,
        [
            format!(
                "error 5:13 `/spec/replicas` of {object} is the string \"3\", but {api} requires a whole number \
                 (leave out the quotes): the API server refuses the object"
            ),
            format!(
                "error 10:24 `/spec/kubeadmConfigSpec/clusterConfiguration/apiServer/extraArgs/v` of {object} \
                 is the number 4, but {api} requires a string (put it in quotes): the API server refuses the object"
            ),
            format!(
                "error 11:12 `/spec/kubeadmConfigSpec/users` of {object} is a mapping, but {api} requires a list: \
                 the API server refuses the object"
            ),
        ]
    );
}

#[test]
fn a_definition_in_the_repository_goes_before_the_built_in_one() {
    let definition = "\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: machinedeployments.cluster.x-k8s.io}
spec:
  group: cluster.x-k8s.io
  names: {kind: MachineDeployment, plural: machinedeployments}
  scope: Namespaced
  versions:
  - name: v1beta2
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {replcas: {type: string}}}
";
    for folder in ["crds", ".capstan/crds"] {
        let file = format!("{folder}/machinedeployments.yaml");
        assert_eq!(
            said("", MISSPELT, &[(&file, definition)]),
            [format!(
                "error 5:12 `/spec/replcas` of MachineDeployment org/w is the number 3, but cluster.x-k8s.io/v1beta2 (defined in {file}) requires a string (put it in quotes): the API server refuses the object"
            )]
        );
    }
}

#[test]
fn what_may_be_anything_other_kinds_and_alpha_versions_are_not_judged() {
    let texts = [
        // Values of variables, schemas in schemas, and JSON patches' values are whatever somebody likes.
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: class, namespace: org, labels: {a: b}}
spec:
  variables:
  - name: size
    required: true
    schema:
      openAPIV3Schema:
        type: object
        example: {anything: {goes: 1}}
        properties: {replcas: {typo: string}}
        items: {typo: string}
        default: [1, a, {b: c}]
  patches:
  - name: size
    definitions:
    - selector: {apiVersion: a/v1, kind: B, matchResources: {controlPlane: true}}
      jsonPatches:
      - {op: add, path: /spec/template/spec/size, value: {any: [thing]}}
",
        "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: peu01, namespace: org}
spec:
  topology:
    classRef: {name: class}
    version: v1.30.1
    variables:
    - {name: size, value: {whatever: [1, two]}}
status:
  anything: 1
",
        "\
apiVersion: cluster.x-k8s.io/v1alpha4
kind: MachineDeployment
metadata: {name: w, namespace: org}
spec: {replcas: '3'}
",
        "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: InventedControlPlane
metadata: {name: cp, namespace: org}
spec: {replcas: '3'}
",
    ];
    for text in texts {
        assert_eq!(said("", text, &[]), [""; 0], "{text}");
    }
}

#[test]
fn the_rule_warns_of_the_end_of_v1beta1_half_a_year_before_if_the_repository_says_which_cluster_api_it_installs()
 {
    let text = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: peu01, namespace: org}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: a, namespace: org}
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: b, namespace: org}
";
    let judged_by = |installed: &[(&str, &str)], today: Date| -> Vec<String> {
        let found = judged("", text, installed, today).into_iter();
        let rules = [rules::API_VERSION_ENDS, rules::API_VERSION_NOT_SERVED];
        let found = found.filter(|finding| rules.contains(&finding.rule));
        found.map(|one| format!("{}:{} {}", one.rule.id(), one.line().unwrap(), one.message)).collect()
    };
    let of = |version: &str, today| judged_by(&[("capi/core.yaml", &core(version))], today);
    let ends = "api-version-ends:5 Cluster API v1.16.0 (planned for April 2027) no longer serves cluster.x-k8s.io/v1beta1, which 1 file uses (the first one here): migrate them before, with `capstan migrate`";
    assert_eq!(of("v1.13.2", date(2026, 9, 30)), [""; 0]);
    assert_eq!(of("v1.13.2", date(2026, 10, 1)), [ends]);
    assert_eq!(of("v1.15.0", date(2027, 9, 1)), [ends]);
    assert_eq!(judged_by(&[], date(2026, 10, 1)), [""; 0]);
    let gone = |line: u32, name: &str| {
        format!(
            "api-version-not-served:{line} MachineDeployment org/{name} uses `cluster.x-k8s.io/v1beta1`, which Cluster API v1.16.0 and newer do not serve: write it in `cluster.x-k8s.io/v1beta2`"
        )
    };
    assert_eq!(of("v1.16.0", date(2026, 3, 1)), [gone(5, "a"), gone(9, "b")]);
}
