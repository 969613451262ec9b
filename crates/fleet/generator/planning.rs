//! One cluster's plan, made from what is given: the heart's decisions in their order.
//!
//! *Expected flow*: [`Reading::of`], [`Reading::offer`], and, if a release is offered, [`Step::plan`]; each takes what
//! the one before it found. *Guarantee*: a plan reads only contents that its inputs name. To read anything else it
//! returns the question, [`Unplanned::Needs`]; the caller gathers the answer and plans again.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use capstan_kustomize::render::{ParsedFiles, RenderError, RenderedFolder};
use capstan_model::finding::{FileError, Finding, rules};
use capstan_model::ids::{ClusterId, ContentId, ReleaseName};
use capstan_model::rest::Rest;
use capstan_model::source::{SourceContent, SourceId, SourceKind};
use capstan_model::tree::Tree;
use capstan_plan::classes::ClassRef;
use capstan_plan::cluster::Cluster;
use capstan_plan::inventory::{ReleaseTemplates, Stands};
use capstan_plan::merge::{self, ReleaseSource};
use capstan_plan::path::{self, NotOffered, Offer, Outcome, OwnContent, Standing};
use capstan_plan::policy;
use capstan_plan::release::{Catalogue, Release};
use capstan_plan::settings::{EffectiveSettings, WhenReleaseUnknown};
use capstan_plan::upgrade::{self, Basis, MergeSettings, OldSource, Overwrite, Provenance, Request, Upgrade};
use capstan_providers::Wanted;

pub(super) use super::contents::Contents;
use super::inputs::{Conditions, OldReleaseInput, PlanInputs, Provided, StepInputs, used_elsewhere};
use super::read_set::{Paths, ReadSet, RestrictedTree};
use super::refused::Refused;
use super::sources::{self, ReadSource};
pub(super) use super::step_facts::{applied_by, cluster_facts, documents_of, releases_of};
use super::step_facts::{link_changelogs, merge_settings, read, source_of};
use super::valued::{Asked, Valued, ValuedStep, brings};

/// Why there is no plan.
pub(super) enum Unplanned {
    /// Something that it needs is wrong.
    Refused(Refused),
    /// More has to be given.
    Needs(Needs),
}

/// What a plan asks for that was not given.
#[derive(Debug, Default)]
pub(super) struct Needs {
    /// Files and folders outside of the cluster's.
    pub(super) places: Paths,
    /// Classes that its Clusters name and its folder lacks.
    pub(super) classes: BTreeSet<ClassRef>,
    /// Components that a provider set has not at hand.
    pub(super) components: BTreeSet<Wanted>,
}

impl fmt::Display for Needs {
    /// `shared/patch.yaml, crds/ and ClusterClass default`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let files = self.places.files.iter().map(ToString::to_string);
        let folders = self.places.folders.iter().map(|folder| format!("{folder}/"));
        let classes = self.classes.iter().map(|class| format!("ClusterClass {}", class.name));
        let components = self.components.iter().map(|wanted| format!("components of {}", wanted.label()));
        f.write_str(&files.chain(folders).chain(classes).chain(components).collect::<Vec<_>>().join(", "))
    }
}

impl From<Refused> for Unplanned {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<FileError> for Unplanned {
    fn from(error: FileError) -> Self {
        Self::Refused(error.into())
    }
}

impl From<RenderError> for Unplanned {
    fn from(error: RenderError) -> Self {
        Self::Refused(error.into())
    }
}

/// A cluster, and its status.
pub(super) struct Reading {
    pub(super) cluster: Cluster,
    pub(super) effective: EffectiveSettings,
    pub(super) standing: Standing,
    /// What the inventory says of it.
    pub(super) valued: Valued,
    /// A file could not be had: the next time it may.
    pub(super) failed: bool,
}

/// A cluster, and what it is offered.
pub(super) struct Offered {
    pub(super) reading: Reading,
    /// What is known of its release.
    pub(super) old: Option<OldReleaseInput>,
    pub(super) offer: Offer,
    /// What kind of source would bring the change.
    pub(super) brought_by: SourceKind,
    /// What of the step depends on values: rendered once, however often the plan asks back.
    pub(super) rendered: OnceLock<Option<Arc<ValuedStep>>>,
}

/// What was found out for a step that can be found out again: to spare a plan the same work.
pub(super) struct Prepared {
    /// What is applied before it.
    pub(super) before: Option<RenderedFolder>,
    pub(super) parsed: ParsedFiles,
}

impl Prepared {
    /// What reading the cluster parsed is not parsed again.
    pub(super) fn of(cluster: &Cluster) -> Self {
        let parsed = ParsedFiles::default();
        for manifest in &cluster.base {
            parsed.insert(manifest.entry.blob.clone(), manifest.file.clone());
        }
        Self { before: None, parsed }
    }
}

/// A step that a cluster is offered.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) offered: &'a Offered,
    pub(super) step: &'a path::Step,
}

