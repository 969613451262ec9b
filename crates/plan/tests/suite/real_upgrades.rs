//! Real upgrades: the manifests of several versions of real projects. A cluster that is one version of a file becomes
//! the next one. With a person's edits in it, every edit is kept or reported, and no object is a mixture of two API
//! versions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use capstan_kustomize::conversion::{Conversion, ConversionStep, apply, convert};
use capstan_kustomize::schema::Schemas;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::object::Step;
use capstan_model::target::TargetKind;
use capstan_model::tree::RepoPath;
use capstan_plan::flux::PostBuild;
use capstan_plan::merge::{AppliedBy, ClusterFacts, ReleaseSource, SourceFacts, SourceFile};
use capstan_plan::upgrade::{
    Conflict, MergeSettings, OldSource, PlannedUpgrade, Retarget, UpgradeRequest, plan,
};
use capstan_yaml::{Node, Value, YamlFile};

use crate::edits::edited;
use crate::objects::{fields, id, objects, shape};
use capstan_test_support::random::{Random, seed};
use capstan_test_support::shared_data;

/// Two versions of one file.
struct Pair {
    name: String,
    old: String,
    new: String,
}

/// All pairs of versions of one file, in both directions, and each with itself.
fn pairs() -> Option<Vec<Pair>> {
    let files = shared_data::yaml_files()?;
    let mut versions: BTreeMap<(String, String), Vec<(String, String)>> = BTreeMap::new();
    for file in files {
        let Some((_, below)) = file.to_str().and_then(|path| path.split_once("/manifests/")) else {
            continue;
        };
        let mut parts = below.splitn(3, '/');
        if let (Some(project), Some(version), Some(path)) = (parts.next(), parts.next(), parts.next())
            && let Some(text) = plain(&file)
        {
            let key = (project.to_owned(), path.to_owned());
            versions.entry(key).or_default().push((version.to_owned(), text));
        }
    }
    let mut pairs = Vec::new();
    for ((project, path), versions) in &versions {
        for (one, old) in versions {
            for (other, new) in versions {
                let name = format!("{project} {path}: {one} -> {other}");
                pairs.push(Pair { name, old: old.clone(), new: new.clone() });
            }
        }
    }
    Some(pairs)
}

/// The text of a file that holds whole objects alone, each identity once, and none of kustomize's own.
fn plain(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let yaml = YamlFile::read(&text).ok()?;
    let mut seen = BTreeSet::new();
    let whole = yaml.documents().iter().all(|document| {
        let value = document.root.value();
        let text = |pointer: &str| value.pointer(pointer).is_some_and(Value::is_string);
        text("/apiVersion") && text("/kind") && text("/metadata/name") && seen.insert(id(&value))
    });
    whole.then_some(text)
}

fn path(text: &str) -> RepoPath {
    RepoPath::parse(text).unwrap()
}

fn source(id: &str, text: &str) -> ReleaseSource {
    let base_folder = path(&format!("{id}/base"));
    let file = SourceFile::new(base_folder.join("all.yaml").unwrap(), text);
    let facts = SourceFacts { base_folder, base: vec![file], ..SourceFacts::default() };
    ReleaseSource::read(ReleaseId::from_path(id), None, &facts).unwrap()
}

/// Plans the upgrade of a cluster whose base is one file.
pub(crate) fn upgrade(old: &str, cluster: &str, new: &str) -> PlannedUpgrade {
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
    let (from, to) = (source("x/v1.0.0", old), source("x/v2.0.0", new));
    let settings = MergeSettings::default();
    let schemas = Schemas::built_in();
    let old = OldSource::Known(&from);
    plan(&UpgradeRequest {
        cluster: &cluster,
        old,
        new: &to,
        settings: &settings,
        schemas,
        retarget: Retarget::Refused,
    })
    .unwrap()
}

