//! What a change does to the machines of one group, and through which variables and patches.

use std::collections::{BTreeMap, BTreeSet};

use super::blueprint::{Blueprint, MachineGroup, Template, TemplateProduct};
use super::patches::{Patched, Trace, external, patched, patches};
use super::value::{ClassWork, holds_uncomputed, is_uncomputed, surely_differ};
use super::variables::{Variables, given, places, size};
use crate::rollout::facts::ROLLOUT_AFTER;
use crate::rollout::own_fields::own_fields;
use crate::rollout::pair::{FieldPair, differing, some};
use crate::rollout::pointer::{PointerTarget, is_below};
use crate::rollout::pools::{PoolEffect, PoolFacts};
use crate::rollout::references::target;
use capstan_model::kinds::{self, KindRole, Machines};
use capstan_plan::merge::AppliedBy;
use capstan_plan::templates::SpecDigest;
use capstan_yaml::Value;

/// What all groups of one Cluster may cost together.
const MOST_WORK: usize = 1_000_000;

const TOO_LARGE: &str = "the class is too large to compute.";

/// What becomes of the machines of a group.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::rollout) enum GroupOutcome {
    /// They stay.
    Nothing,
    /// Git alone does not tell.
    Perhaps(Vec<RolloutCause>),
    /// They are replaced.
    Surely(Vec<RolloutCause>),
}

/// A field of the Cluster through which machines are made from something else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::rollout) struct RolloutCause {
    /// The path in the Cluster; for a change by the class, the path that names the class.
    pub(in crate::rollout) path: String,
    /// The variable and the patch, or why it is unknown.
    pub(in crate::rollout) note: Option<String>,
}

/// Compares the groups of two sides, one by one.
pub(in crate::rollout) struct GroupComparison<'s, 'v> {
    sides: [&'s Blueprint<'v>; 2],
    applied: AppliedBy,
    /// Where the Cluster names its class.
    class_path: &'static str,
    work: ClassWork,
}

/// A field of a template that differs.
struct Leaf {
    /// In the template.
    path: String,
    doubt: Option<Doubt>,
}

/// Why it is not sure that a field replaces machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    /// A value is not computed.
    Uncomputed,
    /// The controller of what has the field decides.
    Controller,
}

/// The same thing before and after.
type Both<T> = [T; 2];

impl<'s, 'v> GroupComparison<'s, 'v> {
    pub(in crate::rollout) fn new(
        sides: Both<&'s Blueprint<'v>>,
        applied: AppliedBy,
        class_path: &'static str,
    ) -> Self {
        Self { sides, applied, class_path, work: ClassWork::new(MOST_WORK) }
    }

    /// Whether everything was compared, and every cause found.
    pub(in crate::rollout) fn is_complete(&self) -> bool {
        !self.work.is_spent()
    }

    /// What becomes of the machines of a group that is there before and after.
    pub(in crate::rollout) fn of_group(&self, groups: Both<&MachineGroup<'_>>) -> GroupOutcome {
        let templates = [0, 1].map(|at| self.sides[at].templates(groups[at]));
        let size = size(self.sides[0], groups[0]) + size(self.sides[1], groups[1]);
        if self.work.spend(size).is_none() {
            return self.uncounted(groups, templates);
        }
        let mut found = Findings::default();
        let classes = [0, 1].map(|at| self.sides[at].class_of(groups[at]));
        let same = given(self.sides[0].cluster, groups[0]) == given(self.sides[1].cluster, groups[1])
            && groups[0].value.get("class") == groups[1].value.get("class");
        if classes.contains(&None) && !(classes == [None, None] && same) {
            let note = "the ClusterClass has no such worker class, so its machines are unknown.";
            found.perhaps.push(self.of_class(Some(note.to_owned())));
            return found.outcome();
        }
        let variables = Variables::of(self.sides, groups, self.applied);
        let compared = ComparedGroup { comparison: self, groups, variables };
        for (one, other) in templates[0].iter().zip(&templates[1]) {
            match (one, other) {
                (Some(one), Some(other)) => compared.templates([*one, *other], &mut found),
                (None, None) => {}
                _ => found.surely.push(self.of_class(None)),
            }
        }
        found.outcome()
    }

