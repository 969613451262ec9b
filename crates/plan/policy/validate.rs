//! What is wrong in a whole tree, and between two.

use std::collections::BTreeSet;

use jiff::civil::Date;

use super::cluster_api::CoreVersion;
use super::compared_services::{ClusterState, switched};
use super::deletions::Deletions;
use super::facts::{Occasion, PolicyFacts, ValueGivers};
use super::file_not_listed::unlisted;
use super::folders::{folders_of, folders_of_service};
use super::inside;
use super::judge::{judge, lost_patches, sort};
use super::release_without_predecessor::gaps;
use super::{reads_other_cluster, release_breaks_requests, release_reads_outside, unknown_release};
use crate::boundary::{Neighbours, Scopes, Surroundings};
use crate::cluster::{
    Cluster, is_unread, judge_release_services, owners_changed_between, services_not_claimed,
};
use crate::flux::FluxIndex;
use crate::inventory::{FleetInventory, InventoryDefinition, InventoryGap, record_of};
use crate::layout::{Layout, TargetFolder, crowded, not_followed, outside};
use crate::merge::AppliedBy;
use crate::provider_set::{
    SetFacts, SetState, applied_by as applied_by_of, claimed_with, judge_set, objects_of, workload,
    workloads_of,
};
use crate::release::{Catalogue, Watched};
use crate::services::refuse_kubernetes;
use crate::settings::{REPOSITORY_FILE, RepositorySettings, campaign_candidate, with_overlay};
use capstan_campaign::membership::WaveCandidate;
use capstan_inventory::examples;
use capstan_inventory::survey::{ClusterRecords, Survey};
use capstan_kustomize::render::{
    ParsedFiles, RenderError, RenderErrorKind, RenderedFolder, RenderedObject, render, render_with,
};
use capstan_kustomize::schema::Schemas;
use capstan_model::finding::{FileError, Finding, Place, Severities, rules};
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::kinds::is_cluster;
use capstan_model::target::TargetKind;
use capstan_model::tree::{EntryKind, RepoPath, Tree, TreeEntry, is_manifest};
use capstan_model::wording::count;
use capstan_providers::Supplies;
use capstan_yaml::{YamlError, YamlFile};
use serde_json::Value;

/// A tree, and what was found in it.
#[derive(Clone, Copy)]
pub struct Snapshot<'a> {
    pub tree: &'a dyn Tree,
    /// Its releases, clusters and provider sets.
    pub layout: &'a Layout,
    /// What its definitions say of objects' fields.
    pub schemas: &'a Schemas,
    /// The version of Cluster API that it installs, where it says so.
    pub cluster_api: Option<&'a CoreVersion>,
    /// Its Flux Kustomizations, where somebody looked for them.
    pub flux: Option<&'a FluxIndex>,
    /// What the folders that a management cluster claims bring, where somebody looked.
    pub neighbours: Option<&'a Neighbours>,
    /// The components that this tree lacks and somebody asked for, or why they could not be had.
    pub supplies: Option<&'a Supplies>,
}

/// Which clusters are judged.
#[derive(Debug, Clone, Copy)]
pub enum ValidationScope<'a> {
    /// All of them, and all releases.
    Everything,
    /// These clusters alone; neither releases nor the layout.
    Clusters(&'a BTreeSet<ClusterId>),
    /// All releases, and nothing else.
    Releases,
}