/// The base's text as it would be.
fn after(planned: &PlannedUpgrade, before: &str) -> String {
    let changed = planned.intended.iter().find(|file| file.path.name() == "all.yaml");
    changed.map_or(before, |file| file.after.as_deref().unwrap_or_default()).to_owned()
}

/// Why an upgrade may well stop at nothing: it would go back, or lose machines, or needs a name.
fn stops_for_a_reason(planned: &PlannedUpgrade) -> bool {
    let reasons = ["kubernetes-downgrade", "removes-cluster", "ambiguous-match", "namespace-changed"];
    planned.upgrade.findings.iter().any(|finding| reasons.contains(&finding.rule.id()))
}

#[test]
fn an_untouched_real_cluster_becomes_the_other_version() {
    let Some(pairs) = pairs() else { return };
    let mut troubles = Vec::new();
    let mut stopped = 0;
    for Pair { name, old, new } in &pairs {
        let planned = upgrade(old, old, new);
        if old == new {
            let changed = planned.intended.iter().any(|file| file.path.name() == "all.yaml");
            troubles.extend(changed.then(|| format!("{name}: changes although nothing changed")));
        } else if stops_for_a_reason(&planned) {
            stopped += 1;
        } else {
            let trouble = difference(&planned, old, new);
            troubles.extend(trouble.map(|trouble| format!("{name}: {trouble}")));
        }
    }
    println!(
        "{} pairs of versions, {stopped} of which go back, remove a cluster, move objects to another namespace or are ambiguous",
        pairs.len()
    );
    assert!(troubles.is_empty(), "{} differ:\n{}", troubles.len(), troubles.join("\n"));
}

/// What the check of the result found missing, the first of it.
fn lacking(planned: &PlannedUpgrade) -> String {
    let found = planned.upgrade.findings.iter().filter(|finding| finding.rule.id() == "incomplete-upgrade");
    found.take(5).map(|finding| format!("\n  {}", finding.message)).collect()
}

/// What is wrong with the result of an upgrade of an untouched cluster.
fn difference(planned: &PlannedUpgrade, old: &str, new: &str) -> Option<String> {
    let upgrade = &planned.upgrade;
    if !upgrade.conflicts.is_empty() || !upgrade.blocked.is_empty() {
        return Some(format!(
            "conflicts {:?}, blocked {:?}{}",
            upgrade.conflicts,
            upgrade.blocked,
            lacking(planned)
        ));
    }
    let [result, wanted] = [after(planned, old).as_str(), new].map(|text| {
        let mut all = objects(text);
        // What a release puts into a namespace stays where the cluster has it.
        all.values_mut().filter_map(|value| value["metadata"].as_object_mut()).for_each(|metadata| {
            metadata.remove("namespace");
        });
        all
    });
    // Names are the cluster's own: where the release calls something otherwise, only the rest compares.
    if objects(old).keys().all(|id| wanted.contains_key(id)) {
        let ids: BTreeSet<&String> = result.keys().chain(wanted.keys()).collect();
        let differing = |id: &&&String| result.get(**id) != wanted.get(**id);
        let told = |id: &String| {
            let sides = [&result, &wanted].map(|side| side.get(id).map(fields).unwrap_or_default());
            let paths: BTreeSet<&String> = sides[0].keys().chain(sides[1].keys()).collect();
            let differing = paths.into_iter().filter(|path| sides[0].get(*path) != sides[1].get(*path));
            let lines = differing
                .map(|path| format!("\n  {path}: {:?} not {:?}", sides[0].get(path), sides[1].get(path)));
            format!("{id}{}", lines.collect::<String>())
        };
        let told: Vec<String> = ids.iter().filter(differing).map(|id| told(id)).collect();
        return (!told.is_empty()).then(|| told.join("\n"));
    }
    let contents = |objects: &BTreeMap<String, Value>| -> Vec<String> {
        let mut all: Vec<_> = objects.values().map(|value| nameless(value).to_string()).collect();
        all.sort();
        all
    };
    let (result, wanted) = (contents(&result), contents(&wanted));
    let lacking: Vec<_> = wanted.iter().filter(|object| !result.contains(object)).collect();
    let besides: Vec<_> = result.iter().filter(|object| !wanted.contains(object)).collect();
    (result != wanted).then(|| format!("lacks\n{lacking:#?}\nand has besides\n{besides:#?}"))
}

