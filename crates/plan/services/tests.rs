//! Services from release to release: two releases, a cluster, and what becomes of its files.

use super::*;
use crate::cluster::Cluster;
use crate::layout::discover;
use crate::merge::{AppliedBy, ClusterFacts, SourceFile};
use crate::release::Catalogue;
use crate::settings::{ConflictPolicy, RepositorySettings};
use crate::upgrade::{MergeSettings, PlannedUpgrade, ServiceChange, ServiceCourse, Upgrade};
use capstan_kustomize::schema::Schemas;
use capstan_model::target::TargetKind;
use capstan_model::tree::Tree;
use capstan_test_support::Files;

const CLUSTER: &str =
    "apiVersion: cluster.x-k8s.io/v1beta2\nkind: Cluster\nmetadata: {name: peu01, namespace: org}\n";

fn agent(image: &str, more: &str) -> String {
    format!(
        "\
apiVersion: apps/v1
kind: DaemonSet
metadata: {{name: cilium, namespace: kube-system}}
spec:
  template:
    spec:
      containers:
        - name: agent
          image: quay.io/cilium/cilium:{image}
          resources:
            limits:
              memory: 512Mi
{more}"
    )
}

/// The plan of `peu01` from v21 to v22.
fn planned(files: &[(&str, &str)], conflicts: ConflictPolicy) -> (PlannedUpgrade, Files) {
    let tree = Files::new(files);
    let settings = RepositorySettings::default();
    let layout = discover(&tree, &settings);
    assert_eq!(layout.problems, []);
    let folder = layout.target("peu01").unwrap();
    let cluster = Cluster::read(&tree, folder).unwrap();
    let catalogue = Catalogue::read(&tree, &layout);
    let [old, new] = ["aws/v21.0.0", "aws/v22.0.0"].map(|id| {
        let release = catalogue.releases().iter().find(|release| release.id.as_str() == id).unwrap();
        ReleaseServices::read(&tree, release, Schemas::built_in()).unwrap()
    });
    let record = folder.settings.as_ref().map(|entry| {
        let bytes = tree.read(entry).unwrap();
        SourceFile::new(entry.path.clone(), std::str::from_utf8(&bytes).unwrap())
    });
    let facts = ClusterFacts {
        id: cluster.id.clone(),
        kind: TargetKind::Cluster,
        base_folder: folder.base.clone(),
        base: cluster
            .base
            .iter()
            .map(|one| SourceFile::parsed(one.entry.path.clone(), one.file.clone()))
            .collect(),
        contents: Vec::new(),
        overlay: Vec::new(),
        record,
        variables: [("POD_CIDR".to_owned(), "10.0.0.0/16".to_owned())].into(),
        flux: Default::default(),
        release: None,
        applied: AppliedBy::Reconciler,
        classes_used_elsewhere: Vec::new(),
    };
    let services = ServiceFacts::read(&tree, folder, &[&old, &new]).unwrap();
    let settings = MergeSettings { conflicts, ..MergeSettings::default() };
    let step = ServicesStep {
        cluster: &facts,
        services: &services,
        old: Some(&old),
        new: &new,
        settings: &settings,
        schemas: Schemas::built_in(),
    };
    let upgrade = Upgrade::nothing(folder.target());
    let mut planned =
        PlannedUpgrade { upgrade, intended: Vec::new(), rotated: Vec::new(), provenance: Default::default() };
    plan_services(&step, &mut planned).unwrap();
    (planned, tree)
}

/// Two releases and a cluster: files below `aws/v21.0.0`, `aws/v22.0.0` and `peu01`.
fn upgraded(old: &[(&str, &str)], new: &[(&str, &str)], own: &[(&str, &str)]) -> PlannedUpgrade {
    upgraded_with(old, new, own, ConflictPolicy::Keep)
}

fn upgraded_with(
    old: &[(&str, &str)],
    new: &[(&str, &str)],
    own: &[(&str, &str)],
    conflicts: ConflictPolicy,
) -> PlannedUpgrade {
    let below = |folder: &str, files: &[(&str, &str)]| -> Vec<(String, String)> {
        let base = ("base/cluster.yaml", CLUSTER);
        let all = files.iter().chain([&base]);
        all.map(|(path, text)| (format!("{folder}/{path}"), (*text).to_owned())).collect()
    };
    let files = [below("aws/v21.0.0", old), below("aws/v22.0.0", new), below("peu01", own)].concat();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    planned(&files, conflicts).0
}

