//! A whole inventory over a snapshot of a repository: every cluster with its release, its values, its render; and
//! what is wrong.

use std::collections::{BTreeMap, BTreeSet};

use capstan_model::finding::{FileError, Finding, Place, Severity, rules};
use capstan_model::ids::ReleaseId;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::tree::{RepoPath, Tree, TreeEntry, TreeId};
use capstan_yaml::Node;

use super::components::{self, InventoryComponent};
use super::kinds::{InventoryFiles, Object, SourceText};
use super::membership::LevelMembership;
use super::origin::{InventoryOrigin, LevelKind};
use super::record::{self, ValuesRecord};
use super::schema::{self, ReleaseSchema};
use super::steps::Steps;
use super::templates::{self, Cluster, RenderedTemplates, Subordinate, Templates};
use super::unknown::ReleasesBelow;
use super::values::{ClusterValues, Member};

/// What only others know of clusters.
#[derive(Debug, Default)]
pub struct ClusterRecords {
    /// Folders that are recorded for definitions, by their names: they win over the pattern.
    pub folders: BTreeMap<String, RepoPath>,
    /// The release of a cluster's folder where no level says one.
    pub releases: BTreeMap<RepoPath, ReleaseId>,
    /// The names of the clusters that a management cluster manages, by its name.
    pub managed: BTreeMap<String, Vec<String>>,
}

impl ClusterRecords {
    /// The folders that clusters' records name. A record that was edited names none.
    pub fn recorded(tree: &dyn Tree) -> Self {
        let mut elsewhere = Self::default();
        for entry in
            tree.entries().iter().filter(|entry| entry.is_file() && entry.path.name() == record::FILE)
        {
            let read = tree.read(entry).ok().and_then(|bytes| ValuesRecord::read(&entry.path, &bytes).ok());
            if let (Some(record), Some(folder)) = (read, entry.path.parent()) {
                elsewhere.folders.insert(record.definition, folder);
            }
        }
        elsewhere
    }
}

/// A release as the inventory uses it.
#[derive(Debug, Default)]
pub struct ReleaseParts {
    /// The Git tree of its folder, where that has one.
    pub tree: Option<TreeId>,
    /// Its schema, where it has one.
    pub schema: Option<ReleaseSchema>,
    /// Its templates, where it has some and nothing is wrong in them.
    pub templates: Option<Templates>,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// A whole inventory.
#[derive(Debug)]
pub struct Survey {
    /// The objects.
    pub inventory: InventoryFiles,
    /// The releases that clusters use.
    pub releases: BTreeMap<ReleaseId, ReleaseParts>,
    /// The components that clusters name, as far as they are there.
    components: BTreeMap<RepoPath, InventoryComponent>,
    elsewhere: ClusterRecords,
}

impl Survey {
    /// Reads the inventory below a folder and the releases that it names.
    pub fn read(tree: &dyn Tree, folder: &RepoPath, elsewhere: ClusterRecords) -> Self {
        let inventory = InventoryFiles::read_in(tree, folder);
        let (releases, components) = (BTreeMap::new(), BTreeMap::new());
        let mut survey = Self { inventory, releases, components, elsewhere };
        survey.read_releases(tree);
        let named = survey.inventory.objects.values().flat_map(|object| &object.components);
        let named: BTreeSet<&RepoPath> = named.map(|said| &said.value).collect();
        survey.components = named
            .into_iter()
            .filter_map(|path| Some((path.clone(), InventoryComponent::read(tree, path)?)))
            .collect();
        survey
    }

    /// Reads the releases that clusters use and that were not read yet.
    fn read_releases(&mut self, tree: &dyn Tree) {
        let members =
            self.inventory.clusters().filter_map(|cluster| Member::of(&self.inventory, cluster).ok());
        let named: BTreeSet<ReleaseId> = members.filter_map(|member| self.release(&member)).collect();
        for release in
            named.into_iter().filter(|release| !self.releases.contains_key(release)).collect::<Vec<_>>()
        {
            let parts = ReleaseParts::read(tree, &release);
            self.releases.insert(release, parts);
        }
    }

    /// Knows the release of a cluster of which no level says one, by its folder.
    pub fn know_releases(&mut self, tree: &dyn Tree, recorded: impl Fn(&RepoPath) -> Option<ReleaseId>) {
        let mut known = BTreeMap::new();
        for definition in self.inventory.clusters() {
            let Ok(member) = Member::of(&self.inventory, definition) else { continue };
            if member.wishes.release.is_some() {
                continue;
            }
            let Ok(folder) = self.folder(&member) else { continue };
            if let Some(release) = recorded(&folder) {
                known.insert(folder, release);
            }
        }
        self.elsewhere.releases.extend(known);
        self.read_releases(tree);
    }

