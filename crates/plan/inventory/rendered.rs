//! A release under one cluster's values: a source of change like any other.

use std::collections::{BTreeMap, BTreeSet};

use capstan_inventory::components::{self, InventoryComponent};
use capstan_inventory::merge::MergedValue;
use capstan_inventory::record::ValuesRecord;
use capstan_inventory::survey::ReleaseParts;
use capstan_inventory::templates::{self, Cluster, Placement, RenderedObject, RenderedTemplates};
use capstan_inventory::values::ClusterValues;
use capstan_kustomize::schema::Schemas;
use capstan_model::digest::sha256;
use capstan_model::finding::{Finding, Place, Severity, rules};
use capstan_model::ids::{ContentId, ReleaseId};
use capstan_model::kinds::is_of_operator;
use capstan_model::object::{FieldPath, ObjectId, api_group};
use capstan_model::source::{SourceContent, SourceId};
use capstan_model::tree::RepoPath;
use capstan_model::version::KubernetesVersion;
use capstan_yaml::{Document, Node, Value, YamlFile};

use crate::merge::{ReleaseSource, SourceFacts, SourceFile};
use crate::release::{holds_providers, kubernetes_version};
use crate::upgrade::{ChangeReason, ChangeSource, ReleaseRecord, Upgrade, ValueOrigin};

/// A release's files, with its schema and templates; read once, and rendered for each cluster.
#[derive(Debug)]
pub struct ReleaseTemplates {
    /// The release.
    pub id: ReleaseId,
    /// Its content, as clusters record it.
    pub content: Option<ContentId>,
    pub folder: RepoPath,
    /// What is not a template: its base and variables.
    pub facts: SourceFacts,
    /// Schema and templates.
    pub parts: ReleaseParts,
}

/// What of a release's objects goes to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenderPart {
    /// All of them.
    All,
    /// A management cluster's provider objects, those of the Cluster API operator.
    Providers,
    /// Everything else.
    Others,
}

impl RenderPart {
    /// Whether an object of that API group goes there.
    fn holds(self, group: &str) -> bool {
        match self {
            Self::All => true,
            Self::Providers => is_of_operator(group),
            Self::Others => !is_of_operator(group),
        }
    }

    const fn word(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Providers => "providers",
            Self::Others => "others",
        }
    }

    /// What is not a template. A release's base holds either provider objects or others, so the other part gets
    /// none of it.
    fn of_facts(self, facts: &SourceFacts) -> SourceFacts {
        let read = || facts.base.iter().filter_map(|file| file.read_template().ok());
        let is_set =
            read().any(|file| file.documents().iter().any(|document| holds_providers(&document.root)));
        match (self, is_set) {
            (Self::All, _) | (Self::Providers, true) | (Self::Others, false) => facts.clone(),
            (Self::Providers, false) | (Self::Others, true) => SourceFacts {
                base_folder: facts.base_folder.clone(),
                variables: facts.variables.clone(),
                ..SourceFacts::default()
            },
        }
    }
}

/// What a render sees.
#[derive(Debug, Clone, Copy)]
pub struct RenderContext<'s> {
    /// The cluster, as templates know it.
    pub cluster: Cluster<'s>,
    pub values: &'s ClusterValues,
    /// What is recorded of all of it.
    pub record: &'s ValuesRecord,
    /// The components that the record names, as they are or were.
    pub components: &'s [&'s InventoryComponent],
    /// What of it goes to the folder.
    pub part: RenderPart,
}

impl RenderContext<'_> {
    /// Tells what a render sees from anything else that it might see of the same release; `None` where something is wrong,
    /// which each render tells with places of its own. Mappings count in their order, as templates walk through them.
    pub fn digest(&self) -> Option<String> {
        let is_error = |finding: &Finding| finding.severity() == Severity::Error;
        if self.values.findings.iter().any(is_error) || !self.components.iter().all(|one| one.is_whole()) {
            return None;
        }
        let mut text = format!("{} {} {}\n", self.part.word(), self.cluster.name, self.cluster.folder);
        for one in self.cluster.clusters.unwrap_or_default() {
            let levels = one.levels.iter().map(|(level, name)| format!(" {}={name}", level.kind()));
            let namespace = one.namespace.as_deref().unwrap_or_default();
            text.push_str(&format!(
                "{} {} {namespace}{}\n",
                one.name,
                one.folder,
                levels.collect::<String>()
            ));
        }
        text.push_str(&format!("{}\n{}", self.record.digest(), self.values.value()));
        Some(sha256(text))
    }
}

