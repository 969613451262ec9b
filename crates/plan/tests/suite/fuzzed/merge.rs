//! The merge: any three documents may be an old release, a cluster's base and a new release.
//!
//! Never a panic; what was done changes nothing more when it is done again; a field that the release
//! leaves as it was never changes.

use std::collections::BTreeMap;

use capstan_kustomize::schema::Schemas;
use capstan_model::file_change::FileChange;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::object::{FieldPath, Step};
use capstan_model::target::TargetKind;
use capstan_model::tree::RepoPath;
use capstan_plan::flux::PostBuild;
use capstan_plan::merge::{AppliedBy, ClusterFacts, ReleaseSource, SourceFacts, SourceFile};
use capstan_plan::patch;
use capstan_plan::settings::ConflictPolicy;
use capstan_plan::upgrade::{
    ChangeReason, MergeSettings, OldSource, Overwrite, PlannedUpgrade, Retarget, UpgradeRequest, Versions,
    plan, to_json,
};
use capstan_yaml::{Node, Scalar, YamlFile, write};

/// The first byte says how to read the rest: as three texts between NUL bytes, or as choices that three
/// much alike documents are made from; and under which settings they are merged.
pub(crate) fn check(data: &[u8]) {
    let Some((flags, rest)) = data.split_first() else { return };
    let [old, cluster, new] = if flags & 1 == 0 { texts(rest) } else { documents(rest) };
    let Ok(old) = source("aws/v1.0.0", &old).map(|source| (source, old)) else { return };
    let Ok(new) = source("aws/v2.0.0", &new).map(|source| (source, new)) else { return };
    let settings = MergeSettings {
        conflicts: match flags >> 1 & 3 {
            0 => ConflictPolicy::Keep,
            1 => ConflictPolicy::Take,
            _ => ConflictPolicy::Block,
        },
        owners: Vec::new(),
        settled: Vec::new(),
        versions: Versions::Move,
        overwrite: if flags & 0x40 == 0 { Overwrite::Nothing } else { Overwrite::All },
    };
    let applied = if flags & 8 == 0 { AppliedBy::Reconciler } else { AppliedBy::Others };
    let folder = folder(&cluster, applied);
    let known = [&old.0];
    let from = match flags >> 4 & 3 {
        0 | 1 => OldSource::Known(&old.0),
        2 => OldSource::Unknown,
        _ => OldSource::Infer(&known),
    };
    let request = UpgradeRequest {
        cluster: &folder,
        old: from,
        new: &new.0,
        settings: &settings,
        schemas: Schemas::built_in(),
        retarget: Retarget::Refused,
    };
    let Ok(planned) = plan(&request) else { return };
    let intended = planned.intended.clone();
    if let (OldSource::Known(_), true) = (from, planned.upgrade.blocked.is_empty()) {
        untouched_stays(&planned, &old.1, &new.1);
        if applied == AppliedBy::Reconciler {
            twice_is_once(&request, &intended);
        }
    }
    let upgrade = planned.finish(Vec::new(), Vec::new());
    let _ = (to_json(&upgrade), patch::unified(&upgrade.files));
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap_or_default()
}

fn source(id: &str, text: &str) -> Result<ReleaseSource, ()> {
    let facts = SourceFacts {
        base_folder: path(&format!("{id}/base")),
        base: vec![SourceFile::new(path(&format!("{id}/base/a.yaml")), text)],
        variables: BTreeMap::from([("OWN".to_owned(), id.to_owned())]),
        ..SourceFacts::default()
    };
    ReleaseSource::read(ReleaseId::from_path(id), None, &facts).map_err(drop)
}

