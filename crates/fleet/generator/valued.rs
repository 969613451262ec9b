//! A cluster of the inventory: its definition, and the sources of a step under its values.

use std::sync::Arc;

use capstan_inventory::components::{InventoryComponent, no_component};
use capstan_inventory::kinds::Object;
use capstan_inventory::origin::LevelKind;
use capstan_inventory::record::{self, ValuesRecord};
use capstan_inventory::schema::ReleaseSchema;
use capstan_inventory::templates::{Cluster as SeenCluster, Subordinate};
use capstan_inventory::unknown_values;
use capstan_inventory::values::{ClusterValues, Member};
use capstan_model::file_change::FileChange;
use capstan_model::finding::{FileError, Finding, Place, Severity};
use capstan_model::ids::{Provider, ReleaseId};
use capstan_model::source::SourceKind;
use capstan_model::target::TargetKind;
use capstan_model::tree::{RepoPath, Tree, TreeId};
use capstan_plan::cluster::Cluster;
use capstan_plan::creation::Makes;
use capstan_plan::inventory::{
    FleetInventory, InventoryDefinition, InventoryGap, ReleaseTemplates, ReleaseWithValues, RenderContext,
    name_inventory, record_of, without_pending,
};
use capstan_plan::path::TargetPosition;
use capstan_plan::release::Release;
use capstan_plan::settings::{EffectiveSettings, Wished};
use capstan_plan::upgrade::{ChangeReason, Upgrade, ValuesCourse, ValuesStep};

use super::contents::Contents;
use super::refused::Refused;
use super::sources::ReadSource;

/// What the inventory says of a cluster, beside what the cluster records.
#[derive(Debug, Default)]
pub(super) struct Valued {
    /// The values that its base was made from, where that is recorded.
    pub(super) record: Option<ValuesRecord>,
    /// The record is not what Capstan wrote.
    pub(super) edited: Option<FileError>,
    /// Why nothing is proposed to it.
    pub(super) gap: Option<InventoryGap>,
    /// The inventory has it.
    pub(super) is_defined: bool,
    /// It is a management cluster, or its provider set: which releases are for it, its definition says.
    pub(super) is_management: bool,
    /// The inventory wants it deleted.
    pub(super) retires: bool,
    /// What its levels ask for.
    pub(super) wished: Wished,
}

/// Another word for what is wrong with values or a render: the first error, and how many more there are.
pub(super) fn refused(findings: &[Finding]) -> Refused {
    let errors = || findings.iter().filter(|finding| finding.severity() == Severity::Error);
    let first = errors().next().or(findings.first());
    let more = errors().count().saturating_sub(1);
    let more = if more == 0 { String::new() } else { format!(" (and {more} more)") };
    Refused {
        message: first
            .map_or_else(String::new, |finding| format!("{}{more} [{}]", finding.message, finding.rule.id())),
        place: first.and_then(|finding| finding.place.clone()),
    }
}

impl Valued {
    /// What the inventory and the record have of a folder.
    pub(super) fn of(inventory: Option<&FleetInventory>, tree: &dyn Tree, folder: &RepoPath) -> Self {
        let (record, edited) = match record_of(tree, folder) {
            Ok(record) => (record, None),
            Err(error) => (None, Some(error)),
        };
        let mut valued = Self { edited, ..Self::default() };
        match InventoryDefinition::of(inventory, folder, record.as_ref()) {
            Ok(InventoryDefinition::Nothing) => {}
            Err(gap) => valued.gap = Some(gap),
            Ok(InventoryDefinition::Defined(definition)) => {
                valued.is_defined = true;
                valued.is_management = is_management(definition);
                valued.retires = definition.retire.is_some();
                let member = inventory.and_then(|inventory| inventory.member(definition).ok());
                valued.wished = member.as_ref().map(wished).unwrap_or_default();
            }
        }
        valued.record = record;
        valued
    }

    /// Why no release is offered, as a sentence, where that is for the inventory's sake.
    pub(super) fn against_release(&self) -> Option<String> {
        match &self.gap {
            Some(InventoryGap::Removed(finding)) => Some(format!("{}.", finding.message)),
            _ if self.retires => {
                Some("The inventory says `retire: true` for it, so no release is offered to it.".to_owned())
            }
            _ => None,
        }
    }
}