fn after<'p>(planned: &'p PlannedUpgrade, path: &str) -> Option<&'p str> {
    let change = planned.intended.iter().find(|change| change.path.as_str() == path)?;
    change.after.as_deref()
}

fn files(planned: &PlannedUpgrade) -> Vec<String> {
    let word = |change: &capstan_model::file_change::FileChange| match (&change.before, &change.after) {
        (None, _) => "add",
        (_, None) => "remove",
        _ => "modify",
    };
    planned.intended.iter().map(|change| format!("{} {}", word(change), change.path)).collect()
}

const ENTRY: &str = "services:\n  - {name: cilium, role: cni, from: {folder: services/cilium}}\n";

#[test]
fn a_service_moves_and_what_somebody_edited_of_it_survives() {
    let (old, new) = (agent("v1.15.3", ""), agent("v1.16.0", ""));
    let edited =
        old.replace("512Mi", "2Gi # we have large nodes") + "      tolerations: [{operator: Exists}]\n";
    let planned = upgraded(
        &[("services/cilium/agent.yaml", &old), ("capstan.yaml", ENTRY)],
        &[("services/cilium/agent.yaml", &new), ("capstan.yaml", ENTRY)],
        &[("services/cilium/agent.yaml", &edited), ("capstan.yaml", ENTRY)],
    );
    assert_eq!(files(&planned), ["modify peu01/services/cilium/agent.yaml"]);
    let text = after(&planned, "peu01/services/cilium/agent.yaml").unwrap();
    assert_eq!(text, edited.replace("v1.15.3", "v1.16.0"), "one image, and no other byte");
    let [service] = planned.upgrade.services.as_slice() else { panic!("{:?}", planned.upgrade.services) };
    let ServiceChange { name, course, from, to, kept, .. } = service;
    assert_eq!((name.as_str(), *course), ("cilium", ServiceCourse::Modify));
    assert_eq!(
        (service.role.to_string(), from.as_deref(), to.as_deref()),
        ("cni".to_owned(), Some("1.15.3"), Some("1.16.0"))
    );
    let kept: Vec<String> = kept.iter().map(|edit| format!("{} {}", edit.object, edit.path)).collect();
    assert_eq!(
        kept,
        [
            "DaemonSet kube-system/cilium /spec/template/spec/containers/0/resources/limits/memory",
            "DaemonSet kube-system/cilium /spec/template/spec/tolerations",
        ]
    );
    let changes: Vec<String> =
        planned.upgrade.changes.iter().map(|change| format!("{} {}", change.place, change.path)).collect();
    assert_eq!(changes, ["peu01/services/cilium/agent.yaml:9 /spec/template/spec/containers/0/image"]);
    assert!(planned.upgrade.conflicts.is_empty() && planned.upgrade.blocked.is_empty());
}

#[test]
fn what_both_changed_is_a_conflict() {
    let old = agent("v1.15.3", "");
    let (new, own) = (old.replace("512Mi", "1Gi"), old.replace("512Mi", "2Gi"));
    for (policy, expected, blocks) in [
        (ConflictPolicy::Keep, None, false),
        (ConflictPolicy::Take, Some("1Gi"), false),
        (ConflictPolicy::Block, None, true),
    ] {
        let planned = upgraded_with(
            &[("services/cilium/agent.yaml", &old)],
            &[("services/cilium/agent.yaml", &new)],
            &[("services/cilium/agent.yaml", &own)],
            policy,
        );
        let [conflict] = planned.upgrade.conflicts.as_slice() else { panic!("{policy:?}") };
        assert_eq!(conflict.path.to_string(), "/spec/template/spec/containers/0/resources/limits/memory");
        let text = after(&planned, "peu01/services/cilium/agent.yaml");
        assert_eq!(text.map(|text| text.contains("memory: 1Gi")), expected.map(|_| true), "{policy:?}");
        let blocked = planned.upgrade.blocked.first();
        assert_eq!(blocked.is_some_and(|why| why.starts_with("Service cilium: ")), blocks, "{blocked:?}");
    }
}

