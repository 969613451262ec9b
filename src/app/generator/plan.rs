//! One cluster's plan: facts from the snapshot, the domain's decisions, the judgement of the result.

use std::sync::Arc;

use capstan_model::finding::Finding;
use capstan_model::ids::{ClusterId, ContentId, ReleaseId};
use capstan_model::source::{SourceContent, SourceId};
use capstan_model::tree::{Tree, TreeId};
use capstan_plan::classes::{ClassRef, classes_used};
use capstan_plan::cluster::{Cluster, ReleaseName};
use capstan_plan::flux::{FluxIndex, PostBuild};
use capstan_plan::layout::ClusterFolder;
use capstan_plan::merge::{self, AppliedBy, Source, SourceFile};
use capstan_plan::path::{self, NoSuchRelease, Offer, Outcome, OwnContent, Standing, Step, Way};
use capstan_plan::policy;
use capstan_plan::release::Release;
use capstan_plan::settings::{ClusterSettings, EffectiveSettings, WhenReleaseUnknown};
use capstan_plan::upgrade::{self, Basis, ChangeSource, Explanation, OldSource, Request, Upgrade};

use super::seen::{Presence, Reads, Seen};
use super::sources::ReadSource;
use super::{Fleet, Refused, sources};

/// A plan, or why there is none.
pub type Planned = Result<Upgrade, Refused>;

/// Where a cluster stands, for tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Its release; `None` = unknown.
    pub current: Option<ReleaseId>,
    /// The release that it is offered next.
    pub offered: Option<ReleaseId>,
    /// Why nothing is offered, and what else a person should know.
    pub notes: Vec<String>,
}

/// A plan, with what is kept of its cluster beside it.
pub(super) struct Made {
    pub(super) upgrade: Upgrade,
    pub(super) record: Record,
    pub(super) classes_used: Vec<ClassRef>,
}

/// A cluster and what it is offered.
#[derive(Clone, Copy)]
struct Offered<'a> {
    cluster: &'a Cluster,
    effective: &'a EffectiveSettings,
    standing: &'a Standing,
    offer: &'a Offer,
}

/// What a cluster records of its release in its own settings.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    pub(super) release: Option<ReleaseId>,
    pub(super) content: Option<ContentId>,
}

impl Record {
    pub(super) fn of(settings: Option<&ClusterSettings>) -> Self {
        settings.map_or_else(Self::default, |settings| Self {
            release: settings.release.clone(),
            content: settings.release_content(),
        })
    }
}

/// A cluster's own settings, where they can be read.
pub(super) fn settings_of(tree: &dyn Tree, folder: &ClusterFolder) -> Option<ClusterSettings> {
    let entry = folder.settings.as_ref()?;
    let bytes = tree.read(entry).ok()?;
    ClusterSettings::read(&entry.path, std::str::from_utf8(&bytes).ok()?).ok()
}

impl Fleet {
    /// Where a cluster stands and what it is offered.
    ///
    /// # Errors
    /// A file of it that cannot be read.
    pub fn summary(&self, id: &ClusterId) -> Result<Summary, Refused> {
        self.require_releases()?;
        let cluster = self.read_cluster(id)?;
        let (standing, offer) = self.offer(&cluster, &self.effective(&cluster)?, None)?;
        let reads = Reads::beside(self.tree.as_ref(), id.folder());
        let unknown = self.unknown_release(&reads, &cluster, &standing);
        let mut notes: Vec<String> = unknown.into_iter().map(|finding| finding.message + ".").collect();
        notes.extend(reason(&offer));
        notes.extend(offer.notes.iter().cloned());
        Ok(Summary { offered: offer.step().map(|step| step.to.clone()), current: offer.from, notes })
    }

    /// The whole way of a cluster: to the newest release that it may have, or to the one asked for.
    ///
    /// # Errors
    /// A file that cannot be read, a release that does not exist.
    pub fn way(&self, id: &ClusterId, asked: Option<&ReleaseName>) -> Result<Way, Refused> {
        self.require_releases()?;
        let cluster = self.read_cluster(id)?;
        let effective = self.effective(&cluster)?;
        let standing = Standing::of(&cluster, &effective, self.catalogue());
        self.require_readable(&standing, &effective, asked)?;
        Ok(path::way(&standing, &effective, self.catalogue(), asked, self.today)?)
    }

    /// Plans one cluster: for the release that it is offered, or for the one asked for by name.
    ///
    /// # Errors
    /// A file that cannot be read, a cluster that cannot be rendered, a release that does not exist.
    /// An upgrade that must not go ahead is no error: it says so in
    /// [`Upgrade::blocked`](capstan_plan::upgrade::Upgrade).
    pub fn plan(&self, id: &ClusterId, asked: Option<&ReleaseName>) -> Planned {
        self.make(&Reads::beside(self.tree.as_ref(), id.folder()), id, asked).map(|made| made.upgrade)
    }