fn folder(text: &str, applied: AppliedBy) -> ClusterFacts {
    ClusterFacts {
        id: ClusterId::new(path("acme/peu01")),
        kind: TargetKind::Cluster,
        base_folder: path("acme/peu01/base"),
        base: vec![SourceFile::new(path("acme/peu01/base/a.yaml"), text)],
        contents: Vec::new(),
        overlay: Vec::new(),
        record: None,
        variables: BTreeMap::from([("CLUSTER_NAME".to_owned(), "peu01".to_owned())]),
        flux: PostBuild::default(),
        release: Some(ReleaseId::from_path("aws/v1.0.0")),
        applied,
        classes_used_elsewhere: Vec::new(),
    }
}

fn twice_is_once(request: &UpgradeRequest<'_>, intended: &[FileChange]) {
    let mut cluster = request.cluster.clone();
    for change in intended {
        cluster.base.retain(|file| file.path != change.path);
        if let Some(text) = &change.after {
            let file = SourceFile::new(change.path.clone(), text.as_str());
            if change.path.is_in(&cluster.base_folder) {
                cluster.base.push(file);
            } else {
                cluster.record = Some(file);
            }
        }
    }
    cluster.base.sort_by(|a, b| a.path.cmp(&b.path));
    let again = UpgradeRequest { cluster: &cluster, old: OldSource::Known(request.new), ..*request };
    match plan(&again) {
        Ok(again) => {
            let more: Vec<&RepoPath> = again.intended.iter().map(|file| &file.path).collect();
            assert!(more.is_empty(), "done again, it changes {more:?}: {:#?}", again.upgrade.changes);
        }
        Err(refusal) => panic!("what was written is not read: {refusal}"),
    }
}

/// The one object of a text, where it is whole, and says nothing that has to be worked out.
fn whole(text: &str) -> Option<Node> {
    if text.contains('$') {
        return None;
    }
    let file = YamlFile::read(text).ok()?;
    let [document] = file.documents() else { return None };
    let root = &document.root;
    let is_whole = root.get("kind")?.as_str() != Some("ConfigMap")
        && root.get("apiVersion")?.as_str().is_some()
        && root.get("metadata")?.get("name")?.as_str().is_some();
    is_whole.then(|| root.clone())
}

fn untouched_stays(planned: &PlannedUpgrade, old: &str, new: &str) {
    // Each release has its own value of `OWN`.
    if old == new && !old.contains("OWN") {
        let changes = &planned.upgrade.changes;
        assert!(changes.is_empty(), "the release is the same, and yet: {changes:#?}");
    }
    let (Some(old), Some(new)) = (whole(old), whole(new)) else { return };
    let name = |node: &Node| ["apiVersion", "kind"].map(|key| node.get(key).map(Node::value));
    if name(&old) != name(&new) {
        return;
    }
    for change in planned.upgrade.changes.iter().filter(|change| change.reason == ChangeReason::Release) {
        let value = |node: &Node, path: &FieldPath| node.at(path).map(Node::value);
        // The sides count a list's items each on its own: there the list is compared.
        let keys = change.path.steps().iter().take_while(|step| matches!(step, Step::Key(_)));
        let path: FieldPath = keys.cloned().collect();
        if !path.is_root() {
            let (before, after) = (value(&old, &path), value(&new, &path));
            assert!(before != after, "{}: the release has {after:?} before and after", change.path);
        }
    }
}

fn texts(data: &[u8]) -> [String; 3] {
    let mut parts = data.split(|byte| *byte == 0).map(|part| String::from_utf8_lossy(part).into_owned());
    [(); 3].map(|()| parts.next().unwrap_or_default())
}

/// Three documents from one row of choices; the cluster's and the new release's take some others.
fn documents(data: &[u8]) -> [String; 3] {
    let (patches, row) = data.split_at(data.len().min(16));
    let (mine, theirs) = patches.split_at(patches.len() / 2);
    let patched = |patches: &[u8]| {
        let mut row = row.to_vec();
        for patch in patches.chunks_exact(2) {
            if let Some(choice) = row.get_mut(usize::from(patch[0])) {
                *choice = patch[1];
            }
        }
        row
    };
    [row.to_vec(), patched(mine), patched(theirs)].map(|row| {
        let mut row = row.into_iter();
        let first = write(&object(&mut row));
        // Sometimes there is a second object.
        match row.next() {
            Some(choice) if choice > 0xc0 => format!("{first}---\n{}", write(&object(&mut row))),
            _ => first,
        }
    })
}

