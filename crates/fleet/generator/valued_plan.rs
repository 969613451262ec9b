//! What the inventory brings to clusters: other values, clusters that come, clusters that go.
//!
//! *Guarantee*: a cluster whose values are those that it recorded is not rendered, and one whose render stays as it is
//! gets no plan.

use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

use capstan_inventory::record::{self, ValuesRecord};
use capstan_inventory::values::ClusterValues;
use capstan_model::digest::sha256;
use capstan_model::file_change::FileChange;
use capstan_model::finding::Place;
use capstan_model::ids::{ClusterId, ReleaseId, ReleaseName};
use capstan_model::source::{SourceContent, SourceId, SourceKind};
use capstan_model::target::{Target, TargetKind};
use capstan_model::tree::RepoPath;
use capstan_plan::creation::{FolderShape, NewCluster, make};
use capstan_plan::inventory::{ReleaseTemplates, ReleaseWithValues, Stands, record_of};
use capstan_plan::merge::AppliedBy;
use capstan_plan::path::{Direction, NotOffered, Offer, Outcome, Step as PathStep};
use capstan_plan::proposal::Scope;
use capstan_plan::settings::Deletion;
use capstan_plan::upgrade::{Retarget, Upgrade, ValuesCourse, ValuesStep};
use jiff::civil::Date;

use super::cached_plan::CachedPlan;
use super::contents::Contents;
use super::gather::Gathered;
use super::inputs::OldReleaseInput;
use super::not_possible::NotPossible;
use super::planning::{Offered, Reading};
use super::record::{Record, settings_of};
use super::valued::Subject;
use super::{Fleet, Planned, Refused};
use capstan_plan::classes::classes_used;

impl Reading {
    /// What the inventory brings to the cluster: other values, under the release that it has.
    ///
    /// # Errors
    /// The inventory cannot be read.
    pub(super) fn offer_values(self, old: Option<OldReleaseInput>, today: Date) -> Result<Offered, Refused> {
        let Self { standing, effective, valued, .. } = &self;
        let nothing = |why: &str| Outcome::Nothing(NotOffered::Inventory(why.to_owned()));
        let outcome = match (&valued.stands, &standing.release) {
            (Some(Stands::Unreadable { why, place }), _) => {
                let message =
                    format!("{why}: Capstan proposes nothing and deletes nothing [definition-removed]");
                return Err(Refused { message, place: Some(place.clone()) });
            }
            (Some(Stands::Removed(finding)), _) => nothing(&format!("{}.", finding.message)),
            _ if !valued.is_defined => nothing("The inventory does not have it."),
            (None, None) => nothing("Its release is unknown, so its values have no schema and no templates."),
            (None, Some(release)) => match effective.hold_on(today) {
                Some(hold) => Outcome::Nothing(NotOffered::Held {
                    reason: hold.reason.trim_end_matches('.').to_owned(),
                    until: hold.until,
                }),
                None => Outcome::Step(PathStep {
                    to: release.clone(),
                    content: standing.content.clone(),
                    direction: Direction::Refresh,
                    minor_skip: None,
                    follows: Vec::new(),
                }),
            },
        };
        let offer = Offer { from: standing.release.clone(), outcome, notes: effective.notes.clone() };
        let rendered = OnceLock::new();
        Ok(Offered { offer, old, brought_by: SourceKind::INVENTORY, rendered, reading: self })
    }
}

impl Fleet {
    /// The clusters that the inventory has something to say of: those that it defines, and those that record that it
    /// did. Of the first some are still to come.
    pub fn valued_clusters(&self) -> Vec<ClusterId> {
        let Some(inventory) = Contents::inventory(self) else { return Vec::new() };
        let defined = inventory.clusters().map(|(folder, _)| ClusterId::new(folder.clone()));
        let mut clusters: BTreeSet<ClusterId> = defined.collect();
        let recorded = self.clusters().filter(|id| {
            let path = id.folder().join(record::FILE).ok();
            path.is_some_and(|path| self.tree.entry(&path).is_some())
        });
        clusters.extend(recorded.cloned());
        clusters.into_iter().collect()
    }

    /// Where clusters would be written that are to come.
    pub fn scopes_to_come(&self) -> Vec<Scope> {
        let to_come = self.valued_clusters().into_iter().filter(|id| self.is_to_come(id));
        to_come
            .map(|id| Scope {
                base: self.settings.clusters.base.inside(id.folder()),
                overlay: self.settings.clusters.overlay.inside(id.folder()),
                target: Target::new(self.kind_to_come(&id), id),
                retarget: Retarget::Refused,
            })
            .collect()
    }

