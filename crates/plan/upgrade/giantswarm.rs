//! Giant Swarm releases ([U16]): the cluster names its release in one scalar, most often inside the YAML
//! string of a ConfigMap, and that scalar is what changes.
//!
//! Everything else of the string stays byte by byte, whatever its style; a string that cannot be edited
//! so (one that a tool encrypted, say) is refused. Where several scalars count
//! ([`named_releases`]), all of them change; where they disagree the upgrade blocks. A version that pins the
//! cluster's chart beside it is [`super::charts`]'s.
//!
//! [U16]: crate::upgrade#u16

use super::change_source::{
    AmbiguousFields, ChangeSource, FieldChanges, FieldSet, FieldSource, OwnFields, ReleaseRecord,
};
use super::charts::{self, ChartMove, chart_moves};
use super::component::{ComponentChange, ComponentVersion, ReleaseList};
use super::components;
use super::model::{Certainty, Course, Rollout};
use crate::giant_swarm::{Holder, NamedRelease, named_releases};
use crate::merge::cluster_objects::Base;
use crate::merge::{ReleaseSource, SourceFile};
use crate::settings::ConflictPolicy;
use capstan_model::finding::{FileError, Finding, Place, rules};
use capstan_model::source::{SourceContent, SourceId};
use capstan_model::tree::RepoPath;
use capstan_model::version::ReleaseVersion;
use capstan_yaml::{Edit, Node, YamlFile};

/// Components whose change replaces machines: they are the machines' image.
const IMAGE: [&str; 3] = ["flatcar", "kubernetes", "os-tooling"];

/// A Giant Swarm release, read: the second source of change.
#[derive(Debug)]
pub struct GiantSwarmRelease {
    /// The other files in its folder; nothing of them is merged.
    documents: ReleaseSource,
    manifest: YamlFile,
    file: RepoPath,
}

impl GiantSwarmRelease {
    /// Reads the `release.yaml` of a release whose other files are read already.
    ///
    /// # Errors
    /// A file that is not YAML, with its place.
    pub fn read(documents: ReleaseSource, release_yaml: &SourceFile) -> Result<Self, FileError> {
        Ok(Self { documents, manifest: release_yaml.read()?, file: release_yaml.path.clone() })
    }
}

impl ChangeSource for GiantSwarmRelease {
    fn id(&self) -> &SourceId {
        self.documents.id()
    }

    fn content(&self) -> Option<SourceContent> {
        ChangeSource::content(&self.documents)
    }

    fn documents(&self) -> &ReleaseSource {
        &self.documents
    }

    fn fields(&self) -> Option<OwnFields<'_>> {
        Some(OwnFields(self))
    }

    fn record(&self) -> Option<ReleaseRecord<'_>> {
        self.documents.record()
    }

    fn components(&self) -> Vec<ComponentVersion> {
        ReleaseList::ALL.into_iter().flat_map(|(part, list)| self.versions(part, list)).collect()
    }
}

impl GiantSwarmRelease {
    fn versions(&self, part: ReleaseList, list: &str) -> Vec<ComponentVersion> {
        let roots = self.manifest.documents().iter().map(|document| &document.root);
        let items = roots.filter_map(|root| root.get("spec")?.get(list)?.as_sequence()).flatten();
        let text = |item: &Node, key: &str| {
            item.get(key).and_then(Node::as_scalar).map(|scalar| scalar.text.clone())
        };
        let of = |item| {
            Some(ComponentVersion { part, name: text(item, "name")?, version: text(item, "version")? })
        };
        items.filter_map(of).collect()
    }
}

