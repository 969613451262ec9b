//! The inventory as a source of change: clusters that come, change, move and go by what it says, through the whole bot.

use capstan_forge::{CheckView, Edit, MergeMethod};
use capstan_ports::{ClusterFilter, ListExtent, PageRecords as _, VisibleRepositories};

use super::town::{REPOSITORY, Town};

pub(super) const SETTINGS: &str = "\
mode: propose
dashboard: {enabled: false}
inventory: {path: inventory}
";
const CLAIMED: &str = "managementClusters:\n  - {name: mc-eu, uid: 6f1c0000-0000-0000-0000-000000000000, clusters: [\"acme/*\"]}\n";
pub(super) const LEVELS: &str = "\
apiVersion: capstan.dev/v1alpha1
kind: Inventory
metadata: {name: inventory}
spec:
  levels: [Environment, Site]
  folder: acme/{name}
";

pub(super) fn level(kind: &str, name: &str, spec: &str) -> Edit {
    Edit::write(
        format!("inventory/{}-{name}.yaml", kind.to_lowercase()),
        format!("apiVersion: capstan.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec:\n{spec}"),
    )
}

pub(super) fn environment(name: &str, release: &str, replicas: u32) -> Edit {
    level("Environment", name, &format!("  release: {release}\n  values: {{replicas: {replicas}}}\n"))
}

pub(super) fn site(name: &str, pods: &str) -> Edit {
    level("Site", name, &format!("  values: {{network: {{pods: {pods}}}}}\n"))
}

pub(super) fn definition(name: &str, environment: &str, site: &str) -> Edit {
    level("ClusterDefinition", name, &format!("  in: {{environment: {environment}, site: {site}}}\n"))
}

/// A release with a version of Kubernetes by default.
pub(super) fn release(version: &str, kubernetes: &str) -> Vec<Edit> {
    let folder = format!("openstack/{version}");
    vec![
        Edit::write(
            format!("{folder}/schema.yaml"),
            format!(
                "type: object
required: [network]
properties:
  kubernetes: {{type: object, default: {{}}, properties: {{version: {{type: string, default: {kubernetes}}}}}}}
  network: {{type: object, required: [pods], properties: {{pods: {{type: string}}, note: {{type: string}}}}}}
  replicas: {{type: integer, default: 1}}
  flavor: {{type: string, default: small}}
"
            ),
        ),
        Edit::write(
            format!("{folder}/templates/cluster.yaml"),
            "# Made from the inventory.
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: {{ cluster.name }}
  namespace: org-acme
spec:
  clusterNetwork:
    pods:
      cidrBlocks:
      - {{ network.pods }}
",
        ),
        Edit::write(
            format!("{folder}/templates/workers.yaml"),
            "apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata:
  name: {{ cluster.name }}-md-0
  namespace: org-acme
spec:
  clusterName: {{ cluster.name }}
  replicas: {{ replicas }}
  template:
    spec:
      clusterName: {{ cluster.name }}
      version: {{ kubernetes.version }}
      bootstrap:
        dataSecretName: {{ cluster.name }}-bootstrap
      infrastructureRef:
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
        kind: OpenStackMachineTemplate
        name: {{ cluster.name }}-md-0
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachineTemplate
metadata:
  name: {{ cluster.name }}-md-0
  namespace: org-acme
spec:
  template:
    spec:
      flavor: {{ flavor }}
",
        ),
    ]
}

/// Two clusters, defined and not made yet.
pub(super) async fn town() -> Town {
    let mut files = vec![
        Edit::write(".capstan.yaml", SETTINGS),
        Edit::write("inventory/inventory.yaml", LEVELS),
        environment("prod", "openstack/v1.4.0", 3),
        environment("dev", "openstack/v1.4.0", 1),
        site("fra1", "10.1.0.0/16"),
        site("ber1", "10.2.0.0/16"),
        definition("peu01", "prod", "fra1"),
        definition("peu02", "dev", "fra1"),
    ];
    files.extend(release("v1.4.0", "v1.32.1"));
    Town::with(&files, None).await
}

pub(super) fn branch(kind: &str, cluster: &str) -> String {
    format!("capstan/{kind}/acme/{cluster}")
}

pub(super) fn heads(town: &Town) -> Vec<String> {
    town.open_pulls().into_iter().map(|pull| pull.head_branch).collect()
}

pub(super) async fn merge_all(town: &Town) {
    for pull in town.open_pulls() {
        town.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Squash).unwrap();
    }
    town.settle().await;
}

