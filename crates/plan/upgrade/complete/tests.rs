//! What a planner would do wrong, done to its result by hand: one edit undone, one object left out. The check
//! finds each, and finds nothing where nothing was done.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::{Completed, incomplete};
use crate::flux::PostBuild;
use crate::merge::cluster_objects::Base;
use crate::merge::objects::merge_cluster;
use crate::merge::views::Work;
use crate::merge::{AppliedBy, ClusterFacts, ReleaseSource, SourceFacts, SourceFile};
use crate::settings::{FieldOwner, FieldRule};
use crate::upgrade::merge_facts::merge_input;
use crate::upgrade::staying::Staying;
use crate::upgrade::{
    Change, ChangeReason, MergeSettings, OldSource, PlannedUpgrade, Retarget, UpgradeRequest, plan,
};
use capstan_kustomize::schema::Schemas;
use capstan_model::file_change::FileChange;
use capstan_model::finding::Finding;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::object::{FieldPath, ObjectId, Step};
use capstan_model::target::TargetKind;
use capstan_model::tree::RepoPath;
use capstan_test_support::shared_data;
use capstan_yaml::manifest::identity;
use capstan_yaml::{DocumentEdit, Edit, Node, YamlFile, edit};

const OLD: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0}
spec:
  replicas: 2
  paused: false
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata: {name: peu01-md-0}
spec:
  preKubeadmCommands: [one, two, three]
  files: [{path: /a, content: a}, {path: /b, content: b}]
  users: [{name: x}]
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineHealthCheck
metadata: {name: peu01-gone}
spec: {maxUnhealthy: 1}
";

const NEW: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, labels: {tier: gold}}
spec:
  replicas: 3
  strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 2, maxUnavailable: 0}}
---
apiVersion: bootstrap.cluster.x-k8s.io/v1beta1
kind: KubeadmConfig
metadata: {name: peu01-md-0}
spec:
  preKubeadmCommands: [one, new, three]
  files: [{path: /a, content: A}, {path: /c, content: c}]
  users: [{name: x}]
---
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineHealthCheck
metadata: {name: peu01-comes}
spec: {maxUnhealthy: 1}
";

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn source(id: &str, text: &str) -> ReleaseSource {
    let base_folder = path(&format!("{id}/base"));
    let file = SourceFile::new(base_folder.join("all.yaml").unwrap(), text);
    let facts = SourceFacts { base_folder, base: vec![file], ..SourceFacts::default() };
    ReleaseSource::read(ReleaseId::from_path(id), None, &facts).unwrap()
}

/// An upgrade, and the check of any result of it.
struct Case {
    cluster: ClusterFacts,
    old: ReleaseSource,
    new: ReleaseSource,
    settings: MergeSettings,
}

impl Case {
    fn new(old: &str, cluster: &str, new: &str) -> Self {
        let base_folder = path("a/b/base");
        let cluster = ClusterFacts {
            id: ClusterId::new(path("a/b")),
            kind: TargetKind::Cluster,
            base: vec![SourceFile::new(base_folder.join("all.yaml").unwrap(), cluster)],
            base_folder,
            contents: Vec::new(),
            overlay: Vec::new(),
            record: None,
            variables: BTreeMap::new(),
            flux: PostBuild::default(),
            release: None,
            applied: AppliedBy::Reconciler,
            classes_used_elsewhere: Vec::new(),
        };
        let (old, new) = (source("x/v1.0.0", old), source("x/v2.0.0", new));
        Self { cluster, old, new, settings: MergeSettings::default() }
    }

    fn request(&self) -> UpgradeRequest<'_> {
        UpgradeRequest {
            cluster: &self.cluster,
            old: OldSource::Known(&self.old),
            new: &self.new,
            settings: &self.settings,
            schemas: Schemas::built_in(),
            retarget: Retarget::Refused,
        }
    }

    fn planned(&self) -> PlannedUpgrade {
        plan(&self.request()).unwrap()
    }

    /// What the check says of these files, with the conflicts of the plan.
    fn check(&self, planned: &PlannedUpgrade, intended: &[FileChange]) -> Vec<Finding> {
        let request = self.request();
        let base = Base::read(&self.cluster).unwrap();
        let input = merge_input(&request, &base, Some(&self.old));
        let merged = merge_cluster(&input);
        incomplete(&Completed {
            work: Work {
                input: &input,
                bindings: &merged.bindings,
                old: merged.old.as_ref(),
                new: &merged.new,
            },
            base_folder: &self.cluster.base_folder,
            intended,
            conflicts: &planned.upgrade.conflicts,
            findings: &planned.upgrade.findings,
            rotated: &[],
            staying: &Staying::default(),
        })
    }
}

