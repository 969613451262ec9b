//! Campaigns: facts of every cluster that a release concerns are gathered, the heart decides
//! ([`capstan_campaign::decision`]), and who may not begin yet waits.
//!
//! *Expected flow.* What was decided about each pull request is known. Those that would be opened are held against the
//! campaign of the release that they offer; one that is open is never closed for it, and follows a newer release. What
//! is found out (since when waves are well, that it was stopped) goes into the folded block of the dashboard issue.
//!
//! *Guarantees.* Everything else is read anew from Git, GitHub and the reconcilers' reports, so a lost database changes
//! no decision. Where the dashboard cannot be written nothing new is opened. A person's `upgrade` passes waves and
//! windows, as it passes the other limits, but not a campaign that stands still.

mod checks;
mod standing;
mod telling;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};

use capstan_campaign::facts::{Failure, Load, Member, Note, Standing, Stop};
use capstan_campaign::membership::{Candidate, is_of, wave_of};
use capstan_campaign::settings::CampaignSettings;
use capstan_model::ids::{ClusterId, ReleaseId};
use capstan_model::source::{SourceId, SourceKind};
use capstan_model::target::TargetKind;
use capstan_model::tree::RepoPath;
use capstan_plan::proposal::ProposalId;
use capstan_plan::settings::{FOLDER_FILE, Mode, ReleaseSettings, RepositorySettings, Urgency};
use capstan_plan::verbs::OrderWhat;
use jiff::{SignedDuration, Timestamp};

use self::standing::Place;
use self::webhooks::Known;
use super::deciding::Decided;
use super::decisions::GivenOrder;
use super::outcome::Campaigns;
use super::{OpenFleet, Planned, PlannerFailed, Run, SyncError};

/// How often something is looked at of which no event tells.
const POLL: SignedDuration = SignedDuration::from_mins(5);

/// What campaigns say.
#[derive(Default)]
pub(super) struct Obeyed {
    pub(super) campaigns: Campaigns,
    /// Proposals that are not opened yet, and why.
    pub(super) waiting: BTreeMap<ProposalId, Waits>,
    /// What of each campaign's waves begins in this run, whatever the release: it takes room from the next.
    begun: BTreeMap<String, Vec<Load>>,
}

/// Why a proposal waits.
#[derive(Debug, Clone)]
pub(super) struct Waits {
    /// As a sentence.
    pub(super) why: String,
    /// Whether a person's command does not pass that either.
    pub(super) for_all: bool,
}

/// A release that moves through a campaign.
struct Moving<'a> {
    settings: &'a CampaignSettings,
    release: ReleaseId,
    note: Note,
}

