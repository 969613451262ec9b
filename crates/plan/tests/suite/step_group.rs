//! The step group (U9) for every kind that has a version of Kubernetes: an owner who patched one of them
//! keeps none behind while the rest of the cluster is upgraded. It moves too, or the upgrade blocks.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::schema::Schemas;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::object::{FieldPath, api_group};
use capstan_model::target::TargetKind;
use capstan_model::tree::RepoPath;
use capstan_plan::flux::PostBuild;
use capstan_plan::merge::{AppliedBy, ClusterFacts, ReleaseSource, SourceFacts, SourceFile};
use capstan_plan::settings::{FieldOwner, FieldRule};
use capstan_plan::upgrade::{
    MergeSettings, OldSource, PlannedUpgrade, Retarget, UpgradeRequest, Versions, plan,
};
use capstan_yaml::{Node, YamlFile};

use capstan_test_support::shared_data;

/// Group (before `cluster.x-k8s.io`), kind, and the field that says its version.
const KINDS: &[(&str, &str, &str)] = &[
    ("controlplane.", "KubeadmControlPlane", "/spec/version"),
    ("controlplane.", "RKE2ControlPlane", "/spec/version"),
    ("controlplane.", "K0sControlPlane", "/spec/version"),
    ("controlplane.", "KThreesControlPlane", "/spec/version"),
    ("controlplane.", "K3sControlPlane", "/spec/version"),
    ("controlplane.", "KKControlPlane", "/spec/version"),
    ("controlplane.", "TalosControlPlane", "/spec/version"),
    ("controlplane.", "MicroK8sControlPlane", "/spec/version"),
    ("controlplane.", "CK8sControlPlane", "/spec/version"),
    ("controlplane.", "OpenshiftAssistedControlPlane", "/spec/distributionVersion"),
    ("controlplane.", "OpenshiftAssistedControlPlane", "/spec/version"),
    ("controlplane.", "AWSManagedControlPlane", "/spec/version"),
    ("controlplane.", "ROSAControlPlane", "/spec/version"),
    ("controlplane.", "AROControlPlane", "/spec/version"),
    ("controlplane.", "KamajiControlPlane", "/spec/version"),
    ("controlplane.", "K0smotronControlPlane", "/spec/version"),
    ("controlplane.", "NestedControlPlane", "/spec/version"),
    ("controlplane.", "HostedControlPlane", "/spec/version"),
    ("controlplane.", "GardenerShootControlPlane", "/spec/version"),
    ("infrastructure.", "AzureManagedControlPlane", "/spec/version"),
    ("infrastructure.", "AzureASOManagedControlPlane", "/spec/version"),
    ("infrastructure.", "GCPManagedControlPlane", "/spec/version"),
    ("infrastructure.", "GCPManagedControlPlane", "/spec/controlPlaneVersion"),
    ("infrastructure.", "OCIManagedControlPlane", "/spec/version"),
    ("infrastructure.", "ScalewayManagedControlPlane", "/spec/version"),
    ("infrastructure.", "IBMManagedControlPlane", "/spec/version"),
    ("infrastructure.", "VCluster", "/spec/kubernetesVersion"),
    ("", "Cluster", "/spec/topology/version"),
    ("", "MachineDeployment", "/spec/template/spec/version"),
    ("", "MachineSet", "/spec/template/spec/version"),
    ("", "MachinePool", "/spec/template/spec/version"),
    ("exp.", "MachinePool", "/spec/template/spec/version"),
    ("", "Machine", "/spec/version"),
    ("infrastructure.", "OCIManagedMachinePool", "/spec/version"),
    ("infrastructure.", "ROSAMachinePool", "/spec/version"),
    ("infrastructure.", "AROMachinePool", "/spec/version"),
];

#[test]
fn what_its_owner_patched_moves_with_the_rest() {
    for (group, kind, field) in KINDS {
        let trial = Trial { group, kind, field, settings: MergeSettings::default() };
        let planned = trial.upgraded("v1.29.4");
        assert_eq!(planned.upgrade.blocked, [""; 0], "{kind} {field}");
        assert_eq!(after(&planned), trial.files("v1.30.0", "v1.30.0"), "{kind} {field}");
    }
}

#[test]
fn what_its_owner_moved_past_the_release_blocks_it() {
    for (group, kind, field) in KINDS {
        let trial = Trial { group, kind, field, settings: MergeSettings::default() };
        trial.blocks("v1.31.0");
    }
}

#[test]
fn what_a_rule_gives_to_the_cluster_blocks_it() {
    for (group, kind, field) in KINDS {
        let path = FieldPath::parse(field).unwrap();
        let owner = FieldRule { kind: (*kind).to_owned(), path, owner: FieldOwner::Cluster };
        let settings = MergeSettings { owners: vec![owner], ..MergeSettings::default() };
        Trial { group, kind, field, settings }.blocks("v1.29.4");
    }
}

#[test]
fn in_a_rollback_every_version_stays_whether_it_is_ahead_or_not() {
    for (group, kind, field) in KINDS {
        for version in ["v1.29.0", "v1.31.0"] {
            let settings = MergeSettings { versions: Versions::Stay, ..MergeSettings::default() };
            let trial = Trial { group, kind, field, settings };
            let planned = trial.upgraded(version);
            assert_eq!(planned.upgrade.blocked, [""; 0], "{kind} {field}");
            assert_eq!(after(&planned), BTreeMap::new(), "{kind} {field}");
            let notes = planned.upgrade.notes.join(" ");
            assert!(notes.contains("Versions and images do not change"), "{kind} {field}: {notes}");
            assert!(notes.contains("`/spec/template/spec/version`"), "{kind} {field}: {notes}");
        }
    }
}