fn object(row: &mut dyn Iterator<Item = u8>) -> Node {
    let kinds = [
        ("cluster.x-k8s.io/v1beta1", "MachineDeployment"),
        ("cluster.x-k8s.io/v1beta2", "MachineDeployment"),
        ("controlplane.cluster.x-k8s.io/v1beta1", "KubeadmControlPlane"),
        ("infrastructure.cluster.x-k8s.io/v1beta2", "AWSMachineTemplate"),
        ("cluster.x-k8s.io/v1beta1", "Cluster"),
        ("v1", "ConfigMap"),
        ("example.com/v1", "Thing"),
    ];
    let choice = usize::from(row.next().unwrap_or(0));
    let (version, kind) = kinds[choice % kinds.len()];
    let names = ["peu01", "peu01-md-0", "${CLUSTER_NAME}-md-0", "other"];
    let name = names[choice / kinds.len() % names.len()];
    let metadata = Node::mapping([("name", Node::string(name))]);
    if choice > 0xe0 {
        // Only some fields.
        return Node::mapping([("kind", Node::string(kind)), ("spec", value(row, 4))]);
    }
    let body = if kind == "ConfigMap" { "data" } else { "spec" };
    Node::mapping([
        ("apiVersion", Node::string(version)),
        ("kind", Node::string(kind)),
        ("metadata", metadata),
        (body, value(row, 4)),
    ])
}

fn value(row: &mut dyn Iterator<Item = u8>, depth: usize) -> Node {
    const KEYS: [&str; 12] = [
        "replicas",
        "version",
        "template",
        "spec",
        "name",
        "value",
        "path",
        "key",
        "effect",
        "containers",
        "taints",
        "annotations",
    ];
    const SCALARS: [&str; 20] = [
        "1",
        "2",
        "null",
        "true",
        "\"1\"",
        "a",
        "b",
        "v1.30.1",
        "v1.31.0",
        "\"${A}\"",
        "\"x-${A}\"",
        "\"${A:=1}\"",
        "\"${OWN}\"",
        "\"$${A}\"",
        "500m",
        "0.5",
        "1h",
        "60m",
        "\"\"",
        "\"a: 1\"",
    ];
    let choice = usize::from(row.next().unwrap_or(0));
    match choice % 8 {
        0..=2 if depth > 0 => {
            let mut entries: Vec<(&str, Node)> = Vec::new();
            for _ in 0..choice / 8 % 5 {
                let key = KEYS[usize::from(row.next().unwrap_or(0)) % KEYS.len()];
                let below = value(row, depth - 1);
                if entries.iter().all(|(other, _)| *other != key) {
                    entries.push((key, below));
                }
            }
            Node::mapping(entries)
        }
        3 if depth > 0 => {
            let items = (0..choice / 8 % 5).map(|_| {
                let name = ["a", "b", "c", "d"][usize::from(row.next().unwrap_or(0)) % 4];
                let key = if choice % 16 < 8 { "name" } else { "path" };
                Node::mapping([(key, Node::string(name)), ("value", value(row, depth - 1))])
            });
            Node::sequence(items.collect::<Vec<_>>())
        }
        4 if depth > 0 => {
            let items = (0..choice / 8 % 6).map(|_| value(row, depth.min(2) - 1));
            Node::sequence(items.collect::<Vec<_>>())
        }
        _ => scalar(SCALARS[usize::from(row.next().unwrap_or(0)) % SCALARS.len()]),
    }
}

fn scalar(text: &str) -> Node {
    match text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        Some(text) => Node::string(text),
        None => Node::scalar(Scalar::plain(text)),
    }
}
