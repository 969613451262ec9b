//! The catalogue's examples, run as the input that they are.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cluster::Cluster;
use crate::flux::FluxIndex;
use crate::inventory::{FleetInventory, InventoryReach, beyond};
use crate::layout::{discover, schemas_of};
use crate::merge::{ClusterFacts, ReleaseSource, SourceFacts, SourceFile};
use crate::policy::{
    About, AppliedBy, InstalledProviders, Occasion, PolicyFacts, ReleaseStep, Snapshot, ValidationScope,
    catalogue, folders_of, judge, validate,
};
use crate::release::{Catalogue, Release};
use crate::settings::{RepositorySettings, RuleIds};
use crate::upgrade::{
    ChangeSource, GiantSwarmRelease, MergeSettings, OldSource, Overwrite, Retarget, UpgradeRequest, Versions,
    plan,
};
use capstan_kustomize::render::{EditedTree, render};
use capstan_model::finding::{FileError, Finding, Severities, rules};
use capstan_model::ids::ReleaseName;
use capstan_model::target::TargetKind;
use capstan_model::tree::{EntryKind, Tree, TreeEntry};
use capstan_test_support::Files;

use super::{TODAY, path};

/// Paths from the repository's root, and texts. A path `a -> b` is a symbolic link.
type Texts<'a> = &'a [(&'static str, &'static str)];

/// A situation, as files. The bad example of a page has exactly one finding of its rule, and the good one none.
///
/// In the bad example, a comment `# <--` marks the line that the finding names. The clusters of examples are below
/// `peu01`, their releases below `aws`.
#[derive(Debug)]
enum Example {
    /// A tree, for `validate`.
    Tree(Owned),
    /// A pull request, or any two revisions.
    Change { before: Owned, after: Owned },
    /// A tree whose one cluster is upgraded to its newest release.
    Upgrade(Owned),
}

type Owned = Vec<(&'static str, &'static str)>;

/// The bad and the good example of a page. A good one without a state before begins as the bad one does.
fn examples(page: &'static str) -> (Example, Example) {
    let sections: BTreeMap<&str, &str> =
        page.split("\n## ").skip(1).map(|section| section.split_once('\n').unwrap()).collect();
    let files = |heading: &str| sections.get(heading).map(|section| files_of(section));
    let example = |word: &str| {
        let changed = |when: &str| files(&format!("{word} ({when})"));
        if let Some(tree) = files(word) {
            Example::Tree(tree)
        } else if let Some(tree) = changed("upgraded to its newest release") {
            Example::Upgrade(tree)
        } else {
            let before = changed("before").or_else(|| files("Bad (before)")).unwrap();
            Example::Change { before, after: changed("after").unwrap() }
        }
    };
    (example("Bad"), example("Good"))
}

/// `` `path`: `` and a block of code, each; a link has no block.
fn files_of(section: &'static str) -> Owned {
    let mut files = Owned::new();
    for (number, part) in section.split("```").enumerate() {
        match files.last_mut() {
            Some((_, text)) if number % 2 == 1 => *text = part.strip_prefix("yaml\n").unwrap(),
            _ => files.extend(
                part.lines().filter_map(|line| Some((line.strip_prefix('`')?.split_once('`')?.0, ""))),
            ),
        }
    }
    assert!(!files.is_empty(), "an example without files shows nothing: {section}");
    files
}

#[test]
fn bad_examples_break_their_rule_at_the_marked_line_and_good_ones_do_not() {
    let mut troubles = Vec::new();
    for rule in catalogue() {
        let about = rule.about();
        let of_rule = |example: &Example| -> Vec<Finding> {
            findings(example).into_iter().filter(|found| found.rule == about.entry).collect()
        };
        let (bad, good) = examples(about.page());
        match of_rule(&bad).as_slice() {
            [found] => troubles.extend(misplaced(about, &bad, found)),
            others => troubles.push(format!("{}: the bad example has {others:#?}", about.entry.id())),
        }
        if let Some(found) = of_rule(&good).first() {
            troubles.push(format!("{}: the good example has {found:#?}", about.entry.id()));
        }
    }
    assert!(troubles.is_empty(), "{}", troubles.join("\n"));
}

/// A finding that does not name the marked line.
fn misplaced(about: &About, bad: &Example, found: &Finding) -> Option<String> {
    let marks: Vec<(&str, u32)> = texts(bad)
        .flat_map(|(path, text)| text.lines().zip(1..).map(move |(line, number)| (path, line, number)))
        .filter(|(_, line, _)| line.contains("# <--"))
        .map(|(path, _, number)| (path, number))
        .collect();
    let told = found.file().zip(found.line()).map(|(file, line)| (file.as_str(), line));
    let right = match told {
        Some(place) => marks.contains(&place),
        None => marks.is_empty(),
    };
    (!right)
        .then(|| format!("{}: found at {told:?}, marked are {marks:?}: {}", about.entry.id(), found.message))
}