/// An object without the names in it, its keys in order.
fn nameless(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let named = |key: &str| matches!(key, "name" | "namespace" | "clusterName");
            let kept = map.iter().filter(|(key, value)| !(named(key) && value.is_string()));
            let sorted: BTreeMap<_, _> = kept.map(|(key, value)| (key.clone(), nameless(value))).collect();
            sorted.into_iter().collect()
        }
        Value::Array(items) => items.iter().map(nameless).collect(),
        scalar => scalar.clone(),
    }
}

#[test]
fn every_edit_of_a_real_cluster_is_kept_or_reported_and_no_object_is_a_mixture() {
    let Some(pairs) = pairs() else { return };
    let seed = seed();
    println!("seed {seed} (CAPSTAN_SEED repeats another one)");
    let mut troubles = Vec::new();
    let (mut blocked, mut done) = (0, 0);
    let (mut moved, mut held) = (0, 0);
    for (at, Pair { name, old, new }) in pairs.iter().enumerate() {
        if old == new {
            continue;
        }
        for round in 0..3 {
            let mut random = Random::new(seed ^ (at as u64 * 16 + round));
            let cluster = edited(old, &mut random);
            let planned = upgrade(old, &cluster, new);
            let moves = moves(old, new);
            if !planned.upgrade.blocked.is_empty() {
                blocked += 1;
                held += u32::from(moves);
                let refused = planned.upgrade.findings.iter().find(|known| known.rule.id() == "edit-refused");
                troubles.extend(refused.map(|refused| format!("{name}: {}", refused.message)));
                let told = stops_for_a_reason(&planned)
                    || planned.upgrade.conflicts.iter().any(|conflict| conflict.blocks)
                    || planned.upgrade.findings.iter().any(|finding| finding.rule.id() == "step-group-split");
                troubles.extend((!told).then(|| {
                    let blocked = &planned.upgrade.blocked;
                    format!("{name}: blocked without a word: {blocked:?}{}", lacking(&planned))
                }));
                continue;
            }
            done += 1;
            moved += u32::from(moves);
            let found = wrongs(old, &cluster, new, &planned);
            troubles.extend(found.into_iter().map(|trouble| format!("{name}, round {round}: {trouble}")));
        }
    }
    println!("{done} upgrades of edited clusters went through, {blocked} blocked");
    println!(
        "of those that move Cluster API's own kinds to a newer version, {moved} went through, {held} blocked"
    );
    let shown: Vec<_> = troubles.iter().take(20).cloned().collect();
    assert!(troubles.is_empty(), "seed {seed}: {} wrong:\n{}", troubles.len(), shown.join("\n"));
}

/// Whether an object of Cluster API's own groups comes to a newer version.
fn moves(old: &str, new: &str) -> bool {
    let (old, new) = (objects(old), objects(new));
    let version = |value: &Value| value["apiVersion"].as_str().unwrap_or_default().to_owned();
    old.iter().any(|(id, value)| {
        let (was, is) = (version(value), new.get(id).map(version).unwrap_or_default());
        let own = ["cluster", "bootstrap.cluster", "controlplane.cluster"];
        own.iter().any(|group| was.starts_with(&format!("{group}.x-k8s.io/"))) && was < is
    })
}