/// Judges a tree: layout, settings, YAML, references, every rule that one tree can break; with
/// `before` also the rules that compare two. Ordered by file, line and path.
///
/// Whatever cannot be read is a finding of its own and hides nothing else. The repository's settings
/// are read by the caller, who makes an error in them a finding.
pub fn validate(
    now: Snapshot<'_>,
    before: Option<Snapshot<'_>>,
    settings: &RepositorySettings,
    scope: ValidationScope<'_>,
    today: Date,
) -> Vec<Finding> {
    let severities = settings.severities();
    let mut checked = CheckedCluster {
        schemas: now.schemas,
        verdicts: Vec::new(),
        candidates: Vec::new(),
        findings: Vec::new(),
        judged: Vec::new(),
        seen: BTreeSet::new(),
        today,
        cluster_api: now.cluster_api.cloned(),
        neighbours: now.neighbours,
        scopes: Scopes::default(),
    };
    if let ValidationScope::Everything = scope {
        checked.layout(now, settings);
    }
    if let ValidationScope::Everything | ValidationScope::Releases = scope {
        checked.releases(now);
    }
    let wanted = |id: &ClusterId| match scope {
        ValidationScope::Everything => true,
        ValidationScope::Clusters(ids) => ids.contains(id),
        ValidationScope::Releases => false,
    };
    for folder in now.layout.targets.iter().filter(|folder| wanted(&folder.id)) {
        checked.cluster(now, before, folder, settings, &severities);
    }
    for gone in before.iter().flat_map(|before| &before.layout.targets).filter(|folder| wanted(&folder.id)) {
        if now.layout.target(gone.id.as_str()).is_none() {
            let old = before.and_then(|before| render(before.tree, &folders_of(gone)).ok());
            let old = old.unwrap_or_default();
            checked.judge(gone, [&old, &RenderedFolder::default()], &[], None, settings, &severities);
        }
    }
    if let ValidationScope::Everything = scope {
        checked.definitions(now);
        checked.inventory(now, settings);
        checked.campaigns(now, settings);
    }
    checked.finish(&severities)
}

impl CheckedCluster<'_> {
    /// The inventory where there is one, and what clusters recorded of it.
    fn inventory(&mut self, now: Snapshot<'_>, settings: &RepositorySettings) {
        if let Some(inventory) = &settings.inventory {
            let survey = Survey::read(now.tree, inventory.path.path(), ClusterRecords::recorded(now.tree));
            self.findings.extend(survey.judge());
        }
        self.definitions_of_clusters(now, settings);
    }

    /// Whether clusters still have the definitions that they were made from, in the folders that those say.
    fn definitions_of_clusters(&mut self, now: Snapshot<'_>, settings: &RepositorySettings) {
        let inventory = FleetInventory::read(now.tree, settings);
        let mut lost = 0_usize;
        for folder in &now.layout.targets {
            let record = match record_of(now.tree, folder.id.folder()) {
                Ok(record) => record,
                Err(error) => {
                    self.findings.push(Finding::from(&error));
                    continue;
                }
            };
            match InventoryDefinition::of(inventory.as_ref(), folder.id.folder(), record.as_ref()) {
                Ok(_) => {}
                Err(InventoryGap::Removed(finding)) => self.findings.push(*finding),
                Err(InventoryGap::Unreadable { .. }) => lost += 1,
            }
        }
        let Some(inventory) = inventory else { return };
        if let Some((why, place)) = inventory.unreadable().filter(|_| lost > 0) {
            let message = format!(
                "{why}: {} made from it, so Capstan proposes and deletes nothing there",
                count(lost, "cluster is", "clusters are")
            );
            self.findings.push(Finding::new(rules::DEFINITION_REMOVED, message).place(place.clone()));
            return;
        }
        for (folder, definition) in inventory.clusters().filter(|(_, one)| one.folder.is_none()) {
            let Ok(member) = inventory.member(definition) else { continue };
            let pattern = &inventory.inventory.settings.folder;
            if let Ok(made) = pattern.folder(member.name(), &member.levels)
                && made != *folder
            {
                let message = format!(
                    "{} is in `{folder}`, as recorded there, but the pattern gives `{made}`. It stays where it is: write `folder: {folder}` to confirm that",
                    definition.level
                );
                let place = definition.level.place(definition.offset);
                self.findings.push(Finding::new(rules::INVENTORY_FOLDER_DIFFERS, message).place(place));
            }
        }
    }
}

fn applied_by(settings: &RepositorySettings, folder: &TargetFolder) -> AppliedBy {
    match folder.claimed_by(settings) {
        Ok(None) => AppliedBy::Others,
        Ok(Some(_)) | Err(_) => AppliedBy::Reconciler,
    }
}