/// Whether a definition is of a management cluster, which Cluster API does not make.
pub(super) fn is_management(definition: &Object) -> bool {
    definition.level.kind == LevelKind::ManagementClusterDefinition
}

/// The release or track that the lowest level says; a release leads there and no further, a track beyond it.
fn wished(member: &Member<'_>) -> Wished {
    let mut wished = Wished::default();
    for object in &member.objects {
        if let Some(track) = &object.track {
            wished = Wished { release: None, track: Some(track.value) };
        }
        if let Some(release) = &object.release {
            wished = Wished { release: Some(release.value.clone()), track: None };
        }
    }
    wished
}

/// A cluster as templates see it, with everything borrowed from one place.
pub(super) struct Subject<'i> {
    inventory: &'i FleetInventory,
    pub(super) member: Member<'i>,
    /// The folder that receives it.
    folder: RepoPath,
    /// The folder that templates know: of a management cluster's provider set it is the management cluster's.
    own_folder: RepoPath,
    subordinates: Vec<Subordinate>,
}

impl<'i> Subject<'i> {
    /// The cluster of a folder; `None` where the inventory says nothing of it.
    ///
    /// # Errors
    /// What is wrong with its membership.
    pub(super) fn of(contents: &'i dyn Contents, folder: &RepoPath) -> Result<Option<Self>, Refused> {
        let Some(inventory) = contents.inventory() else { return Ok(None) };
        let Some(definition) = inventory.definition_in(folder) else { return Ok(None) };
        let member = inventory.member(definition).map_err(|findings| refused(&findings))?;
        let subordinates = inventory.subordinates(definition);
        let own_folder = inventory.own_folder(definition).unwrap_or(folder).clone();
        Ok(Some(Self { inventory, member, folder: folder.clone(), own_folder, subordinates }))
    }

    pub(super) fn is_management(&self) -> bool {
        is_management(self.member.definition)
    }

    /// What a folder of it becomes.
    pub(super) fn makes(&self, has_providers: bool) -> Makes {
        match (self.is_management(), has_providers) {
            (false, _) => Makes::Cluster,
            (true, false) => Makes::ManagementCluster,
            (true, true) => Makes::ProviderSet,
        }
    }