/// What is wrong with the upgrade of an edited cluster.
pub(crate) fn wrongs(old: &str, cluster: &str, new: &str, planned: &PlannedUpgrade) -> Vec<String> {
    let text = after(planned, cluster);
    let (o, c, n, r) = (objects(old), objects(cluster), objects(new), objects(&text));
    let mut out = Vec::new();
    for (id, cluster) in &c {
        // What the release renames or drops is a matter of whole objects.
        let (Some(old), Some(new), Some(result)) = (o.get(id), n.get(id), r.get(id)) else { continue };
        let raw = shape(old);
        let is_other = result["apiVersion"] != cluster["apiVersion"];
        let was = cluster["apiVersion"].clone();
        let [old, cluster, new] = [old, cluster, new].map(|side| in_version(side, &result["apiVersion"]));
        let (old, cluster, new) = (&old, &cluster, &new);
        let conflicts: Vec<&Conflict> = planned
            .upgrade
            .conflicts
            .iter()
            .filter(|known| format!("{} {}", known.object.kind, known.object.name) == *id)
            .collect();
        out.extend(
            wrong_fields([old, cluster, new, result], &conflicts, is_other)
                .into_iter()
                .map(|text| format!("{id}: {text}")),
        );
        if is_other {
            // A field that a conversion does not move is in both versions.
            let is_converted = old["apiVersion"] == result["apiVersion"];
            let stays: BTreeSet<_> = shape(old).union(&shape(cluster)).cloned().collect();
            let now = shape(new);
            let foreign: Vec<_> = shape(result)
                .into_iter()
                .filter(|place| raw.contains(place) && !now.contains(place))
                .filter(|place| !is_converted || !stays.contains(place))
                .collect();
            if !foreign.is_empty() {
                out.push(format!("{id} is {} with {foreign:?} of {was}", result["apiVersion"]));
            }
        }
    }
    out.extend(missing_objects([&o, &n, &r], planned));
    let again = upgrade(new, &text, new);
    if let Some(file) = again.intended.iter().find(|file| file.path.name() == "all.yaml") {
        out.push(format!("done again it changes once more:\n{}", file.after.as_deref().unwrap_or_default()));
    }
    out
}

/// Objects of the new release that stand nowhere after the upgrade: neither under their names nor, renamed, in
/// place of an object that the release does not have.
fn missing_objects([o, n, r]: [&BTreeMap<String, Value>; 3], planned: &PlannedUpgrade) -> Vec<String> {
    let kind = |id: &str| id.split(' ').next().unwrap_or_default().to_owned();
    let told = |id: &str| {
        let names_it =
            |conflict: &&Conflict| format!("{} {}", conflict.object.kind, conflict.object.name) == id;
        planned.upgrade.conflicts.iter().any(|conflict| names_it(&conflict) && conflict.path.is_root())
    };
    let stands_renamed = |id: &str| r.keys().any(|other| kind(other) == kind(id) && !n.contains_key(other));
    let missing = n.iter().filter(|(id, value)| {
        !r.contains_key(*id) && o.get(*id) != Some(*value) && !told(id) && !stands_renamed(id)
    });
    missing.map(|(id, _)| format!("{id} of the new release stands nowhere")).collect()
}

/// Whether a list that both sides changed has what the release brought, and has not what it took out: as far
/// as items are scalars, which stand for themselves.
fn has_items_of(old: Option<&Value>, new: Option<&Value>, result: Option<&Value>) -> bool {
    let items = |value: Option<&Value>| value.and_then(Value::as_array).cloned().unwrap_or_default();
    let [o, n, r] = [old, new, result].map(items);
    let scalar = |item: &&Value| !item.is_object() && !item.is_array();
    n.iter().filter(scalar).all(|item| o.contains(item) || r.contains(item))
}

/// Whether two lists differ in the order of named items alone: what was a map is in the order of the file, not of the names.
fn has_items_in_another_order(one: Option<&Value>, other: Option<&Value>) -> bool {
    let by_name = |list: Option<&Value>| {
        let named = |item: &Value| Some((item.get("name")?.as_str()?.to_owned(), item.clone()));
        let items = list?.as_array()?;
        let sorted: Option<BTreeMap<_, _>> = items.iter().map(named).collect();
        sorted.filter(|sorted| sorted.len() == items.len())
    };
    by_name(one).is_some_and(|one| by_name(other) == Some(one))
}

