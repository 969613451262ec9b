//! Upgrades as data: every folder of `tests/cases/<group>/<name>` is one case, and a new case is a new folder.
//! `tests/cases/README.md` says what may be in it.

#![expect(clippy::expect_used, reason = "tests: a panic is how they fail")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use capstan_kustomize::render::{EditedTree, Folders, render};
use capstan_kustomize::schema::{self, SchemaFile, Schemas};
use capstan_live::rollout::rollouts;
use capstan_model::file_change::FileChange;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::object::FieldPath;
use capstan_model::target::TargetKind;
use capstan_model::tree::{BlobId, EntryKind, RepoPath, Tree, TreeEntry, TreeId, Unreadable, is_manifest};
use capstan_plan::classes::ClassesElsewhere;
use capstan_plan::flux::{FluxIndex, PostBuild};
use capstan_plan::layout::Layout;
use capstan_plan::merge::{AppliedBy, ClusterFacts, OtherFile, ReleaseSource, SourceFacts, SourceFile};
use capstan_plan::release::Rendering;
use capstan_plan::settings::{ConflictPolicy, FieldOwner, FieldRule};
use capstan_plan::upgrade::{
    ChangeSource, Explanation, FilesSettled, GiantSwarmRelease, MergeSettings, OldSource, Overwrite,
    Retarget, Upgrade, UpgradeRequest, Versions, explain, explanation_to_json, plan, to_json,
};
use capstan_yaml::{Value, YamlFile};
use serde_json::{Map, json};

#[test]
fn every_case_comes_to_what_is_written_down() {
    let root = cases_folder();
    let only = std::env::var("CASE").unwrap_or_default();
    let mut failures = Vec::new();
    let mut ran = 0;
    for case in case_folders(&root) {
        let name = case.strip_prefix(&root).unwrap_or(&case).display().to_string();
        if !name.contains(&only) {
            continue;
        }
        ran += 1;
        let troubles = run(&case);
        if !troubles.is_empty() {
            failures.push(format!("== {name}\n{}", troubles.join("\n")));
        }
    }
    assert!(ran > 0, "no case is named `{only}`");
    assert!(failures.is_empty(), "{} of {ran} cases differ:\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn cases_are_many_and_each_names_its_rule() {
    let cases = case_folders(&cases_folder());
    let nameless: Vec<String> = cases
        .iter()
        .filter(|folder| {
            let case = Case::read(folder);
            let reason = case.text("reason", "");
            let names_a_rule =
                reason.split('U').skip(1).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
            reason.contains('\n') || !names_a_rule
        })
        .map(|folder| folder.display().to_string())
        .collect();
    assert!(nameless.is_empty(), "the reason is no line that names a rule (U1 to U16): {nameless:#?}");
    assert!(cases.len() >= 150, "{} cases", cases.len());
}

/// The nearest `tests/cases` above the package.
fn cases_folder() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = package.ancestors().map(|folder| folder.join("tests/cases")).find(|folder| folder.is_dir());
    found.expect("tests/cases exists")
}

fn case_folders(root: &Path) -> Vec<PathBuf> {
    let folders = |root: &Path| {
        let mut found: Vec<PathBuf> = std::fs::read_dir(root)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        found.sort();
        found
    };
    folders(root).iter().flat_map(|group| folders(group)).collect()
}

/// The case's own settings.
struct Case {
    folder: PathBuf,
    settings: Value,
}

impl Case {
    fn read(folder: &Path) -> Self {
        let text = std::fs::read_to_string(folder.join("case.yaml")).expect("a case has a case.yaml");
        let settings = YamlFile::read(&text).unwrap().documents()[0].root.value();
        assert!(settings["reason"].is_string(), "{}: case.yaml says no reason", folder.display());
        Self { folder: folder.to_path_buf(), settings }
    }

    fn text(&self, key: &str, default: &str) -> String {
        self.settings[key].as_str().unwrap_or(default).to_owned()
    }

    fn variables(&self, key: &str) -> BTreeMap<String, String> {
        let map = self.settings[key].as_object().cloned().unwrap_or_default();
        let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        map.into_iter().map(|(key, value)| (key, text(value))).collect()
    }