fn texts(example: &Example) -> impl Iterator<Item = (&'static str, &'static str)> + use<'_> {
    let (first, second): (Texts<'_>, Texts<'_>) = match example {
        Example::Tree(files) | Example::Upgrade(files) => (files, &[]),
        Example::Change { before, after } => (before, after),
    };
    first.iter().chain(second).copied()
}

fn findings(example: &Example) -> Vec<Finding> {
    let found = match example {
        Example::Tree(files) => validated(files, None),
        Example::Change { before, after } => validated(after, Some(before)).map(|mut found| {
            found.extend(reached(before, after));
            found
        }),
        Example::Upgrade(files) => upgraded(files),
    };
    found.unwrap_or_else(|error| vec![Finding::from(&error)])
}

/// That a change of the inventory reaches too far, by the definitions that it concerns: who plans knows their machines.
fn reached(before: Texts<'_>, after: Texts<'_>) -> Option<Finding> {
    let settings = settings_of(after).ok()?;
    let limits = settings.inventory.as_ref()?.limits;
    let (old, new) = (tree_of(before), tree_of(after));
    let (old, new) = (FleetInventory::read(&old, &settings)?, FleetInventory::read(&new, &settings)?);
    let reach = InventoryReach::of(&old, &new);
    beyond(&limits, [reach.definitions.len(), 0], None, reach.place(&new))
}

fn tree_of(files: Texts<'_>) -> Files {
    let link = |path: &str| path.split_once(" -> ").map(|(path, _)| path.to_owned());
    let plain = files
        .iter()
        .map(|(path, text)| (link(path).unwrap_or_else(|| (*path).to_owned()), text.as_bytes().to_vec()));
    let tree = Files::from_bytes(plain);
    files
        .iter()
        .filter_map(|(path, _)| link(path))
        .fold(tree, |tree, path| tree.with_kind(&path, EntryKind::Symlink))
}

fn settings_of(files: Texts<'_>) -> Result<RepositorySettings, FileError> {
    let text = files.iter().find(|(path, _)| *path == ".capstan.yaml").map_or("", |(_, text)| text);
    RepositorySettings::read(&path(".capstan.yaml"), text, &RuleIds::of_catalogue())
}

fn validated(now: Texts<'_>, before: Option<Texts<'_>>) -> Result<Vec<Finding>, FileError> {
    let settings = settings_of(now)?;
    let now = tree_of(now);
    let layout = discover(&now, &settings);
    let before = before.map(tree_of);
    let old_layout = before.as_ref().map(|tree| discover(tree, &settings)).unwrap_or_default();
    let schemas = schemas_of(&now, &layout);
    let before = before.as_ref().map(|tree| Snapshot {
        tree,
        layout: &old_layout,
        schemas: &schemas,
        cluster_api: None,
        flux: None,
        neighbours: None,
        supplies: None,
    });
    let installed = InstalledProviders::read(&now, &layout);
    let flux = FluxIndex::read(&now, &layout);
    let (cluster_api, flux) = (installed.core(), Some(&flux));
    let now = Snapshot {
        tree: &now,
        layout: &layout,
        schemas: &schemas,
        cluster_api,
        flux,
        neighbours: None,
        supplies: None,
    };
    Ok(validate(now, before, &settings, ValidationScope::Everything, TODAY))
}

/// Plans and judges as the generator does.
fn upgraded(files: Texts<'_>) -> Result<Vec<Finding>, FileError> {
    let settings = settings_of(files)?;
    let tree = tree_of(files);
    let layout = discover(&tree, &settings);
    let [folder] = layout.targets.as_slice() else { panic!("one cluster: {files:?}") };
    let cluster = Cluster::read(&tree, folder).unwrap();
    let schemas = schemas_of(&tree, &layout);
    let catalogue = Catalogue::read(&tree, &layout);
    let to = catalogue.releases().last().expect("a release");
    let from = cluster.recorded.as_ref().map(|recorded| match &recorded.name {
        ReleaseName::Id(id) => catalogue.find(id).unwrap(),
        ReleaseName::Version(version) => catalogue.find_version(&to.provider, version).unwrap(),
    });
    let (old, new) = (from.map(|release| source(&tree, release)), source(&tree, to));
    let facts = ClusterFacts {
        id: cluster.id.clone(),
        kind: TargetKind::Cluster,
        base_folder: folder.base.clone(),
        base: sources(&tree, &folder.base_files),
        contents: Vec::new(),
        overlay: sources(&tree, &folder.overlay_files),
        record: folder.settings.as_ref().map(|entry| text(&tree, entry)),
        variables: cluster.settings.as_ref().map(|own| own.variables.clone()).unwrap_or_default(),
        flux: FluxIndex::read(&tree, &layout).post_build(&cluster.id),
        release: from.map(|release| release.id.clone()),
        applied: AppliedBy::Others,
        classes_used_elsewhere: Vec::new(),
    };
    let merge = MergeSettings {
        conflicts: settings.upgrade.conflicts,
        owners: settings.upgrade.fields.clone(),
        settled: Vec::new(),
        versions: Versions::Move,
        overwrite: Overwrite::All,
    };
    let old = old.as_deref().map_or(OldSource::Unknown, OldSource::Known);
    let request = UpgradeRequest {
        cluster: &facts,
        old,
        new: new.as_ref(),
        settings: &merge,
        schemas: &schemas,
        retarget: Retarget::Refused,
    };
    let planned = plan(&request).unwrap();
    let folders = folders_of(folder);
    let before = render(&tree, &folders).unwrap();
    let after = render(&EditedTree::new(&tree, &planned.intended), &folders).unwrap();
    let place = cluster.release_scalar.as_ref().map(|scalar| scalar.place.clone());
    let facts = PolicyFacts {
        folders: &folders,
        before: &before,
        after: &after,
        inside: &[],
        applied_by: AppliedBy::Others,
        occasion: Occasion::Upgrade,
        release: Some(ReleaseStep { from, to, place }),
        schemas: &schemas,
        cluster_api: InstalledProviders::read(&tree, &layout).core().cloned(),
        boundary: None,
        values: None,
        today: TODAY,
    };
    let findings = judge(&facts, &Severities::default());
    Ok(planned.finish(findings, Vec::new()).findings)
}