/// The result without one change; `None` where a single edit cannot undo it.
fn without(planned: &PlannedUpgrade, change: &Change) -> Option<Vec<FileChange>> {
    let mut intended = planned.intended.clone();
    let file = intended.iter_mut().find(|file| file.path == *change.place.file())?;
    let yaml = YamlFile::read(file.after.as_deref()?).unwrap();
    let is_it = |id: Option<ObjectId>| id.as_ref() == Some(&change.object);
    let place = yaml.documents().iter().position(|document| is_it(identity(&document.root)));
    let undo = match (change.path.is_root(), &change.old, &change.new) {
        (true, None, _) => DocumentEdit::RemoveDocument { document: place? },
        (true, Some(old), None) => DocumentEdit::Append { text: capstan_yaml::write(&Node::from_value(old)) },
        _ => {
            let document = place?;
            let root = &yaml.documents()[document].root;
            if change.path.steps().iter().any(|step| !matches!(step, Step::Key(_))) {
                return None;
            }
            let node = change.old.as_ref().map(Node::from_value);
            let edit = match (root.at(&change.path), node) {
                (Some(_), Some(node)) => Edit::Set { path: change.path.clone(), node },
                (Some(_), None) => Edit::Remove { path: change.path.clone() },
                (None, Some(node)) => {
                    let Some(Step::Key(key)) = change.path.steps().last() else { return None };
                    let parent = change.path.parent()?;
                    root.at(&parent)?;
                    Edit::Insert { parent, key: key.clone(), node, after: None }
                }
                (None, None) => return None,
            };
            DocumentEdit::Edit { document, edit }
        }
    };
    file.after = Some(edit(&yaml, &[undo]).ok()?.text().to_owned());
    Some(intended)
}

/// Undoes every change of an upgrade, one at a time: how many, and what was not found.
fn mutations(case: &Case) -> (usize, Vec<String>) {
    let planned = case.planned();
    if !planned.upgrade.blocked.is_empty() {
        return (0, Vec::new());
    }
    let (mut tried, mut missed) = (0, Vec::new());
    for change in planned.upgrade.changes.iter().filter(|change| change.reason != ChangeReason::Reference) {
        let Some(intended) = without(&planned, change) else { continue };
        tried += 1;
        let found = case.check(&planned, &intended);
        let names_it = |finding: &&Finding| {
            finding.object.as_ref() == Some(&change.object)
                && finding
                    .path
                    .as_ref()
                    .is_some_and(|path| path.starts_with(&change.path) || change.path.starts_with(path))
        };
        if !found.iter().any(|finding| names_it(&finding)) {
            missed.push(format!("{} {} undone: {found:?}", change.object, change.path));
        }
    }
    (tried, missed)
}

#[test]
fn a_whole_upgrade_is_complete_and_every_edit_that_is_dropped_from_it_is_found() {
    let case = Case::new(OLD, OLD, NEW);
    let planned = case.planned();
    assert_eq!(planned.upgrade.blocked, Vec::<String>::new());
    assert_eq!(case.check(&planned, &planned.intended), Vec::new());
    let (tried, missed) = mutations(&case);
    assert!(tried >= 5 && missed.is_empty(), "{tried} tried, missed: {missed:#?}");
}

#[test]
fn items_of_lists_that_do_not_come_or_go_are_found() {
    let case = Case::new(OLD, OLD, NEW);
    let planned = case.planned();
    let table = [
        ("new, three", "two, three", "/spec/preKubeadmCommands"),
        ("content: A", "content: a", "/spec/files/0/content"),
        ("path: /c", "path: /d", "/spec/files/-"),
        ("{path: /c, content: c}", "{path: /b, content: b}, {path: /c, content: c}", "/spec/files/1"),
    ];
    for (right, wrong, at) in table {
        let mut intended = planned.intended.clone();
        let file = intended.iter_mut().find(|file| file.path.name() == "all.yaml").unwrap();
        let after = file.after.as_mut().unwrap();
        assert!(after.contains(right), "{right}: {after}");
        *after = after.replace(right, wrong);
        let found = case.check(&planned, &intended);
        let paths: Vec<String> =
            found.iter().filter_map(|finding| Some(finding.path.as_ref()?.to_string())).collect();
        assert!(paths.iter().any(|path| path == at), "{wrong}: {paths:?}");
    }
}

#[test]
fn a_finding_names_the_place_and_both_values_and_no_secret() {
    let case = Case::new(OLD, OLD, NEW);
    let planned = case.planned();
    let wrong = |right: &str, wrong: &str| {
        let mut intended = planned.intended.clone();
        let file = intended.iter_mut().find(|file| file.path.name() == "all.yaml").unwrap();
        file.after = file.after.as_ref().map(|text| text.replace(right, wrong));
        case.check(&planned, &intended)
    };
    let [finding] = &wrong("replicas: 3", "replicas: 2")[..] else { panic!("one finding") };
    assert_eq!(finding.rule.id(), "incomplete-upgrade");
    assert_eq!(finding.place.as_ref().unwrap().to_string(), "a/b/base/all.yaml:5:13");
    assert!(
        finding.message.starts_with(
            "MachineDeployment peu01-md-0 /spec/replicas: the release has `3`, but the cluster would have `2`."
        ),
        "{}",
        finding.message
    );
    let [finding] = &wrong("content: A", "content: s3cret")[..] else { panic!("one finding") };
    assert!(!finding.message.contains("s3cret"), "{}", finding.message);
}