/// The text of a file; empty where there is none.
fn text_of(tree: &dyn Tree, file: &RepoPath) -> String {
    let bytes = tree.entry(file).and_then(|entry| tree.read(entry).ok());
    bytes.and_then(|bytes| std::str::from_utf8(&bytes).ok().map(str::to_owned)).unwrap_or_default()
}

struct CheckedCluster<'a> {
    schemas: &'a Schemas,
    verdicts: Vec<Finding>,
    /// What the waves of campaigns tell clusters apart by.
    candidates: Vec<WaveCandidate>,
    /// Findings of files' readers and of checks outside the rules. The settings' severities are not applied yet.
    findings: Vec<Finding>,
    /// What the rules say of clusters, with its severity.
    judged: Vec<Finding>,
    /// Files that have had their verdict.
    seen: BTreeSet<RepoPath>,
    today: Date,
    cluster_api: Option<CoreVersion>,
    neighbours: Option<&'a Neighbours>,
    scopes: Scopes,
}

impl CheckedCluster<'_> {
    /// What is wrong with a file as a whole: that it cannot be read is not said twice.
    fn of_file(&mut self, verdicts: impl IntoIterator<Item = Finding>) {
        let mut verdicts = verdicts.into_iter().peekable();
        let Some(place) = verdicts.peek().and_then(|verdict| verdict.place.as_ref()) else { return };
        if self.seen.insert(place.file().clone()) {
            self.verdicts.extend(verdicts);
        }
    }

    fn layout(&mut self, now: Snapshot<'_>, settings: &RepositorySettings) {
        for problem in &now.layout.problems {
            if problem.rule == rules::UNREADABLE_FILE {
                self.of_file(problem.findings());
            } else {
                self.verdicts.push(problem.into());
            }
        }
        let told = outside(now.tree, now.layout, settings).into_iter().chain(crowded(now.tree, now.layout));
        self.verdicts.extend(told.map(|problem| Finding::from(&problem)));
        let Ok(file) = RepoPath::parse(REPOSITORY_FILE) else { return };
        let ids = now.layout.clusters().map(|cluster| &cluster.id);
        for error in settings.check_claims(&file, &text_of(now.tree, &file), ids) {
            self.verdicts.push(Finding::from(&error));
        }
    }

    /// What of campaigns cannot be meant.
    fn campaigns(&mut self, now: Snapshot<'_>, settings: &RepositorySettings) {
        let Ok(file) = RepoPath::parse(REPOSITORY_FILE) else { return };
        let today = self.today.to_zoned(jiff::tz::TimeZone::UTC).map(|day| day.timestamp());
        let today = today.unwrap_or_default();
        let text = text_of(now.tree, &file);
        self.findings.extend(settings.judge_campaigns((&file, &text), &self.candidates, today));
        let releases: Vec<&ReleaseId> = now.layout.releases.iter().map(|release| &release.id).collect();
        // Without any here, the releases are in another repository.
        if !releases.is_empty() {
            self.findings.extend(settings.judge_campaign_releases((&file, &text), &releases));
        }
    }

    /// Definitions that cannot be used, unless the file had its verdict as a manifest.
    fn definitions(&mut self, now: Snapshot<'_>) {
        for problem in
            now.schemas.problems().iter().filter(|problem| !self.seen.contains(problem.place.file()))
        {
            self.verdicts.push(Finding::from(problem));
        }
    }

    fn releases(&mut self, now: Snapshot<'_>) {
        for release in &now.layout.releases {
            let of_services =
                release.services.iter().flat_map(|one| one.files.iter().chain(&one.overlay_files));
            let files = release.base_files.iter().chain(&release.overlay_files).chain(of_services);
            let files: Vec<&TreeEntry> = files.collect();
            self.files(now.tree, files.iter().copied(), YamlFile::read_template_bytes);
            self.doubled_keys(now.tree, &files, YamlFile::read_template_bytes);
            self.findings.extend(judge_release_services(now.tree, release));
        }
        let catalogue = Catalogue::read(now.tree, now.layout);
        for release in catalogue.releases() {
            let unmet = release.unmet.iter();
            self.verdicts.extend(unmet.map(|unmet| release_breaks_requests::verdict(release, unmet)));
            self.verdicts.extend(release_reads_outside::verdict(release));
        }
        self.verdicts.extend(gaps(catalogue.releases()));
        self.findings.extend(examples::judge(now.tree));
        self.verdicts.extend(catalogue.requests_problems().iter().map(Finding::from));
        for (_, error) in catalogue.unreadable() {
            self.of_file(error.findings());
        }
    }

    /// Every manifest that cannot be read, each for itself.
    fn files<'a>(
        &mut self,
        tree: &dyn Tree,
        entries: impl Iterator<Item = &'a TreeEntry>,
        read: fn(&[u8]) -> Result<YamlFile, YamlError>,
    ) {
        for entry in entries.filter(|entry| is_manifest(&entry.path)) {
            match tree.read(entry).map(|bytes| read(&bytes)) {
                Err(error) => self.of_file(FileError::from(error).findings()),
                Ok(Err(error)) => {
                    let place = Place::at(entry.path.clone(), error.position);
                    self.of_file([Finding::new(rules::INVALID_YAML, error.message).place(place)]);
                }
                Ok(Ok(_)) => {}
            }
        }
    }

    /// Keys that occur twice in manifests that could be read: where no kustomization names the file, the last one
    /// counts.
    fn doubled_keys(
        &mut self,
        tree: &dyn Tree,
        entries: &[&TreeEntry],
        read: fn(&[u8]) -> Result<YamlFile, YamlError>,
    ) {
        for entry in entries.iter().filter(|entry| is_manifest(&entry.path)) {
            let Some(Ok(file)) = tree.read(entry).ok().map(|bytes| read(&bytes)) else { continue };
            for twice in file.documents().iter().filter_map(|document| document.duplicate_key.as_ref()) {
                let message = format!(
                    "the key `{}` is twice in one mapping, here and in line {}. `kubectl apply` takes this one; Flux and kustomize refuse the file. Keep one",
                    twice.key,
                    file.position(twice.first).line
                );
                let place = Place::at(entry.path.clone(), file.position(twice.offset));
                self.verdicts.push(Finding::new(rules::INVALID_YAML, message).warning().place(place));
            }
        }
    }

    fn cluster(
        &mut self,
        now: Snapshot<'_>,
        before: Option<Snapshot<'_>>,
        folder: &TargetFolder,
        settings: &RepositorySettings,
        severities: &Severities,
    ) {
        for entry in now.tree.entries_in(folder.id.folder()) {
            let is_part = [&folder.base, &folder.overlay].into_iter().any(|part| entry.path.is_in(part));
            let is_part = is_part || folder.is_of_service(&entry.path);
            if entry.kind == EntryKind::Unnamed || is_part && !entry.is_file() {
                self.of_file(not_followed(entry).findings());
            }
        }
        let of_services = folder.services.iter().flat_map(|one| one.files.iter().chain(&one.overlay_files));
        let read = folder.base_files.iter().chain(&folder.overlay_files).chain(of_services);
        let read_files: Vec<&TreeEntry> =
            read.filter(|entry| !is_unreadable_and_unread(now.tree, folder, entry)).collect();
        self.files(now.tree, read_files.iter().copied(), YamlFile::read_bytes);
        let own = match Cluster::read(now.tree, folder) {
            Ok(cluster) => {
                if settings.releases.repository.is_none() {
                    self.verdicts.extend(unknown_release::verdict(now.tree, now.layout, &cluster));
                }
                self.findings.extend(cluster.findings);
                if applied_by(settings, folder) == AppliedBy::Others {
                    let not_claimed = services_not_claimed(now.tree, folder, cluster.settings.as_ref());
                    self.verdicts.extend(not_claimed);
                } else {
                    if let (Some(version), Some(own)) = (&cluster.kubernetes, &cluster.settings) {
                        let overlay =
                            cluster.overlay_settings.as_ref().map(|overlay| overlay.services.as_slice());
                        let services = with_overlay(&own.services, overlay.unwrap_or_default());
                        let path = folder.settings_path();
                        let text = text_of(now.tree, &path);
                        self.verdicts.extend(refuse_kubernetes(&services, version, (&path, &text)));
                    }
                    if let Some(before) = before {
                        let old = before.layout.target(folder.id.as_str()).map(|old| (before.tree, old));
                        self.verdicts.extend(owners_changed_between(old, (now.tree, folder)));
                    }
                }
                cluster.settings
            }
            Err(error) => {
                self.of_file(error.findings());
                None
            }
        };
        let read = ParsedFiles::default();
        let watched = Watched::new(now.tree);
        let after = render_with(&watched, &folders_of(folder), &read);
        let found = watched.found();
        self.verdicts.extend(reads_other_cluster::verdicts(now.tree, now.layout, settings, folder, &found));
        let after = match after {
            Ok(after) => after,
            Err(error) => {
                self.failed(&error);
                self.candidates.push(campaign_candidate(&folder.id, &Value::Null, &[]));
                return;
            }
        };
        let cluster = after.objects.iter().find(|object| is_cluster(&object.id));
        let cluster = cluster.map_or(&Value::Null, |cluster| &cluster.value);
        self.candidates.push(campaign_candidate(&folder.id, cluster, &settings.campaigns));
        self.verdicts.extend(unlisted(now.tree, folder, &read));
        self.doubled_keys(now.tree, &read_files, YamlFile::read_bytes);
        let variables = own.as_ref().map(|own| own.variables.clone()).unwrap_or_default();
        let flux = now.flux.map(|flux| flux.post_build(&folder.id));
        let values = flux.as_ref().map(|flux| ValueGivers { own: &variables, flux });
        let deletions = own.map(|own| Deletions::of(now.tree, folder, own.delete));
        if let Some(deletions) = &deletions {
            self.verdicts.extend(deletions.of_what_is_rendered(&after));
        }
        // A cluster that is new, or could not be rendered before, is compared with itself: the
        // comparing rules then have nothing to say.
        let old = before.and_then(|before| {
            let old_folder = before.layout.target(folder.id.as_str())?;
            let old = render(before.tree, &folders_of(old_folder)).ok()?;
            if let Some(deletions) = &deletions {
                let said = Cluster::settings_of(before.tree, old_folder).ok().flatten();
                let said = said.map(|settings| settings.delete).unwrap_or_default();
                self.verdicts.extend(deletions.of_machines(&said, &old, &after));
            }
            Some(old)
        });
        if folder.kind == TargetKind::Providers {
            self.provider_set(now, before, folder, settings, &after);
        }
        self.services(now.tree, folder, &read, severities);
        if let (AppliedBy::Reconciler, Some(old)) = (applied_by(settings, folder), &old) {
            self.network(now, before, folder, [&old.objects, &after.objects]);
        }
        let inside = inside(now.tree, &folders_of(folder), &after, now.flux, &read);
        let states = [old.as_ref().unwrap_or(&after), &after];
        self.judge(folder, states, &inside, values, settings, severities);
    }

    /// Whether the folders of its services can be rendered, each with what the overlay makes of it, and come to objects
    /// that Kubernetes takes by their names.
    fn services(
        &mut self,
        tree: &dyn Tree,
        folder: &TargetFolder,
        read: &ParsedFiles,
        severities: &Severities,
    ) {
        for service in &folder.services {
            match render_with(tree, &folders_of_service(folder, &service.folder), read) {
                Ok(rendered) => {
                    self.judged.extend(lost_patches(&rendered, severities));
                    let names = rendered.objects.iter().flat_map(RenderedObject::refused_names);
                    self.verdicts.extend(names);
                }
                Err(error) => self.failed(&error),
            }
        }
    }

    /// Reports a switch to another pod network that nobody allowed.
    fn network(
        &mut self,
        now: Snapshot<'_>,
        before: Option<Snapshot<'_>>,
        folder: &TargetFolder,
        base: [&[RenderedObject]; 2],
    ) {
        let was = before.and_then(|before| {
            let folder = before.layout.target(folder.id.as_str())?;
            Some(ClusterState { tree: before.tree, folder })
        });
        let is = Some(ClusterState { tree: now.tree, folder });
        let Some((switch, place)) = switched(was, is, base) else { return };
        if switch.is_refused() {
            self.findings.push(Finding::new(rules::CNI_SWITCH, switch.words()).maybe_place(place));
        }
    }

    /// What the rules of provider sets find.
    fn provider_set(
        &mut self,
        now: Snapshot<'_>,
        before: Option<Snapshot<'_>>,
        folder: &TargetFolder,
        settings: &RepositorySettings,
        after: &RenderedFolder,
    ) {
        let old = before.and_then(|before| {
            let old_folder = before.layout.target(folder.id.as_str())?;
            let rendered = render(before.tree, &folders_of(old_folder)).ok()?;
            Some((before, rendered))
        });
        let record = Cluster::settings_of(now.tree, folder).ok().flatten();
        let clusters: Vec<_> = match settings.providers_of(&folder.id) {
            Some(_) => {
                let of = |one: &TargetFolder| Some((one.id.clone(), workload(now.tree, one)?));
                now.layout.clusters().filter_map(of).collect()
            }
            None => Vec::new(),
        };
        let workloads =
            workloads_of(settings, &folder.id, clusters.iter().map(|(id, workload)| (id, workload)));
        let claimed = claimed_with(settings, &folder.id, now.layout.clusters().map(|one| &one.id));
        let nothing = Supplies::default();
        let judged = judge_set(&SetFacts {
            before: old.as_ref().map(|(before, rendered)| SetState { tree: before.tree, rendered }),
            after: SetState { tree: now.tree, rendered: after },
            record: (&folder.settings_path(), record.as_ref()),
            by: applied_by_of(settings, &folder.id),
            objects: &objects_of(now.tree, settings, &claimed),
            workloads: &workloads,
            supplies: now.supplies.unwrap_or(&nothing),
        });
        self.verdicts.extend(judged.findings);
    }

    fn failed(&mut self, error: &RenderError) {
        // Of a file that cannot be had at all, one verdict is enough too.
        let whole_file = error.trouble() == RenderErrorKind::Malformed || error.place().line().is_none();
        let said = whole_file && self.seen.contains(error.place().file());
        if !said {
            self.verdicts.push(Finding::from(error));
        }
    }

    fn judge(
        &mut self,
        folder: &TargetFolder,
        [before, after]: [&RenderedFolder; 2],
        inside: &[RenderedObject],
        values: Option<ValueGivers<'_>>,
        settings: &RepositorySettings,
        severities: &Severities,
    ) {
        let applied_by = applied_by(settings, folder);
        let is_claimed = applied_by == AppliedBy::Reconciler;
        let is_judged = is_claimed || folder.kind == TargetKind::Cluster;
        let facts = PolicyFacts {
            folders: &folders_of(folder),
            before,
            after,
            inside,
            applied_by,
            occasion: Occasion::Revision,
            release: None,
            schemas: self.schemas,
            cluster_api: self.cluster_api.clone(),
            boundary: is_judged.then_some(Surroundings {
                folder: &folder.id,
                settings,
                scopes: &self.scopes,
                // They are folders of one management cluster.
                neighbours: self.neighbours.filter(|_| is_claimed),
            }),
            values,
            today: self.today,
        };
        self.judged.extend(judge(&facts, severities));
    }

    fn finish(self, severities: &Severities) -> Vec<Finding> {
        let mut findings = severities.settle(self.findings);
        findings.extend(self.judged);
        findings.extend(self.verdicts.into_iter().filter_map(|verdict| severities.judged(verdict)));
        sort(&mut findings);
        findings.dedup();
        findings
    }
}

/// A broken file that no kustomization names is not read, so it is not reported as invalid.
fn is_unreadable_and_unread(tree: &dyn Tree, folder: &TargetFolder, entry: &TreeEntry) -> bool {
    let is_broken = || tree.read(entry).is_ok_and(|bytes| YamlFile::read_bytes(&bytes).is_err());
    is_manifest(&entry.path) && is_unread(tree, folder, entry) && is_broken()
}