    /// What is too large to be computed: nothing becomes of it where all of it stays.
    fn uncounted(
        &self,
        groups: Both<&MachineGroup<'_>>,
        templates: Both<[Option<Template<'_>>; 2]>,
    ) -> GroupOutcome {
        let objects = templates.map(|all| all.map(|template| template.and_then(|template| template.object)));
        let of_group = |group: &MachineGroup<'_>, field: &str| group.value.get(field).cloned();
        let same = |field: &str| of_group(groups[0], field) == of_group(groups[1], field);
        let [one, other] = self.sides;
        let variables = "/spec/topology/variables";
        let stays = one.class == other.class
            && one.cluster.at(variables) == other.cluster.at(variables)
            && same("class")
            && same("variables")
            && objects[0] == objects[1];
        if stays {
            GroupOutcome::Nothing
        } else {
            GroupOutcome::Perhaps(vec![self.of_class(Some(TOO_LARGE.to_owned()))])
        }
    }

    fn of_class(&self, note: Option<String>) -> RolloutCause {
        RolloutCause { path: self.class_path.to_owned(), note }
    }
}

/// The control plane as it is made in the end: `{kind, spec}`; `None` where only the live cluster tells.
pub(in crate::rollout) fn control_plane(side: &Blueprint<'_>, group: &MachineGroup<'_>) -> Option<Value> {
    let [template, _] = side.templates(group);
    made(side, group, template)
}

/// The same of the infrastructure template of a group's machines, of the control plane or of workers.
pub(in crate::rollout) fn machine_template(side: &Blueprint<'_>, group: &MachineGroup<'_>) -> Option<Value> {
    let [_, template] = side.templates(group);
    made(side, group, template)
}

fn made(side: &Blueprint<'_>, group: &MachineGroup<'_>, template: Option<Template<'_>>) -> Option<Value> {
    let template = template.filter(|template| template.object.is_some())?;
    if patches(side.class).any(|patch| external(patch).is_some()) {
        return None;
    }
    let [_, variables] = Variables::of([side, side], [group, group], AppliedBy::Others);
    patched(side, group, &template, &variables, &ClassWork::new(MOST_WORK)).map(|patched| patched.made)
}

#[derive(Default)]
struct Findings {
    surely: Vec<RolloutCause>,
    perhaps: Vec<RolloutCause>,
}

impl Findings {
    fn outcome(self) -> GroupOutcome {
        let ordered = |mut causes: Vec<RolloutCause>| {
            causes.sort();
            causes.dedup();
            causes
        };
        match (self.surely.is_empty(), self.perhaps.is_empty()) {
            (true, true) => GroupOutcome::Nothing,
            (true, false) => GroupOutcome::Perhaps(ordered(self.perhaps)),
            (false, _) => GroupOutcome::Surely(ordered(self.surely)),
        }
    }
}

/// One group, with its variables.
struct ComparedGroup<'c, 's, 'v, 'g> {
    comparison: &'c GroupComparison<'s, 'v>,
    groups: Both<&'c MachineGroup<'g>>,
    variables: Both<Variables>,
}

impl ComparedGroup<'_, '_, '_, '_> {
    /// One template of the group.
    fn templates(&self, templates: Both<Template<'_>>, found: &mut Findings) {
        let comparison = self.comparison;
        let templates = both_or_neither(templates);
        let [one, other] = templates;
        if let Some(extension) = self.extension() {
            if self.inputs_differ(templates) {
                found.perhaps.extend(self.through_extension(extension));
            }
            return;
        }
        if one.object.is_none() && target(Some(one.reference)) != target(Some(other.reference)) {
            let (kind, name) = target(Some(other.reference)).map_or(("", ""), |(_, kind, name)| (kind, name));
            let note = format!("{kind} {name} is not rendered with the Cluster, so its result is unknown.");
            found.perhaps.push(comparison.of_class(Some(note)));
        }
        let made = [0, 1].map(|at| {
            let (side, group) = (comparison.sides[at], self.groups[at]);
            patched(side, group, &templates[at], &self.variables[at], &comparison.work)
        });
        let [Some(before), Some(after)] = &made else {
            if self.inputs_differ(templates) {
                found.perhaps.push(comparison.of_class(Some(TOO_LARGE.to_owned())));
            }
            return;
        };
        for leaf in leaves(one.part, &before.made, &after.made) {
            let causes = self.causes(&leaf, [before, after], other.kind);
            if leaf.doubt.is_none() { &mut found.surely } else { &mut found.perhaps }.extend(causes);
        }
    }