    /// A cluster by the name of its definition.
    ///
    /// # Errors
    /// What is wrong with what it belongs to; `None` where there is no such definition.
    pub fn member(&self, name: &str) -> Option<Result<Member<'_>, Vec<Finding>>> {
        Some(Member::of(&self.inventory, self.inventory.cluster(name)?))
    }

    /// The folder of a cluster: what its definition says, what is recorded, what the pattern makes.
    ///
    /// # Errors
    /// Why it has none.
    pub fn folder(&self, member: &Member<'_>) -> Result<RepoPath, FileError> {
        if let Some((folder, _)) = &member.wishes.folder {
            return Ok(folder.clone());
        }
        if let Some(folder) = self.elsewhere.folders.get(member.name()) {
            return Ok(folder.clone());
        }
        let made = self.inventory.settings.folder.folder(member.name(), &member.levels);
        made.map_err(|message| {
            let place = member.definition.level.place(member.definition.offset);
            FileError::new(rules::INVENTORY_REFERENCE, place, message)
        })
    }

    /// The release of a cluster: the one that levels ask for, else the one of its folder.
    pub fn release(&self, member: &Member<'_>) -> Option<ReleaseId> {
        let wished = member.wishes.release.as_ref().map(|(release, _)| release.clone());
        wished.or_else(|| self.elsewhere.releases.get(&self.folder(member).ok()?).cloned())
    }

    fn parts(&self, member: &Member<'_>) -> Option<&ReleaseParts> {
        self.releases.get(&self.release(member)?)
    }

    /// The values of a cluster.
    pub fn values(&self, member: &Member<'_>) -> ClusterValues {
        member.values(self.parts(member).and_then(|parts| parts.schema.as_ref()))
    }

    /// What the templates of its release come to for a cluster; nothing where the release has none.
    ///
    /// # Errors
    /// What is wrong with its values, its release or the render.
    pub fn render(
        &self,
        member: &Member<'_>,
        values: &ClusterValues,
    ) -> Result<RenderedTemplates, Vec<Finding>> {
        if values.findings.iter().any(|finding| finding.severity() == Severity::Error) {
            return Err(values.findings.clone());
        }
        let Some(parts) = self.parts(member) else { return Ok(RenderedTemplates::default()) };
        if !parts.findings.is_empty() {
            return Err(parts.findings.clone());
        }
        self.render_with(member, values, &self.components(member)?)
    }

    /// The same with these of its components alone.
    fn render_with(
        &self,
        member: &Member<'_>,
        values: &ClusterValues,
        components: &[&InventoryComponent],
    ) -> Result<RenderedTemplates, Vec<Finding>> {
        let templates = self.parts(member).and_then(|parts| parts.templates.as_ref());
        let Some(templates) = templates else { return Ok(RenderedTemplates::default()) };
        let folder = self.folder(member).map_err(|error| vec![Finding::from(&error)])?;
        let clusters = self.subordinates(member);
        let cluster = Cluster {
            name: member.name(),
            folder: &folder,
            levels: &member.levels,
            clusters: self.is_management(member).then_some(clusters.as_slice()),
        };
        components::apply(templates.render(cluster, values)?, components)
    }

    /// The component that has the last word on a field of an object, and the level that names it; `None` where that is
    /// the template.
    pub fn component_of(
        &self,
        member: &Member<'_>,
        values: &ClusterValues,
        object: &ObjectId,
        path: &FieldPath,
    ) -> Option<(RepoPath, InventoryOrigin)> {
        let components = self.components(member).ok()?;
        let at = |count: usize| {
            let rendered = self.render_with(member, values, components.get(..count)?).ok()?;
            let objects = rendered.files.into_iter().flat_map(|file| file.objects);
            let found = objects.into_iter().find(|one| one.id == *object)?;
            found.node.at(path).map(Node::value)
        };
        let last = at(components.len());
        let by = (1..=components.len()).rev().find(|count| at(count - 1) != last)?;
        let (path, origin) = member.wishes.components.get(by - 1)?;
        Some((path.clone(), origin.clone()))
    }