#[test]
fn a_release_brings_a_service_and_takes_one_away() {
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cilium, namespace: kube-system}\ndata: {cidr: \"${POD_CIDR}\"}\n";
    let entries = |names: &[&str]| {
        let entry = |name: &&str| format!("- {{name: {name}, from: {{folder: services/{name}}}}}\n");
        format!("services:\n{}", names.iter().map(entry).collect::<String>())
    };
    let tools = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tools, namespace: tools}\n";
    let own = format!("track: minor # as the customer wants it\n{}", entries(&["tools", "own"]));
    let planned = upgraded(
        &[("services/tools/a.yaml", tools), ("capstan.yaml", &entries(&["tools"]))],
        &[
            ("services/cilium/agent.yaml", &agent("v1.16.0", "")),
            ("services/cilium/config.yaml", config),
            ("capstan.yaml", &entries(&["cilium"])),
        ],
        &[("services/tools/a.yaml", tools), ("services/own/a.yaml", tools), ("capstan.yaml", &own)],
    );
    assert_eq!(
        files(&planned),
        [
            "modify peu01/capstan.yaml",
            "add peu01/services/cilium/agent.yaml",
            "add peu01/services/cilium/config.yaml",
            "remove peu01/services/tools/a.yaml",
        ]
    );
    assert_eq!(
        after(&planned, "peu01/capstan.yaml").unwrap(),
        "track: minor # as the customer wants it\nservices:\n- {name: own, from: {folder: services/own}}\n- name: cilium\n  from:\n    folder: services/cilium\n"
    );
    let config = after(&planned, "peu01/services/cilium/config.yaml").unwrap();
    assert!(config.contains("10.0.0.0/16"), "{config}");
    let told: Vec<(String, ServiceCourse)> =
        planned.upgrade.services.iter().map(|one| (one.name.clone(), one.course)).collect();
    assert_eq!(
        told,
        [("cilium".to_owned(), ServiceCourse::Add), ("tools".to_owned(), ServiceCourse::Remove)]
    );
    assert_eq!(planned.upgrade.blocked, Vec::<String>::new());
}

#[test]
fn an_edited_object_that_a_release_drops_stays_and_is_reported() {
    let old =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tools, namespace: tools}\ndata: {a: \"1\"}\n";
    let own = old.replace("\"1\"", "\"2\"");
    let planned = upgraded(&[("services/tools/a.yaml", old)], &[], &[("services/tools/a.yaml", &own)]);
    assert_eq!(files(&planned), Vec::<String>::new());
    let [conflict] = planned.upgrade.conflicts.as_slice() else { panic!("{:?}", planned.upgrade.conflicts) };
    assert_eq!(
        (conflict.object.to_string().as_str(), conflict.path.to_string().as_str()),
        ("ConfigMap tools/tools", "")
    );
}

/// The same identity in base and in a service, and in two services, is as many objects.
#[test]
fn an_object_of_a_service_is_not_in_base() {
    let map = |value: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a, namespace: kube-system}}\ndata: {{a: {value}}}\n"
        )
    };
    let (one, two, three) = (map("one"), map("two"), map("three"));
    let planned = upgraded(
        &[("services/x/a.yaml", &one), ("services/y/a.yaml", &one)],
        &[("services/x/a.yaml", &two), ("services/y/a.yaml", &three)],
        &[("base/a.yaml", &one), ("services/x/a.yaml", &one), ("services/y/a.yaml", &one)],
    );
    assert_eq!(files(&planned), ["modify peu01/services/x/a.yaml", "modify peu01/services/y/a.yaml"]);
    assert_eq!(after(&planned, "peu01/services/x/a.yaml"), Some(two.as_str()));
    assert_eq!(after(&planned, "peu01/services/y/a.yaml"), Some(three.as_str()));
}

