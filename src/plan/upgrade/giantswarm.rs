//! Giant Swarm releases (U16): the cluster names its release in one scalar, most often inside the YAML
//! string of a ConfigMap, and that scalar is what changes.
//!
//! Everything else of the string stays byte by byte, whatever its style; a string that cannot be edited
//! so (one that a tool encrypted, say) is refused. Where several scalars count
//! ([`named_releases`]), all of them change; where they disagree the upgrade blocks. A version that pins the
//! cluster's chart beside it is [`super::charts`]'s.

use super::charts::{self, ChartMove, chart_moves};
use super::components::{self, ComponentChange, Part};
use super::draft::Draft;
use super::record::{Graves, record};
use super::{Basis, Certainty, Change, Course, OldSource, Planned, Reason, Request, Rollout, Upgrade};
use crate::giant_swarm::{Holder, NamedRelease, named_releases};
use crate::merge::Source;
use crate::merge::cluster_objects::Base;
use capstan_model::finding::{FileError, Finding, Place, rules};
use capstan_model::object::FieldPath;
use capstan_model::version::ReleaseVersion;
use capstan_yaml::{Edit, Node, Position, Value};

/// Components whose change replaces machines: they are the machines' image.
const IMAGE: [&str; 3] = ["flatcar", "kubernetes", "os-tooling"];

pub(super) fn plan(request: &Request<'_>, base: &Base) -> Result<Planned, FileError> {
    let cluster = request.cluster;
    let new = request.new;
    let old = match request.old {
        OldSource::Known(source) => Some(source),
        OldSource::Infer(_) | OldSource::Unknown => None,
    };
    let mut upgrade = Upgrade {
        cluster: cluster.id.clone(),
        from: old.map(|source| source.id.clone()).or_else(|| cluster.release.clone()),
        to: Some(new.id.clone()),
        to_content: new.content.clone(),
        basis: if old.is_some() { Basis::Known } else { Basis::Unknown },
        files: Vec::new(),
        changes: Vec::new(),
        conflicts: Vec::new(),
        findings: Vec::new(),
        rollouts: Vec::new(),
        components: Vec::new(),
        blocked: Vec::new(),
        notes: Vec::new(),
    };
    let holder = |at: usize| Holder {
        id: &base.objects[at].id,
        root: base.node(at),
        key: base.keys.get(&at).map(String::as_str),
    };
    let holders: Vec<Holder<'_>> = (0..base.objects.len()).map(holder).collect();
    let named = match decide(base, &holders) {
        Ok(named) => named,
        Err(obstacle) => {
            upgrade.blocked.push(obstacle.sentence);
            upgrade.findings.extend(obstacle.finding.map(|finding| *finding));
            return Ok(Planned { upgrade, intended: Vec::new(), rotated: Vec::new() });
        }
    };
    let mut draft = Draft::default();
    for (object, named) in &named {
        let version = version_text(new, &named.text);
        if version == named.text {
            continue;
        }
        upgrade.changes.push(Change {
            object: base.objects[*object].id.clone(),
            file: base.file_of(*object).path.clone(),
            line: Some(position(base, *object, named).line),
            path: named.path(),
            old: Some(Value::from(named.text.as_str())),
            new: Some(Value::from(version.as_str())),
            from: None,
            reason: Reason::Release,
        });
        draft.edit_object(*object, [set(named, version)]);
    }
    if let Some(first) = upgrade.changes.first() {
        upgrade.components = old.map(|old| components::differences(old, new)).unwrap_or_default();
        // What is unknown may replace machines.
        if old.is_none() || upgrade.components.iter().any(replaces_machines) {
            upgrade.rollouts.push(Rollout {
                object: first.object.clone(),
                machines: None,
                certainty: Certainty::Unknown,
                because: vec![first.path.clone()],
                course: Course::default(),
            });
        }
    }
    let moves = if upgrade.changes.is_empty() {
        Vec::new()
    } else {
        chart_moves(base, &holders, &named, (old, new), request.settings.conflicts)
    };
    charts::without_those_that_stay(&mut upgrade.components, &moves);
    let mut stay = Vec::new();
    for chart in moves {
        match chart {
            ChartMove::Set { object, path, old, new } => {
                upgrade.changes.push(chart_change(base, object, &path, &old, &new));
                draft.edit_object(object, [Edit::Set { path, node: Node::string(new) }]);
            }
            ChartMove::Stays { said, .. } => {
                let (finding, conflict) = *said;
                if conflict.as_ref().is_some_and(|conflict| conflict.blocks) {
                    upgrade.blocked.push(finding.message.clone());
                }
                upgrade.conflicts.extend(conflict);
                stay.push(finding);
            }
            ChartMove::Floats { note, .. } => upgrade.notes.push(note),
        }
    }
    let (mut intended, refused) = draft.into_files(base, &cluster.base_folder);
    upgrade.findings.extend(refused);
    match record(cluster, new, &Graves::default())? {
        Ok(change) => intended.extend(change),
        Err(finding) => upgrade.findings.push(finding),
    }
    if let Some(finding) = upgrade.findings.first() {
        let file = finding.file().map(ToString::to_string).unwrap_or_default();
        upgrade.blocked.push(format!("{file} cannot be edited as intended."));
    }
    upgrade.findings.extend(stay);
    Ok(Planned { upgrade, intended, rotated: Vec::new() })
}