    /// A patch of either class that only a runtime extension can tell about.
    fn extension(&self) -> Option<&str> {
        self.comparison.sides.iter().find_map(|side| patches(side.class).find_map(external))
    }

    /// Whether an extension sees anything new. (The number of machines replaces none.)
    fn inputs_differ(&self, templates: Both<Template<'_>>) -> bool {
        let [one, other] = self.comparison.sides;
        let specs = templates.map(|template| template.object.and_then(|object| object.get("spec")));
        let all = [0, 1].map(|at| given(self.comparison.sides[at].cluster, self.groups[at]));
        specs[0] != specs[1]
            || target(Some(templates[0].reference)) != target(Some(templates[1].reference))
            || one.class.at("/spec/patches") != other.class.at("/spec/patches")
            || all[0] != all[1]
            || self.variables[0].without_counts() != self.variables[1].without_counts()
    }

    fn through_extension(&self, extension: &str) -> Vec<RolloutCause> {
        let note = format!("patch `{extension}` is a runtime extension, so its result is unknown.");
        let [one, other] = [0, 1].map(|at| given(self.comparison.sides[at].cluster, self.groups[at]));
        let names = one.keys().chain(other.keys().filter(|name| !one.contains_key(*name)));
        let mut fields: Vec<String> =
            names.filter(|name| one.get(*name) != other.get(*name)).cloned().collect();
        fields.extend(self.variables[0].differing(&self.variables[1]));
        if fields.is_empty() {
            return vec![self.comparison.of_class(Some(note))];
        }
        fields.iter().map(|field| RolloutCause { path: self.path(field), note: Some(note.clone()) }).collect()
    }

    /// Through which variables and patches a field comes out different.
    fn causes(&self, leaf: &Leaf, sides: Both<&Patched>, kind: &str) -> Vec<RolloutCause> {
        let of_leaf = written(leaf, sides, &self.comparison.work).unwrap_or_default();
        let mut causes = Vec::new();
        for (patch, PatchWrites { writes: [one, other], reads }) in of_leaf {
            if one == other {
                continue;
            }
            let differs = |field: &&str| self.variables[0].differs(&self.variables[1], field);
            let reads: Vec<&str> = reads.into_iter().filter(differs).collect();
            let note = Some(explained(leaf.doubt, patch, &reads, kind));
            if reads.is_empty() {
                causes.push(self.comparison.of_class(note));
            } else {
                causes.extend(
                    reads.iter().map(|field| RolloutCause { path: self.path(field), note: note.clone() }),
                );
            }
        }
        if causes.is_empty() {
            let note = match leaf.doubt {
                None => None,
                Some(Doubt::Uncomputed) => Some("Capstan cannot compute its templates.".to_owned()),
                Some(Doubt::Controller) => Some(decides(kind)),
            };
            causes.push(self.comparison.of_class(note));
        }
        causes
    }

    /// The path in the Cluster of a variable, or of what a field of `builtin` shows.
    fn path(&self, field: &str) -> String {
        let (group, work) = (self.groups[1], &self.comparison.work);
        let name = field.split(['.', '[']).next().unwrap_or(field);
        if name == "builtin" {
            return self.builtin_path(field);
        }
        let of_group = self.groups.map(|group| group.value.at("/variables/overrides"));
        let of_cluster = self.comparison.sides.map(|side| side.cluster.at("/spec/topology/variables"));
        let lists = [
            (format!("{}/variables/overrides", group.path), of_group),
            ("/spec/topology/variables".to_owned(), of_cluster),
        ];
        // What Git does not change the class does, by another default.
        for (list, holders) in lists {
            let long = holders.iter().flatten().filter_map(|list| list.as_array()).map(Vec::len).sum();
            let changed = work.spend(long).map(|()| changed_variables(holders, &list)).unwrap_or_default();
            if let Some((path, _)) = changed.into_iter().find(|(_, other)| other == name) {
                return path;
            }
        }
        self.comparison.class_path.to_owned()
    }