#[test]
fn entries_of_capstan_yaml_merge_key_by_key() {
    let entry = |more: &str| {
        format!("services:\n- name: dns\n  from: {{objects: [{{kind: HelmChartProxy, name: dns}}]}}\n{more}")
    };
    let old = entry("  checks: [a]\ncloud: eu\n");
    let new = entry("  checks: [b]\n  after: [cilium]\ncloud: eu-1\nowners:\n- {name: ada, key: age1x}\n");
    let own = format!(
        "{}owners:\n- {{name: bob, key: age1y}}\n",
        entry("  checks: [a]\n  enabled: false # not here\ncloud: own\n")
    );
    let planned = upgraded(&[("capstan.yaml", &old)], &[("capstan.yaml", &new)], &[("capstan.yaml", &own)]);
    assert_eq!(
        after(&planned, "peu01/capstan.yaml").unwrap(),
        "\
services:
- name: dns
  from: {objects: [{kind: HelmChartProxy, name: dns}]}
  checks: [b]
  enabled: false # not here
  after:
  - cilium
cloud: own
owners:
- {name: bob, key: age1y}
- name: ada
  key: age1x
"
    );
    let [service] = planned.upgrade.services.as_slice() else { panic!("{:?}", planned.upgrade.services) };
    assert_eq!(
        (service.course, service.settings.join(" ").as_str()),
        (ServiceCourse::Modify, "checks after")
    );
    assert_eq!(
        planned.upgrade.notes,
        ["peu01/capstan.yaml: the cluster and the release changed `cloud`: the cluster's is kept."]
    );
}

/// A chart that objects of base bring is reported as its service.
#[test]
fn the_version_of_a_chart_is_that_of_its_service() {
    let entry =
        "services:\n- {name: cilium, role: cni, from: {objects: [{kind: HelmChartProxy, name: cilium}]}}\n";
    let objects = |version: &str| {
        let text = format!(
            "apiVersion: addons.cluster.x-k8s.io/v1alpha1\nkind: HelmChartProxy\nmetadata: {{name: cilium}}\nspec: {{version: {version}}}\n"
        );
        capstan_yaml::YamlFile::read(&text).unwrap()
    };
    let version = |file: &capstan_yaml::YamlFile| {
        version::version_of(file.documents().iter().map(|document| &document.root))
    };
    assert_eq!(version(&objects("1.16.0")), Some("1.16.0".to_owned()));
    assert_eq!(version(&objects("\"${VERSION}\"")), None);
    let planned = upgraded(&[], &[("capstan.yaml", entry)], &[("capstan.yaml", entry)]);
    assert_eq!(planned.upgrade.services, [], "nothing of it changes");
}

#[test]
fn a_kustomization_goes_with_the_service_that_it_lists() {
    let list = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a.yaml]\n";
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: tools, namespace: tools}\n";
    let service: &[(&str, &str)] =
        &[("services/tools/a.yaml", map), ("services/tools/kustomization.yaml", list)];
    let planned = upgraded(service, &[], service);
    assert_eq!(
        files(&planned),
        ["remove peu01/services/tools/a.yaml", "remove peu01/services/tools/kustomization.yaml"]
    );
}

#[test]
fn a_cluster_with_a_base_of_its_own_folder_has_no_folders_of_services() {
    let settings = RepositorySettings::read(
        &Default::default(),
        "clusters: {base: \".\"}\n",
        &crate::settings::RuleIds::of_catalogue(),
    )
    .unwrap();
    let tree = Files::new(&[("peu01/cluster.yaml", CLUSTER), ("peu01/services/a/a.yaml", CLUSTER)]);
    let layout = discover(&tree, &settings);
    assert!(layout.targets.iter().all(|folder| folder.services.is_empty()));
}

