//! Management clusters of the inventory: what goes to their own folder, and what to their provider set's.

use capstan_forge::{Edit, MergeMethod};

use super::inventory::{LEVELS, heads, level, line};
use super::town::{REPOSITORY, Town};

const SETTINGS: &str = "\
mode: propose
dashboard: {enabled: false}
inventory: {path: inventory}
managementClusters:
- name: mc-eu
  uid: 6f1c0000-0000-0000-0000-000000000000
  clusters: [\"acme/*\"]
  providers: {path: mc-eu/providers, by: others}
";
const OWN: &str = "management/mc-eu";
const SET: &str = "mc-eu/providers";

/// A release for management clusters: providers, and what else the management cluster needs.
fn release(version: &str, core: &str) -> Vec<Edit> {
    let folder = format!("management/{version}");
    vec![
        Edit::write(
            format!("{folder}/schema.yaml"),
            "type: object\nproperties: {cpu: {type: string, default: 100m}, quota: {type: integer, default: 10}}\n",
        ),
        Edit::write(
            format!("{folder}/templates/all.yaml"),
            format!(
                "# The namespace of all providers.
apiVersion: v1
kind: Namespace
metadata: {{name: capi-system}}
---
# The core of Cluster API.
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {{name: cluster-api, namespace: capi-system}}
spec:
  version: {core}
  deployment:
    containers:
    - name: manager
      resources: {{requests: {{cpu: {{{{ cpu }}}}}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: fleet, namespace: capi-system}}
data:
  quota: \"{{{{ quota }}}}\"
  clusters: |
{{% for one in clusters %}}
    {{{{ one.name }}}} {{{{ one.folder }}}} {{{{ one.levels.environment.name }}}}
{{% endfor %}}
"
            ),
        ),
    ]
}

fn management(release: &str, values: &str) -> Edit {
    let spec = format!("  folder: {OWN}\n  release: {release}\n  values: {values}\n");
    level("ManagementClusterDefinition", "mc-eu", &spec)
}

fn of_acme() -> Vec<Edit> {
    let mut files = vec![
        level("Environment", "prod", "  values: {}\n"),
        level("ClusterDefinition", "peu01", "  in: {environment: prod}\n  release: openstack/v1.0.0\n"),
        Edit::write("openstack/v1.0.0/schema.yaml", "type: object\n"),
    ];
    files.push(Edit::write(
        "openstack/v1.0.0/templates/all.yaml",
        "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata: {name: {{ cluster.name }}, namespace: org}\n",
    ));
    files
}

async fn town(more: &[Edit]) -> Town {
    let mut files =
        vec![Edit::write(".capstan.yaml", SETTINGS), Edit::write("inventory/inventory.yaml", LEVELS)];
    files.extend(release("v1.0.0", "v1.12.8"));
    files.extend_from_slice(more);
    Town::with(&files, None).await
}

async fn merge(town: &Town, branch: &str) {
    let pull = town.open_pulls().into_iter().find(|pull| pull.head_branch == branch).unwrap();
    let check = town.check(pull.number);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{}: {check:?}", pull.title);
    town.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_management_clusters_providers_go_to_its_set_and_everything_else_to_its_own_folder() {
    let mut more = of_acme();
    more.push(management("management/v1.0.0", "{}"));
    let town = town(&more).await;
    town.settle().await;
    let of = |path: &str| format!("capstan/inventory/{path}");
    let of_set = "capstan/inventory/providers%3A/%/mc-eu/providers".to_owned();
    assert_eq!(heads(&town), [of("acme/peu01"), of(OWN), of_set.clone()]);
    assert_eq!(
        town.file(&of(OWN), "management/mc-eu/base/all.yaml"),
        "# The namespace of all providers.
apiVersion: v1
kind: Namespace
metadata: {name: capi-system}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: fleet, namespace: capi-system}
data:
  quota: \"10\"
  clusters: |
    peu01 acme/peu01 prod
"
    );
    assert_eq!(
        town.file(&of_set, "mc-eu/providers/base/all.yaml"),
        "# The core of Cluster API.
apiVersion: operator.cluster.x-k8s.io/v1alpha2
kind: CoreProvider
metadata: {name: cluster-api, namespace: capi-system}
spec:
  version: v1.12.8
  deployment:
    containers:
    - name: manager
      resources: {requests: {cpu: 100m}}
"
    );
    for head in [of("acme/peu01"), of(OWN), of_set.clone()] {
        merge(&town, &head).await;
    }
    assert_eq!(heads(&town), Vec::<String>::new(), "both stand as they are said to");

    // A value that concerns one of the two folders is offered there alone.
    town.push("main", &[management("management/v1.0.0", "{quota: 20}")]);
    town.settle().await;
    assert_eq!(heads(&town), [of(OWN)]);
    assert!(line(&town.file(&of(OWN), "management/mc-eu/base/all.yaml"), "quota: \"20\""));
    merge(&town, &of(OWN)).await;
    town.push("main", &[management("management/v1.0.0", "{quota: 20, cpu: 200m}")]);
    town.settle().await;
    assert_eq!(heads(&town), std::slice::from_ref(&of_set));
    merge(&town, &of_set).await;
    let core = town.file("main", "mc-eu/providers/base/all.yaml");
    assert!(line(&core, "resources: {requests: {cpu: 200m}}"), "{core}");

    // A newer release is a step of each.
    let mut newer = release("v2.0.0", "v1.13.0");
    newer.push(management("management/v2.0.0", "{quota: 20, cpu: 200m}"));
    town.push("main", &newer);
    town.settle().await;
    assert_eq!(heads(&town), ["capstan/upgrade/management/mc-eu", "capstan/providers/mc-eu/providers"]);
    let core = town.file("capstan/providers/mc-eu/providers", "mc-eu/providers/base/all.yaml");
    assert!(line(&core, "version: v1.13.0") && line(&core, "resources: {requests: {cpu: 200m}}"), "{core}");
    let record = town.file("capstan/upgrade/management/mc-eu", "management/mc-eu/capstan.yaml");
    assert!(line(&record, "release: management/v2.0.0"), "{record}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_set_that_somebody_made_is_left_alone_and_the_definition_says_why() {
    let own_set = "apiVersion: operator.cluster.x-k8s.io/v1alpha2\nkind: CoreProvider\nmetadata: {name: cluster-api, namespace: capi-system}\nspec: {version: v1.11.0}\n";
    let town = town(&[
        management("management/v1.0.0", "{}"),
        Edit::write("mc-eu/providers/base/core.yaml", own_set),
    ])
    .await;
    town.settle().await;
    assert_eq!(heads(&town), Vec::<String>::new());
    let (state, why) = super::inventory::brought(&town, OWN).await;
    assert_eq!(state, "unplannable");
    assert!(why.contains("the provider set there was not made from the inventory"), "{why}");
    assert_eq!(town.file("main", &format!("{SET}/base/core.yaml")), own_set);
    town.done();
}
