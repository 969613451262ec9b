//! A cluster as it is read for a plan, and what releases offer it.
//!
//! *Expected flow*: [`Reading::of`], [`Reading::offer`]. If a release is offered, [`super::planning`] plans the step.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use capstan_kustomize::render::{ParsedFiles, RenderError, RenderedFolder};
use capstan_model::finding::{FileError, Finding};
use capstan_model::ids::{ClusterId, ContentId, ReleaseName};
use capstan_model::rest::Rest;
use capstan_model::source::{SourceId, SourceKind};
use capstan_model::tree::Tree;
use capstan_plan::classes::ClassRef;
use capstan_plan::cluster::Cluster;
use capstan_plan::inventory::InventoryGap;
use capstan_plan::path::{self, NotOffered, Offer, OwnContent, PathOutcome, TargetPosition};
use capstan_plan::policy;
use capstan_plan::release::Catalogue;
use capstan_plan::settings::EffectiveSettings;
use capstan_plan::upgrade::{Basis, Provenance, Upgrade};
use capstan_providers::MissingComponents;

use super::contents::Contents;
use super::inputs::{Conditions, OldReleaseInput, Provided, StepInputs};
use super::read_set::{Paths, ReadSet, RestrictedTree};
use super::refused::Refused;
use super::valued::{Valued, ValuedStep, brings};

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
    pub(super) components: BTreeSet<MissingComponents>,
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
    pub(super) standing: TargetPosition,
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
    pub(super) step: &'a path::OfferedStep,
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
        let standing_of =
            if valued.is_management { TargetPosition::of_management } else { TargetPosition::of };
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
        if let Some(InventoryGap::Unreadable { why, place }) = &valued.gap {
            let message = format!("{why}: Capstan proposes nothing and deletes nothing [definition-removed]");
            return Err(Refused { message, place: Some(place.clone()) });
        }
        let offer = match valued.against_release() {
            Some(why) => Offer {
                from: standing.release.clone(),
                outcome: PathOutcome::Nothing(NotOffered::Inventory(why)),
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
        if let Some(InventoryGap::Removed(finding)) = &self.reading.valued.gap {
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
                PathOutcome::Nothing(reason) => reason.rest(),
                PathOutcome::Step(_) => Rest::default(),
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
            PathOutcome::Nothing(reason) => Some(reason.describe(self.reading.cluster.folder.kind)),
            PathOutcome::Step(_) => None,
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