/// What a step is planned from.
#[derive(Clone, Copy)]
pub(super) struct StepFacts<'a> {
    pub(super) conditions: Conditions<'a>,
    pub(super) contents: &'a dyn Contents,
    /// As much of the repository as was given.
    pub(super) tree: &'a dyn Tree,
    pub(super) given: &'a StepInputs,
}

/// A plan, and whether it may be another one next time because a file could not be had.
pub(super) struct Made {
    pub(super) upgrade: Upgrade,
    /// Why it is what it is; empty where nothing was merged.
    pub(super) provenance: Provenance,
    pub(super) failed: bool,
}

impl Reading {
    /// Reads a cluster.
    ///
    /// # Errors
    /// A file of it that cannot be read, or two management clusters that claim it.
    pub(super) fn of(
        conditions: Conditions<'_>,
        contents: &dyn Contents,
        cluster: &ClusterId,
    ) -> Result<Self, Refused> {
        let nothing = ReadSet::default();
        let own = RestrictedTree::new(contents.repository(), cluster.folder(), &nothing);
        let cluster = Cluster::read(&own, contents.folder(cluster)?)?;
        let overlay_settings = cluster.overlay_settings.as_ref();
        let valued = Valued::of(contents.inventory(), &own, cluster.id.folder());
        let effective = conditions.settings.for_wishing_target(
            &cluster.folder.target(),
            cluster.settings.as_ref(),
            overlay_settings,
            valued.wished.clone(),
        )?;
        let standing_of = if valued.is_management { Standing::of_management } else { Standing::of };
        let standing = standing_of(&cluster, &effective, contents.catalogue());
        Ok(Self { cluster, effective, standing, valued, failed: own.failed() })
    }

    /// What the cluster is offered, or what the release asked for by name means for it.
    ///
    /// # Errors
    /// There is no such release; what the cluster needs cannot be read.
    pub(super) fn offer(
        self,
        conditions: Conditions<'_>,
        contents: &dyn Contents,
        old: Option<OldReleaseInput>,
        asked: Option<&ReleaseName>,
    ) -> Result<Offered, Refused> {
        let mut standing = self.standing.clone();
        brings(contents, (&self.valued, &self.effective), &mut standing);
        let this = Self { standing, ..self };
        let Self { standing, effective, valued, .. } = &this;
        if let Some(Stands::Unreadable { why, place }) = &valued.stands {
            let message = format!("{why}: Capstan proposes nothing and deletes nothing [definition-removed]");
            return Err(Refused { message, place: Some(place.clone()) });
        }
        let offer = match valued.against_release() {
            Some(why) => Offer {
                from: standing.release.clone(),
                outcome: Outcome::Nothing(NotOffered::Inventory(why)),
                notes: Vec::new(),
            },
            None => path::offer(standing, effective, contents.catalogue(), asked, conditions.today)?,
        };
        require_readable(conditions, contents, &this, old.as_ref(), asked)?;
        let rendered = OnceLock::new();
        Ok(Offered { offer, old, brought_by: SourceKind::RELEASE, rendered, reading: this })
    }
}