    fn builtin_path(&self, field: &str) -> String {
        let group = &self.groups[1].path;
        let mut parts = field.split('.').skip(1);
        match (parts.next(), parts.next()) {
            (Some("cluster"), Some("network")) => "/spec/clusterNetwork".to_owned(),
            (Some("cluster"), Some(part @ "metadata")) => format!("/{part}"),
            (
                Some("controlPlane" | "machineDeployment" | "machinePool"),
                Some(part @ ("replicas" | "metadata" | "class")),
            ) => {
                format!("{group}/{part}")
            }
            _ => self.comparison.class_path.to_owned(),
        }
    }
}

/// What one patch writes at a field, before and after, and all that it reads.
#[derive(Default)]
struct PatchWrites<'p> {
    writes: Both<Vec<(&'p str, &'p Value)>>,
    reads: BTreeSet<&'p str>,
}

/// By patch; `None` where that would cost too much.
fn written<'p>(
    leaf: &Leaf,
    sides: Both<&'p Patched>,
    work: &ClassWork,
) -> Option<BTreeMap<&'p str, PatchWrites<'p>>> {
    let mut found: BTreeMap<&str, PatchWrites<'_>> = BTreeMap::new();
    for (at, side) in sides.into_iter().enumerate() {
        for Trace { patch, reads, writes } in &side.traces {
            work.spend(1 + reads.len() + writes.len())?;
            let of_patch = found.entry(patch).or_default();
            of_patch.reads.extend(reads.iter().map(String::as_str));
            let of_leaf = writes.iter().filter(|(path, _)| {
                let path = path.trim_end_matches("/-");
                is_below(path, &leaf.path) || is_below(&leaf.path, path)
            });
            of_patch.writes[at].extend(of_leaf.map(|(path, value)| (path.as_str(), value)));
        }
    }
    Some(found)
}