#[test]
fn an_overlay_changes_a_service_in_a_folder_of_its_name_and_not_base() {
    let own =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: kube-system}\ndata: {a: one}\n";
    let patch =
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: kube-system}\ndata: {a: two}\n";
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, namespace: org}\n";
    let tree = Files::new(&[
        ("peu01/base/cluster.yaml", CLUSTER),
        ("peu01/services/x/a.yaml", own),
        ("peu01/overlay/services/x/a.yaml", patch),
        // No service has this folder: it is the overlay's, as ever.
        ("peu01/overlay/services/y/b.yaml", other),
    ]);
    let layout = discover(&tree, &RepositorySettings::default());
    let folder = layout.target("peu01").unwrap();
    let rendered = capstan_kustomize::render::render(&tree, &crate::policy::folders_of(folder)).unwrap();
    let ids: Vec<String> = rendered.objects.iter().map(|object| object.id.to_string()).collect();
    assert_eq!(ids, ["Cluster org/peu01", "ConfigMap org/b"]);
    let overlay: Vec<&str> = folder.overlay_files.iter().map(|entry| entry.path.as_str()).collect();
    assert_eq!(overlay, ["peu01/overlay/services/y/b.yaml"]);
    let [service] = folder.services.as_slice() else { panic!("{:?}", folder.services) };
    let folders = crate::policy::folders_of_service(folder, &service.folder);
    let rendered = capstan_kustomize::render::render(&tree, &folders).unwrap();
    assert_eq!(rendered.objects[0].value["data"]["a"], "two");
}

/// A release that brings another network.
fn switched(new_entry: &str) -> PlannedUpgrade {
    let (cilium, calico) =
        (agent("v1.15.3", ""), agent("v3.30.1", "").replace("name: cilium", "name: calico-node"));
    let old: &[(&str, &str)] = &[("services/cilium/agent.yaml", &cilium), ("capstan.yaml", ENTRY)];
    upgraded(old, &[("services/calico/agent.yaml", &calico), ("capstan.yaml", new_entry)], old)
}

#[test]
fn a_release_that_switches_the_network_is_refused_unless_its_entry_forces_it() {
    let entry = "services:\n  - {name: calico, role: cni, from: {folder: services/calico}}\n";
    let Upgrade { findings, blocked, .. } = switched(entry).upgrade;
    let [found] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(found.rule.id(), "cni-switch");
    assert!(
        found.message.starts_with("the pod network changes from `cilium` to `calico`: Capstan refuses this."),
        "{}",
        found.message
    );
    assert_eq!(blocked.len(), 1, "{blocked:?}");

    let force = "force: {from: cilium, to: calico, reason: tried in dev}";
    let forced = entry.replace("services/calico}}", &format!("services/calico}}, {force}}}"));
    let Upgrade { findings, blocked, notes, .. } = switched(&forced).upgrade;
    assert!(findings.is_empty() && blocked.is_empty(), "{findings:?} {blocked:?}");
    let told = "With this upgrade the pod network changes from `cilium` to `calico`, as `force` says (tried in dev). Pods keep the network that they started in until they are recreated. Until then";
    assert!(notes[0].starts_with(told), "{notes:?}");
    assert_eq!(
        notes[1],
        "What service cilium (cni) brought stays inside the cluster until `delete` in the cluster's capstan.yaml names it: `- {group: capstan.dev, kind: Service, name: cilium}`."
    );
}

/// What runs is the same: neither another name nor another way to bring it is a switch.
#[test]
fn a_network_under_another_name_is_the_same_one() {
    let network =
        |name: &str, parts: &[&str]| PodNetwork::new(name, parts.iter().map(|part| (*part).to_owned()));
    for (was, is, expected) in [
        (network("cilium", &["cilium", "cilium-operator"]), network("cni", &["cilium"]), None),
        (network("cni", &["cilium"]), network("cni", &["calico-node"]), Some(("cni", "cni"))),
        (network("cni", &[]), network("cni", &["calico-node"]), None),
        (network("old", &[]), network("new", &["cilium"]), Some(("old", "new"))),
    ] {
        let found = network_switch(&was, &is, None);
        assert_eq!(found.is_some(), expected.is_some(), "{was:?} {is:?}");
        if let Some((found, (from, to))) = found.zip(expected) {
            let force = format!("force: {{from: {from}, to: {to}, reason: …}}");
            assert!(found.is_refused() && found.words().contains(&force), "{}", found.words());
        }
    }
    let chart = serde_json::json!({"apiVersion": "addons.cluster.x-k8s.io/v1alpha1", "kind": "HelmChartProxy",
        "metadata": {"name": "network"}, "spec": {"chartName": "cilium"}});
    let charted = PodNetwork::of_values("network", [&chart].into_iter());
    assert_eq!(
        network_switch(&charted, &network("cilium", &["cilium"]), None),
        None,
        "a chart becomes a folder"
    );
}