/// A file that the cluster needs and that cannot be read is an error, not an absent file.
pub(super) fn require_readable(
    conditions: Conditions<'_>,
    contents: &dyn Contents,
    reading: &Reading,
    old: Option<&OldReleaseInput>,
    asked: Option<&ReleaseName>,
) -> Result<(), Refused> {
    let Reading { standing, effective, .. } = reading;
    let catalogue = contents.catalogue();
    let is_elsewhere =
        |old: &OldReleaseInput| old.past.is_some() || old.content.is_some() && has_content(catalogue, old);
    let own = if old.is_some_and(is_elsewhere) { OwnContent::Elsewhere } else { OwnContent::InItsFolder };
    let error = match asked {
        Some(_) => path::unreadable_own(standing, catalogue, own),
        None => path::unreadable(standing, effective, catalogue, own, conditions.today),
    };
    error.map_or(Ok(()), |error| Err(error.clone().into()))
}

/// Whether the content that a cluster records is at hand.
fn has_content(catalogue: &Catalogue, old: &OldReleaseInput) -> bool {
    let is_here = |content: &ContentId| catalogue.find_content(content).is_some();
    old.provided == Provided::Yes || old.content.as_ref().is_some_and(is_here)
}

impl Offered {
    /// The step that is offered, if one is.
    pub(super) fn step(&self) -> Option<Step<'_>> {
        Some(Step { offered: self, step: self.offer.step()? })
    }

    /// The plan of a cluster that is offered nothing.
    pub(super) fn nothing(&self, conditions: Conditions<'_>, contents: &dyn Contents) -> Made {
        let mut upgrade = self.empty();
        let (unknown, failed) = self.unknown_release(conditions, contents);
        upgrade.findings.extend(unknown);
        if let Some(Stands::Removed(finding)) = &self.reading.valued.stands {
            upgrade.findings.push(finding.as_ref().clone());
        }
        Made { upgrade, provenance: Provenance::default(), failed: failed || self.reading.failed }
    }

    pub(super) fn empty(&self) -> Upgrade {
        let Self { offer, reading: Reading { cluster, .. }, .. } = self;
        let mut notes: Vec<String> = self.reason().into_iter().collect();
        notes.extend(offer.notes.iter().cloned());
        Upgrade {
            from: offer.from.as_ref().map(SourceId::from),
            kubernetes_now: self.reading.standing.kubernetes.clone(),
            rest: match &offer.outcome {
                Outcome::Nothing(reason) => reason.rest(),
                Outcome::Step(_) => Rest::default(),
            },
            basis: if offer.from.is_some() { Basis::Known } else { Basis::Unknown },
            findings: cluster.findings.clone(),
            notes,
            ..Upgrade::nothing(cluster.folder.target())
        }
    }

    /// Why nothing is offered.
    pub(super) fn reason(&self) -> Option<String> {
        match &self.offer.outcome {
            Outcome::Nothing(reason) => Some(reason.told_of(self.reading.cluster.folder.kind)),
            Outcome::Step(_) => None,
        }
    }

    /// The finding that the release that a cluster records is nowhere; none where the settings turn it off. And
    /// whether a file for it could not be had.
    pub(super) fn unknown_release(
        &self,
        conditions: Conditions<'_>,
        contents: &dyn Contents,
    ) -> (Option<Finding>, bool) {
        let Self { reading: Reading { cluster, standing, .. }, old, .. } = self;
        let catalogue = contents.catalogue();
        let Some(id) = standing.release.as_ref().filter(|id| catalogue.lacks(id)) else {
            return (None, false);
        };
        if old.as_ref().is_some_and(|old| old.past.is_some() || has_content(catalogue, old)) {
            return (None, false);
        }
        let nothing = ReadSet::default();
        let own = RestrictedTree::new(contents.repository(), cluster.id.folder(), &nothing);
        let finding = policy::unknown_release(&own, cluster, id);
        (conditions.settings.severities().settle(vec![finding]).pop(), own.failed())
    }
}

