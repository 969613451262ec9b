//! Services inside clusters, from a release to a pull request: offered, merged three ways, switched by an overlay, and
//! judged where they cannot be meant.

use std::time::Duration;

use capstan_forge::{Edit, MergeMethod};
use capstan_live::agent::{ClusterAnswer, PreflightAnswer, PreflightVerdict, RolloutState};

use super::sample;
use super::town::{REPOSITORY, Town};
use crate::agents::{EU, cluster, delivered, enrolled, report};

const SETTINGS: &str = "\
mode: propose
managementClusters:
- {name: mc-eu, uid: 6f1c2d3e-0000-4000-8000-000000000001, clusters: [\"gauss/*\"]}
";
const PEU01: &str = "gauss/peu01";
const AGENT: &str = "gauss/peu01/services/cilium/agent.yaml";
const RECORD: &str = "gauss/peu01/capstan.yaml";
const PEU01_POOL: &str = "gauss/peu01/base/machinepool.yaml";

const ENTRIES: &str = "\
services:
- {name: cilium, role: cni, from: {folder: services/cilium}}
- {name: metrics-server, role: metrics, from: {folder: services/metrics-server}, optional: true}
";

fn agent(version: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: cilium, namespace: kube-system}}
spec:
  selector: {{matchLabels: {{k8s-app: cilium}}}}
  template:
    metadata: {{labels: {{k8s-app: cilium}}}}
    spec:
      containers:
      - name: agent
        image: quay.io/cilium/cilium:{version}
        resources:
          limits:
            memory: 512Mi
"
    )
}