    /// Whether a cluster is defined and has no folder.
    fn is_to_come(&self, id: &ClusterId) -> bool {
        if self.layout.target(id.as_str()).is_some() {
            return false;
        }
        let inventory = Contents::inventory(self).filter(|inventory| inventory.unreadable().is_none());
        let definition = inventory.and_then(|inventory| inventory.definition_in(id.folder()));
        definition.is_some_and(|definition| definition.retire.is_none())
    }

    /// Who receives what the inventory brings to a folder.
    pub fn valued_target(&self, id: &ClusterId) -> Target {
        match self.layout.target(id.as_str()) {
            Some(folder) => folder.target(),
            None => Target::new(self.kind_to_come(id), id.clone()),
        }
    }

    /// What a folder becomes that is to come: with a management cluster's provider objects in it a provider set.
    fn kind_to_come(&self, id: &ClusterId) -> TargetKind {
        if self.settings.names_providers(id) {
            return TargetKind::Providers;
        }
        let subject = Subject::of(self, id.folder()).ok().flatten();
        let Some(subject) = subject.filter(Subject::is_management) else { return TargetKind::Cluster };
        let made = self.made_to_come(&subject);
        let is_set = made.is_ok_and(|made| made.source.has_providers);
        if is_set { TargetKind::Providers } else { TargetKind::Cluster }
    }

    /// What the inventory brings to a cluster; `None` where that is nothing.
    ///
    /// # Errors
    /// What is wrong with its values, its release or its render: the plan is refused, others go on.
    pub fn plan_values(&self, id: &ClusterId) -> Option<Planned> {
        match self.values_made(id) {
            Ok(upgrade) => upgrade.map(|upgrade| Ok(Arc::unwrap_or_clone(upgrade))),
            Err(refused) => Some(Err(refused)),
        }
    }

    /// How often templates were rendered since the releases were read, for figures.
    pub fn renders(&self) -> usize {
        self.shared.sources.renders.made()
    }

    /// Whether it is known that the inventory brings nothing to a cluster.
    pub(super) fn is_settled(&self, id: &ClusterId) -> bool {
        let Some(known) = &self.known else { return false };
        let now = (self.tree.folder_id(id.folder()), self.said_of(id));
        known.settled_values(id).is_some_and(|known| known == now)
    }

    fn settle_values(&self, id: &ClusterId) {
        if let Some(known) = &self.known {
            known.note_settled(id, (self.tree.folder_id(id.folder()), self.said_of(id)));
        }
    }

    pub(super) fn values_made(&self, id: &ClusterId) -> Result<Option<Arc<Upgrade>>, Refused> {
        if !self.is_valued(id) {
            return Ok(None);
        }
        if let Some(definition) =
            Contents::inventory(self).and_then(|inventory| inventory.definition_in(id.folder()))
            && definition.retire.is_some()
        {
            return Ok(self.retired(id)?.map(Arc::new));
        }
        if self.layout.target(id.as_str()).is_none() {
            if !self.is_to_come(id) {
                return Ok(None);
            }
            self.require_releases()?;
            return Ok(self.to_come(id)?.map(Arc::new));
        }
        self.require_releases()?;
        if self.has_its_values(id)? {
            self.settle_values(id);
            return Ok(None);
        }
        if let Some(known) = &self.known
            && let Some(kept) = known.kept_values(id)
            && self.inputs_now(known.given(), &kept.given).as_ref() == Some(&kept.given)
        {
            known.count_reused(1);
            return Ok(Some(Arc::clone(&kept.upgrade)));
        }
        let reading = Reading::of(self.conditions(), self, id)?;
        let old = self.old_release_input(&reading.standing);
        let gathered = self.gather_offered(reading.offer_values(old, self.today)?)?;
        let is_nothing = gathered.made.upgrade.to.is_none();
        if is_nothing && gathered.made.upgrade.findings.is_empty() {
            if !gathered.made.failed && gathered.offered.step().is_some() {
                self.settle_values(id);
            }
            return Ok(None);
        }
        let Some(known) = &self.known else { return Ok(Some(Arc::new(gathered.made.upgrade))) };
        known.count_planned();
        let given = gathered.inputs(known.given(), None);
        let Gathered { made, offered, .. } = gathered;
        let upgrade = Arc::new(made.upgrade);
        if !made.failed {
            let cluster = &offered.reading.cluster;
            let (record, classes_used) = (
                Record::of(cluster.settings.as_ref(), offered.reading.valued.record.as_ref()),
                classes_used(cluster),
            );
            known.keep(CachedPlan {
                given,
                record,
                classes_used,
                follows: None,
                upgrade: Arc::clone(&upgrade),
            });
        }
        Ok(Some(upgrade))
    }