    fn seen<'s>(
        &'s self,
        values: &'s ClusterValues,
        record: &'s ValuesRecord,
        components: &'s [&'s InventoryComponent],
    ) -> RenderContext<'s> {
        let cluster = SeenCluster {
            name: &record.definition,
            folder: &self.own_folder,
            levels: &record.levels,
            clusters: self.is_management().then_some(self.subordinates.as_slice()),
        };
        let part = self.inventory.part_in(self.member.definition, &self.folder);
        RenderContext { cluster, values, record, components, part }
    }

    /// The values under a release, with what is wrong with them, and their record.
    pub(super) fn values(
        &self,
        contents: &dyn Contents,
        release: &ReleaseTemplates,
    ) -> (ClusterValues, ValuesRecord) {
        let mut values = self.member.values(release.parts.schema.as_ref());
        values.findings.extend(self.inventory.severities.settle(self.unknown_values(contents, release)));
        let mut components = Vec::new();
        for (path, origin) in &self.member.wishes.components {
            match contents.repository().folder_id(path) {
                Some(tree) => components.push((path.clone(), tree)),
                None => values.findings.push(no_component(path, origin)),
            }
        }
        let record = ValuesRecord {
            definition: self.member.name().to_owned(),
            levels: self.member.levels.clone(),
            components,
            values: values.value(),
        };
        (values, record)
    }

    /// What its levels say that no release knows, this one or any other: a slip of the pen, for which a default must not
    /// step in. What another release knows may be meant for clusters of that one.
    fn unknown_values(&self, contents: &dyn Contents, release: &ReleaseTemplates) -> Vec<Finding> {
        let Some(schema) = &release.parts.schema else { return Vec::new() };
        let is_doubtful = |object: &&Object| !unknown_values(object, &[schema]).is_empty();
        let doubtful: Vec<&Object> = self.member.objects.iter().copied().filter(is_doubtful).collect();
        if doubtful.is_empty() {
            return Vec::new();
        }
        let others = contents.catalogue().releases().iter();
        let others: Vec<Arc<ReleaseTemplates>> = others
            .filter_map(|other| contents.sources().templates_of(contents.releases(), other).ok())
            .collect();
        let others = others.iter().filter_map(|other| other.parts.schema.as_ref());
        let schemas: Vec<&ReleaseSchema> = std::iter::once(schema).chain(others).collect();
        doubtful.into_iter().flat_map(|object| unknown_values(object, &schemas)).collect()
    }

    pub(super) fn render(
        &self,
        contents: &dyn Contents,
        release: &ReleaseTemplates,
        (values, record): (&ClusterValues, &ValuesRecord),
    ) -> Result<Arc<ReleaseWithValues>, Refused> {
        let components = record.components.iter().map(|(path, tree)| self.component(contents, path, tree));
        let components: Vec<Arc<InventoryComponent>> = components.collect::<Result<_, _>>()?;
        let components: Vec<&InventoryComponent> = components.iter().map(AsRef::as_ref).collect();
        let seen = self.seen(values, record, &components);
        let make = || release.render(seen, contents.schemas()).map_err(|findings| refused(&findings));
        let made = contents.sources().renders.found_or(release, &seen, make)?;
        match self.inventory.set_of_others(self.member.definition).filter(|_| made.leaves_providers) {
            None => Ok(made),
            Some(set) => Err(Refused {
                message: format!(
                    "its templates make provider objects for `{set}` (`managementClusters` in .capstan.yaml), but the provider set there was not made from the inventory: empty that folder, so that Capstan makes it from the inventory, or remove the provider objects from the templates"
                ),
                place: Some(self.member.definition.level.place(self.member.definition.offset)),
            }),
        }
    }

    /// A component as it is, or as it was when the cluster's base was made.
    fn component(
        &self,
        contents: &dyn Contents,
        path: &RepoPath,
        tree: &TreeId,
    ) -> Result<Arc<InventoryComponent>, Refused> {
        let repository = contents.repository();
        let found = contents.sources().component((path, tree), || {
            if repository.folder_id(path).as_ref() == Some(tree) {
                return InventoryComponent::read(repository, path);
            }
            let given = contents.provided(&tree.clone().into())?;
            InventoryComponent::read_alone(given.folder.as_ref(), path, tree)
        });
        found.ok_or_else(|| Refused {
            message: format!(
                "the base was made with the component `{path}` from the Git tree {tree}, but no available commit has that tree, so the old component is unknown. Push a branch that has it, or remove {} so that Capstan records the values again",
                record::FILE
            ),
            place: self.folder.join(record::FILE).ok().map(Place::whole),
        })
    }

    /// The releases of these providers as the cluster's values have them, as far as they can be rendered: what its base
    /// may come from.
    pub(super) fn releases<'p>(
        &self,
        contents: &dyn Contents,
        providers: impl IntoIterator<Item = &'p Provider>,
    ) -> Vec<Arc<ReadSource>> {
        let one = |release: &Release| {
            let templates = contents.sources().templates_of(contents.releases(), release).ok()?;
            if !templates.use_values() {
                return Some(contents.sources().of_release(contents.releases(), release, contents.schemas()));
            }
            let (values, record) = self.values(contents, &templates);
            let made = self.render(contents, &templates, (&values, &record)).ok()?;
            Some(boxed(&made))
        };
        let of = |provider| contents.catalogue().of_provider(provider);
        let fitting = |release: &&Release| release.kind == TargetKind::Cluster || self.is_management();
        providers.into_iter().flat_map(of).filter(fitting).filter_map(one).collect()
    }

    /// The levels as reports name them.
    pub(super) fn levels(&self) -> Vec<(String, String)> {
        let levels = &self.inventory.inventory.settings.levels;
        let named = levels.iter().filter_map(|level| Some((level, self.member.levels.get(level)?)));
        named.map(|(level, name)| (level.kind().to_owned(), name.clone())).collect()
    }
}