#[test]
fn every_control_plane_of_the_real_files_is_tried() {
    let Some(files) = shared_data::yaml_files() else { return };
    let tried: BTreeSet<&str> = KINDS.iter().map(|(_, kind, _)| *kind).collect();
    let mut found = BTreeSet::new();
    for path in files {
        let Ok(file) = YamlFile::read_bytes(&std::fs::read(&path).unwrap()) else { continue };
        for document in file.documents() {
            found.extend(control_planes(&document.root));
        }
    }
    assert!(found.len() >= 6, "too few to be all: {found:?}");
    let untried: Vec<&String> = found.iter().filter(|kind| !tried.contains(kind.as_str())).collect();
    assert_eq!(untried, Vec::<&String>::new());
}

/// Kinds of control planes that a document is, or names.
fn control_planes(root: &Node) -> Vec<String> {
    let text = |node: &Node, key: &str| Some(node.get(key)?.as_str()?.to_owned());
    let is_provider = |node: &Node| {
        text(node, "apiVersion").is_some_and(|it| api_group(&it).ends_with(".cluster.x-k8s.io"))
    };
    let named = root.get("spec").and_then(|spec| spec.get("controlPlaneRef"));
    let is_one = is_provider(root) && text(root, "kind").is_some_and(|kind| kind.ends_with("ControlPlane"));
    let itself = Some(root).filter(|_| is_one);
    // A variable is not a kind.
    let plain = |kind: &String| kind.chars().all(char::is_alphanumeric);
    named.into_iter().chain(itself).filter_map(|node| text(node, "kind")).filter(plain).collect()
}

/// One kind with a version, and a worker group beside it.
struct Trial<'a> {
    group: &'a str,
    kind: &'a str,
    field: &'a str,
    settings: MergeSettings,
}

impl Trial<'_> {
    /// The one object at a version, and workers at the version `beside`.
    fn files(&self, version: &str, beside: &str) -> BTreeMap<&'static str, String> {
        // OpenShift's own versions where the field says those.
        let version = match self.field {
            "/spec/distributionVersion" => version.replace("v1.29", "4.16").replace("v1.3", "4.2"),
            _ => version.to_owned(),
        };
        let mut keys = self.field.rsplit('/');
        let last = format!("{}: {version} # ours", keys.next().unwrap_or_default());
        let outer = keys.filter(|key| !key.is_empty());
        let spec = outer.fold(last, |inner, key| format!("{key}:\n{}", indented(&inner)));
        let Self { group, kind, .. } = self;
        let one = format!(
            "apiVersion: {group}cluster.x-k8s.io/v1beta1\nkind: {kind}\nmetadata: {{name: peu01-one}}\n{spec}\n"
        );
        let worker = format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: MachineDeployment\nmetadata: {{name: peu01-md-0}}\nspec:\n  clusterName: peu01\n  template:\n    spec:\n      version: {beside}\n"
        );
        BTreeMap::from([("one.yaml", one), ("workers.yaml", worker)])
    }

    fn source(&self, id: &str, version: &str) -> ReleaseSource {
        let base_folder = path(&format!("{id}/base"));
        let base = files(&base_folder, &self.files(version, version));
        let facts = SourceFacts { base_folder, base, ..SourceFacts::default() };
        ReleaseSource::read(ReleaseId::from_path(id), None, &facts).unwrap()
    }

    /// What becomes of a cluster at v1.29.0 whose owner gave the one object another version, by a release
    /// at v1.30.0.
    fn upgraded(&self, owners: &str) -> PlannedUpgrade {
        let (old, new) = (self.source("aws/v1.0.0", "v1.29.0"), self.source("aws/v2.0.0", "v1.30.0"));
        let base_folder = path("gauss/peu01/base");
        let cluster = ClusterFacts {
            id: ClusterId::new(path("gauss/peu01")),
            kind: TargetKind::Cluster,
            base: files(&base_folder, &self.files(owners, "v1.29.0")),
            base_folder,
            contents: Vec::new(),
            overlay: Vec::new(),
            record: None,
            variables: BTreeMap::new(),
            flux: PostBuild::default(),
            release: old.id.release(),
            applied: AppliedBy::Reconciler,
            classes_used_elsewhere: Vec::new(),
        };
        let request = UpgradeRequest {
            cluster: &cluster,
            old: OldSource::Known(&old),
            new: &new,
            settings: &self.settings,
            schemas: Schemas::built_in(),
            retarget: Retarget::Refused,
        };
        plan(&request).unwrap()
    }

    fn blocks(&self, owners: &str) {
        let upgrade = self.upgraded(owners).finish(Vec::new(), Vec::new());
        assert!(!upgrade.blocked.is_empty(), "{} {}", self.kind, self.field);
        assert!(upgrade.files.is_empty(), "{} {}", self.kind, self.field);
    }
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn files(folder: &RepoPath, texts: &BTreeMap<&'static str, String>) -> Vec<SourceFile> {
    texts.iter().map(|(name, text)| SourceFile::new(folder.join(name).unwrap(), text.as_str())).collect()
}

/// The base after the upgrade.
fn after(planned: &PlannedUpgrade) -> BTreeMap<&str, String> {
    let base = path("gauss/peu01/base");
    let text = |file: &capstan_model::file_change::FileChange| file.after.clone().unwrap_or_default();
    let changed = planned.intended.iter().filter(|file| file.path.is_in(&base));
    changed.map(|file| (file.path.name(), text(file))).collect()
}