/// A release under one cluster's values.
#[derive(Debug)]
pub struct ReleaseWithValues {
    documents: ReleaseSource,
    state: Option<SourceContent>,
    /// What the templates came to.
    rendered: RenderedTemplates,
    /// Variables of the base that the values bind.
    bound: BTreeMap<String, String>,
    /// The version of Kubernetes that it brings to this cluster.
    pub kubernetes: Option<KubernetesVersion>,
    /// Whether it holds provider objects.
    pub has_providers: bool,
    /// Whether the templates made provider objects that go to another folder.
    pub leaves_providers: bool,
}

impl ReleaseTemplates {
    /// Whether the render depends on values.
    pub fn use_values(&self) -> bool {
        self.parts.use_values()
    }

    /// Renders it for a cluster.
    ///
    /// # Errors
    /// What is wrong with the values, the release or the render.
    pub fn render(
        &self,
        seen: RenderContext<'_>,
        schemas: &Schemas,
    ) -> Result<ReleaseWithValues, Vec<Finding>> {
        let errors = |findings: &[Finding]| -> Vec<Finding> {
            findings.iter().filter(|finding| finding.severity() == Severity::Error).cloned().collect()
        };
        let wrong = errors(&seen.values.findings);
        if !wrong.is_empty() {
            return Err(wrong);
        }
        if !self.parts.findings.is_empty() {
            return Err(self.parts.findings.clone());
        }
        let rendered = match &self.parts.templates {
            Some(templates) => templates.render(seen.cluster, seen.values)?,
            None => RenderedTemplates::default(),
        };
        let mut rendered = components::apply(rendered, seen.components)?;
        let mut objects = rendered.files.iter().flat_map(|file| &file.objects);
        let makes_providers = objects.any(|object| is_of_operator(&object.id.group));
        if seen.part != RenderPart::All {
            rendered = rendered.only(|object| seen.part.holds(&object.id.group));
        }
        // They are not needed here, and each holds the inventory's file that sets it.
        rendered.unused.clear();
        let folder = self.folder.join(templates::FOLDER).unwrap_or_default();
        let files = rendered.files.iter().filter_map(|file| {
            let path = folder.join(&file.name).ok()?;
            // A template that renders no objects for this cluster makes no file.
            (!file.objects.is_empty()).then(|| SourceFile::new(path, file.text.as_str()))
        });
        let files: Vec<SourceFile> = files.collect();
        let bound = bound(&seen.record.values);
        let mut facts = seen.part.of_facts(&self.facts);
        facts.variables.extend(bound.clone());
        let twice = in_both(&rendered, &facts);
        if !twice.is_empty() {
            return Err(twice);
        }
        let documents =
            ReleaseSource::read_rendered(self.id.clone(), self.content.clone(), &facts, &files, schemas)
                .map_err(|error| vec![Finding::from(&error)])?;
        let digest = seen.record.digest();
        let state = self.content.as_ref().map(|content| SourceContent::from(content).with_values(&digest));
        let parsed = files.iter().chain(&facts.base).filter_map(|file| file.read_template().ok());
        let parsed: Vec<YamlFile> = parsed.collect();
        let roots = || parsed.iter().flat_map(YamlFile::documents).map(|Document { root, .. }| root);
        let has_providers = roots().any(holds_providers);
        // The `version` of provider objects is not a version of Kubernetes.
        let kubernetes = if has_providers { None } else { kubernetes_version(roots(), &facts.variables) };
        let leaves_providers = seen.part == RenderPart::Others && makes_providers;
        Ok(ReleaseWithValues {
            documents,
            state,
            rendered,
            bound,
            kubernetes,
            has_providers,
            leaves_providers,
        })
    }
}

/// Objects that both the templates and the release's base contain. It is unclear which of the two is meant.
fn in_both(rendered: &RenderedTemplates, facts: &SourceFacts) -> Vec<Finding> {
    let mut of_base: BTreeMap<ObjectId, Place> = BTreeMap::new();
    for file in &facts.base {
        let Ok(read) = file.read_template() else { continue };
        let ids = read.documents().iter().filter_map(|document| {
            let place = Place::at(file.path.clone(), read.position(document.root.span.start));
            Some((id_of(&document.root, &facts.variables)?, place))
        });
        of_base.extend(ids);
    }
    let objects = rendered.files.iter().flat_map(|file| &file.objects);
    let one = |object: &RenderedObject| {
        let message = format!(
            "{} is made here and is also in the release's base, in {}: remove one of them",
            object.id,
            of_base.get(&object.id)?
        );
        Some(Finding::new(rules::TEMPLATE_ERROR, message).object(&object.id).place(object.template.clone()))
    };
    objects.filter_map(one).collect()
}