/// What of a step depends on values.
pub(super) struct ValuedStep {
    pub(super) old: Option<Arc<ReadSource>>,
    pub(super) new: Arc<ReadSource>,
    /// The new source once more, with what its values are.
    made: Option<(Arc<ReleaseWithValues>, ClusterValues)>,
    brought_by: SourceKind,
    levels: Vec<(String, String)>,
    from: Option<ValuesRecord>,
    to: Option<ValuesRecord>,
    /// Nothing that is rendered changes.
    pub(super) is_same: bool,
    /// The values that the base was made from have to be recorded first.
    pub(super) waits: bool,
}

/// A release as one cluster's values have it: shared by the step and by the report on it.
#[derive(Debug)]
struct Shared(Arc<ReleaseWithValues>);

impl capstan_plan::upgrade::ChangeSource for Shared {
    fn id(&self) -> &capstan_model::source::SourceId {
        self.0.id()
    }

    fn content(&self) -> Option<capstan_model::source::SourceContent> {
        self.0.content()
    }

    fn documents(&self) -> &capstan_plan::merge::ReleaseSource {
        self.0.documents()
    }

    fn record(&self) -> Option<capstan_plan::upgrade::ReleaseRecord<'_>> {
        self.0.record()
    }
}

fn boxed(made: &Arc<ReleaseWithValues>) -> Arc<ReadSource> {
    Arc::new(Ok(Box::new(Shared(Arc::clone(made)))))
}

/// A step, as far as values have a say in it.
pub(super) struct Asked<'a> {
    pub(super) valued: &'a Valued,
    pub(super) cluster: &'a Cluster,
    pub(super) brought_by: &'a SourceKind,
    pub(super) to: &'a ReleaseId,
    /// The release that the cluster has.
    pub(super) old: Option<Arc<ReleaseTemplates>>,
    /// The same without values.
    pub(super) old_content: Option<Arc<ReadSource>>,
}

impl Asked<'_> {
    /// The sources of the step where values have a say in them; `None` where they have none.
    ///
    /// # Errors
    /// What is wrong with the values, a release or a render.
    pub(super) fn sources(self, contents: &dyn Contents) -> Result<Option<ValuedStep>, Refused> {
        let Self { valued, cluster, .. } = self;
        if !valued.is_defined || cluster.folder.kind != TargetKind::Cluster && !valued.is_management {
            return Ok(None);
        }
        let brought_by = self.brought_by.clone();
        let old_home = self.old;
        let new_home = if brought_by == SourceKind::INVENTORY {
            old_home.clone()
        } else {
            let release = contents.catalogue().find(self.to);
            release
                .map(|release| contents.sources().templates_of(contents.releases(), release))
                .transpose()?
        };
        let Some(new_home) = new_home else { return Ok(None) };
        let old_uses = old_home.as_ref().is_some_and(|home| home.use_values());
        if !old_uses && !new_home.use_values() {
            return Ok(None);
        }
        let Some(subject) = Subject::of(contents, cluster.id.folder())? else { return Ok(None) };
        let record_path = cluster.id.folder().join(record::FILE).unwrap_or_default();
        let record = valued.record.as_ref();
        let old = match (&old_home, record) {
            (Some(home), Some(record)) if old_uses => {
                let values = record.cluster_values(&record_path);
                Some(subject.render(contents, home, (&values, record))?)
            }
            _ => None,
        };
        let old_source = match (&old, &old_home) {
            (Some(old), _) => Some(boxed(old)),
            (None, Some(_)) if !old_uses => self.old_content,
            (None, _) => None,
        };
        if !new_home.use_values() {
            // The new release has neither schema nor templates: the record goes with the old one.
            let release = contents.catalogue().find(self.to);
            let Some(release) = release else { return Ok(None) };
            return Ok(Some(ValuedStep {
                old: old_source,
                new: contents.sources().of_release(contents.releases(), release, contents.schemas()),
                made: None,
                brought_by,
                levels: subject.levels(),
                from: record.cloned(),
                to: None,
                is_same: false,
                waits: false,
            }));
        }
        let (mut values, mut to) = subject.values(contents, &new_home);
        let by_release = old_home.as_ref().filter(|_| old_uses && brought_by == SourceKind::RELEASE);
        if let (Some(home), Some(took)) = (by_release, record) {
            let (_, said) = subject.values(contents, home);
            if said != *took {
                to.values = without_pending(&said.values, &took.values, &to.values);
                to.levels.clone_from(&took.levels);
                to.components.clone_from(&took.components);
                let wrong = std::mem::take(&mut values.findings);
                values = ClusterValues { findings: wrong, ..to.cluster_values(&record_path) };
            }
        }
        let new = subject.render(contents, &new_home, (&values, &to))?;
        let waits = brought_by == SourceKind::RELEASE && old_uses && record.is_none();
        let is_same =
            brought_by == SourceKind::INVENTORY && old.as_ref().is_some_and(|old| old.is_same_render(&new));
        Ok(Some(ValuedStep {
            old: old_source,
            new: boxed(&new),
            made: Some((new, values)),
            brought_by,
            levels: subject.levels(),
            from: record.cloned(),
            to: Some(to),
            is_same,
            waits,
        }))
    }
}