/// Both with their objects, or none: one that is rendered on one side alone under the same name has only come here
/// or gone elsewhere.
fn both_or_neither(mut templates: Both<Template<'_>>) -> Both<Template<'_>> {
    if templates.iter().any(|template| template.object.is_none()) {
        templates.iter_mut().for_each(|template| template.object = None);
    }
    templates
}

/// What a person reads of it.
fn explained(doubt: Option<Doubt>, patch: &str, fields: &[&str], kind: &str) -> String {
    let named: Vec<String> = fields.iter().map(|field| format!("`{field}`")).collect();
    let is_built_in = |field: &&str| field.starts_with("builtin.");
    let (subject, reach) = match named.as_slice() {
        [] => {
            return match doubt {
                None => format!("patch `{patch}` of the class changes."),
                Some(_) => {
                    format!("patch `{patch}` of the class changes, and Capstan cannot compute its result.")
                }
            };
        }
        [one] if fields.iter().all(is_built_in) => (one.clone(), "reaches"),
        [one] => (format!("variable {one}"), "reaches"),
        [all @ .., last] => (format!("variables {} and {last}", all.join(", ")), "reach"),
    };
    match doubt {
        None => format!("{subject} {reach} its machines through patch `{patch}`."),
        Some(Doubt::Uncomputed) => {
            format!("Capstan cannot compute what patch `{patch}` makes of {subject}.")
        }
        Some(Doubt::Controller) => {
            format!("{subject} {reach} it through patch `{patch}`, and {}", decides(kind))
        }
    }
}

fn decides(kind: &str) -> String {
    let kind = kinds::made_from(kind);
    format!("the controller of {kind} decides whether machines are replaced.")
}

/// The fields that differ in what is made, as far as they concern machines.
fn leaves(part: TemplateProduct, before: &Value, after: &Value) -> Vec<Leaf> {
    let specs = [before, after].map(|made| made.get("spec").unwrap_or(&Value::Null));
    let same = specs[0] == specs[1]
        || !specs.iter().any(|spec| holds_uncomputed(spec)) && {
            let [one, other] = specs.map(SpecDigest::of);
            one == other
        };
    let pair = FieldPair { before, after };
    if same && !pair.differs("/kind") {
        return Vec::new();
    }
    if specs.iter().any(|spec| is_uncomputed(spec)) {
        return vec![Leaf { path: "/spec".to_owned(), doubt: Some(Doubt::Uncomputed) }];
    }
    if pair.differs("/kind") {
        return vec![Leaf { path: "/kind".to_owned(), doubt: None }];
    }
    let kind = after.get("kind").and_then(Value::as_str).unwrap_or_default();
    match part {
        TemplateProduct::Machines => {
            let found = all(pair).into_iter().map(|path| (path, None));
            sure_ones(pair, found, "")
        }
        TemplateProduct::ControlPlane => control_plane_fields(pair, kind),
        TemplateProduct::PoolInfrastructure => {
            let found =
                all(pair).into_iter().filter_map(|path| Some((pool_field(kind, after, &path)?, path)));
            sure_ones(pair, found.map(|(doubt, path)| (path, doubt)), "/spec/template")
        }
        // The bootstrap data of a pool are made when its first instances are; who reads them again, and when, is
        // the provider's affair.
        TemplateProduct::PoolBootstrap => {
            let found = all(pair).into_iter().map(|path| (path, Some(Doubt::Controller)));
            sure_ones(pair, found, "/spec/template")
        }
    }
}

fn all(pair: FieldPair<'_>) -> Vec<String> {
    let mut found = Vec::new();
    differing(pair.before.get("spec"), pair.after.get("spec"), "/spec", &mut found);
    found
}

/// `Some(None)` where a field of a pool's infrastructure replaces instances for sure, `None` where it replaces none that exists.
#[expect(clippy::option_option, reason = "whether it counts at all, and then whether that is sure")]
fn pool_field(kind: &str, object: &Value, path: &str) -> Option<Option<Doubt>> {
    match PoolFacts::of(kind, Some(object)).field(path) {
        PoolEffect::Replaces => Some(None),
        PoolEffect::ProviderDecides => Some(Some(Doubt::Controller)),
        PoolEffect::OnlyNew | PoolEffect::NotYet | PoolEffect::InPlace => None,
    }
}

/// A control plane is changed in place, and its controller compares it with its machines.
fn control_plane_fields(pair: FieldPair<'_>, kind: &str) -> Vec<Leaf> {
    let group = "controlplane.cluster.x-k8s.io";
    if kinds::role(group, kind) == Some(KindRole::ControlPlane(Machines::Provider)) {
        return Vec::new();
    }
    let own = own_fields(pair, kind, &[]);
    let time = |value: &'_ Value| ROLLOUT_AFTER.iter().find_map(|field| some(value.at(field)).cloned());
    let after = ROLLOUT_AFTER.iter().find(|field| some(pair.after.at(field)).is_some());
    let after = after.filter(|_| time(pair.before) != time(pair.after)).map(|field| (*field).to_owned());
    let sure = own.surely.into_iter().chain(after).map(|path| (path, None));
    let unsure = own.perhaps.into_iter().map(|path| (path, Some(Doubt::Controller)));
    sure_ones(pair, sure.chain(unsure), "/spec/template")
}

/// A difference that depends on a value that is not computed is not sure. `holder` is the path in the template of what
/// is made.
fn sure_ones(
    pair: FieldPair<'_>,
    found: impl Iterator<Item = (String, Option<Doubt>)>,
    holder: &str,
) -> Vec<Leaf> {
    let leaf = |(path, doubt): (String, Option<Doubt>)| {
        let sure = surely_differ(pair.before.at(&path), pair.after.at(&path));
        let doubt = if sure { doubt } else { Some(Doubt::Uncomputed) };
        Leaf { path: format!("{holder}{path}"), doubt }
    };
    found.map(leaf).collect()
}

/// The variables that Git gives another value, for all groups or for one: where, and the name.
pub(in crate::rollout) fn changed_variables(
    holders: Both<Option<&Value>>,
    list: &str,
) -> Vec<(String, String)> {
    let [before, after] = holders.map(places);
    let value = |side: usize, at: usize| holders[side]?.as_array()?.get(at)?.get("value");
    let mut found = Vec::new();
    for (name, at) in &after {
        match before.get(name) {
            Some(was) if value(0, *was) == value(1, *at) => {}
            Some(_) => found.push((format!("{list}/{at}/value"), (*name).to_owned())),
            None => found.push((format!("{list}/{at}"), (*name).to_owned())),
        }
    }
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    found.extend(gone.map(|name| (list.to_owned(), (*name).to_owned())));
    found
}