/// The id of a base's object once these variables are bound. `None` if the object is incomplete.
fn id_of(root: &Node, variables: &BTreeMap<String, String>) -> Option<ObjectId> {
    let text = |path: &[&str]| {
        let text = root.at(&FieldPath::of_keys(path.iter().copied()))?.as_scalar()?.text.clone();
        Some(variables.iter().fold(text, |text, (name, value)| text.replace(&format!("${{{name}}}"), value)))
    };
    Some(ObjectId {
        group: api_group(&text(&["apiVersion"])?).to_owned(),
        kind: text(&["kind"])?,
        namespace: text(&["metadata", "namespace"]),
        name: text(&["metadata", "name"])?,
    })
}

/// Scalars at the top of the values, by which variables of the base are bound that have their names.
fn bound(values: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let fields = values.as_object().into_iter().flatten();
    fields.filter_map(|(key, value)| Some((key.clone(), text(value)?))).collect()
}

impl ReleaseWithValues {
    /// How many bytes its templates came to.
    pub fn bytes(&self) -> usize {
        self.rendered.files.iter().map(|file| file.text.len()).sum()
    }

    /// Whether there is any object in it.
    pub fn has_objects(&self) -> bool {
        self.documents.all_pieces().next().is_some()
    }

    /// Whether another one of the same release renders the same objects.
    pub fn is_same_render(&self, other: &Self) -> bool {
        let texts = |one: &Self| -> Vec<(String, String)> {
            one.rendered.files.iter().map(|file| (file.name.clone(), file.text.clone())).collect()
        };
        self.documents.content == other.documents.content
            && (!self.documents.has_variables() || self.bound == other.bound)
            && texts(self) == texts(other)
    }

    /// Where the values are that changes and conflicts come from, in their order. With the values that the cluster has,
    /// those alone that differ from them.
    pub fn origins(
        &self,
        upgrade: &Upgrade,
        values: &ClusterValues,
        before: Option<&ClusterValues>,
    ) -> (Vec<Vec<ValueOrigin>>, Vec<Vec<ValueOrigin>>) {
        let changes = upgrade.changes.iter().map(|change| {
            // A new name follows the template, not a value.
            let by_value = !matches!(change.reason, ChangeReason::Rotation | ChangeReason::Reference);
            by_value.then_some((&change.object, &change.path))
        });
        let conflicts = upgrade.conflicts.iter().map(|conflict| Some((&conflict.object, &conflict.path)));
        (self.origins_of(changes, values, before), self.origins_of(conflicts, values, before))
    }

    fn origins_of<'f>(
        &self,
        fields: impl Iterator<Item = Option<(&'f ObjectId, &'f FieldPath)>>,
        values: &ClusterValues,
        before: Option<&ClusterValues>,
    ) -> Vec<Vec<ValueOrigin>> {
        let mut placed: BTreeMap<&ObjectId, &[Placement]> = BTreeMap::new();
        let objects = self.rendered.files.iter().flat_map(|file| &file.objects);
        placed.extend(objects.map(|object| (&object.id, object.placements.as_slice())));
        let of = |object: &ObjectId, path: &FieldPath| -> Vec<ValueOrigin> {
            let placements = placed.get(object).copied().unwrap_or_default();
            let is_there = |placement: &&Placement| concerns(&placement.path, path);
            let reads = placements.iter().filter(is_there).flat_map(|placement| &placement.reads);
            let mut origins: Vec<ValueOrigin> = Vec::new();
            let sources = reads.flat_map(|read| match before {
                Some(before) => changed(read, values, before),
                None => vec![read],
            });
            for read in sources {
                let Some(found) = values.merged.at(read) else { continue };
                let level = &found.origin.level;
                let origin = ValueOrigin {
                    level: level.kind.kind().to_owned(),
                    name: level.name.clone(),
                    place: found.origin.place(),
                };
                if !origins.contains(&origin) {
                    origins.push(origin);
                }
            }
            origins
        };
        // A whole object comes from its template; the values in it are many, and say nothing of why it comes.
        let fields = fields.map(|field| field.filter(|(_, path)| !path.is_root()));
        fields.map(|field| field.map_or_else(Vec::new, |(object, path)| of(object, path))).collect()
    }
}