impl ValuedStep {
    /// The record as the step leaves it; nothing where it stays as it is.
    pub(super) fn record(&self, tree: &dyn Tree, cluster: &Cluster) -> Option<FileChange> {
        let path = cluster.id.folder().join(record::FILE).ok()?;
        let before = tree.entry(&path).and_then(|entry| tree.read(entry).ok());
        let before = before.and_then(|bytes| String::from_utf8(bytes.to_vec()).ok());
        let after = self.to.as_ref().map(ValuesRecord::text);
        (before != after).then_some(FileChange { path, before, after })
    }

    /// Says of an upgrade what becomes of the values.
    pub(super) fn tell(&self, upgrade: &mut Upgrade) {
        if self.brought_by == SourceKind::INVENTORY {
            for change in &mut upgrade.changes {
                if change.reason == ChangeReason::Release {
                    change.reason = ChangeReason::Inventory;
                }
            }
        }
        let (origins, conflict_origins) = match &self.made {
            Some((made, values)) if self.brought_by == SourceKind::INVENTORY => {
                let before = self.from.as_ref().map(|record| record.cluster_values(&RepoPath::default()));
                made.origins(upgrade, values, before.as_ref())
            }
            _ => (Vec::new(), Vec::new()),
        };
        upgrade.values = Some(Box::new(ValuesStep {
            brought_by: self.brought_by.clone(),
            course: ValuesCourse::Changes,
            from: self.from.as_ref().map(ValuesRecord::digest),
            to: self.to.as_ref().map(ValuesRecord::digest),
            levels: self.levels.clone(),
            origins,
            conflict_origins,
        }));
        if self.brought_by == SourceKind::INVENTORY {
            name_inventory(upgrade);
        }
    }
}

/// The versions of Kubernetes that newer releases with templates bring to a cluster; one that cannot be rendered says
/// none.
pub(super) fn brings(
    contents: &dyn Contents,
    (valued, effective): (&Valued, &EffectiveSettings),
    standing: &mut TargetPosition,
) {
    if !valued.is_defined {
        return;
    }
    let provider = match (&effective.wished, &standing.provider) {
        (Some(wished), _) => wished.provider(),
        (None, Ok(provider)) => provider.clone(),
        (None, Err(_)) => return,
    };
    let Ok(Some(subject)) = Subject::of(contents, standing.cluster.folder()) else { return };
    for release in contents.catalogue().of_provider(&provider) {
        if standing.version.as_ref().is_some_and(|version| release.version <= *version) {
            continue;
        }
        let Ok(templates) = contents.sources().templates_of(contents.releases(), release) else { continue };
        if !templates.use_values() {
            continue;
        }
        let (values, record) = subject.values(contents, &templates);
        let made = subject.render(contents, &templates, (&values, &record));
        if let Some(kubernetes) = made.ok().and_then(|made| made.kubernetes.clone()) {
            standing.brings.insert(ReleaseId::clone(&release.id), kubernetes);
        }
    }
}