    fn source(&self, folder: &str, id: &str, tree: char) -> ReleaseSource {
        let root = self.folder.join(folder);
        let at = |below: &str| path(&format!("{id}/{below}"));
        let files = if root.join("base").is_dir() { root.join("base") } else { root.clone() };
        // The rest of the repository, which kustomizations may reach.
        let snapshot = Snapshot::new(
            [(files.clone(), at("base")), (root.join("overlay"), at("overlay"))]
                .into_iter()
                .chain([(self.folder.join("repo"), RepoPath::root())])
                .flat_map(|(folder, at)| every_file_in(&folder, &at))
                .filter(|file| !(file.path.name() == "release.yaml" && file.path.is_in(&at("base"))))
                .collect::<Vec<_>>()
                .iter(),
        );
        let entries = |below: &str| snapshot.entries_in(&at(below)).to_vec();
        let rendering = Rendering::of(&snapshot, &path(id), &entries("base"), &entries("overlay"));
        let facts = SourceFacts {
            rendering: Arc::new(rendering.unwrap()),
            base_folder: at("base"),
            base: files_in(&files, &at("base"), &["release.yaml"]),
            overlay: files_in(&root.join("overlay"), &at("overlay"), &[]),
            variables: self.variables(&format!("{folder}Variables")),
        };
        let tree = TreeId::parse(&tree.to_string().repeat(40)).unwrap();
        ReleaseSource::read_with(ReleaseId::from_path(id), Some(tree.into()), &facts, &self.schemas())
            .unwrap()
    }

    /// The same, or a Giant Swarm release where the folder has a `release.yaml`.
    fn change_source(&self, folder: &str, id: &str, tree: char) -> Box<dyn ChangeSource> {
        let documents = self.source(folder, id, tree);
        match std::fs::read_to_string(self.folder.join(folder).join("release.yaml")) {
            Ok(text) => {
                let file = SourceFile::new(path(&format!("{id}/release.yaml")), text);
                Box::new(GiantSwarmRelease::read(documents, &file).unwrap())
            }
            Err(_) => Box::new(documents),
        }
    }

    /// What Flux substitutes, from the files of `flux/`, whose paths are those of the repository.
    fn flux(&self, cluster: &RepoPath) -> PostBuild {
        let files = files_in(&self.folder.join("flux"), &RepoPath::root(), &[]);
        let index = FluxIndex::read(&Snapshot::new(files.iter()), &Layout::default());
        index.post_build(&ClusterId::new(cluster.clone()))
    }

    /// The definitions in `crds` (the repository's) and `capstan-crds` (those of `.capstan/crds`).
    fn schemas(&self) -> Schemas {
        let read = |folder: &str, at: &str| -> Vec<SchemaFile> {
            files_in(&self.folder.join(folder), &path(at), &[])
                .into_iter()
                .map(|file| SchemaFile { bytes: Ok(file.text().as_bytes().into()), path: file.path })
                .collect()
        };
        let own = read("capstan-crds", schema::FOLDER);
        let schemas = Schemas::read(own.into_iter().chain(read("crds", "crds")));
        assert_eq!(schemas.problems(), Vec::new(), "definitions of {}", self.folder.display());
        schemas
    }

    fn merge_settings(&self) -> MergeSettings {
        let owner = |rule: &Value| FieldRule {
            kind: rule["kind"].as_str().unwrap().to_owned(),
            path: FieldPath::parse(rule["path"].as_str().unwrap()).unwrap(),
            owner: match rule["owner"].as_str().unwrap() {
                "cluster" => FieldOwner::Cluster,
                "release" => FieldOwner::Release,
                "live" => FieldOwner::Live,
                other => panic!("no owner `{other}`"),
            },
        };
        MergeSettings {
            conflicts: match self.text("conflicts", "keep").as_str() {
                "keep" => ConflictPolicy::Keep,
                "take" => ConflictPolicy::Take,
                "block" => ConflictPolicy::Block,
                other => panic!("no conflict policy `{other}`"),
            },
            owners: self.settings["fields"].as_array().into_iter().flatten().map(owner).collect(),
            settled: Vec::new(),
            versions: Versions::Move,
            overwrite: match &self.settings["overwrite"] {
                Value::Array(paths) => Overwrite::Fields(
                    paths.iter().map(|path| FieldPath::parse(path.as_str().unwrap()).unwrap()).collect(),
                ),
                Value::String(all) if all == "all" => Overwrite::All,
                _ => Overwrite::Nothing,
            },
        }
    }
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text.trim_end_matches('/')).unwrap()
}