impl<'a> Step<'a> {
    /// The step as sources of change: those of the release that it comes from and goes to, and where the first is
    /// not known of those that it may come from.
    ///
    /// # Errors
    /// A release that cannot be read.
    pub(super) fn sources(
        self,
        conditions: Conditions<'_>,
        contents: &'a dyn Contents,
    ) -> Result<StepSources<'a>, Refused> {
        let release = contents.catalogue().find(&self.step.to).ok_or_else(|| Refused {
            message: format!("the release {} cannot be read", self.step.to),
            place: None,
        })?;
        let unknown = conditions.settings.upgrade.when_release_unknown;
        if let Some(valued) = self.valued(contents)? {
            // A base without a record may come from the release that it is to get.
            let candidates = match (&valued.old, unknown) {
                (None, WhenReleaseUnknown::Infer) => vec![Arc::clone(&valued.new)],
                _ => Vec::new(),
            };
            let (old, new) = (valued.old.clone(), Arc::clone(&valued.new));
            return Ok(StepSources { release, old, candidates, new, unknown, valued: Some(valued) });
        }
        let old = self.old_content(contents);
        let candidates = match (&old, unknown) {
            (None, WhenReleaseUnknown::Infer) => releases_of(contents, release.kind, [&release.provider]),
            _ => Vec::new(),
        };
        Ok(StepSources { release, old, candidates, new: source_of(contents, release), unknown, valued: None })
    }

    /// Plans the step.
    ///
    /// # Errors
    /// What cannot be read or rendered; what has to be given too.
    pub(super) fn plan(
        self,
        conditions: Conditions<'_>,
        contents: &dyn Contents,
        given: &StepInputs,
        prepared: &Prepared,
    ) -> Result<Made, Unplanned> {
        let Offered { reading: Reading { cluster, valued, .. }, offer, .. } = self.offered;
        let failed = self.offered.reading.failed;
        if let Some(edited) = &valued.edited {
            let upgrade = Upgrade {
                to: Some((&self.step.to).into()),
                to_content: self.step.content.as_ref().map(SourceContent::from),
                blocked: vec![format!("{}: {}.", edited.place, edited.message)],
                findings: vec![Finding::from(edited)],
                ..self.offered.empty()
            };
            return Ok(Made { upgrade, provenance: Provenance::default(), failed });
        }
        let sources = self.sources(conditions, contents)?;
        if sources.valued.as_ref().is_some_and(|valued| valued.waits) {
            let why = "The values that it was made from are not recorded: first the proposal of the inventory records them, then releases follow.";
            let upgrade =
                Upgrade { notes: vec![why.to_owned()], rest: Rest::Unknown, ..self.offered.empty() };
            return Ok(Made { upgrade, provenance: Provenance::default(), failed });
        }
        if sources.valued.as_ref().is_some_and(|valued| valued.is_same) {
            let why = "Its rendered objects do not change.".to_owned();
            let upgrade = Upgrade { notes: vec![why], rest: Rest::Current, ..self.offered.empty() };
            return Ok(Made { upgrade, provenance: Provenance::default(), failed });
        }
        if sources.unknown == WhenReleaseUnknown::Block && sources.old.is_none() {
            let upgrade = Upgrade {
                to: Some((&self.step.to).into()),
                to_content: self.step.content.as_ref().map(SourceContent::from),
                kubernetes: sources.release.kubernetes.clone(),
                blocked: vec![
                    "The cluster's release is unknown and `upgrade.whenReleaseUnknown` is `block`: record \
                     `release` in its capstan.yaml."
                        .to_owned(),
                ],
                ..self.offered.empty()
            };
            return Ok(Made { upgrade, provenance: Provenance::default(), failed });
        }
        let tree = RestrictedTree::new(contents.repository(), cluster.id.folder(), &given.outside);
        let facts = StepFacts { conditions, contents, tree: &tree, given };
        let made = self.with_request(facts, &sources, |request| {
            let mut planned = upgrade::plan(request)?;
            if let Some(valued) = &sources.valued {
                planned.intended.extend(valued.record(&tree, cluster));
            }
            self.plan_services(facts, sources.release, request, &mut planned)?;
            let (unknown, unread) = self.offered.unknown_release(conditions, contents);
            let brought = self.offered.reading.standing.brought_by(sources.release);
            planned.upgrade.kubernetes = brought.cloned();
            planned.upgrade.kubernetes_now.clone_from(&self.offered.reading.standing.kubernetes);
            planned.upgrade.notes.extend(offer.notes.iter().cloned());
            planned.upgrade.notes.extend(self.note_of_past(contents));
            for finding in &cluster.findings {
                if finding.rule != rules::PROVIDERS_BESIDE_OTHERS {
                    planned.upgrade.findings.push(finding.clone());
                    continue;
                }
                let why = "The folder has provider objects and other objects of Cluster API, but a release is for one of the two.";
                planned.upgrade.findings.push(finding.clone().stopping(why));
                planned.upgrade.blocked.push(why.to_owned());
            }
            planned.upgrade.findings.extend(unknown);
            let from = planned.upgrade.from.as_ref().and_then(SourceId::release);
            let from = from.and_then(|id| contents.catalogue().find(&id));
            link_changelogs(contents, &mut planned.upgrade, from, sources.release);
            // A change of values offers no release.
            let notes = sources.release.notes.as_ref();
            let notes = notes.filter(|_| self.offered.brought_by != SourceKind::INVENTORY);
            let notes = notes.map(|entry| entry.path.clone());
            planned.upgrade.release_notes = notes;
            let release = policy::ReleaseStep {
                from,
                to: sources.release,
                place: cluster.release_scalar.as_ref().map(|scalar| scalar.place.clone()),
            };
            let provenance = std::mem::take(&mut planned.provenance);
            let mut upgrade = self.offered.reading.judge(facts, prepared, planned, Some(release))?;
            if let Some(valued) = &sources.valued {
                valued.tell(&mut upgrade);
            }
            Ok(Made { upgrade, provenance, failed: failed || unread })
        });
        // Discard the result, even an error, if the plan read places that it was not given.
        let places = tree.missed();
        if !places.is_empty() {
            return Err(Unplanned::Needs(Needs { places, ..Needs::default() }));
        }
        let made = made?;
        Ok(Made { failed: made.failed || tree.failed(), ..made })
    }

    /// Asks something of the facts of the step.
    fn with_request<T>(
        self,
        facts: StepFacts<'_>,
        sources: &StepSources<'_>,
        ask: impl FnOnce(&Request<'_>) -> Result<T, Unplanned>,
    ) -> Result<T, Unplanned> {
        let StepFacts { conditions, contents, tree, given } = facts;
        let Offered { reading: Reading { cluster, effective, .. }, offer, .. } = self.offered;
        let old = sources.old.as_deref().map(read).transpose()?;
        let candidates = sources.candidates();
        let new = read(&sources.new)?;
        let documents = old.iter().map(|old| old.documents()).chain([new.documents()]);
        let files = sources::contents(tree, &cluster.folder, documents)?;
        let flux = given.flux.clone().unwrap_or_default();
        let classes = used_elsewhere(&given.own_classes);
        let facts = cluster_facts(tree, cluster, effective, offer.from.clone(), flux, classes)?;
        let facts = merge::ClusterFacts { contents: files, ..facts };
        let settings = merge_settings(conditions.settings);
        let settings = MergeSettings {
            settled: given.settled.clone(),
            versions: given.versions,
            overwrite: match &given.overwrite {
                Overwrite::Nothing => settings.overwrite,
                named => named.clone(),
            },
            ..settings
        };
        let request = Request {
            cluster: &facts,
            old: match old {
                Some(old) => OldSource::Known(old),
                None if sources.unknown == WhenReleaseUnknown::Infer => OldSource::Infer(&candidates),
                None => OldSource::Unknown,
            },
            new,
            settings: &settings,
            retarget: given.retarget,
            schemas: contents.schemas(),
        };
        ask(&request)
    }

    /// Content of the recorded release: as it was taken wherever that is found, else its folder
    /// as it is now, else as history last had it.
    pub(super) fn old_content(self, contents: &dyn Contents) -> Option<Arc<ReadSource>> {
        let old = self.offered.old.as_ref()?;
        let (id, catalogue) = (&old.release, contents.catalogue());
        if let Some(taken) = &old.content {
            if let Some(release) = catalogue.find_content(taken) {
                return Some(source_of(contents, release));
            }
            if let Some(content) = contents.provided(taken).filter(|_| old.provided == Provided::Yes) {
                return Some(contents.sources().of_content(content, id, taken, contents.schemas()));
            }
        }
        if let Some(release) = catalogue.find(id) {
            return Some(source_of(contents, release));
        }
        let (tree, _) = old.past.as_ref()?;
        let content = Arc::clone(&contents.past(id)?.content).into();
        Some(contents.sources().of_content(&content, id, &tree.clone().into(), contents.schemas()))
    }

    /// What of the step depends on values; `None` where nothing does.
    fn valued(self, contents: &dyn Contents) -> Result<Option<Arc<ValuedStep>>, Refused> {
        let Offered { reading: Reading { valued, cluster, .. }, brought_by, rendered, .. } = self.offered;
        if let Some(known) = rendered.get() {
            return Ok(known.clone());
        }
        let asked = Asked {
            valued,
            cluster,
            brought_by,
            to: &self.step.to,
            old: if valued.is_defined { self.old_templates(contents)? } else { None },
            old_content: if valued.is_defined { self.old_content(contents) } else { None },
        };
        let found = asked.sources(contents)?.map(Arc::new);
        Ok(rendered.get_or_init(|| found).clone())
    }

    /// The same with its schema and templates.
    ///
    /// # Errors
    /// What cannot be read.
    pub(super) fn old_templates(
        self,
        contents: &dyn Contents,
    ) -> Result<Option<Arc<ReleaseTemplates>>, Refused> {
        let Some(old) = self.offered.old.as_ref() else { return Ok(None) };
        let (id, catalogue, sources) = (&old.release, contents.catalogue(), contents.sources());
        let here = |release: &Release| sources.templates_of(contents.releases(), release);
        if let Some(taken) = &old.content {
            if let Some(release) = catalogue.find_content(taken) {
                return here(release).map(Some);
            }
            if let Some(content) = contents.provided(taken).filter(|_| old.provided == Provided::Yes) {
                return sources.templates_of_content(content, id, taken).map(Some);
            }
        }
        if let Some(release) = catalogue.find(id) {
            return here(release).map(Some);
        }
        let Some(((tree, _), past)) = old.past.as_ref().zip(contents.past(id)) else { return Ok(None) };
        let content = Arc::clone(&past.content).into();
        sources.templates_of_content(&content, id, &tree.clone().into()).map(Some)
    }

    /// Where the old release was found, if that is not where one would look.
    fn note_of_past(self, contents: &dyn Contents) -> Option<String> {
        let old = self.offered.old.as_ref()?;
        let (_, found_in) = old.past.as_ref()?;
        let _is_used = contents.past(&old.release)?;
        Some(format!(
            "{} is no longer in a folder; its content is that of {found_in}, the last commit that had it.",
            old.release
        ))
    }
}