    /// Whether the inventory defines a cluster, or it records that it did.
    fn is_valued(&self, id: &ClusterId) -> bool {
        let inventory = Contents::inventory(self);
        let is_recorded =
            || id.folder().join(record::FILE).is_ok_and(|path| self.tree.entry(&path).is_some());
        inventory.is_some_and(|inventory| inventory.definition_in(id.folder()).is_some()) || is_recorded()
    }

    /// Whether a cluster records just the values that the inventory says, as far as one can tell without reading its base
    /// or rendering anything.
    fn has_its_values(&self, id: &ClusterId) -> Result<bool, Refused> {
        let Ok(Some(record)) = record_of(self.tree.as_ref(), id.folder()) else { return Ok(false) };
        let Some(folder) = self.layout.target(id.as_str()) else { return Ok(false) };
        let Some(settings) = settings_of(self.tree.as_ref(), folder) else { return Ok(false) };
        let Some(release) = settings.release.clone() else { return Ok(false) };
        let Some(subject) = Subject::of(self, id.folder())? else { return Ok(false) };
        let taken = settings.release_content();
        let found = taken.as_ref().and_then(|taken| self.catalogue().find_content(taken));
        let templates =
            match (found, taken.as_ref().and_then(|taken| self.provided.get(taken).zip(Some(taken)))) {
                (Some(release), _) => self.shared.sources.templates_of(self.releases_tree(), release)?,
                (None, Some((content, taken))) => {
                    self.shared.sources.templates_of_content(content, &release, taken)?
                }
                (None, None) => match self.catalogue().find(&release) {
                    Some(release) => self.shared.sources.templates_of(self.releases_tree(), release)?,
                    None => return Ok(false),
                },
            };
        let (values, now) = subject.values(self, &templates);
        Ok(values.findings.is_empty() && now == record)
    }

    /// The tombstone of a cluster that is to go; `None` if it exists already, or there is no such cluster.
    fn retired(&self, id: &ClusterId) -> Result<Option<Upgrade>, Refused> {
        if self.layout.target(id.as_str()).is_none() || self.tombstones(id)? == Deletion::Cluster {
            return Ok(None);
        }
        let cluster = self.read_cluster(id)?;
        let release = cluster.settings.as_ref().and_then(|settings| settings.release.clone());
        let record = record_of(self.tree.as_ref(), id.folder()).ok().flatten();
        let digest = record.map(|record| record.digest());
        let content = cluster.settings.as_ref().and_then(|settings| settings.release_content());
        let content = content.as_ref().map(SourceContent::from);
        let name = self.definition_of(id);
        let to = release.as_ref().map_or_else(|| SourceId::new(SourceKind::INVENTORY, &name), SourceId::from);
        let values = ValuesStep {
            brought_by: SourceKind::INVENTORY,
            course: ValuesCourse::Goes,
            from: digest.clone(),
            to: None,
            levels: Vec::new(),
            origins: Vec::new(),
            conflict_origins: Vec::new(),
        };
        let mut upgrade = Upgrade {
            from: release.as_ref().map(SourceId::from),
            // That the cluster goes is another matter than any of its values.
            to_content: content.map(|content| {
                content.with_values(&sha256(format!("retire {}", digest.unwrap_or_default())))
            }),
            values: Some(Box::new(values)),
            to: Some(to),
            ..Upgrade::nothing(Target::new(TargetKind::Cluster, id.clone()))
        };
        match self.retire_cluster(id) {
            Ok(retired) => {
                upgrade.files = vec![retired.file];
                upgrade.rollouts = retired.machines;
                upgrade.notes.push(format!(
                    "The inventory says `retire: true` for it: {} deletes it with {} once this is merged.",
                    retired.claimed_by,
                    capstan_model::wording::count(retired.objects.len(), "object", "objects")
                ));
            }
            Err(NotPossible::Usage(why)) => {
                upgrade.blocked.push(format!("The inventory says `retire: true` for it, but {why}."));
            }
            Err(NotPossible::Failed(why)) => return Err(Refused { message: why, place: None }),
        }
        Ok(Some(upgrade))
    }

    fn definition_of(&self, id: &ClusterId) -> String {
        let inventory = Contents::inventory(self);
        let definition = inventory.and_then(|inventory| inventory.definition_in(id.folder()));
        definition.map_or_else(|| id.to_string(), |definition| definition.level.name.clone())
    }

    /// The release of a cluster that is to come.
    fn release_to_come(&self, wished: Option<&ReleaseId>, place: Place) -> Result<ReleaseId, Refused> {
        wished.cloned().ok_or_else(|| Refused {
            message: "no level sets a `release`, so it is unknown what to make this cluster from: write `release` in its definition or a level above it".to_owned(),
            place: Some(place),
        })
    }