    pub(super) fn make(
        &self,
        reads: &Reads<'_>,
        id: &ClusterId,
        asked: Option<&ReleaseName>,
    ) -> Result<Made, Refused> {
        self.require_releases()?;
        let cluster = Cluster::read(reads, self.folder(id)?)?;
        let effective = self.effective(&cluster)?;
        let (standing, offer) = self.offer(&cluster, &effective, asked)?;
        let offered =
            Offered { cluster: &cluster, effective: &effective, standing: &standing, offer: &offer };
        let upgrade = match &offer.outcome {
            Outcome::Nothing(_) => {
                let mut upgrade = nothing(&cluster, &offer);
                upgrade.findings.extend(self.unknown_release(reads, &cluster, &standing));
                upgrade
            }
            Outcome::Step(step) => self.plan_step(reads, &offered, step)?,
        };
        Ok(Made {
            upgrade,
            record: Record::of(cluster.settings.as_ref()),
            classes_used: classes_used(&cluster),
        })
    }

    /// Why an upgrade that [`Self::plan`] gave for the same cluster and release is what it is.
    ///
    /// # Errors
    /// As [`Self::plan`].
    pub fn explain(&self, upgrade: &Upgrade, asked: Option<&ReleaseName>) -> Result<Explanation, Refused> {
        let Some(cluster) = upgrade.target.cluster() else { return Ok(Explanation::default()) };
        let cluster = self.read_cluster(cluster)?;
        let effective = self.effective(&cluster)?;
        let (standing, offer) = self.offer(&cluster, &effective, asked)?;
        let Some(step) = offer.step() else { return Ok(Explanation::default()) };
        let explain = |request: &Request<'_>| {
            let planned = upgrade::plan(request)?;
            Ok(upgrade::explain(&planned.provenance, upgrade))
        };
        let offered =
            Offered { cluster: &cluster, effective: &effective, standing: &standing, offer: &offer };
        let reads = Reads::beside(self.tree.as_ref(), cluster.id.folder());
        self.with_request(&reads, &offered, step, explain)
    }

    /// Whether a release that somebody named exists for a cluster.
    ///
    /// # Errors
    /// It does not (the outer error is a cluster that cannot be read).
    pub fn has_release(
        &self,
        id: &ClusterId,
        asked: &ReleaseName,
    ) -> Result<Result<(), NoSuchRelease>, Refused> {
        self.require_releases()?;
        let cluster = self.read_cluster(id)?;
        let effective = self.effective(&cluster)?;
        let standing = Standing::of(&cluster, &effective, self.catalogue());
        Ok(path::offer(&standing, &effective, self.catalogue(), Some(asked), self.today).map(drop))
    }

    fn offer(
        &self,
        cluster: &Cluster,
        effective: &EffectiveSettings,
        asked: Option<&ReleaseName>,
    ) -> Result<(Standing, Offer), Refused> {
        let standing = Standing::of(cluster, effective, self.catalogue());
        let offer = path::offer(&standing, effective, self.catalogue(), asked, self.today)?;
        self.require_readable(&standing, effective, asked)?;
        Ok((standing, offer))
    }

    /// What the cluster needs and nobody can read is its error: it is not as if it were not there.
    fn require_readable(
        &self,
        standing: &Standing,
        effective: &EffectiveSettings,
        asked: Option<&ReleaseName>,
    ) -> Result<(), Refused> {
        let is_elsewhere = |id: &ReleaseId| {
            let has_content = |content: &ContentId| self.find_content(content) == Presence::Here;
            self.past.contains_key(id) || standing.content.as_ref().is_some_and(has_content)
        };
        let own = match &standing.release {
            Some(id) if is_elsewhere(id) => OwnContent::Elsewhere,
            _ => OwnContent::InItsFolder,
        };
        let catalogue = self.catalogue();
        let error = match asked {
            Some(_) => path::unreadable_own(standing, catalogue, own),
            None => path::unreadable(standing, effective, catalogue, own, self.today),
        };
        error.map_or(Ok(()), |error| Err(error.clone().into()))
    }

    fn plan_step(&self, reads: &Reads<'_>, offered: &Offered<'_>, step: &Step) -> Planned {
        let Offered { cluster, effective, standing, offer } = *offered;
        let release = self.release_of(step)?;
        let unknown = self.settings.upgrade.when_release_unknown;
        if unknown == WhenReleaseUnknown::Block && self.old_content(reads, standing).is_none() {
            return Ok(Upgrade {
                to: Some((&step.to).into()),
                to_content: step.content.as_ref().map(SourceContent::from),
                blocked: vec![
                    "The cluster's release is unknown and `upgrade.whenReleaseUnknown` is `block`: record \
                     `release` in its capstan.yaml."
                        .to_owned(),
                ],
                ..nothing(cluster, offer)
            });
        }
        let plan = |request: &Request<'_>| Ok(upgrade::plan(request)?);
        let mut planned = self.with_request(reads, offered, step, plan)?;
        planned.upgrade.notes.extend(offer.notes.iter().cloned());
        planned.upgrade.notes.extend(self.note_of_past(standing));
        planned.upgrade.findings.extend(cluster.findings.iter().cloned());
        planned.upgrade.findings.extend(self.unknown_release(reads, cluster, standing));
        let from = planned.upgrade.from.as_ref().and_then(SourceId::release);
        let from = from.and_then(|id| self.catalogue().find(&id));
        self.link_changelogs(&mut planned.upgrade, from, release);
        self.judge(reads, cluster, effective, planned, from, release)
    }

    fn release_of(&self, step: &Step) -> Result<&Release, Refused> {
        self.catalogue().find(&step.to).ok_or_else(|| Refused {
            message: format!("the release {} cannot be read", step.to),
            place: None,
        })
    }

    /// Gathers the facts of one step and asks something of them.
    fn with_request<T>(
        &self,
        reads: &Reads<'_>,
        offered: &Offered<'_>,
        step: &Step,
        ask: impl FnOnce(&Request<'_>) -> Result<T, Refused>,
    ) -> Result<T, Refused> {
        let Offered { cluster, effective, standing, offer } = *offered;
        let release = self.release_of(step)?;
        let old = self.old_content(reads, standing);
        let unknown = self.settings.upgrade.when_release_unknown;
        let candidates = match (&old, unknown) {
            (None, WhenReleaseUnknown::Infer) => self.candidates(&release.provider.clone()),
            _ => Vec::new(),
        };
        let old = old.as_deref().map(unwrap).transpose()?;
        let candidates: Vec<&Source> =
            candidates.iter().filter_map(|source| Some(source.as_ref().as_ref().ok()?.documents())).collect();
        let new = self.source_of(release);
        let new = unwrap(&new)?;
        let documents = || old.iter().map(|old| old.documents()).chain([new.documents()]);
        let flux = self.post_build(reads, cluster, documents().chain(candidates.iter().copied()));
        let contents = sources::contents(reads, &cluster.folder, documents())?;
        let facts = self.cluster_facts(reads, cluster, effective, offer.from.clone(), flux)?;
        let facts = merge::ClusterFacts { contents, ..facts };
        let retarget = self.retarget(&cluster.id);
        reads.note(Seen::Retarget(retarget));
        let request = Request {
            cluster: &facts,
            old: match old {
                Some(old) => OldSource::Known(old),
                None if unknown == WhenReleaseUnknown::Infer => OldSource::Infer(&candidates),
                None => OldSource::Unknown,
            },
            new,
            settings: &self.merge_settings,
            retarget,
            schemas: self.schemas(),
        };
        ask(&request)
    }

    /// Adds the links that the releases on the way give in their own notes, archived ones included.
    fn link_changelogs(&self, upgrade: &mut Upgrade, from: Option<&Release>, to: &Release) {
        let Some(from) = from.filter(|_| !upgrade.components.is_empty()) else { return };
        let on_the_way = self.catalogue().of_provider(&to.provider);
        for release in on_the_way.filter(|on| on.version > from.version && on.version <= to.version) {
            // Notes are for people: what cannot be read of them gives no links, and breaks nothing.
            let notes = release.notes.as_ref().and_then(|entry| self.releases_tree().read(entry).ok());
            if let Some(notes) = notes {
                upgrade::link_changelogs(&mut upgrade.components, &String::from_utf8_lossy(&notes));
            }
        }
    }

    /// Content of the recorded release: as it was taken wherever that is found, else its folder
    /// as it is now, else as history last had it.
    fn old_content(&self, reads: &Reads<'_>, standing: &Standing) -> Option<Arc<ReadSource>> {
        let id = standing.release.as_ref()?;
        if let Some(taken) = &standing.content {
            reads.note(Seen::OldContent(taken.clone(), self.find_content(taken)));
            if let Some(release) = self.catalogue().find_content(taken) {
                return Some(self.source_of(release));
            }
            if let Some(content) = self.provided.get(taken) {
                return Some(self.shared.sources.of_content(content, id, taken, self.schemas()));
            }
        }
        if let Some(release) = self.catalogue().find(id) {
            return Some(self.source_of(release));
        }
        reads.note(Seen::Past(id.clone(), self.look_up_past(id)));
        let past = self.past.get(id)?;
        let (content, taken) = (Arc::clone(&past.content).into(), past.tree.clone().into());
        Some(self.shared.sources.of_content(&content, id, &taken, self.schemas()))
    }

    /// The finding that the release that a cluster records is nowhere; none where the settings turn it off.
    fn unknown_release(&self, reads: &Reads<'_>, cluster: &Cluster, standing: &Standing) -> Option<Finding> {
        let id = standing.release.as_ref().filter(|id| self.catalogue().lacks(id))?;
        if let Some(content) = &standing.content {
            let presence = self.find_content(content);
            reads.note(Seen::OldContent(content.clone(), presence));
            if presence == Presence::Here {
                return None;
            }
        }
        let past = self.look_up_past(id);
        reads.note(Seen::Past(id.clone(), past.clone()));
        if past.is_some() {
            return None;
        }
        let finding = policy::unknown_release(self.tree.as_ref(), cluster, id);
        self.settings.severities().settle(vec![finding]).pop()
    }

    pub(super) fn look_up_past(&self, release: &ReleaseId) -> Option<(TreeId, String)> {
        self.past.get(release).map(|past| (past.tree.clone(), past.found_in.clone()))
    }

    /// Where the old release was found, if that is not where one would look.
    fn note_of_past(&self, standing: &Standing) -> Option<String> {
        let id = standing.release.as_ref()?;
        let past = self.past.get(id)?;
        Some(format!(
            "{id} is in no folder any more; its content is that of {}, the last that had it.",
            past.found_in
        ))
    }

    /// Releases that a cluster of unknown release may have come from.
    fn candidates(&self, provider: &capstan_model::ids::Provider) -> Vec<Arc<ReadSource>> {
        let releases = self.catalogue().of_provider(provider);
        releases.map(|release: &Release| self.source_of(release)).collect()
    }

    /// What Flux substitutes in a cluster. Without variables in the releases nobody asks, and the
    /// repository is not searched for it.
    pub(super) fn post_build<'s>(
        &self,
        reads: &Reads<'_>,
        cluster: &Cluster,
        mut sources: impl Iterator<Item = &'s Source>,
    ) -> PostBuild {
        if !sources.any(Source::has_variables) {
            return PostBuild::default();
        }
        let given = self.flux_index().post_build(&cluster.id);
        reads.note(Seen::Flux(given.clone()));
        given
    }

    /// The Flux Kustomizations of the snapshot.
    pub fn flux_index(&self) -> &FluxIndex {
        self.wide.flux(self.tree.as_ref(), &self.layout)
    }

    pub(super) fn cluster_facts(
        &self,
        reads: &Reads<'_>,
        cluster: &Cluster,
        effective: &EffectiveSettings,
        release: Option<ReleaseId>,
        flux: PostBuild,
    ) -> Result<merge::ClusterFacts, Refused> {
        let variables = cluster.settings.as_ref().map(|settings| settings.variables.clone());
        Ok(merge::ClusterFacts {
            id: cluster.id.clone(),
            base_folder: cluster.folder.base.clone(),
            base: cluster
                .base
                .iter()
                .map(|manifest| SourceFile::parsed(manifest.entry.path.clone(), manifest.file.clone()))
                .collect(),
            contents: Vec::new(),
            overlay: sources::files(reads, &cluster.folder.overlay_files)?,
            record: cluster.folder.settings.as_ref().map(|entry| sources::file(reads, entry)).transpose()?,
            variables: variables.unwrap_or_default(),
            flux,
            release,
            applied: if effective.claimed_by.is_some() { AppliedBy::Reconciler } else { AppliedBy::Others },
            classes_used_elsewhere: self.classes_used_elsewhere(reads, cluster),
        })
    }
}

fn unwrap(source: &ReadSource) -> Result<&dyn ChangeSource, Refused> {
    source.as_deref().map_err(Clone::clone)
}

fn nothing(cluster: &Cluster, offer: &Offer) -> Upgrade {
    let mut notes: Vec<String> = reason(offer).into_iter().collect();
    notes.extend(offer.notes.iter().cloned());
    Upgrade {
        target: cluster.id.clone().into(),
        from: offer.from.as_ref().map(SourceId::from),
        to: None,
        to_content: None,
        basis: if offer.from.is_some() { Basis::Known } else { Basis::Unknown },
        files: Vec::new(),
        changes: Vec::new(),
        conflicts: Vec::new(),
        findings: cluster.findings.clone(),
        rollouts: Vec::new(),
        components: Vec::new(),
        blocked: Vec::new(),
        notes,
    }
}

fn reason(offer: &Offer) -> Option<String> {
    match &offer.outcome {
        Outcome::Nothing(reason) => Some(reason.to_string()),
        Outcome::Step(_) => None,
    }
}

impl From<NoSuchRelease> for Refused {
    fn from(error: NoSuchRelease) -> Self {
        Self { message: error.to_string(), place: None }
    }
}
