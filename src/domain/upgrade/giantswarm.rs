//! Giant Swarm releases (U16): the cluster names its release in one scalar inside the YAML string of a
//! ConfigMap, and that scalar is what changes.

use super::draft::Draft;
use super::record::record;
use super::{
    Basis, Certainty, Change, Course, OldSource, Planned, Reason, Refusal, Request, Rollout, Upgrade,
};
use crate::merge::Source;
use crate::merge::cluster_objects::Base;
use crate::object::FieldPath;
use crate::yaml::{Edit, Node, ScalarStyle, Value, YamlFile};

/// Where the release stands inside the string.
const PLACE: [&str; 3] = ["global", "release", "version"];

/// Components whose change replaces machines: they are the machines' image.
const IMAGE: [&str; 3] = ["flatcar", "kubernetes", "os-tooling"];

/// The scalar that names the release.
struct Named {
    object: usize,
    /// `/data/values`
    string: FieldPath,
    document: usize,
    inside: FieldPath,
    text: String,
    line: u32,
}

pub(super) fn plan(request: &Request<'_>, base: &Base) -> Result<Planned, Refusal> {
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
        to_tree: new.tree.clone(),
        basis: if old.is_some() { Basis::Known } else { Basis::Unknown },
        files: Vec::new(),
        changes: Vec::new(),
        conflicts: Vec::new(),
        findings: Vec::new(),
        rollouts: Vec::new(),
        blocked: Vec::new(),
        notes: Vec::new(),
    };
    let Some(named) = find(base) else {
        let sentence = "No ConfigMap of this cluster's base names a release in `global.release.version` of a YAML string, so there is nothing to set.";
        upgrade.blocked.push(sentence.to_owned());
        return Ok(Planned { upgrade, intended: Vec::new(), rotated: Vec::new() });
    };
    let mut draft = Draft::default();
    let version = version_text(new, &named.text);
    let id = base.objects[named.object].id.clone();
    let path: FieldPath = named.string.steps().iter().chain(named.inside.steps()).cloned().collect();
    if version != named.text {
        upgrade.changes.push(Change {
            object: id.clone(),
            file: base.file_of(named.object).path.clone(),
            line: Some(named.line),
            path: path.clone(),
            old: Some(Value::from(named.text.as_str())),
            new: Some(Value::from(version.as_str())),
            reason: Reason::Release,
        });
        let set = Edit::Set { path: named.inside, node: Node::string(version) };
        draft.edit_object(
            base,
            named.object,
            [Edit::Within { path: named.string, document: named.document, edits: vec![set] }],
        );
        let (sentences, rolls) = differences(old, new);
        upgrade.notes = sentences;
        if rolls {
            upgrade.rollouts.push(Rollout {
                object: id,
                machines: None,
                certainty: Certainty::Unknown,
                because: vec![path],
                course: Course::default(),
            });
        }
    }
    let (mut intended, refused) = draft.into_files(base, &cluster.base_folder);
    upgrade.findings.extend(refused);
    match record(cluster, new, &[])? {
        Ok(change) => intended.extend(change),
        Err(finding) => upgrade.findings.push(finding),
    }
    if let Some(finding) = upgrade.findings.first() {
        let file = finding.file.as_ref().map(ToString::to_string).unwrap_or_default();
        upgrade.blocked.push(format!("{file} cannot be edited as intended."));
    }
    Ok(Planned { upgrade, intended, rotated: Vec::new() })
}

fn find(base: &Base) -> Option<Named> {
    (0..base.objects.len()).find_map(|object| {
        let id = &base.objects[object].id;
        if !id.group.is_empty() || id.kind != "ConfigMap" {
            return None;
        }
        let data = base.node(object).get("data")?.as_mapping()?;
        data.iter().find_map(|entry| {
            let file = YamlFile::read(entry.value.as_str()?).ok()?;
            let inside: FieldPath = PLACE.iter().fold(FieldPath::root(), |path, key| path.key(key));
            let (document, node) = file
                .documents()
                .iter()
                .enumerate()
                .find_map(|(at, document)| Some((at, document.root.at(&inside)?)))?;
            let start = base.position(object, entry.value.span.start).line;
            let block = matches!(entry.value.as_scalar()?.style, ScalarStyle::Literal | ScalarStyle::Folded);
            // The first line of a block scalar is the one below its header.
            let line = if block { start + file.position(node.span.start).line } else { start };
            Some(Named {
                object,
                string: FieldPath::root().key("data").key(&entry.key),
                document,
                text: node.as_scalar()?.text.clone(),
                inside: inside.clone(),
                line,
            })
        })
    })
}

/// The release's version as the cluster writes versions: with or without `v`.
fn version_text(new: &Source, written: &str) -> String {
    let name = new.id.as_str().rsplit('/').next().unwrap_or_default();
    let bare = name.strip_prefix('v').unwrap_or(name);
    if written.starts_with('v') { format!("v{bare}") } else { bare.to_owned() }
}

/// Components and apps that change, a sentence each, and whether machines' images are among them.
fn differences(old: Option<&Source>, new: &Source) -> (Vec<String>, bool) {
    let mut sentences = Vec::new();
    // What is unknown may replace machines.
    let mut rolls = old.is_none();
    for (list, word) in [("components", "Component"), ("apps", "App")] {
        let (before, after) =
            (old.map(|source| versions(source, list)).unwrap_or_default(), versions(new, list));
        for (name, version) in &after {
            match before.iter().find(|(known, _)| known == name) {
                Some((_, known)) if known == version => continue,
                Some((_, known)) => sentences.push(format!("{word} {name}: {known} -> {version}.")),
                None if old.is_some() => sentences.push(format!("{word} {name} {version} comes.")),
                None => {}
            }
            rolls |= list == "components" && IMAGE.contains(&name.as_str());
        }
        for (name, version) in before.iter().filter(|(name, _)| !after.iter().any(|(other, _)| other == name))
        {
            sentences.push(format!("{word} {name} {version} goes."));
        }
    }
    (sentences, rolls)
}

fn versions(source: &Source, list: &str) -> Vec<(String, String)> {
    let Some(file) = &source.release_yaml else { return Vec::new() };
    let roots = file.documents().iter().map(|document| &document.root);
    let items = roots.filter_map(|root| root.get("spec")?.get(list)?.as_sequence()).flatten();
    let text =
        |item: &Node, key: &str| item.get(key).and_then(Node::as_scalar).map(|scalar| scalar.text.clone());
    items.filter_map(|item| Some((text(item, "name")?, text(item, "version")?))).collect()
}