impl FieldSource for GiantSwarmRelease {
    fn changes(
        &self,
        base: &Base,
        old: Option<&dyn ChangeSource>,
        policy: ConflictPolicy,
    ) -> Result<FieldChanges, AmbiguousFields> {
        let holder = |at: usize| Holder {
            id: &base.objects[at].id,
            root: base.node(at),
            key: base.keys.get(&at).map(String::as_str),
        };
        let holders: Vec<Holder<'_>> = (0..base.objects.len()).map(holder).collect();
        let named = decide(base, &holders)?;
        let set = |(object, named): &(usize, NamedRelease)| {
            let version = self.version_text(&named.text);
            (version != named.text).then(|| FieldSet {
                object: *object,
                path: named.path(),
                place: place(base, *object, named).without_column(),
                old: named.text.clone(),
                new: version.clone(),
                edit: set(named, version),
            })
        };
        let sets: Vec<FieldSet> = named.iter().filter_map(set).collect();
        let Some(first) = sets.first() else { return Ok(FieldChanges::default()) };
        let mut components = old.map(|old| components::differences(old, self)).unwrap_or_default();
        // What is unknown may replace machines.
        let replaces = old.is_none() || components.iter().any(replaces_machines);
        let rollout = || Rollout {
            object: base.objects[first.object].id.clone(),
            machines: None,
            certainty: Certainty::Unknown,
            because: vec![first.path.clone()],
            course: Course::default(),
        };
        let rollouts = replaces.then(rollout).into_iter().collect();
        let moves = chart_moves(base, &holders, &named, (old, self), policy);
        charts::without_those_that_stay(&mut components, &moves);
        let mut changes = FieldChanges { sets, components, rollouts, ..FieldChanges::default() };
        for chart in moves {
            match chart {
                ChartMove::Set { object, path, old, new } => {
                    let node = base.node(object);
                    let at = node.at(&path).unwrap_or(node).span.start;
                    let edit = Edit::Set { path: path.clone(), node: Node::string(new.as_str()) };
                    let place = base.line(object, Some(at));
                    changes.sets.push(FieldSet { object, path, place, old, new, edit });
                }
                ChartMove::Stays { said, .. } => changes.stays.push(*said),
                ChartMove::Floats { note, .. } => changes.notes.push(note),
            }
        }
        Ok(changes)
    }

    /// The one scalar that names the release.
    fn origin(&self) -> (&'static str, Place) {
        let root = self.manifest.documents().first().map(|document| &document.root);
        let name = root.and_then(|root| root.get("metadata")?.get("name"));
        let line = name.map_or(1, |name| self.manifest.position(name.span.start).line);
        ("the name of the new release", Place::line_of(self.file.clone(), line))
    }
}

/// The scalars to set, with their objects.
fn decide(base: &Base, holders: &[Holder<'_>]) -> Result<Vec<(usize, NamedRelease)>, AmbiguousFields> {
    let named = named_releases(holders);
    let line = |(object, named): &(usize, NamedRelease)| place(base, *object, named).without_column();
    let Some(first) = named.first() else {
        let sentence = "Nothing in this cluster's base names a release: set `global.release.version` of its chart, in a string of a ConfigMap or in the HelmRelease's values.";
        return Err(AmbiguousFields { sentence: sentence.to_owned(), finding: None });
    };
    if let Some(variable) = named.iter().find(|(_, named)| named.text.contains("${")) {
        let sentence = format!(
            "{} names the release by a variable, `{}`: change the variable where it is set (for example in `postBuild` of a Flux Kustomization).",
            line(variable),
            variable.1.text
        );
        return Err(AmbiguousFields { sentence, finding: None });
    }
    let version = |named: &NamedRelease| ReleaseVersion::parse(&named.text);
    let differs = |(_, other): &&(usize, NamedRelease)| {
        other.text != first.1.text && (version(other) != version(&first.1) || version(other).is_none())
    };
    let Some(other) = named.iter().find(differs) else { return Ok(named) };
    let sentence = format!(
        "{} names release {}, but {} names {}, so the cluster's release is unknown. Make them agree, or remove one of them.",
        line(first),
        first.1.text,
        line(other),
        other.1.text
    );
    let finding = Finding::new(rules::AMBIGUOUS_MATCH, sentence.clone())
        .place(place(base, other.0, &other.1))
        .object(&base.objects[other.0].id)
        .path(&other.1.path());
    Err(AmbiguousFields { sentence, finding: Some(Box::new(finding)) })
}

fn set(named: &NamedRelease, version: String) -> Edit {
    let node = Node::string(version);
    match &named.inside {
        None => Edit::Set { path: named.outer.clone(), node },
        Some((document, inside)) => Edit::Within {
            path: named.outer.clone(),
            document: *document,
            edits: vec![Edit::Set { path: inside.clone(), node }],
        },
    }
}

/// The place of the scalar, also within a string.
fn place(base: &Base, object: usize, named: &NamedRelease) -> Place {
    let file = base.file_of(object);
    Place::at(file.path.clone(), file.yaml.position(named.offset(&file.yaml, base.node(object))))
}

impl GiantSwarmRelease {
    /// The release's version as the cluster writes versions: with or without `v`.
    fn version_text(&self, written: &str) -> String {
        let name = self.documents.id.path().rsplit('/').next().unwrap_or_default();
        let bare = name.strip_prefix('v').unwrap_or(name);
        if written.starts_with('v') { format!("v{bare}") } else { bare.to_owned() }
    }
}

fn replaces_machines(change: &ComponentChange) -> bool {
    change.part == ReleaseList::Component && change.new.is_some() && IMAGE.contains(&change.name.as_str())
}