fn source(tree: &Files, release: &Release) -> Box<dyn ChangeSource> {
    let facts = SourceFacts {
        base_folder: release.folder.join("base").unwrap(),
        base: sources(tree, &release.base_files),
        overlay: sources(tree, &release.overlay_files),
        variables: BTreeMap::clone(&release.variables),
        rendering: Arc::clone(&release.rendering),
    };
    let documents = ReleaseSource::read(release.id.clone(), None, &facts).unwrap();
    match &release.manifest {
        Some(entry) => Box::new(GiantSwarmRelease::read(documents, &text(tree, entry)).unwrap()),
        None => Box::new(documents),
    }
}

fn sources(tree: &Files, entries: &[TreeEntry]) -> Vec<SourceFile> {
    entries.iter().map(|entry| text(tree, entry)).collect()
}

fn text(tree: &Files, entry: &TreeEntry) -> SourceFile {
    let bytes = tree.read(entry).unwrap();
    SourceFile::new(entry.path.clone(), std::str::from_utf8(&bytes).unwrap())
}

#[test]
fn a_rotated_template_of_an_unlisted_kind_is_reported_once() {
    const MACHINES: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachineDeployment
metadata: {name: peu01-md-0, namespace: org}
spec: {template: {spec: {infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AcmeHostTemplate, name: peu01-md-0}}}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AcmeHostTemplate
metadata: {name: peu01-md-0, namespace: org}
spec: {template: {spec: {size: 1}}}
";
    const OLD: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AcmeHostTemplate
spec: {template: {spec: {size: 1}}}
";
    const NEW: &str = "\
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AcmeHostTemplate
spec: {template: {spec: {size: 2}}}
";
    let findings = upgraded(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/machines.yaml", MACHINES),
        ("aws/v21.0.0/base/machines.yaml", OLD),
        ("aws/v22.0.0/base/machines.yaml", NEW),
    ])
    .unwrap();
    let told: Vec<&str> = findings
        .iter()
        .filter(|finding| finding.rule == rules::UNKNOWN_TEMPLATE)
        .map(|finding| finding.message.as_str())
        .collect();
    assert_eq!(
        told,
        [
            "AcmeHostTemplate org/peu01-md-0 is of a kind that Capstan does not know. Machines are made from it, so it gets a new name like every machine template."
        ]
    );
}

#[test]
fn workers_that_a_release_leaves_too_far_behind_are_named_and_an_error() {
    const OLD: &str = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: peu01, namespace: org}
spec: {version: v1.31.2}
";
    const NEW: &str = "\
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: KubeadmControlPlane
metadata: {name: peu01, namespace: org}
spec: {version: v1.32.0}
";
    const OWN: &str = "\
apiVersion: cluster.x-k8s.io/v1beta1
kind: MachinePool
metadata: {name: batch, namespace: org}
spec: {template: {spec: {version: v1.28.3}}}
";
    let findings = upgraded(&[
        ("peu01/capstan.yaml", "release: aws/v21.0.0\n"),
        ("peu01/base/plane.yaml", OLD),
        ("peu01/base/own.yaml", OWN),
        ("aws/v21.0.0/base/plane.yaml", OLD),
        ("aws/v22.0.0/base/plane.yaml", NEW),
    ])
    .unwrap();
    let told: Vec<(&str, Option<&str>)> = findings
        .iter()
        .map(|finding| (finding.rule.id(), finding.file().map(capstan_model::tree::RepoPath::as_str)))
        .collect();
    let file = Some("peu01/base/own.yaml");
    assert_eq!(told, [("kubernetes-workers-behind", file), ("not-in-release", file)]);
}