    /// The source that a definition's release gives under its values, before the folder exists.
    pub(super) fn made_to_come(&self, subject: &Subject<'_>) -> Result<ToCome, Refused> {
        let definition = subject.member.definition;
        let place = || definition.level.place(definition.offset);
        let wished = subject.member.wishes.release.as_ref().map(|(release, _)| release);
        let release = self.release_to_come(wished, place())?;
        let found = self.catalogue().find(&release).ok_or_else(|| Refused {
            message: format!("there is no readable release `{release}`"),
            place: Some(place()),
        })?;
        let templates = self.shared.sources.templates_of(self.releases_tree(), found)?;
        let (values, record) = subject.values(self, &templates);
        let source = subject.render(self, &templates, (&values, &record))?;
        Ok(ToCome { release, templates, values, record, source })
    }

    /// A cluster that is defined and has no folder yet; `None` where nothing goes to that folder.
    fn to_come(&self, id: &ClusterId) -> Result<Option<Upgrade>, Refused> {
        let no_longer = || Refused { message: format!("{id} is not defined any more"), place: None };
        let subject = Subject::of(self, id.folder())?.ok_or_else(no_longer)?;
        let definition = subject.member.definition;
        let place = || definition.level.place(definition.offset);
        let at = |message: String| Refused { message, place: Some(place()) };
        let ToCome { release, templates, values, record, source } = self.made_to_come(&subject)?;
        if subject.is_management() && !source.has_objects() {
            return Ok(None);
        }
        let makes = subject.makes(source.has_providers);
        self.require_free(id).map_err(|why| at(why.to_string()))?;
        let claimed_by = self.settings.claimed_by(id)?;
        let applied = if claimed_by.is_some() { AppliedBy::Reconciler } else { AppliedBy::Others };
        let shape = FolderShape::of_neighbours(self.tree.as_ref(), self.layout(), id);
        let made = make(NewCluster {
            id,
            makes,
            base: &self.settings.clusters.base.inside(id.folder()),
            overlay: &self.settings.clusters.overlay.inside(id.folder()),
            release: source.as_ref(),
            variables: &std::collections::BTreeMap::new(),
            flux: &self.flux_index().post_build(id),
            applied,
            shape: &shape,
            schemas: self.schemas(),
        })
        .map_err(|why| at(why.to_string()))?;
        let mut files = made.files.clone();
        if templates.use_values() {
            let path = id.folder().join(record::FILE).unwrap_or_else(|_| RepoPath::root());
            files.push(FileChange { path, before: None, after: Some(record.text()) });
            files.sort_by(|one, other| one.path.cmp(&other.path));
        }
        let after = self.after(&files);
        let folder = after.found(id).map_err(|why| at(why.to_string()))?;
        let notes = after.require_own_name(folder, &made).map_err(|why| at(why.to_string()))?;
        let content = capstan_plan::upgrade::ChangeSource::content(source.as_ref());
        let mut upgrade = Upgrade {
            to_content: content,
            kubernetes: source.kubernetes.clone(),
            changes: made.changes.clone(),
            findings: self.settings.severities().settle(made.findings.clone()),
            notes,
            to: Some((&release).into()),
            ..Upgrade::nothing(Target::new(makes.kind(), id.clone()))
        };
        upgrade.findings.extend(self.judged(&after, id, applied));
        upgrade.findings.dedup();
        // The result matches the definition: neither the inventory nor the release changes anything more.
        let more = after.plan_values(id).and_then(Result::ok).filter(|more| more.to.is_some());
        let name = ReleaseName::Id(release);
        let differs = super::first_release::difference(&after.plan(id, Some(&name))?);
        if let Some(what) = more.and_then(|more| super::first_release::difference(&more)).or(differs) {
            return Err(at(format!(
                "the cluster would differ from the inventory, so Capstan does not make it: {what}"
            )));
        }
        upgrade.files = files;
        let values = ValuesStep {
            brought_by: SourceKind::INVENTORY,
            course: ValuesCourse::Comes,
            from: None,
            to: templates.use_values().then(|| record.digest()),
            levels: subject.levels(),
            origins: source
                .origins(upgrade.changes.iter().map(|change| (&change.object, &change.path)), &values),
            conflict_origins: Vec::new(),
        };
        upgrade.values = Some(Box::new(values));
        Ok(Some(upgrade))
    }
}

/// What is to come of a definition.
pub(super) struct ToCome {
    pub(super) release: ReleaseId,
    pub(super) templates: Arc<ReleaseTemplates>,
    pub(super) values: ClusterValues,
    pub(super) record: ValuesRecord,
    pub(super) source: Arc<ReleaseWithValues>,
}