impl Run<'_> {
    /// What waves tell clusters apart by beside their folders, where any do.
    pub(super) async fn candidates(
        self,
        fleet: Box<dyn OpenFleet>,
        settings: &RepositorySettings,
    ) -> Result<(Box<dyn OpenFleet>, BTreeMap<ClusterId, Candidate>), SyncError> {
        if settings.mode == Mode::Observe {
            return Ok((fleet, BTreeMap::new()));
        }
        self.told_apart(fleet, settings).await
    }

    /// The same, whether or not anything is proposed.
    pub(super) async fn told_apart(
        self,
        fleet: Box<dyn OpenFleet>,
        settings: &RepositorySettings,
    ) -> Result<(Box<dyn OpenFleet>, BTreeMap<ClusterId, Candidate>), SyncError> {
        if !settings.campaigns.iter().any(CampaignSettings::reads_clusters) {
            return Ok((fleet, BTreeMap::new()));
        }
        let (found, fleet) = tokio::task::spawn_blocking(move || (fleet.candidates(), fleet)).await?;
        let found = match found {
            Ok(found) => found,
            // Those that nobody can tell apart are in no wave that asks for more than their folder.
            Err(PlannerFailed::Exceeded(why)) => {
                tracing::warn!(repository = %self.repository.name, why, "labels of clusters cannot be read");
                Vec::new()
            }
            Err(failed) => return Err(failed.into()),
        };
        Ok((fleet, found.into_iter().map(|one| (one.cluster.clone(), one)).collect()))
    }

    /// Holds what was decided about pull requests against the campaigns. `held` are those that wait for something else.
    pub(super) async fn obey_campaigns(
        self,
        planned: Planned<'_>,
        decided: &BTreeMap<ProposalId, Decided>,
        held: &BTreeMap<ProposalId, String>,
    ) -> Result<Obeyed, SyncError> {
        let settings = planned.settings;
        let mut obeyed = Obeyed::default();
        if settings.campaigns.is_empty() {
            return Ok(obeyed);
        }
        if settings.mode == Mode::Observe {
            obeyed.campaigns.notes = planned.decided.notes().to_vec();
            return Ok(obeyed);
        }
        let places = self.places(planned, decided, held);
        for proposal in self.in_no_wave(planned, &places) {
            obeyed.waiting.insert(proposal.0, Waits { why: proposal.1, for_all: false });
        }
        for mut moving in self.moving(planned, &places) {
            self.obey_one(planned, &mut moving, &places, &mut obeyed).await?;
        }
        if let Some(why) = planned.decided.why_no_dashboard() {
            for (proposal, place) in &places {
                if place.begins && self.campaign_of(planned, place).is_some() {
                    let why =
                        format!("Nothing new is opened: how far campaigns are cannot be noted, since {why}.");
                    obeyed.waiting.insert(proposal.clone(), Waits { why, for_all: true });
                }
            }
        }
        Ok(obeyed)
    }

    /// Decides about one release.
    async fn obey_one(
        self,
        planned: Planned<'_>,
        moving: &mut Moving<'_>,
        places: &BTreeMap<ProposalId, Place>,
        obeyed: &mut Obeyed,
    ) -> Result<(), SyncError> {
        let settings = moving.settings;
        for order in planned.decided.orders() {
            give(order, settings, &mut moving.note, self.ports.clock.now());
        }
        let before = moving.note.memory.clone();
        let mut members = self.members(planned, settings, &moving.release, &before, places).await?;
        members.sort_by(|(_, a), (_, b)| a.cluster.cmp(&b.cluster));
        let all = (places, members.as_slice());
        let mut besides = self.besides(planned, settings, &moving.release, all, &before.skipped);
        let begun = obeyed.begun.entry(settings.name.clone()).or_default();
        for (load, more) in besides.iter_mut().zip(begun.iter()) {
            *load = load.and(*more);
        }
        let (ids, mut members): (Vec<ProposalId>, Vec<Member>) = members.into_iter().unzip();
        let polls = self.add_checks(planned, settings, &before, (&ids, &mut members)).await?;
        // Last: what was just seen to be so, a check that has passed, must not lie ahead of it.
        let now = self.ports.clock.now();
        let urgent = self.is_urgent(planned, &moving.release);
        let known = Known { ids: &ids, members: &members, besides: &besides, urgent, now };
        let (decision, mut memory, heard_again) = self.decide(planned, moving, known).await?;
        memory.note_failed(members.iter().filter_map(|member| match member.standing {
            Standing::Failed { how: Failure::RolledBack, at } => Some((member.cluster.clone(), at)),
            _ => None,
        }));
        moving.note.memory = memory;
        note_begun(obeyed.begun.entry(settings.name.clone()).or_default(), &decision.open, &members);
        for (id, member) in ids.iter().zip(&members) {
            // Whoever has this release may be offered a newer one, of which that one's waves decide.
            let begins = places
                .get(id)
                .is_some_and(|place| place.begins && place.offered.as_ref() == Some(&moving.release));
            if !begins || decision.open.contains(&member.cluster) {
                continue;
            }
            let prefix = planned.settings.commands.prefix.as_str();
            let why = decision.why_waiting(member, settings, prefix).unwrap_or_else(|| {
                format!(
                    "Campaign `{}` goes on without it: `{} upgrade {}` opens its pull request.",
                    settings.name, prefix, member.cluster
                )
            });
            obeyed.waiting.insert(id.clone(), Waits { why, for_all: decision.stopped.is_some() });
        }
        if before.stopped.is_none()
            && let Some(stop) = &decision.stopped
        {
            obeyed.campaigns.stopped.push((moving.note.clone(), stop.clone()));
        }
        let poll = polls.then(|| now + POLL);
        let again = [obeyed.campaigns.look_again, decision.look_again, poll, heard_again];
        let again = again.into_iter().flatten().min();
        obeyed.campaigns.look_again = again;
        obeyed.campaigns.standings.push(telling::standing(moving, &decision, &members));
        obeyed.campaigns.notes.push(moving.note.clone());
        Ok(())
    }

    /// The releases that move: those that somebody is offered, and of those that were noted the newest of each provider.
    fn moving<'a>(self, planned: Planned<'a>, places: &BTreeMap<ProposalId, Place>) -> Vec<Moving<'a>> {
        let notes = planned.decided.notes();
        let mut offered: BTreeSet<ReleaseId> =
            places.values().filter_map(|place| place.offered.clone()).collect();
        for note in notes {
            let release = ReleaseId::from_path(&note.release);
            let is_overtaken = |other: &ReleaseId| standing::is_newer(other, &release);
            let known = places.values().flat_map(|place| [&place.offered, &place.at]).flatten();
            if !known.clone().any(is_overtaken) && known.clone().any(|one| *one == release) {
                offered.insert(release);
            }
        }
        let mut all = Vec::new();
        for release in offered {
            let Some(settings) = campaign_for(planned, &release) else { continue };
            let own =
                notes.iter().find(|note| note.campaign == settings.name && note.release == release.as_str());
            let note = own.cloned().unwrap_or_else(|| {
                let mut note = Note {
                    campaign: settings.name.clone(),
                    release: release.to_string(),
                    commit: self.facts.base.commit.to_string(),
                    ..Note::default()
                };
                // What a person stopped stays so, whatever is released meanwhile.
                let same = |old: &&Note| {
                    old.campaign == settings.name
                        && ReleaseId::from_path(&old.release).provider() == release.provider()
                };
                let mut stops = notes.iter().filter(same).filter_map(|old| old.memory.stopped.clone());
                note.memory.stopped = stops.rfind(|stop| stop.by_person);
                note
            });
            all.push(Moving { settings, release, note });
        }
        all
    }

    fn campaign_of<'a>(&self, planned: Planned<'a>, place: &Place) -> Option<&'a CampaignSettings> {
        campaign_for(planned, place.offered.as_ref()?)
    }

    /// Who is offered a release of a campaign, and is in none of its waves.
    fn in_no_wave(
        self,
        planned: Planned<'_>,
        places: &BTreeMap<ProposalId, Place>,
    ) -> Vec<(ProposalId, String)> {
        let stray = |(proposal, place): (&ProposalId, &Place)| {
            let settings = self.campaign_of(planned, place).filter(|_| place.begins)?;
            let cluster = proposal.target.id()?;
            let in_none = wave_of(settings, &candidate(planned, cluster)).is_none();
            let why = || {
                format!(
                    "No wave of campaign `{}` takes it: nothing is proposed to it. A last wave that matches `**` takes whoever is left.",
                    settings.name
                )
            };
            in_none.then(|| (proposal.clone(), why()))
        };
        places.iter().filter_map(stray).collect()
    }

    /// Whether a release says of itself that it is urgent. Of one in another repository nobody is told.
    fn is_urgent(self, planned: Planned<'_>, release: &ReleaseId) -> bool {
        if planned.origin.is_some() {
            return false;
        }
        let tree = self.facts.base.tree.as_ref();
        let read = |folder: RepoPath| {
            let file = RepoPath::parse(&format!("{folder}/{FOLDER_FILE}")).ok()?;
            let content = tree.read(tree.entry(&file)?).ok()?;
            let text = std::str::from_utf8(&content).ok()?.to_owned();
            ReleaseSettings::read(&file, &text).ok()?.urgency
        };
        release.possible_folders().into_iter().find_map(read) == Some(Urgency::Now)
    }
}