pub(super) struct StepSources<'a> {
    pub(super) release: &'a Release,
    old: Option<Arc<ReadSource>>,
    candidates: Vec<Arc<ReadSource>>,
    new: Arc<ReadSource>,
    unknown: WhenReleaseUnknown,
    /// Where values have a say in it.
    pub(super) valued: Option<Arc<ValuedStep>>,
}

impl StepSources<'_> {
    /// Releases that a cluster of unknown release may have come from.
    fn candidates(&self) -> Vec<&ReleaseSource> {
        documents_of(&self.candidates)
    }

    /// Whether one of them has a variable: only then it matters what Flux substitutes.
    pub(super) fn have_variables(&self) -> bool {
        let known = self.old.iter().chain([&self.new]).chain(&self.candidates);
        known
            .filter_map(|source| source.as_ref().as_ref().ok())
            .any(|source| source.documents().has_variables())
    }
}

/// The plan from these inputs: what the fleet comes to for the same cluster.
///
/// # Errors
/// As [`Step::plan`].
pub(super) fn plan(given: &PlanInputs, contents: &dyn Contents) -> Result<Made, Unplanned> {
    let conditions = given.fleet.conditions();
    let reading = Reading::of(conditions, contents, &given.cluster)?;
    let offered = if given.brought_by == SourceKind::INVENTORY {
        reading.offer_values(given.old.clone(), conditions.today)?
    } else {
        reading.offer(conditions, contents, given.old.clone(), given.asked.as_ref())?
    };
    match (offered.step(), &given.step) {
        (None, _) => Ok(offered.nothing(conditions, contents)),
        (Some(step), Some(given)) => {
            step.plan(conditions, contents, given, &Prepared::of(&offered.reading.cluster))
        }
        (Some(_), None) => Err(Unplanned::Needs(Needs::default())),
    }
}