/// Of a value that was read, what changed: the values that its expression read, and itself where it has none. Expressions
/// read one another, so each value is compared once.
fn changed<'v>(read: &'v FieldPath, values: &'v ClusterValues, before: &ClusterValues) -> Vec<&'v FieldPath> {
    let is_changed = |read: &FieldPath| {
        let value = |of: &ClusterValues| of.merged.at(read).and_then(MergedValue::value);
        value(values) != value(before)
    };
    let (mut sources, mut seen, mut open) = (Vec::new(), BTreeSet::new(), vec![read]);
    while let Some(read) = open.pop() {
        if !seen.insert(read) || !is_changed(read) {
            continue;
        }
        let made = values.dependencies.iter().filter(|(expression, _)| concerns(expression, read));
        let reads: Vec<&FieldPath> =
            made.flat_map(|(_, reads)| reads).filter(|read| is_changed(read)).collect();
        if reads.is_empty() {
            sources.push(read);
        }
        open.extend(reads.into_iter().rev());
    }
    sources
}

/// Whether one path is equal to the other, above it, or below it.
fn concerns(placed: &FieldPath, path: &FieldPath) -> bool {
    let (placed, path) = (placed.steps(), path.steps());
    let shorter = placed.len().min(path.len());
    placed[..shorter] == path[..shorter]
}

impl ChangeSource for ReleaseWithValues {
    fn id(&self) -> &SourceId {
        &self.documents.id
    }

    fn content(&self) -> Option<SourceContent> {
        self.state.clone()
    }

    fn documents(&self) -> &ReleaseSource {
        &self.documents
    }

    fn record(&self) -> Option<ReleaseRecord<'_>> {
        self.documents.record()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(value: Value, reads: &[(&str, &[&str])]) -> ClusterValues {
        let record = ValuesRecord {
            definition: "peu01".to_owned(),
            levels: BTreeMap::new(),
            components: Vec::new(),
            values: value,
        };
        let path = |text: &&str| FieldPath::parse(text).unwrap();
        let dependencies =
            reads.iter().map(|(made, of)| (path(made), of.iter().map(path).collect())).collect();
        ClusterValues { dependencies, ..record.cluster_values(&RepoPath::root()) }
    }

    fn sources(read: &str, now: &ClusterValues, before: &ClusterValues) -> Vec<String> {
        changed(&FieldPath::parse(read).unwrap(), now, before).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_changed_is_what_expressions_read_in_the_end() {
        let before = values(json!({"a": 1, "b": 2, "same": 0, "sum": 3, "net": {"mtu": 3}}), &[]);
        let now = json!({"a": 5, "b": 6, "same": 0, "sum": 11, "net": {"mtu": 11}});
        let now = values(now, &[("/sum", &["/b", "/same", "/a"]), ("/net/mtu", &["/sum", "/a"])]);
        assert_eq!(sources("/net/mtu", &now, &before), ["/b", "/a"]);
        assert_eq!(sources("/net", &now, &before), ["/b", "/a"]);
        assert_eq!(sources("/a", &now, &before), ["/a"]);
        assert_eq!(sources("/same", &now, &before), [""; 0]);
        // Something else that nothing in the values tells, such as the release's default.
        let alone = values(json!({"same": 0, "sum": 11}), &[("/sum", &["/same"])]);
        assert_eq!(sources("/sum", &alone, &before), ["/sum"]);
    }

    /// Each of 32 values reads all before it: there are two thousand million ways to the first one.
    #[test]
    fn values_that_many_expressions_read_are_compared_once() {
        let name = |at: usize| format!("x{at:02}");
        let all = |of: i64| Value::Object((0..32).map(|at| (name(at), json!(of))).collect());
        let mut now = values(all(2), &[]);
        let path = |at: usize| FieldPath::root().key(&name(at));
        now.dependencies = (1..32).map(|at| (path(at), (0..at).map(path).collect())).collect();
        assert_eq!(sources("/x31", &now, &values(all(1), &[])), ["/x00"]);
    }
}