/// Notes what begins of each wave.
fn note_begun(begun: &mut Vec<Load>, open: &[ClusterId], members: &[Member]) {
    for member in members.iter().filter(|member| open.contains(&member.cluster)) {
        if begun.len() <= member.wave {
            begun.resize(member.wave + 1, Load::default());
        }
        if let Some(load) = begun.get_mut(member.wave) {
            *load = load.and(Load { open: 1, clusters: 1, machines: member.machines });
        }
    }
}

/// The campaign by which a release moves.
fn campaign_for<'a>(planned: Planned<'a>, release: &ReleaseId) -> Option<&'a CampaignSettings> {
    planned.settings.campaigns.iter().find(|campaign| is_of(campaign, release.as_str()))
}

/// What waves tell a cluster apart by of which nothing but its folder is known.
fn by_folder(cluster: &ClusterId) -> Candidate {
    Candidate { cluster: cluster.clone(), labels: BTreeMap::new(), fields: BTreeMap::new() }
}

/// What waves tell a cluster apart by.
fn candidate(planned: Planned<'_>, cluster: &ClusterId) -> Candidate {
    planned.candidates.get(cluster).cloned().unwrap_or_else(|| by_folder(cluster))
}

/// Carries out what somebody said to a campaign.
fn give(order: &GivenOrder, settings: &CampaignSettings, note: &mut Note, now: Timestamp) {
    if !order.campaigns.contains(&settings.name) {
        return;
    }
    let memory = &mut note.memory;
    match &order.what {
        OrderWhat::Stop(reason) => {
            let why = match reason {
                Some(reason) => format!("`{}` stopped it ({reason}).", order.by),
                None => format!("`{}` stopped it.", order.by),
            };
            memory.stopped = Some(Stop { at: now, why, by_person: true });
        }
        OrderWhat::Resume => {
            if memory.stopped.take().is_some() {
                memory.resumed_at = Some(now);
            }
            for wave in memory.waves.values_mut() {
                wave.webhook = wave.webhook.take().filter(|word| word.passed);
            }
        }
        OrderWhat::Skip(cluster) => drop(memory.skipped.insert(cluster.clone())),
    }
}

/// The release that a source is, where it is one.
fn release_of(source: Option<&SourceId>) -> Option<ReleaseId> {
    let source = source.filter(|source| *source.kind() == SourceKind::RELEASE)?;
    Some(ReleaseId::from_path(source.path()))
}

/// Whether campaigns are about what a proposal brings: a release, to a cluster or a provider set.
fn is_of_release(proposal: &ProposalId) -> bool {
    proposal.kind == SourceKind::RELEASE
        && matches!(proposal.target.kind(), TargetKind::Cluster | TargetKind::Providers)
}
