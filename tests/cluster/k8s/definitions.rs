//! Capstan's own kinds: what `capstan crds` prints is what `deploy/` holds, what a real API server accepts, and
//! what `kubectl explain` reads well.

use capstan_test_support::tally;

use super::{Ground, shared};
use capstan_test_parts::plane::Plane;

fn printed() -> String {
    let output = tally::command(env!("CARGO_BIN_EXE_capstan")).arg("crds").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Installs the definitions, once for all tests that share the API server.
pub(super) fn install(plane: &Plane) {
    plane.apply(&printed());
    for name in ["fleets", "managedclusters", "inventories", "managementclusterdefinitions", "vaultsecrets"] {
        let name = format!("crd/{name}.capstan.dev");
        plane.kubectl(&["wait", "--for=condition=Established", "--timeout=30s", &name]);
        // No complaint of the API server about the schema itself.
        let problems = plane.kubectl(&[
            "get",
            &name,
            "-o",
            "jsonpath={.status.conditions[?(@.type==\"NonStructuralSchema\")].message}",
        ]);
        assert_eq!(problems, "");
    }
}

#[test]
fn deploy_holds_the_definition_of_sip_clusters() {
    let output = tally::command(env!("CARGO_BIN_EXE_capstan")).args(["crds", "--hosts"]).output().unwrap();
    let held = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/hosts/crds.yaml");
    assert!(
        std::fs::read(held).unwrap_or_default() == output.stdout,
        "deploy/hosts/crds.yaml is out of date: capstan crds --hosts >deploy/hosts/crds.yaml"
    );
}

#[test]
fn deploy_holds_what_capstan_crds_prints() {
    let held = concat!(env!("CARGO_MANIFEST_DIR"), "/deploy/crds.yaml");
    let printed = printed();
    assert!(
        std::fs::read_to_string(held).unwrap_or_default() == printed,
        "deploy/crds.yaml is out of date: capstan crds >deploy/crds.yaml"
    );
}

#[test]
fn the_definitions_are_accepted_without_a_warning() {
    let Some(plane) = shared() else { return };
    let said = plane.try_kubectl(
        &["apply", "--server-side", "--dry-run=server", "--warnings-as-errors", "-f", "-"],
        &printed(),
    );
    said.unwrap();
    install(plane);
    let names = plane.kubectl(&["api-resources", "--api-group=capstan.dev", "--no-headers", "-o", "wide"]);
    let words: Vec<Vec<&str>> = names.lines().map(|line| line.split_whitespace().collect()).collect();
    let kinds: Vec<&str> = words.iter().map(|line| line[line.len() - 3]).collect();
    assert_eq!(
        words.iter().map(|line| line[0]).collect::<Vec<_>>(),
        [
            "clusterdefinitions",
            "customers",
            "environments",
            "fleets",
            "infraproviders",
            "inventories",
            "managedclusters",
            "managedproviders",
            "managementclusterdefinitions",
            "sites",
            "vaultsecrets",
            "vaultstores"
        ],
        "{names}"
    );
    assert_eq!(
        words[0][..5],
        ["clusterdefinitions", "cdef", "capstan.dev/v1alpha1", "true", "ClusterDefinition"]
    );
    assert_eq!(words[3][..5], ["fleets", "flt", "capstan.dev/v1alpha1", "true", "Fleet"]);
    assert_eq!(words[6][..5], ["managedclusters", "mcl", "capstan.dev/v1alpha1", "true", "ManagedCluster"]);
    assert_eq!(words[7][..5], ["managedproviders", "mpr", "capstan.dev/v1alpha1", "true", "ManagedProvider"]);
    // `kubectl get clusters` still means Cluster API's.
    assert!(kinds.iter().all(|kind| *kind != "Cluster"), "{names}");
    assert!(words.iter().all(|line| line.last() == Some(&"capstan")), "{names}");
}

#[test]
fn kubectl_explain_reads_well() {
    let Some(plane) = shared() else { return };
    install(plane);
    let explained = explain(plane, "fleet.spec.source");
    assert_eq!(
        explained,
        "GROUP:      capstan.dev
KIND:       Fleet
VERSION:    v1alpha1

FIELD: source <Object>


DESCRIPTION:
    Where the cluster folders come from: exactly one of bot, git, inventory.
    
FIELDS:
  bot\t<Object>
    From the Capstan bot, which serves only the claimed folders, asks for
    preflights and accepts reports. The reconciler connects to the bot, never
    the other way round.

  git\t<Object>
    From a Git repository, without a bot: no preflights, no reports on pull
    requests.

  inventory\t<Object>
    From an inventory in this management cluster: the objects of its kinds in
    the Fleet's namespace, and releases in ConfigMaps beside them. There is no
    repository then, and the SHA-256 of all input takes the place of a commit.


"
    );
    // Nothing is without words, to the last field.
    for (kind, plural, parts) in [
        ("fleet", "fleets", &["spec", "status"][..]),
        ("managedcluster", "managedclusters", &["spec", "status"]),
        ("inventory", "inventories", &["spec"]),
        ("vaultstore", "vaultstores", &["spec"]),
        ("vaultsecret", "vaultsecrets", &["spec", "status"]),
        ("site", "sites", &["spec", "status"]),
        ("clusterdefinition", "clusterdefinitions", &["spec", "status"]),
    ] {
        let all = plane.kubectl(&["explain", kind, "--recursive"]);
        assert!(!all.contains("<no description>"), "{all}");
        for part in parts {
            undocumented(&schema(plane, plural)["properties"][part], &format!("{kind}.{part}"));
        }
    }
}

/// `kubectl explain`, which finds a kind some moments after its definition was established.
fn explain(plane: &Plane, field: &str) -> String {
    for _ in 0..100 {
        if let Ok(explained) = plane.try_kubectl(&["explain", field], "") {
            return explained;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    plane.kubectl(&["explain", field])
}

fn schema(plane: &Plane, plural: &str) -> serde_json::Value {
    let text = plane.kubectl(&[
        "get",
        &format!("crd/{plural}.capstan.dev"),
        "-o",
        "jsonpath={.spec.versions[0].schema.openAPIV3Schema}",
    ]);
    serde_json::from_str(&text).unwrap()
}

fn undocumented(schema: &serde_json::Value, path: &str) {
    let described = schema["description"].as_str().is_some_and(|words| words.len() > 3);
    assert!(described, "{path} has no description");
    for (name, below) in schema["properties"].as_object().into_iter().flatten() {
        undocumented(below, &format!("{path}.{name}"));
    }
    for (name, below) in schema["items"]["properties"].as_object().into_iter().flatten() {
        undocumented(below, &format!("{path}.{name}"));
    }
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_words_that_help() {
    let Some(ground) = Ground::prepare("sense").await else { return };
    install(ground.plane);
    let fleet = |spec: &str| {
        format!(
            "{{apiVersion: capstan.dev/v1alpha1, kind: Fleet, metadata: {{name: f, namespace: sense}}, spec: {{{spec}}}}}"
        )
    };
    let git = "source: {git: {url: 'https://example.com/a.git'}}";
    let refused = |spec: &str, words: &str| {
        let said = ground
            .plane
            .try_kubectl(&["apply", "--server-side", "--dry-run=server", "-f", "-"], &fleet(spec))
            .expect_err(spec);
        assert!(said.contains(words), "{spec}: {said}");
    };
    refused("managementCluster: mc, source: {}", "set exactly one of bot, git and inventory");
    refused(
        "managementCluster: mc, source: {git: {url: 'https://a.b/c'}, bot: {url: 'https://a.b', repository: a/b, secretName: s}}",
        "set exactly one of bot, git and inventory",
    );
    refused(git, "spec.managementCluster: Required value");
    refused(
        "managementCluster: mc, source: {bot: {url: 'http://capstan.example.com', repository: a/b, secretName: s}}",
        "use https for the bot",
    );
    refused(
        "managementCluster: mc, source: {git: {url: 'git.example.com/a'}}",
        "use https://, ssh:// or file:///",
    );
    refused(
        "managementCluster: mc, source: {git: {url: 'https://me:token@example.com/a.git'}}",
        "no credentials in a URL: put them into the Secret that secretName names",
    );
    refused(
        "managementCluster: mc, source: {bot: {url: 'https://a.b', repository: just-a-name, secretName: s}}",
        "spec.source.bot.repository",
    );
    refused(&format!("managementCluster: mc, intervalSeconds: 1, {git}"), "greater than or equal to 5");
    refused(&format!("managementCluster: mc, concurrency: 1000, {git}"), "less than or equal to 64");
    refused(
        &format!("managementCluster: mc, guards: {{adopt: always}}, {git}"),
        "Unsupported value: \"always\"",
    );
    refused(&format!("managementCluster: mc, intervall: 300, {git}"), "field not declared in schema");

    for accepted in [
        format!("managementCluster: mc, {git}"),
        "managementCluster: mc, source: {bot: {url: 'http://capstan.capstan-system.svc:8080', repository: a/b, secretName: s}}".to_owned(),
        "managementCluster: mc, source: {bot: {url: 'http://127.0.0.1:8080', repository: a/b, secretName: s}}".to_owned(),
        "managementCluster: mc, source: {git: {url: 'ssh://git@example.com/a.git', branch: prod, secretName: s}}".to_owned(),
        "managementCluster: mc, source: {git: {url: 'file:///srv/git/a.git'}}".to_owned(),
    ] {
        ground
            .plane
            .kubectl_with(&["apply", "--server-side", "--dry-run=server", "-f", "-"], &fleet(&accepted));
    }
    ground.plane.apply(&fleet(&format!("managementCluster: mc, {git}")));
    let read = ground.plane.kubectl(&["get", "fleet", "f", "-n", "sense", "-o", "jsonpath={.spec}"]);
    let spec: serde_json::Value = serde_json::from_str(&read).unwrap();
    assert_eq!(
        spec,
        serde_json::json!({
            "managementCluster": "mc", "intervalSeconds": 300, "timeoutSeconds": 300,
            "stuckAfterSeconds": 1200, "concurrency": 4, "suspend": false, "source": {"git": {"url": "https://example.com/a.git", "branch": "main"}},
            "serviceAccount": {"name": "capstan-applier"},
            "guards": {"maxDeletions": 5, "adopt": "preview", "createClusters": "recorded"},
        }),
        "the defaults are the API server's"
    );
}

#[tokio::test]
async fn a_managed_cluster_stays_with_its_folder() {
    let Some(ground) = Ground::prepare("staying").await else { return };
    install(ground.plane);
    let managed = |cluster: &str, fleet: &str| {
        format!(
            "{{apiVersion: capstan.dev/v1alpha1, kind: ManagedCluster, metadata: {{name: m, namespace: staying}}, spec: {{cluster: {cluster}, fleet: {fleet}}}}}"
        )
    };
    ground.plane.apply(&managed("gauss/peu01", "gitops"));
    for (cluster, fleet, words) in [
        ("gauss/peu02", "gitops", "the folder of a ManagedCluster is immutable"),
        ("gauss/peu01", "other", "the Fleet of a ManagedCluster is immutable"),
    ] {
        let said = ground
            .plane
            .try_kubectl(
                &["apply", "--server-side", "--field-manager=admin", "-f", "-"],
                &managed(cluster, fleet),
            )
            .unwrap_err();
        assert!(said.contains(words), "{said}");
    }
    ground.plane.kubectl(&[
        "patch",
        "mcl",
        "m",
        "-n",
        "staying",
        "--type=merge",
        "-p",
        r#"{"spec": {"suspend": true}}"#,
    ]);
}