    /// The components of a cluster, in their order.
    fn components(&self, member: &Member<'_>) -> Result<Vec<&InventoryComponent>, Vec<Finding>> {
        let mut found = Vec::new();
        let mut missing = Vec::new();
        for (path, origin) in &member.wishes.components {
            match self.components.get(path) {
                Some(component) => found.push(component),
                None => missing.push(components::no_component(path, origin)),
            }
        }
        if missing.is_empty() { Ok(found) } else { Err(missing) }
    }

    /// The components of a cluster and the Git trees that they are, as far as both are known: what its record says of them.
    pub fn components_of(&self, name: &str) -> Vec<(RepoPath, TreeId)> {
        let Some(Ok(member)) = self.member(name) else { return Vec::new() };
        let known = member.wishes.components.iter().filter_map(|(path, _)| self.components.get(path));
        known.filter_map(|component| Some((component.path.clone(), component.tree.clone()?))).collect()
    }

    /// Whether its templates see other clusters, too.
    fn is_management(&self, member: &Member<'_>) -> bool {
        member.definition.level.kind == LevelKind::ManagementClusterDefinition
    }

    /// Knows which cluster a management cluster manages, by the folders: `claims` says the name of the management cluster.
    pub fn know_managed(&mut self, claims: impl Fn(&RepoPath) -> Option<String>) {
        let mut managed: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for definition in self.inventory.clusters() {
            let Ok(member) = Member::of(&self.inventory, definition) else { continue };
            let by = self.folder(&member).ok().and_then(|folder| claims(&folder));
            if let Some(by) = by.filter(|by| by != member.name()) {
                managed.entry(by).or_default().push(member.name().to_owned());
            }
        }
        self.elsewhere.managed = managed;
    }

    /// What a management cluster manages.
    fn subordinates(&self, member: &Member<'_>) -> Vec<Subordinate> {
        let names = self.elsewhere.managed.get(member.name()).map(Vec::as_slice).unwrap_or_default();
        let one = |name: &String| {
            let member = self.member(name)?.ok()?;
            let folder = self.folder(&member).ok()?;
            let levels = member.levels.clone();
            Some(Subordinate { name: name.clone(), folder, namespace: None, levels })
        };
        names.iter().filter_map(one).collect()
    }

    /// Everything that is wrong, each once.
    pub fn judge(&self) -> Vec<Finding> {
        let mut findings = self.inventory.findings.clone();
        for object in self.inventory.objects.values().filter(|object| !object.level.kind.is_cluster()) {
            findings.extend(LevelMembership::judge(&self.inventory, object));
        }
        for parts in self.releases.values() {
            findings.extend(parts.findings.iter().cloned());
        }
        let mut below = ReleasesBelow::default();
        let mut folders: BTreeMap<RepoPath, Place> = BTreeMap::new();
        let mut unused: BTreeMap<Place, (FieldPath, InventoryOrigin)> = BTreeMap::new();
        let mut used: BTreeSet<Place> = BTreeSet::new();
        // Levels and the fields that a template below reads, wherever the value there comes from.
        let mut read: BTreeSet<(String, String)> = BTreeSet::new();
        let mut steps = Steps::default();
        for definition in self.inventory.clusters() {
            let member = match Member::of(&self.inventory, definition) {
                Ok(member) => member,
                Err(wrong) => {
                    findings.extend(wrong);
                    continue;
                }
            };
            let release = self.release(&member);
            below.note(member.objects.iter().copied(), release.as_ref());
            match self.folder(&member) {
                Ok(folder) => {
                    let place = definition.level.place(definition.offset);
                    if let Some(first) = folders.get(&folder) {
                        findings.push(folder_clash(definition, &folder, first));
                    } else {
                        folders.insert(folder, place);
                    }
                }
                Err(error) => findings.push(Finding::from(&error)),
            }
            let place = || definition.level.place(definition.offset);
            if steps.are_used_up() {
                findings.extend(steps.tell(&definition.level.to_string(), place()));
                continue;
            }
            let templates = self.parts(&member).and_then(|parts| parts.templates.as_ref());
            let before = templates.map_or(0, Templates::steps);
            let values = self.values(&member);
            let result = self.render(&member, &values);
            steps.add(values.steps + (templates.map_or(0, Templates::steps) - before));
            match result {
                Ok(rendered) => {
                    let has_templates = self.parts(&member).is_some_and(|parts| parts.templates.is_some());
                    let left: BTreeSet<Place> =
                        rendered.unused.iter().map(|(_, origin)| origin.place()).collect();
                    values.merged.leaves(&FieldPath::root(), &mut |path, leaf| {
                        let place = leaf.origin.place();
                        if !left.contains(&place) {
                            let levels = member.objects.iter().map(|object| object.level.to_string());
                            read.extend(levels.map(|level| (level, path.to_string())));
                            used.insert(place);
                        } else if has_templates {
                            unused.insert(place, (path.clone(), leaf.origin.clone()));
                        }
                    });
                }
                Err(wrong) => {
                    findings.extend(wrong);
                    // What it would have read is unknown.
                    values.merged.leaves(&FieldPath::root(), &mut |_, leaf| {
                        used.insert(leaf.origin.place());
                    });
                }
            }
        }
        findings.extend(below.unknown_values(|release| self.releases.get(release)?.schema.as_ref()));
        if steps.are_used_up() {
            // What the others would have read is unknown.
            unused.clear();
        }
        unused.retain(|place, (path, origin)| {
            !used.contains(place) && !read.contains(&(origin.level.to_string(), path.to_string()))
        });
        for (place, (path, origin)) in unused {
            let message =
                format!("`{path}` of {} is not used by any template of the releases below", origin.level);
            findings.push(Finding::new(rules::INVENTORY_UNUSED_VALUE, message).place(place).path(&path));
        }
        let mut seen = BTreeSet::new();
        findings
            .retain(|finding| seen.insert((finding.rule, finding.place.clone(), finding.message.clone())));
        findings
    }
}