#[test]
fn what_the_cluster_edited_or_an_owner_rule_holds_is_explained() {
    let cluster = OLD
        .replace("paused: false", "paused: true")
        .replace("replicas: 2", "replicas: 7")
        .replace("users: [{name: x}]", "users: [{name: y}]");
    let case = Case::new(OLD, &cluster, NEW);
    let planned = case.planned();
    let conflicts: Vec<String> =
        planned.upgrade.conflicts.iter().map(|conflict| conflict.path.to_string()).collect();
    assert_eq!(conflicts, ["/spec/replicas", "/spec/paused"]);
    assert_eq!(case.check(&planned, &planned.intended), Vec::new());
    // Without the conflict nothing explains that the cluster's value stays.
    let mut unsaid = planned.clone();
    unsaid.upgrade.conflicts.clear();
    assert_eq!(case.check(&unsaid, &planned.intended).len(), 2);
    let mut case = case;
    case.settings.owners = ["replicas", "paused"]
        .map(|field| FieldRule {
            kind: "MachineDeployment".to_owned(),
            path: FieldPath::root().key("spec").key(field),
            owner: FieldOwner::Cluster,
        })
        .to_vec();
    let planned = case.planned();
    assert_eq!((planned.upgrade.conflicts.len(), planned.upgrade.blocked.len()), (0, 0));
}

#[test]
fn a_list_that_the_cluster_removed_and_the_release_empties_is_explained_by_its_conflict() {
    let config = |version: &str, files: &str| {
        format!(
            "apiVersion: bootstrap.cluster.x-k8s.io/{version}\nkind: KubeadmConfig\nmetadata: {{name: peu01-md-0}}\nspec:\n  format: cloud-config\n{files}"
        )
    };
    for (was, is) in [("v1beta1", "v1beta1"), ("v1alpha4", "v1beta1")] {
        let old = config(was, "  files: [{path: /a, content: a}, {path: /b, content: b}]\n");
        let case = Case::new(&old, &config(was, ""), &config(is, "  files: []\n"));
        let planned = case.planned();
        let conflicts: Vec<String> =
            planned.upgrade.conflicts.iter().map(|conflict| conflict.path.to_string()).collect();
        assert_eq!(conflicts, ["/spec/files"], "{was} to {is}");
        assert_eq!(planned.upgrade.blocked, Vec::<String>::new(), "{was} to {is}");
        // Without the conflict nothing explains that the empty list does not come.
        let mut unsaid = planned.clone();
        unsaid.upgrade.conflicts.clear();
        let found = case.check(&unsaid, &planned.intended);
        assert_eq!(found.len(), 1, "{was} to {is}: {found:?}");
    }
    // In v1beta2 no API server takes an empty list: there the release says nothing, and the two agree.
    let old = config("v1beta1", "  files: [{path: /a, content: a}]\n");
    let case = Case::new(&old, &config("v1beta1", ""), &config("v1beta2", "  files: []\n"));
    let planned = case.planned();
    assert_eq!((planned.upgrade.conflicts.len(), planned.upgrade.blocked.len()), (0, 0));
    assert!(case.check(&planned, &planned.intended).is_empty());
}

#[test]
fn edits_dropped_from_upgrades_of_real_clusters_are_found() {
    let Some(files) = shared_data::yaml_files() else { return };
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for file in &files {
        let Some((_, below)) = file.to_str().and_then(|path| path.split_once("/manifests/")) else {
            continue;
        };
        let mut parts = below.splitn(3, '/');
        if let (Some(project), Some(_), Some(rest)) = (parts.next(), parts.next(), parts.next())
            && let Some(text) = plain(file)
        {
            versions.entry(format!("{project} {rest}")).or_default().push(text);
        }
    }
    let (mut all, mut missed) = (0, Vec::new());
    for (name, texts) in &versions {
        for pair in texts.windows(2) {
            let (tried, lost) = mutations(&Case::new(&pair[0], &pair[0], &pair[1]));
            all += tried;
            missed.extend(lost.into_iter().map(|text| format!("{name}: {text}")));
        }
    }
    println!("{all} edits dropped, {} not found", missed.len());
    assert!(all > 100 && missed.is_empty(), "{all} tried, missed: {missed:#?}");
}

/// A file of whole objects alone.
fn plain(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    let yaml = YamlFile::read(&text).ok()?;
    let mut seen = BTreeSet::new();
    let whole =
        yaml.documents().iter().all(|document| identity(&document.root).is_some_and(|id| seen.insert(id)));
    whole.then_some(text)
}