/// Both clusters, made and merged.
pub(super) async fn made() -> Town {
    let town = town().await;
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01"), branch("inventory", "peu02")]);
    merge_all(&town).await;
    assert_eq!(heads(&town), Vec::<String>::new());
    town
}

/// The state of what the inventory brings to a cluster, and the reason.
pub(super) async fn brought(town: &Town, cluster: &str) -> (String, String) {
    let all = ListExtent { skip: 0, take: u32::MAX };
    let targets = town
        .database()
        .targets(&VisibleRepositories::Everything, &ClusterFilter::default(), all)
        .await
        .unwrap();
    let found = targets.into_iter().find(|row| row.target == cluster && row.kind == "inventory").unwrap();
    (found.state, found.reason)
}

/// File, line and message of the annotation of a rule.
pub(super) fn annotated(check: &CheckView, rule: &str) -> Option<(String, u64, String)> {
    let found = check.annotations.iter().find(|one| one["title"] == rule)?;
    let text = |key: &str| found[key].as_str().unwrap().to_owned();
    Some((text("path"), found["start_line"].as_u64().unwrap(), text("message")))
}

pub(super) fn line(text: &str, line: &str) -> bool {
    text.lines().any(|known| known.trim() == line)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_without_a_folder_becomes_a_proposal_with_the_folder() {
    let town = town().await;
    town.settle().await;
    let pulls = town.open_pulls();
    let titles: Vec<&str> = pulls.iter().map(|pull| pull.title.as_str()).collect();
    assert_eq!(titles, ["Create acme/peu01 from the inventory", "Create acme/peu02 from the inventory"]);
    let head = branch("inventory", "peu01");
    assert_eq!(
        town.file(&head, "acme/peu01/base/cluster.yaml"),
        "# Made from the inventory.
apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata:
  name: peu01
  namespace: org-acme
spec:
  clusterNetwork:
    pods:
      cidrBlocks:
      - 10.1.0.0/16
"
    );
    let workers = town.file(&head, "acme/peu01/base/workers.yaml");
    for expected in ["replicas: 3", "version: v1.32.1", "flavor: small"] {
        assert!(line(&workers, expected), "{expected}\n{workers}");
    }
    let record = town.file(&head, "acme/peu01/capstan-values.yaml");
    for expected in
        ["definition: peu01", "environment: prod", "site: fra1", "pods: 10.1.0.0/16", "replicas: 3"]
    {
        assert!(line(&record, expected), "{expected}\n{record}");
    }
    assert!(line(&town.file(&head, "acme/peu01/capstan.yaml"), "release: openstack/v1.4.0"));
    let commit = &town.forge.commits(REPOSITORY, &head).unwrap()[0];
    let digest = record.lines().find_map(|line| line.strip_prefix("digest: ")).unwrap();
    let source = commit.message.lines().find_map(|line| line.strip_prefix("Capstan-Source: ")).unwrap();
    assert!(
        source.starts_with("openstack/v1.4.0@") && source.ends_with(&format!("+{}", &digest[..16])),
        "{source} {digest}"
    );
    assert!(
        pulls[0].body.contains("The inventory defines `acme/peu01`, which has no folder yet."),
        "{}",
        pulls[0].body
    );
    assert_eq!(town.check(pulls[0].number).conclusion.as_deref(), Some("success"));

    merge_all(&town).await;
    assert_eq!(heads(&town), Vec::<String>::new(), "what was made is what is said");
    let before = town.forge.count_requests(|call| call.method != "GET" && call.path.contains("/git/"));
    town.resync().await;
    let after = town.forge.count_requests(|call| call.method != "GET" && call.path.contains("/git/"));
    assert_eq!(before, after, "nothing moved: nothing is written");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_reaches_the_clusters_it_concerns_and_no_hand_edit_is_lost() {
    let town = made().await;
    // peu02's people chose a flavor, and wrote a comment.
    let workers = town.file("main", "acme/peu02/base/workers.yaml");
    let mine = workers.replace("flavor: small", "flavor: large # ours").replace("replicas: 1", "replicas: 7");
    town.push("main", &[Edit::write("acme/peu02/base/workers.yaml", mine)]);
    town.settle().await;
    assert_eq!(heads(&town), Vec::<String>::new());

    // A value that no template reads changes no render: no proposal, no record.
    town.push("main", &[level("Site", "fra1", "  values: {network: {pods: 10.1.0.0/16, note: racks}}\n")]);
    town.settle().await;
    assert_eq!(heads(&town), Vec::<String>::new());

    town.push("main", &[environment("dev", "openstack/v1.4.0", 2), site("ber1", "10.9.0.0/16")]);
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu02")], "dev is peu02's alone, ber1 nobody's");
    let pull = town.open_pulls().remove(0);
    assert_eq!(pull.title, "Update acme/peu02 from the inventory");
    // The cluster scaled by itself, and the inventory says something else: the cluster's value stays, and is shown.
    assert!(pull.body.contains("### Conflicts, and how they were settled"), "{}", pull.body);
    let head = branch("inventory", "peu02");
    let written = town.file(&head, "acme/peu02/base/workers.yaml");
    assert!(line(&written, "replicas: 7") && line(&written, "flavor: large # ours"), "{written}");
    let record = town.file(&head, "acme/peu02/capstan-values.yaml");
    assert!(line(&record, "replicas: 2") && line(&record, "note: racks"), "{record}");

    // A command on the pull request takes the inventory's value.
    town.comment(pull.number, "ada", "/capstan take /spec/replicas").await;
    let written = town.file(&head, "acme/peu02/base/workers.yaml");
    assert!(line(&written, "replicas: 2") && line(&written, "flavor: large # ours"), "{written}");
    merge_all(&town).await;
    assert_eq!(heads(&town), Vec::<String>::new());

    // Declined: not offered again, whatever else changes; another value is.
    town.push("main", &[environment("dev", "openstack/v1.4.0", 5)]);
    town.settle().await;
    let number = town.open_pulls()[0].number;
    town.forge.close(REPOSITORY, number, "ada").unwrap();
    town.settle().await;
    town.resync().await;
    assert_eq!(heads(&town), Vec::<String>::new());
    town.push("main", &[environment("dev", "openstack/v1.4.0", 6)]);
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu02")]);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_rotates_and_the_body_says_where_the_value_comes_from() {
    let town = made().await;
    town.push(
        "main",
        &[level(
            "Environment",
            "prod",
            "  release: openstack/v1.4.0\n  values: {replicas: 3, flavor: large}\n",
        )],
    );
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01")]);
    let pull = town.open_pulls().remove(0);
    let written = town.file(&branch("inventory", "peu01"), "acme/peu01/base/workers.yaml");
    assert!(line(&written, "flavor: large"), "{written}");
    // The file keeps its name where the reconciler names the templates. The body shows each change with its origin.
    let origin = "the inventory changes it: Environment prod in `inventory/environment-prod.yaml:6:33` |";
    assert!(pull.body.contains(origin), "{}", pull.body);
    assert!(pull.body.contains("It belongs to `Environment prod`, `Site fra1`."), "{}", pull.body);
    assert!(pull.body.contains("MachineDeployment"), "{}", pull.body);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_raised_in_one_environment_is_proposed_there_one_minor_at_a_time_and_never_mixed() {
    let town = made().await;
    let mut releases = release("v1.5.0", "v1.33.0");
    releases.extend(release("v1.6.0", "v1.34.0"));
    town.push("main", &releases);
    town.settle().await;
    assert_eq!(heads(&town), Vec::<String>::new(), "the levels ask for v1.4.0");

    // Both at once: another release and another value.
    town.push("main", &[environment("prod", "openstack/v1.6.0", 5)]);
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01"), branch("upgrade", "peu01")]);
    let values = town.file(&branch("inventory", "peu01"), "acme/peu01/base/workers.yaml");
    assert!(line(&values, "replicas: 5") && line(&values, "version: v1.32.1"), "{values}");
    let step = town.file(&branch("upgrade", "peu01"), "acme/peu01/base/workers.yaml");
    assert!(line(&step, "replicas: 3") && line(&step, "version: v1.33.0"), "{step}");
    let record = town.file(&branch("upgrade", "peu01"), "acme/peu01/capstan-values.yaml");
    assert!(line(&record, "replicas: 3") && line(&record, "version: v1.33.0"), "{record}");
    assert!(line(
        &town.file(&branch("upgrade", "peu01"), "acme/peu01/capstan.yaml"),
        "release: openstack/v1.5.0"
    ));

    // After one is merged, Capstan replans the other.
    let pulls = town.open_pulls();
    let of = |kind: &str| pulls.iter().find(|pull| pull.head_branch == branch(kind, "peu01")).unwrap().number;
    town.forge.merge_pull(REPOSITORY, of("upgrade"), "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    let values = town.file(&branch("inventory", "peu01"), "acme/peu01/base/workers.yaml");
    assert!(line(&values, "replicas: 5") && line(&values, "version: v1.33.0"), "{values}");
    town.forge.merge_pull(REPOSITORY, of("inventory"), "ada", MergeMethod::Squash).unwrap();
    town.settle().await;
    let main = town.file("main", "acme/peu01/base/workers.yaml");
    assert!(line(&main, "replicas: 5") && line(&main, "version: v1.33.0"), "{main}");
    // No reconciler reports, so the next step is offered at once.
    assert_eq!(heads(&town), [branch("upgrade", "peu01")]);
    let step = town.file(&branch("upgrade", "peu01"), "acme/peu01/base/workers.yaml");
    assert!(line(&step, "replicas: 5") && line(&step, "version: v1.34.0"), "{step}");
    merge_all(&town).await;
    assert_eq!(heads(&town), Vec::<String>::new(), "it is where the inventory wants it");
    // The other environment was left alone.
    assert!(line(&town.file("main", "acme/peu02/base/workers.yaml"), "version: v1.32.1"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_moves_to_another_site_keeps_its_folder_and_its_objects() {
    let town = made().await;
    town.push("main", &[definition("peu01", "prod", "ber1")]);
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01")]);
    let before = town.forge.files(REPOSITORY, "main").unwrap();
    let after = town.forge.files(REPOSITORY, &branch("inventory", "peu01")).unwrap();
    let paths =
        |files: &std::collections::BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(&before), paths(&after), "no file comes or goes");
    let cluster = town.file(&branch("inventory", "peu01"), "acme/peu01/base/cluster.yaml");
    assert!(line(&cluster, "- 10.2.0.0/16") && line(&cluster, "name: peu01"), "{cluster}");
    let record = town.file(&branch("inventory", "peu01"), "acme/peu01/capstan-values.yaml");
    assert!(line(&record, "site: ber1"), "{record}");

    // Also where the pattern would put it elsewhere now: the recorded folder wins.
    town.push(
        "main",
        &[Edit::write("inventory/inventory.yaml", LEVELS.replace("acme/{name}", "{site}/{name}"))],
    );
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01")]);
    merge_all(&town).await;
    assert_eq!(heads(&town), Vec::<String>::new());
    assert!(line(&town.file("main", "acme/peu01/base/cluster.yaml"), "- 10.2.0.0/16"));
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_definition_that_says_so_has_its_cluster_deleted() {
    let town = made().await;
    let untouched = |town: &Town| {
        let files = town.forge.files(REPOSITORY, "main").unwrap();
        assert!(files.contains_key("acme/peu01/base/cluster.yaml"));
        assert_eq!(heads(town), Vec::<String>::new());
    };
    // Gone, empty, unreadable: nothing is proposed, nothing deleted.
    town.push("main", &[Edit::remove("inventory/clusterdefinition-peu01.yaml")]);
    town.settle().await;
    untouched(&town);
    let state = town.standing("acme/peu01").await;
    assert!(
        state.1.contains("was made from the definition peu01, but the inventory no longer defines it"),
        "{state:?}"
    );
    town.push("main", &[Edit::write("inventory/clusterdefinition-peu01.yaml", "kind: [\n")]);
    town.settle().await;
    untouched(&town);
    let state = town.standing("acme/peu02").await;
    assert!(state.1.contains("the inventory cannot be read as a whole"), "{state:?}");

    let retire =
        level("ClusterDefinition", "peu01", "  in: {environment: prod, site: fra1}\n  retire: true\n");
    town.push("main", &[retire]);
    town.settle().await;
    // Only a management cluster that applies the folder deletes the cluster: without one, a tombstone would do nothing.
    untouched(&town);
    let state = brought(&town, "acme/peu01").await;
    assert!(state.0 == "blocked" && state.1.contains("no management cluster claims acme/peu01"), "{state:?}");
    town.push("main", &[Edit::write(".capstan.yaml", format!("{SETTINGS}{CLAIMED}"))]);
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01")]);
    let pull = town.open_pulls().remove(0);
    assert_eq!(pull.title, "Retire acme/peu01: its definition says so");
    let settings = town.file(&pull.head_branch, "acme/peu01/capstan.yaml");
    assert!(line(&settings, "delete: cluster"), "{settings}");
    let main = town.forge.files(REPOSITORY, "main").unwrap();
    let head = town.forge.files(REPOSITORY, &pull.head_branch).unwrap();
    let differing: Vec<&String> =
        main.iter().filter(|(path, text)| head.get(*path) != Some(text)).map(|(path, _)| path).collect();
    assert_eq!(differing, ["acme/peu01/capstan.yaml"], "only the tombstone");
    assert_eq!(town.check(pull.number).conclusion.as_deref(), Some("success"));
    merge_all(&town).await;
    assert_eq!(heads(&town), Vec::<String>::new());
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_was_edited_blocks_until_it_is_what_it_was() {
    let town = made().await;
    let record = town.file("main", "acme/peu01/capstan-values.yaml");
    let fits_in = town.forge.commits(REPOSITORY, "main").unwrap()[0].id.clone();
    town.push(
        "main",
        &[Edit::write("acme/peu01/capstan-values.yaml", record.replace("replicas: 3", "replicas: 4"))],
    );
    town.push("main", &[environment("prod", "openstack/v1.4.0", 9)]);
    town.settle().await;
    assert_eq!(heads(&town), Vec::<String>::new());
    let state = brought(&town, "acme/peu01").await;
    assert_eq!(state.0, "blocked", "{state:?}");
    assert!(
        state.1.contains("acme/peu01/capstan-values.yaml") && state.1.contains("the digest does not match"),
        "{state:?}"
    );
    let (commit, path) = (&fits_in[..12], "acme/peu01/capstan-values.yaml");
    assert!(
        state.1.contains(&format!(
            "The last commit with the text that Capstan wrote is {commit}: `git checkout {commit} -- {path}`"
        )),
        "{state:?}"
    );
    // The page does not also show the cluster as current.
    assert_eq!(town.standing("acme/peu01").await.0, "blocked");
    assert_eq!(town.standing("acme/peu02").await.0, "current");
    assert!(!town.page("/?state=current").await.contains("acme/peu01"));
    let page = town.page("/?state=blocked").await;
    assert!(
        page.contains(">acme/peu01</a><span class=\"quiet\">inventory</span>")
            && page.contains("Clusters 1 to 1 of 1"),
        "{page}"
    );
    let asks = "/capstan status for acme/peu01";
    let issue = town.forge.open_issue(REPOSITORY, "ada", "How is it?", asks).unwrap();
    town.settle().await;
    let answer = town.answers(issue).pop().unwrap();
    assert!(answer.contains("`acme/peu01`, inventory\n") && answer.contains("**blocked**: "), "{answer}");
    assert!(!answer.contains("**current**"), "{answer}");
    town.push("main", &[Edit::write("acme/peu01/capstan-values.yaml", record)]);
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01")]);
    merge_all(&town).await;
    assert_eq!(town.standing("acme/peu01").await.0, "current");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_made_by_hand_is_recorded_where_it_fits() {
    let town = made().await;
    // A person lost the record. The base has all values of the inventory.
    let note = level("Site", "fra1", "  values: {network: {pods: 10.1.0.0/16, note: racks}}\n");
    town.push("main", &[Edit::remove("acme/peu01/capstan-values.yaml"), note]);
    town.settle().await;
    assert_eq!(heads(&town), [branch("inventory", "peu01")]);
    let pull = town.open_pulls().remove(0);
    assert_eq!(
        (pull.title.as_str(), pull.draft),
        ("Record the values of acme/peu01 from the inventory", false)
    );
    merge_all(&town).await;
    assert_eq!(heads(&town), Vec::<String>::new());
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pull_request_that_touches_the_inventory_names_the_clusters_it_reaches() {
    let town = made().await;
    let open = |branch: &str, edits: &[Edit]| town.open("ada", branch, edits);
    let flavor = "  release: openstack/v1.4.0\n  values: {replicas: 3, flavor: large}\n";
    let reach = open("large", &[level("Environment", "prod", flavor)]);
    let nobody = open("nobody", &[site("ber1", "10.8.0.0/16")]);
    let note =
        open("note", &[level("Site", "fra1", "  values: {network: {pods: 10.1.0.0/16, note: racks}}\n")]);
    let wrong = open(
        "wrong",
        &[level(
            "Environment",
            "prod",
            "  release: openstack/v1.4.0\n  values: {replicas: many, flavour: large}\n",
        )],
    );
    let gone = open("gone", &[Edit::remove("inventory/clusterdefinition-peu02.yaml")]);
    let mut edited = release("v1.4.0", "v1.32.1");
    edited.retain(|edit| matches!(edit, Edit::Write { path, .. } if path.ends_with("workers.yaml")));
    let Edit::Write { path, content } = edited.remove(0) else { panic!("a template is written") };
    let template = String::from_utf8(content)
        .unwrap()
        .replace("flavor: {{ flavor }}", "flavor: {{ flavor }}\n      rootVolume: {sizeGiB: 50}");
    let release = open("template", &[Edit::write(path, template)]);
    town.settle().await;

    let check = town.check(reach);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{check:?}");
    let title = check.title.clone();
    assert!(title.starts_with("The inventory: 1 of 2 clusters changes, 1 rolls 3 machines"), "{title}");
    let summary = check.summary.clone();
    for expected in [
        "- `Environment prod`: 1 of 1 cluster changes, 1 rolls 3 machines",
        "- `Site fra1`: 1 of 2 clusters changes, 1 rolls 3 machines",
        "**`acme/peu01`**: other values under `openstack/v1.4.0`",
        "After the merge this cluster gets a proposal of its own, within the limits of `upgrade.proposals`.",
    ] {
        assert!(line(&summary, expected), "{expected}\n{summary}");
    }
    // What changes is a diff, with the place that it comes from.
    let diff = "```diff
# acme/peu01/base/workers.yaml
@@ line 18, MachineDeployment org-acme/peu01-md-0 /spec/template/spec/infrastructureRef/name @@
-peu01-md-0
+peu01-md-0-3b127a06
@@ line 23, OpenStackMachineTemplate org-acme/peu01-md-0 /metadata/name @@
-peu01-md-0
+peu01-md-0-3b127a06
@@ line 28, OpenStackMachineTemplate org-acme/peu01-md-0 /spec/template/spec/flavor @@
# Environment prod in inventory/environment-prod.yaml:6:33
-small
+large
```";
    assert!(summary.contains(diff), "{summary}");

    for number in [nobody, note] {
        let check = town.check(number);
        assert_eq!(check.conclusion.as_deref(), Some("success"), "{check:?}");
    }
    let summary = town.check(note).summary;
    assert!(
        line(&summary, "0 of 2 clusters change, no machine is replaced.")
            && !summary.contains("After the merge")
    );

    let check = town.check(wrong);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{check:?}");
    for rule in ["inventory-type", "inventory-unknown-value"] {
        let found = annotated(&check, rule).unwrap();
        assert_eq!((found.0.as_str(), found.1), ("inventory/environment-prod.yaml", 6), "{rule}");
    }
    assert!(check.summary.contains("Cannot be planned:\n\n- `acme/peu01`"));
    assert!(
        line(&check.summary, "After the merge it gets no proposal until the blocking errors are fixed."),
        "{check:?}"
    );

    let check = town.check(gone);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{check:?}");
    assert!(annotated(&check, "definition-removed").is_some(), "{check:?}");

    // A template that both clusters are made of: offered to both as a refresh of their release.
    let check = town.check(release);
    assert!(line(&check.summary, "2 of 2 clusters change, 2 roll 4 machines."), "{check:?}");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_beyond_the_limits_fails_and_one_that_is_within_passes() {
    let town = made().await;
    let limited =
        SETTINGS.replace("{path: inventory}", "{path: inventory, limits: {clusters: 1, machines: 2}}");
    town.push("main", &[Edit::write(".capstan.yaml", limited)]);
    let both = town.open("ada", "both", &[site("fra1", "10.7.0.0/16")]);
    let one = town.open("ada", "one", &[environment("dev", "openstack/v1.4.0", 4)]);
    let large = |replicas: u32| {
        level(
            "Environment",
            "prod",
            &format!("  release: openstack/v1.4.0\n  values: {{replicas: {replicas}, flavor: large}}\n"),
        )
    };
    let machines = town.open("ada", "machines", &[large(3)]);
    town.settle().await;
    let reach = |number: u64| {
        let check = town.check(number);
        let found = annotated(&check, "inventory-reach");
        (check.conclusion.unwrap(), found)
    };
    let (conclusion, found) = reach(both);
    let (path, at, message) = found.unwrap();
    assert_eq!((conclusion.as_str(), path.as_str(), at), ("failure", "inventory/site-fra1.yaml", 1));
    assert!(message.contains("2 clusters change and 1 may"), "{message}");
    assert_eq!(reach(one), ("success".to_owned(), None));
    let (conclusion, found) = reach(machines);
    assert!(conclusion == "failure" && found.unwrap().2.contains("3 machines are replaced and 2 may"));
    town.done();
}