/// The finding that a definition has the same folder as the one at `first`.
pub fn folder_clash(definition: &Object, folder: &RepoPath, first: &Place) -> Finding {
    let message = format!(
        "{} would be in `{folder}`, like the definition in {first}: write another `folder`",
        definition.level
    );
    let place = definition.level.place(definition.offset);
    Finding::new(rules::INVENTORY_FOLDER_CLASH, message).place(place)
}

impl ReleaseParts {
    /// Reads a release's schema and templates, wherever its folder is.
    pub(crate) fn read(tree: &dyn Tree, release: &ReleaseId) -> Self {
        let possible = release.possible_folders();
        let Some(folder) = possible.iter().find(|folder| !tree.entries_in(folder).is_empty()) else {
            let message = format!("there is no release `{release}` in this repository");
            let findings = vec![Finding::new(rules::UNKNOWN_RELEASE, message)];
            return Self { findings, ..Self::default() };
        };
        Self::read_in(tree, folder, release)
    }

    /// Whether values have any say in what the release comes to.
    pub fn use_values(&self) -> bool {
        self.schema.is_some() || self.templates.is_some() || !self.findings.is_empty()
    }

    /// Reads the schema and the templates in a release's folder.
    pub fn read_in(tree: &dyn Tree, folder: &RepoPath, release: &ReleaseId) -> Self {
        let mut parts = Self { tree: tree.folder_id(folder), ..Self::default() };
        let entry = folder.join(schema::FILE).ok().and_then(|path| tree.entry(&path));
        if let Some(entry) = entry.filter(|entry| entry.is_file()) {
            match tree.read(entry) {
                Ok(bytes) => {
                    let (schema, findings) = ReleaseSchema::read(release.as_str(), &entry.path, &bytes);
                    parts.schema = schema;
                    parts.findings.extend(findings);
                }
                Err(unreadable) => parts.findings.push(unreadable_file(&unreadable.path, &unreadable.reason)),
            }
        }
        let Ok(templates) = folder.join(templates::FOLDER) else { return parts };
        let entries = tree.entries_in(&templates);
        if !entries.is_empty() {
            let files: Vec<SourceText> =
                entries.iter().filter(|entry| entry.is_file()).map(|entry| source(tree, entry)).collect();
            match Templates::read(&templates, &files) {
                Ok(read) => parts.templates = Some(read),
                Err(findings) => parts.findings.extend(findings),
            }
        }
        parts
    }
}

fn source(tree: &dyn Tree, entry: &TreeEntry) -> SourceText {
    let bytes = tree.read(entry).map_err(|unreadable| unreadable.reason);
    SourceText { path: entry.path.clone(), bytes }
}

fn unreadable_file(path: &RepoPath, reason: &str) -> Finding {
    let message = format!("this file cannot be read: {reason}");
    Finding::new(rules::UNREADABLE_FILE, message).place(Place::whole(path.clone()))
}

#[cfg(test)]
#[path = "survey_tests.rs"]
mod tests;