/// An object in another version of its kind, where there is a way to it; without the fields that have none. A field that
/// the newer version requires and that an edit took away is there for the conversion alone, and so is a right item where
/// an edit wrote a wrong one.
fn in_version(object: &Value, version: &Value) -> Value {
    let mut node = Node::from_value(object);
    let Some(version) = version.as_str() else { return object.clone() };
    let do_step = |node: &mut Node, step| {
        apply(node, &Conversion { steps: vec![step], ..Conversion::default() });
    };
    let stand_in = || Node::string("${STAND_IN}");
    let mut stood_in = Vec::new();
    for _ in 0..20 {
        match convert(&node, version, Schemas::built_in()) {
            Ok(conversion) => {
                apply(&mut node, &conversion);
                for (field, was) in stood_in {
                    let at = conversion.after(&field);
                    do_step(
                        &mut node,
                        match was {
                            Some(value) => ConversionStep::Replace { at, value },
                            None => ConversionStep::Remove { at },
                        },
                    );
                }
                return node.value();
            }
            Err(why) if why.field.is_root() => return object.clone(),
            Err(why) => {
                let was = node.at(&why.field).cloned();
                let at = why.field;
                let is_item = matches!(at.steps().last(), Some(Step::Index(_)));
                let step = match &was {
                    Some(_) if is_item => ConversionStep::Replace { at: at.clone(), value: stand_in() },
                    Some(_) => ConversionStep::Remove { at: at.clone() },
                    None => ConversionStep::Add { at: at.clone(), value: stand_in() },
                };
                do_step(&mut node, step);
                if is_item || was.is_none() {
                    stood_in.push((at, was));
                }
            }
        }
    }
    object.clone()
}

/// Fields that are not what U5 says of them; a list is one value here, and one that both changed is
/// merged by rules of its own.
///
/// Of an object that was converted, a collection that a person emptied is absent in `cluster`: Cluster API's
/// own conversion drops it, and reads the one as the other. In the file what the person wrote stays, as the
/// empty collection of the newer version, where the release has the field unchanged.
fn wrong_fields(
    [old, cluster, new, result]: [&Value; 4],
    conflicts: &[&Conflict],
    is_converted: bool,
) -> Vec<String> {
    let [o, c, n, r] = [old, cluster, new, result].map(fields);
    let mut out = Vec::new();
    let paths: BTreeSet<&String> = o.keys().chain(c.keys()).chain(n.keys()).collect();
    for path in paths {
        // A field whose type changed is not a field of its own on one side.
        let in_all = [old, cluster, new, result]
            .iter()
            .all(|side| side.pointer(path).is_none_or(|value| !value.is_object()));
        let [o, c, n, r] = [o.get(path), c.get(path), n.get(path), r.get(path)];
        let is_list = [o, c, n].iter().flatten().any(|value| value.is_array());
        let told_of = |told: String| told == *path || path.starts_with(&format!("{told}/"));
        let told_above = conflicts.iter().any(|conflict| told_of(conflict.path.to_string()));
        let told_below =
            || conflicts.iter().any(|conflict| conflict.path.to_string().starts_with(&format!("{path}/")));
        let is_name = path.ends_with("/name") || path == "/metadata/namespace";
        let stays_empty = is_converted && c.is_none() && o == n && r.is_some_and(is_empty);
        let right = if !in_all || is_name {
            true
        } else if o == n || c == n {
            r == c || stays_empty || is_converted && has_items_in_another_order(c, r)
        } else if c == o {
            r == n || told_above
        } else {
            told_above || told_below() || is_list && has_items_of(o, n, r)
        };
        if !right {
            out.push(format!("{path}: O {o:?}, C {c:?}, N {n:?} became {r:?}"));
        }
    }
    out
}

fn is_empty(value: &Value) -> bool {
    value.as_array().is_some_and(Vec::is_empty) || value.as_object().is_some_and(serde_json::Map::is_empty)
}