fn metrics(version: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: metrics-server, namespace: kube-system}}
spec:
  selector: {{matchLabels: {{k8s-app: metrics-server}}}}
  template:
    metadata: {{labels: {{k8s-app: metrics-server}}}}
    spec: {{containers: [{{name: server, image: \"registry.k8s.io/metrics-server/metrics-server:{version}\"}}]}}
"
    )
}

/// What a release, or a cluster, has of services.
fn services(folder: &str, entries: &str, cilium: &str, server: &str) -> Vec<Edit> {
    vec![
        Edit::write(format!("{folder}/capstan.yaml"), entries.to_owned()),
        Edit::write(format!("{folder}/services/cilium/agent.yaml"), cilium.to_owned()),
        Edit::write(format!("{folder}/services/metrics-server/server.yaml"), server.to_owned()),
    ]
}

/// Release v21.0.0 with services, and a cluster at it whose owner gave the network more memory.
async fn town(settings: &str) -> Town {
    let mut files = sample::repository(settings, &[PEU01]);
    files.extend(services("aws/v21.0.0", ENTRIES, &agent("v1.15.3"), &metrics("v0.7.2")));
    let record = format!("release: aws/v21.0.0\n{ENTRIES}");
    let own = agent("v1.15.3").replace("512Mi", "2Gi # we have large nodes");
    files.extend(services(PEU01, &record, &own, &metrics("v0.7.2")));
    Town::with(&files, None).await
}

/// Path, line, level and rule of each annotation.
fn annotated(town: &Town, number: u64) -> Vec<(String, u64, String, String)> {
    let text = |one: &serde_json::Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
    let check = town.check(number);
    let place = |one: &serde_json::Value| {
        (
            text(one, "path"),
            one["start_line"].as_u64().unwrap(),
            text(one, "annotation_level"),
            text(one, "title"),
        )
    };
    check.annotations.iter().map(place).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_moves_services_and_an_owners_edit_survives() {
    let town = town(SETTINGS).await;
    assert!(town.pulls().is_empty());
    let mut release = services("aws/v22.0.0", ENTRIES, &agent("v1.16.0"), &metrics("v0.7.2"));
    release.push(sample::release("v22.0.0", "v1.22.5"));
    town.push("main", &release);
    town.settle().await;
    // The reconciler reports the state of the machines, and accepts the proposal in its preflight.
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    town.resync().await;
    let tip = agent.fetch().await.unwrap().commit;
    agent.report(report(PEU01, &tip, RolloutState::Done, 2)).await.unwrap();
    delivered(&agent).await;
    town.settle().await;
    let pull = town.open_pulls().remove(0);
    let question = agent.work(None, Duration::ZERO).await.unwrap().preflights.remove(0);
    let taken = ClusterAnswer {
        cluster: cluster(PEU01),
        verdict: PreflightVerdict::Accepted,
        reasons: vec![],
        names: vec![],
    };
    agent.answer(&question.id, &PreflightAnswer { clusters: vec![taken], duration_ms: 1 }).await.unwrap();
    town.settle().await;
    let branch = pull.head_branch.clone();
    let own = town.file("main", AGENT);
    assert_eq!(town.file(&branch, AGENT), own.replace("v1.15.3", "v1.16.0"), "one image, and no other byte");
    let record = town.file(&branch, RECORD);
    assert!(record.starts_with("release: aws/v22.0.0\n") && record.ends_with(ENTRIES), "{record}");
    let told = "\n### Services\n\nThey run inside the cluster. After the merge they are upgraded in their own order.\n\n| Service | Role | Old | New | Edits that stay |\n|---|---|---|---|---|\n| `cilium` | cni | `1.15.3` | `1.16.0` | `DaemonSet cilium /spec/template/spec/containers/0/resources/limits/memory` |\n";
    assert!(pull.body.contains(told), "{}", pull.body);
    let check = town.check(pull.number);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{} {}", check.title, check.summary);
    let told = "\nServices inside it:\n\n- `cilium` (cni): 1 change\n\nChanges of `cilium`:\n\n1 change in 1 object\n\n| Object | Field | Old | New |\n|---|---|---|---|\n| `DaemonSet kube-system/cilium` | `/spec/template/spec/containers/0/image` | `quay.io/cilium/cilium:v1.15.3` | `quay.io/cilium/cilium:v1.16.0` |\n";
    assert!(check.summary.contains(told), "{}", check.summary);
    town.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    town.resync().await;
    assert_eq!(town.pulls().len(), 1, "nothing further");
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_overlay_switches_what_is_optional_and_nothing_else() {
    let town = town(SETTINGS).await;
    let overlay = |text: &str| Edit::write("gauss/peu01/overlay/capstan.yaml".to_owned(), text.to_owned());
    let off = town.open("ada", "off", &[overlay("services:\n- {name: metrics-server, enabled: false}\n")]);
    town.settle().await;
    let check = town.check(off);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{} {}", check.title, check.summary);
    assert_eq!(check.title, "1 change of services in 1 cluster");
    assert!(
        check.summary.contains("\nServices inside it:\n\n- `metrics-server` (metrics): it goes\n"),
        "{}",
        check.summary
    );

    let text = "hold: {reason: audit}\nservices:\n- {name: metrics-server, enabled: true}\n- {name: cilium, enabled: false}\n- {name: metrics, enabled: true}\n";
    let number = town.open("ada", "more", &[overlay(text)]);
    town.settle().await;
    let check = town.check(number);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{} {}", check.title, check.summary);
    let failure = |line| {
        let (path, level) = ("gauss/peu01/overlay/capstan.yaml".to_owned(), "failure".to_owned());
        (path, line, level, "invalid-services".to_owned())
    };
    assert_eq!(annotated(&town, number), [failure(4), failure(5)]);
    for said in
        ["`cilium` is not `optional`", "the cluster has no service `metrics`; did you mean `metrics-server`?"]
    {
        assert!(check.summary.contains(said), "{said}: {}", check.summary);
    }
    // An unknown key there is an error of the settings.
    let number = town.open(
        "ada",
        "loose",
        &[overlay("services:\n- {name: metrics-server, enabled: true, optional: true}\n")],
    );
    town.settle().await;
    assert_eq!(town.check(number).conclusion.as_deref(), Some("failure"), "{}", town.check(number).summary);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn contradicting_services_are_reported_at_their_line() {
    let town = town(SETTINGS).await;
    let record =
        |text: &str| vec![Edit::write(RECORD.to_owned(), format!("release: aws/v21.0.0\nservices:\n{text}"))];
    let cilium = "- {name: cilium, role: cni, from: {folder: services/cilium}}\n";
    let failure = |line| (RECORD.to_owned(), line, "failure".to_owned(), "invalid-services".to_owned());
    for (branch, text, line, says) in [
        (
            "two-networks",
            format!(
                "{cilium}- {{name: calico, role: cni, from: {{objects: [{{kind: HelmChartProxy, name: calico}}]}}}}\n"
            ),
            4,
            "`cilium` and `calico` both have the role cni",
        ),
        (
            "a-circle",
            format!(
                "{cilium}- name: one\n  from: {{objects: [{{kind: HelmChartProxy, name: one}}]}}\n  after: [two]\n- name: two\n  from: {{objects: [{{kind: HelmChartProxy, name: two}}]}}\n  after: [one]\n"
            ),
            6,
            "2 services wait for one another, so none of them would ever start: `one` begins after `two`, `two` begins after `one`",
        ),
        (
            "no-folder",
            format!("{cilium}- {{name: ingress, from: {{folder: services/ingres}}}}\n"),
            4,
            "there is no folder services/ingres beside base",
        ),
    ] {
        let number = town.open("ada", branch, &record(&text));
        town.settle().await;
        let check = town.check(number);
        assert_eq!(
            check.conclusion.as_deref(),
            Some("failure"),
            "{branch}: {} {}",
            check.title,
            check.summary
        );
        assert_eq!(annotated(&town, number), [failure(line)], "{branch}");
        assert!(check.summary.contains(says), "{branch}: {}", check.summary);
    }
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn for_an_unclaimed_cluster_services_are_mentioned_once_and_left_alone() {
    let town = town("mode: propose\n").await;
    let mut release = services("aws/v22.0.0", ENTRIES, &agent("v1.16.0"), &metrics("v0.8.0"));
    release.push(sample::release("v22.0.0", "v1.22.5"));
    town.push("main", &release);
    town.settle().await;
    let pull = town.open_pulls().remove(0);
    let branch = pull.head_branch.clone();
    assert_eq!(town.file(&branch, AGENT), town.file("main", AGENT), "nothing of them is written");
    let record = town.file(&branch, RECORD);
    assert!(record.starts_with("release: aws/v22.0.0\n") && record.ends_with(ENTRIES), "{record}");
    assert!(!pull.body.contains("### Services"), "{}", pull.body);
    assert_eq!(pull.body.matches("no management cluster claims this cluster").count(), 1, "{}", pull.body);
    // The finding is on the base branch already: it is counted, and the check succeeds.
    let check = town.check(pull.number);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{} {}", check.title, check.summary);
    assert!(check.summary.contains("1 finding is on the base branch already"), "{}", check.summary);
    assert!(!check.summary.contains("Services inside it"), "{}", check.summary);
    // A pull request that adds such services gets a warning at their place in `capstan.yaml`.
    let name = "gauss/peu02";
    let mut files = sample::cluster(name);
    files.push(Edit::write(format!("{name}/capstan.yaml"), format!("release: aws/v21.0.0\n{ENTRIES}")));
    files.push(Edit::write(format!("{name}/services/cilium/agent.yaml"), agent("v1.15.3")));
    files.push(Edit::write(format!("{name}/services/metrics-server/server.yaml"), metrics("v0.7.2")));
    let number = town.open("ada", "another", &files);
    town.settle().await;
    let told = annotated(&town, number);
    let warning =
        ("gauss/peu02/capstan.yaml".to_owned(), 2, "warning".to_owned(), "services-not-claimed".to_owned());
    assert_eq!(told, [warning]);
    town.done();
}

fn node(name: &str) -> String {
    agent("v3.30.1").replace("name: cilium", &format!("name: {name}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_switched_network_fails_the_check_unless_it_is_forced_and_then_says_what_it_does() {
    let town = town(SETTINGS).await;
    let calico = |more: &str| {
        let list = ENTRIES
            .replace("cilium", "calico")
            .replace("services/calico}}", &format!("services/calico}}{more}}}"));
        vec![
            Edit::write(RECORD.to_owned(), format!("release: aws/v21.0.0\n{list}")),
            Edit::write("gauss/peu01/services/calico/node.yaml".to_owned(), node("calico-node")),
            Edit::remove(AGENT.to_owned()),
        ]
    };
    let refused = town.open("ada", "switch", &calico(""));
    town.settle().await;
    let check = town.check(refused);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{} {}", check.title, check.summary);
    assert_eq!(
        annotated(&town, refused),
        [(RECORD.to_owned(), 3, "failure".to_owned(), "cni-switch".to_owned())]
    );
    assert!(check.summary.contains("`force: {from: cilium, to: calico, reason: …}`"), "{}", check.summary);

    let forced = town.open("ada", "forced", &calico(", force: {from: cilium, to: calico, reason: empty}"));
    town.settle().await;
    let check = town.check(forced);
    assert_eq!(check.conclusion.as_deref(), Some("success"), "{} {}", check.title, check.summary);
    for said in [
        "- `calico` (cni): it comes, 1 change. **Note:** the pod network changes from `cilium` to `calico`, as `force` says (empty). Pods keep the network",
        "- `cilium` (cni): it goes, 1 change. **Note:** its objects stay inside the cluster until `delete` in the cluster's capstan.yaml names it: `- {group: capstan.dev, kind: Service, name: cilium}`",
    ] {
        assert!(check.summary.contains(said), "{said}: {}", check.summary);
    }
    // By another role it is not gone.
    let entry = ENTRIES.replace("role: cni", "role: other");
    let renamed = [Edit::write(RECORD.to_owned(), format!("release: aws/v21.0.0\n{entry}"))];
    let renamed = town.open("ada", "renamed", &renamed);
    town.settle().await;
    let said = "- `cilium` (other): its entry changes. **Note:** it stays the cni of the cluster, under any role, as long as its objects are there";
    assert!(town.check(renamed).summary.contains(said), "{}", town.check(renamed).summary);
    // No setting turns it off.
    let off = town.open(
        "ada",
        "off",
        &[Edit::write(".capstan.yaml".to_owned(), format!("{SETTINGS}policy: {{cni-switch: off}}\n"))],
    );
    town.settle().await;
    assert_eq!(town.check(off).conclusion.as_deref(), Some("failure"), "{}", town.check(off).summary);
    assert!(
        town.check(off).summary.contains("`cni-switch` is always an error"),
        "{}",
        town.check(off).summary
    );
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_does_not_allow_the_coming_minor_holds_the_upgrade_back() {
    let mut files = sample::repository(SETTINGS, &[PEU01]);
    let allows = |minors: &str| {
        ENTRIES.replace(
            "from: {folder: services/cilium}}",
            &format!("from: {{folder: services/cilium}}, checks: [\"{minors}.exists(m, kubernetesVersion.startsWith(m))\"]}}"),
        )
    };
    let record = format!("release: aws/v21.0.0\n{}", allows("['v1.20.', 'v1.21.']"));
    files.extend(services(PEU01, &record, &agent("v1.15.3"), &metrics("v0.7.2")));
    let town = Town::with(&files, None).await;
    town.push("main", &[sample::release("v22.0.0", "v1.22.5")]);
    town.settle().await;
    // The reconciler reports the state of the machines.
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    town.resync().await;
    let tip = agent.fetch().await.unwrap().commit;
    agent.report(report(PEU01, &tip, RolloutState::Done, 2)).await.unwrap();
    delivered(&agent).await;
    town.settle().await;
    let pull = town.open_pulls().remove(0);
    assert!(pull.draft, "a person looks first");
    let held = "the service cilium does not allow Kubernetes v1.22.5: its check";
    assert!(pull.body.contains(held), "{}", pull.body);
    let check = town.check(pull.number);
    assert_eq!(check.conclusion.as_deref(), Some("failure"), "{} {}", check.title, check.summary);
    assert_eq!(
        annotated(&town, pull.number),
        [(RECORD.to_owned(), 4, "failure".to_owned(), "service-kubernetes".to_owned())]
    );

    // A version that allows it lets it go on.
    let record = format!("release: aws/v21.0.0\n{}", allows("['v1.21.', 'v1.22.']"));
    town.push("main", &[Edit::write(RECORD.to_owned(), record)]);
    town.settle().await;
    let pull = town.open_pulls().remove(0);
    assert!(!pull.draft && !pull.body.contains("does not allow Kubernetes"), "{}", pull.body);
    assert!(town.file(&pull.head_branch, PEU01_POOL).contains("version: v1.22.5"));
    town.done();
}