/// The pin of the cluster's chart becomes what the release was made with.
fn chart_change(base: &Base, object: usize, path: &FieldPath, old: &str, new: &str) -> Change {
    let node = base.node(object);
    let at = node.at(path).unwrap_or(node).span.start;
    Change {
        object: base.objects[object].id.clone(),
        file: base.file_of(object).path.clone(),
        line: Some(base.position(object, at).line),
        path: path.clone(),
        from: None,
        old: Some(Value::from(old)),
        new: Some(Value::from(new)),
        reason: Reason::Release,
    }
}

/// Why the release's name cannot be set.
struct Obstacle {
    sentence: String,
    finding: Option<Box<Finding>>,
}

/// The scalars to set, with their objects.
fn decide(base: &Base, holders: &[Holder<'_>]) -> Result<Vec<(usize, NamedRelease)>, Obstacle> {
    let named = named_releases(holders);
    let place = |(object, named): &(usize, NamedRelease)| {
        format!("{}:{}", base.file_of(*object).path, position(base, *object, named).line)
    };
    let Some(first) = named.first() else {
        let sentence = "Nothing in this cluster's base names a release, so there is nothing to set: give its chart \
                        `global.release.version`, in a string of a ConfigMap or in the HelmRelease's values.";
        return Err(Obstacle { sentence: sentence.to_owned(), finding: None });
    };
    if let Some(variable) = named.iter().find(|(_, named)| named.text.contains("${")) {
        let sentence = format!(
            "{} names the release by a variable, `{}`: change its value where that is set (the `postBuild` of a Flux \
             Kustomization, say).",
            place(variable),
            variable.1.text
        );
        return Err(Obstacle { sentence, finding: None });
    }
    let version = |named: &NamedRelease| ReleaseVersion::parse(&named.text);
    let differs = |(_, other): &&(usize, NamedRelease)| {
        other.text != first.1.text && (version(other) != version(&first.1) || version(other).is_none())
    };
    let Some(other) = named.iter().find(differs) else { return Ok(named) };
    let sentence = format!(
        "{} says release {}, but {} says {}: nobody can tell which one the cluster is at. Make them agree, or take \
         one of them out.",
        place(first),
        first.1.text,
        place(other),
        other.1.text
    );
    let at = position(base, other.0, &other.1);
    let finding = Finding::new(rules::AMBIGUOUS_MATCH, sentence.clone())
        .place(Place::at(base.file_of(other.0).path.clone(), at))
        .object(&base.objects[other.0].id)
        .path(&other.1.path());
    Err(Obstacle { sentence, finding: Some(Box::new(finding)) })
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

/// Where the scalar stands, also in a string.
fn position(base: &Base, object: usize, named: &NamedRelease) -> Position {
    let file = &base.file_of(object).yaml;
    file.position(named.offset(file, base.node(object)))
}

/// The release's version as the cluster writes versions: with or without `v`.
fn version_text(new: &Source, written: &str) -> String {
    let name = new.id.as_str().rsplit('/').next().unwrap_or_default();
    let bare = name.strip_prefix('v').unwrap_or(name);
    if written.starts_with('v') { format!("v{bare}") } else { bare.to_owned() }
}

fn replaces_machines(change: &ComponentChange) -> bool {
    change.part == Part::Component && change.new.is_some() && IMAGE.contains(&change.name.as_str())
}