/// Files of a folder with their subfolders, ordered by path; none where there is no such folder.
fn files_in(folder: &Path, at: &RepoPath, but: &[&str]) -> Vec<SourceFile> {
    let mut found = every_file_in(folder, at);
    let is_yaml = |name: &str| name.ends_with(".yaml") || name.ends_with(".yml");
    found.retain(|file| is_yaml(file.path.name()) && !but.contains(&file.path.name()));
    found
}

/// Whatever they hold.
fn every_file_in(folder: &Path, at: &RepoPath) -> Vec<SourceFile> {
    let mut found = Vec::new();
    let mut open = vec![(folder.to_path_buf(), at.clone())];
    while let Some((folder, at)) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let below = at.join(&name).unwrap();
            if entry.path().is_dir() {
                open.push((entry.path(), below));
            } else {
                found.push(SourceFile::new(below, std::fs::read_to_string(entry.path()).unwrap()));
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// A snapshot of the cluster's files.
struct Snapshot {
    entries: Vec<TreeEntry>,
    texts: BTreeMap<RepoPath, Arc<str>>,
}

impl Snapshot {
    fn new<'f>(files: impl Iterator<Item = &'f SourceFile>) -> Self {
        let texts: BTreeMap<RepoPath, Arc<str>> =
            files.map(|file| (file.path.clone(), Arc::from(file.text()))).collect();
        // OtherFile is known by its id: every file needs one of its own.
        let entry = |(index, path): (usize, &RepoPath)| TreeEntry {
            path: path.clone(),
            kind: EntryKind::File,
            blob: BlobId::parse(&format!("{index:040x}")).unwrap(),
        };
        Self { entries: texts.keys().enumerate().map(entry).collect(), texts }
    }
}

impl Tree for Snapshot {
    fn entries(&self) -> &[TreeEntry] {
        &self.entries
    }

    fn read(&self, entry: &TreeEntry) -> Result<Arc<[u8]>, Unreadable> {
        Ok(self.texts[&entry.path].as_bytes().into())
    }

    fn folder_id(&self, _: &RepoPath) -> Option<TreeId> {
        None
    }
}

/// Runs one case; what differs from the written, in words.
fn run(folder: &Path) -> Vec<String> {
    let case = Case::read(folder);
    let id = case.text("cluster", "gauss/peu01");
    let root = path(&id);
    let base_folder = root.join("base").unwrap();
    let cluster = ClusterFacts {
        id: ClusterId::new(root.clone()),
        kind: match case.text("kind", "cluster").as_str() {
            "cluster" => TargetKind::Cluster,
            "providers" => TargetKind::Providers,
            other => panic!("no kind of target is called `{other}`"),
        },
        base_folder: base_folder.clone(),
        base: files_in(&case.folder.join("cluster/base"), &base_folder, &[]),
        contents: every_file_in(&case.folder.join("cluster/base"), &base_folder)
            .iter()
            .filter(|file| !is_manifest(&file.path))
            .filter_map(|file| {
                let below = file.path.below(&base_folder)?.to_owned();
                Some(OtherFile { below, blob: no_blob(), text: Some(file.text().into()) })
            })
            .collect(),
        overlay: files_in(
            &case.folder.join("cluster/overlay"),
            &root.join("overlay").unwrap(),
            &["capstan.yaml"],
        ),
        record: std::fs::read_to_string(case.folder.join("cluster/capstan.yaml"))
            .ok()
            .map(|text| SourceFile::new(root.join("capstan.yaml").unwrap(), text)),
        variables: case.variables("variables"),
        flux: case.flux(&root),
        release: None,
        applied: match case.text("applied", "reconciler").as_str() {
            "others" => AppliedBy::Others,
            "reconciler" => AppliedBy::Reconciler,
            other => panic!("applied by `{other}`?"),
        },
        classes_used_elsewhere: case.settings["classesUsedElsewhere"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
    };
    let new = case.change_source("new", &case.text("to", "aws/v2.0.0"), '2');
    let from = case.text("from", "aws/v1.0.0");
    let old = case.folder.join("old").is_dir().then(|| case.change_source("old", &from, '1'));
    let candidates: Vec<ReleaseSource> = case.settings["infer"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(|folder| case.source(folder, &format!("aws/{folder}"), '3'))
        .collect();
    let candidates: Vec<&ReleaseSource> = candidates.iter().collect();
    let settings = case.merge_settings();
    let old = match &old {
        Some(old) => OldSource::Known(old.as_ref()),
        None if !candidates.is_empty() => OldSource::Infer(&candidates),
        None => OldSource::Unknown,
    };
    let schemas = case.schemas();
    let retarget = if case.settings["retarget"] == true { Retarget::Allowed } else { Retarget::Refused };
    let request = UpgradeRequest {
        cluster: &cluster,
        old,
        new: new.as_ref(),
        settings: &settings,
        schemas: &schemas,
        retarget,
    };
    let planned = match plan(&request) {
        Ok(planned) => planned,
        Err(refusal) => {
            let expected = case.text("refused", "");
            return if !expected.is_empty() && refusal.to_string().contains(&expected) {
                Vec::new()
            } else {
                vec![format!("refused: {refusal}")]
            };
        }
    };
    let contents: Vec<SourceFile> = cluster
        .contents
        .iter()
        .filter_map(|file| Some(SourceFile::new(base_folder.join(&file.below).ok()?, file.text.clone()?)))
        .collect();
    let mut files: Vec<SourceFile> =
        cluster.base.iter().chain(&contents).chain(&cluster.overlay).cloned().collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let before = Snapshot::new(files.iter());
    let folders =
        Folders { cluster: root.clone(), base: base_folder, overlay: root.join("overlay").unwrap() };
    let rendered = |intended: &[FileChange]| render(&EditedTree::new(&before, intended), &folders);
    let (rendered_before, mut rendered_after) = match (render(&before, &folders), rendered(&planned.intended))
    {
        (Ok(before), Ok(after)) => (before, after),
        (Err(error), _) => return vec![format!("the cluster does not render: {error}")],
        (_, Err(error)) => return vec![format!("the upgraded cluster does not render: {error}")],
    };
    let mut planned = planned;
    if planned.settle_leftovers(&rendered_before, &rendered_after) == FilesSettled::Changed {
        rendered_after = rendered(&planned.intended).unwrap();
    }
    let intended = planned.intended.clone();
    let [was, is] = [&rendered_before, &rendered_after].map(|rendered| rendered.objects.as_slice());
    let rolled = rollouts(was, is, cluster.applied, &ClassesElsewhere::default(), &schemas);
    let provenance = planned.provenance.clone();
    let upgrade = planned.finish(Vec::new(), rolled);
    let mut troubles = compare_files(&case, &root, &upgrade);
    let explanation = explain(&provenance, &upgrade);
    troubles.extend(compare_json(&case, &upgrade, &explanation));
    troubles.extend(twice(&request, &intended, &upgrade));
    troubles
}

/// Of texts, whose ids nobody asks for.
fn no_blob() -> BlobId {
    BlobId::parse(&"0".repeat(40)).unwrap()
}

/// An upgrade that went through changes nothing when it is done again.
fn twice(request: &UpgradeRequest<'_>, intended: &[FileChange], upgrade: &Upgrade) -> Vec<String> {
    if !upgrade.blocked.is_empty() {
        return Vec::new();
    }
    let mut cluster = request.cluster.clone();
    for change in intended {
        cluster.base.retain(|file| file.path != change.path);
        cluster.overlay.retain(|file| file.path != change.path);
        if let Some(text) = &change.after {
            let file = SourceFile::new(change.path.clone(), text.as_str());
            let below = change.path.below(&cluster.base_folder).map(str::to_owned);
            if let Some(below) = below.clone().filter(|_| !is_manifest(&change.path)) {
                cluster.contents.retain(|file| file.below != below);
                cluster.contents.push(OtherFile { below, blob: no_blob(), text: Some(text.as_str().into()) });
            } else if below.is_some() {
                cluster.base.push(file);
            } else if change.path.name() != "capstan.yaml" {
                cluster.overlay.push(file);
            } else {
                cluster.record = Some(file);
            }
        }
    }
    cluster.base.sort_by(|a, b| a.path.cmp(&b.path));
    let again = UpgradeRequest { cluster: &cluster, old: OldSource::Known(request.new), ..*request };
    match plan(&again) {
        // Rotation leaves the old template for the next upgrade to take out, so there may be more to do.
        Ok(_) if cluster.applied == AppliedBy::Others => Vec::new(),
        Ok(planned) => planned
            .intended
            .iter()
            .map(|file| format!("done again, it changes {} once more", file.path))
            .collect(),
        Err(refusal) => vec![format!("done again, it is refused: {refusal}")],
    }
}

fn compare_files(case: &Case, root: &RepoPath, upgrade: &Upgrade) -> Vec<String> {
    let mut troubles = Vec::new();
    let expected = every_file_in(&case.folder.join("expected"), root);
    for file in &expected {
        let actual = upgrade.files.iter().find(|change| change.path == file.path);
        match actual.and_then(|change| change.after.as_deref()) {
            Some(text) if text == file.text() => {}
            Some(text) => troubles.push(format!(
                "{} is not as expected:\n{}",
                file.path,
                lines_that_differ(file.text(), text)
            )),
            None => troubles.push(format!("{} does not change", file.path)),
        }
    }
    let removed: Vec<&str> =
        case.settings["removed"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for change in &upgrade.files {
        let below = change.path.below(root).unwrap_or(change.path.as_str());
        let known = expected.iter().any(|file| file.path == change.path) || removed.contains(&below);
        // The record is written down where the case is about it.
        if !known && below != "capstan.yaml" {
            troubles.push(format!(
                "{below} changes, unexpectedly:\n{}",
                change.after.as_deref().unwrap_or("(removed)")
            ));
        }
    }
    for below in removed {
        let gone = upgrade
            .files
            .iter()
            .any(|change| change.path.below(root) == Some(below) && change.after.is_none());
        if !gone {
            troubles.push(format!("{below} is not removed"));
        }
    }
    troubles
}

fn lines_that_differ(expected: &str, actual: &str) -> String {
    let mut out = String::new();
    for change in similar::TextDiff::from_lines(expected, actual).iter_all_changes() {
        let sign = match change.tag() {
            similar::ChangeTag::Equal => ' ',
            similar::ChangeTag::Delete => '-',
            similar::ChangeTag::Insert => '+',
        };
        out.push(sign);
        out.push_str(change.value());
        if !change.value().ends_with('\n') {
            out.push_str("⏎ missing\n");
        }
    }
    out
}

/// Compares with `expected.json`: objects may leave out keys, lists are compared whole. Lists that are
/// not written are expected empty, but for `files`, `rollouts`, `notes` and `explain`, which are not compared then.
fn compare_json(case: &Case, upgrade: &Upgrade, explanation: &Explanation) -> Vec<String> {
    let text =
        std::fs::read_to_string(case.folder.join("expected.json")).expect("a case has an expected.json");
    let mut expected: Map<String, Value> =
        serde_json::from_str(&text).expect("expected.json is a JSON object");
    for key in ["changes", "conflicts", "findings"] {
        expected.entry(key).or_insert_with(|| json!([]));
    }
    let blocked = expected.remove("blocked").unwrap_or(Value::Bool(false));
    let mut actual = to_json(upgrade);
    actual["explain"] = explanation_to_json(explanation);
    actual["notes"] = json!(upgrade.notes);
    let mut troubles = Vec::new();
    for (key, expected) in &expected {
        if !contains(expected, &actual[key]) {
            troubles.push(format!(
                "`{key}` is\n{}\nbut was expected to be\n{}",
                serde_json::to_string_pretty(&actual[key]).unwrap(),
                serde_json::to_string_pretty(expected).unwrap()
            ));
        }
    }
    if blocked != Value::Bool(!upgrade.blocked.is_empty()) {
        troubles.push(format!("blocked: {:?}, expected {blocked}", upgrade.blocked));
    }
    troubles
}

fn contains(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            expected.iter().all(|(key, value)| actual.get(key).is_some_and(|actual| contains(value, actual)))
        }
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len() && expected.iter().zip(actual).all(|(a, b)| contains(a, b))
        }
        (expected, actual) => expected == actual,
    }
}
