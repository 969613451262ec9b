//! What is published in one pull request: the changes of one cluster, or of several of a group, and the words for them.

use capstan_model::rest::Rest;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_plan::forecast::worst;
use capstan_plan::proposal::{
    BranchStep, Decisions, Drafted, Offer, ProposalId, ReleasesOrigin, Scope, SidebarStanding, Skipped,
    Standing, TitleDigest, Wanted, WhyLeftOut, offer_name,
};
use capstan_plan::settings::{RepositorySettings, TitleTemplate};
use capstan_plan::upgrade::{Retarget, Upgrade, Versions};
use capstan_report::{
    Block, BlockKey, BlockPart, BlockPlace, GroupProposal, PreviousOffer, Proposal, commit_message,
    group_body, group_commit_message, group_title, previous_offers, proposal_body, proposal_title,
    room_for_part, visible_group_text, visible_text,
};

use super::deciding::{Decided, plan_of};
use super::outcome::Outcome;
use super::{Planned, Run};
use capstan_ports::PullRequest;

/// What is noted in a group's pull request of those that stay out of it may take so many bytes of its body.
const MOST_NOTED_BESIDES: usize = 32 << 10;

/// What is published.
pub(super) struct Intent<'a> {
    /// On whose branch.
    pub(super) proposal: &'a ProposalId,
    /// Whose changes: one's own, or those of clusters of a group, the worst in front.
    pub(super) parts: Vec<Part<'a>>,
    /// Those of the group that stay out, and why.
    pub(super) left_out: Vec<(Target, String)>,
    /// What was decided about such ones and has no other place to stand in.
    pub(super) noted_besides: Vec<(Target, Decisions)>,
    /// The group's pull request before this one, which tells of those until this one does.
    pub(super) after: Option<u64>,
    pub(super) offer: &'a Offer,
    pub(super) branch: BranchStep,
    /// What people decided about the pull request of a group as a whole.
    pub(super) decisions: Decisions,
    /// Whether Capstan made the open pull request a draft.
    pub(super) drafted: Drafted,
    /// The open pull request, where there is one.
    pub(super) pull: Option<&'a PullRequest>,
    pub(super) settings: &'a RepositorySettings,
    /// Where what is offered comes from, where that is another repository.
    pub(super) origin: Option<&'a ReleasesOrigin>,
    /// What the open pull request offered before.
    pub(super) previous: Vec<PreviousOffer>,
}

/// One cluster's changes.
pub(super) struct Part<'a> {
    pub(super) proposal: &'a ProposalId,
    pub(super) scope: Scope,
    pub(super) upgrade: &'a Upgrade,
    /// What people decided by command.
    pub(super) decisions: Decisions,
    /// The management cluster whose reconciler reports on the target.
    pub(super) reporter: Option<&'a str>,
}

impl<'a> Intent<'a> {
    /// The part that is all of it, where the pull request is one cluster's own.
    fn alone(&self) -> Option<&Part<'a>> {
        self.parts.first().filter(|_| self.proposal.target.group().is_none())
    }

    /// Where what is offered comes from, where that is another repository: releases alone do.
    fn origin_of_offer(&self) -> Option<&'a ReleasesOrigin> {
        self.origin.filter(|_| *self.offer.source.source().kind() == SourceKind::RELEASE)
    }

    /// Whether it is a rollback.
    fn versions(&self) -> Versions {
        self.alone().map_or(Versions::Move, |part| part.decisions.versions())
    }

    /// The title of an upgrade as the settings write it.
    fn template(&self) -> Option<&'a TitleTemplate> {
        let title = self.settings.upgrade.proposals.title.as_ref();
        title.filter(|_| self.versions() == Versions::Move)
    }

    pub(super) fn wanted_title(&self) -> String {
        self.title(self.template())
    }

    /// The title that is Capstan's own.
    pub(super) fn own_title(&self) -> String {
        self.title(None)
    }

    fn title(&self, template: Option<&TitleTemplate>) -> String {
        let source = &self.offer.source;
        match (self.alone(), self.proposal.target.group()) {
            (Some(part), _) => proposal_title(template, part.upgrade, source, self.versions()),
            (None, Some(group)) => {
                let sidebar = SidebarStanding::default();
                group_title(template, group, &self.texts(Drafted::No, &sidebar), source)
            }
            (None, None) => String::new(),
        }
    }

    /// What was decided about what it is: one cluster's proposal, or the pull request of several.
    pub(super) fn decisions(&self) -> &Decisions {
        self.alone().map_or(&self.decisions, |part| &part.decisions)
    }

    /// Whether its one cluster's overlay may be edited; of several each part tells that.
    pub(super) fn retarget(&self) -> Retarget {
        self.alone().map_or_else(Retarget::default, |part| part.scope.retarget)
    }

    /// What is noted of each of several clusters, by their names.
    pub(super) fn noted(&self) -> Vec<BlockPart> {
        if self.alone().is_some() {
            return Vec::new();
        }
        let carried = self.parts.iter().map(|part| BlockPart {
            target: part.proposal.target.clone(),
            place: BlockPlace::Carried,
            retarget: part.scope.retarget,
            decisions: part.decisions.clone(),
        });
        let left_out = self
            .noted_besides
            .iter()
            .map(|(target, decisions)| BlockPart::left_out(target.clone(), decisions.clone()));
        let mut all: Vec<BlockPart> = carried.chain(left_out).collect();
        all.sort_by(|one, other| one.target.cmp(&other.target));
        all
    }

    /// Whether people decided anything that has to stand in the body.
    pub(super) fn holds_decisions(&self) -> bool {
        let decided = |part: &BlockPart| part.retarget == Retarget::Allowed || !part.decisions.is_empty();
        self.retarget() == Retarget::Allowed
            || !self.decisions().is_empty()
            || self.noted().iter().any(decided)
    }

    fn texts<'p>(&'p self, drafted: Drafted, sidebar: &'p SidebarStanding) -> Vec<Proposal<'p>> {
        let text = |part: &'p Part<'a>| Proposal {
            upgrade: part.upgrade,
            source: &self.offer.source,
            plan: &self.offer.plan,
            origin: self.origin_of_offer(),
            command_prefix: self.settings.commands.prefix.as_str(),
            retarget: part.scope.retarget,
            decisions: &part.decisions,
            drafted,
            reporter: part.reporter,
            sidebar,
            previous: &self.previous,
        };
        self.parts.iter().map(text).collect()
    }

    /// Gives what the text is made from to who writes it: of one cluster, or of a group.
    fn tell<T>(
        &self,
        drafted: Drafted,
        sidebar: &SidebarStanding,
        one: impl FnOnce(&Proposal<'_>) -> T,
        several: impl FnOnce(&GroupProposal<'_>) -> T,
    ) -> Option<T> {
        let texts = self.texts(drafted, sidebar);
        let Some(group) = self.proposal.target.group() else { return texts.first().map(one) };
        Some(several(&GroupProposal {
            target: &self.proposal.target,
            group,
            parts: &texts,
            left_out: &self.left_out,
            source: &self.offer.source,
            plan: &self.offer.plan,
            origin: self.origin_of_offer(),
            command_prefix: self.settings.commands.prefix.as_str(),
            decisions: &self.decisions,
            noted: &self.noted(),
            drafted,
            sidebar,
            after: self.after,
            previous: &self.previous,
        }))
    }

    /// The whole body; `of` are the repository and the pull request, where it has a number yet.
    pub(super) fn body(
        &self,
        of: (u64, Option<u64>),
        drafted: Drafted,
        sidebar: &SidebarStanding,
        title: &TitleDigest,
        key: &BlockKey,
    ) -> String {
        let (repository, number) = of;
        let one = |text: &Proposal<'_>| proposal_body(text, repository, number, title, key);
        let several = |text: &GroupProposal<'_>| group_body(text, repository, number, title, key);
        self.tell(drafted, sidebar, one, several).unwrap_or_default()
    }

    /// What people see of it.
    pub(super) fn visible(&self, drafted: Drafted, sidebar: &SidebarStanding) -> String {
        self.tell(drafted, sidebar, visible_text, visible_group_text).unwrap_or_default()
    }

    /// The message of its commit.
    pub(super) fn commit_message(&self) -> String {
        let (offer, origin) = (self.offer, self.origin_of_offer());
        let one = |text: &Proposal<'_>| {
            let versions = self.versions();
            commit_message(text.upgrade, &offer.source, &offer.plan, origin, self.template(), versions)
        };
        let several = |text: &GroupProposal<'_>| group_commit_message(text, origin, &self.wanted_title());
        self.tell(Drafted::No, &SidebarStanding::default(), one, several).unwrap_or_default()
    }
}

impl Run<'_> {
    /// What is published; `None` where one of those whose changes it brings has no plan.
    pub(super) fn intent<'a>(
        &self,
        planned: Planned<'a>,
        proposal: &'a ProposalId,
        decided: &'a Decided,
        (branch, pull): (BranchStep, Option<&'a PullRequest>),
        outcome: &Outcome,
    ) -> Option<Intent<'a>> {
        let Wanted::Offer(offer) = &decided.wanted else { return None };
        let part = |member: &'a ProposalId| -> Option<Part<'a>> {
            let upgrade = plan_of(planned, member)?;
            let scope = planned.scopes.get(&member.target)?;
            let retarget = planned.retarget_of(member);
            Some(Part {
                proposal: member,
                scope: Scope { retarget, ..scope.clone() },
                upgrade,
                decisions: planned.decided.of(member).still(upgrade, self.today),
                reporter: member.target.cluster().and_then(|cluster| planned.reporters.name_for(cluster)),
            })
        };
        let mut parts: Vec<Part<'a>> = decided.carried.iter().map(part).collect::<Option<_>>()?;
        let order: Vec<&Target> = worst(parts.iter().map(|part| part.upgrade), usize::MAX)
            .into_iter()
            .map(|one| &one.target)
            .collect();
        parts.sort_by_key(|part| order.iter().position(|target| **target == part.proposal.target));
        let why = |member: &ProposalId| {
            let one = outcome.proposals.get(member);
            one.map_or_else(String::new, |one| format!("{}: {}", one.state.as_str(), one.why))
        };
        let told = decided.left_out.iter().filter(|(_, why)| {
            !matches!(
                why,
                WhyLeftOut::Stands(Standing::NothingOffered { rest: Rest::Current | Rest::Gone, .. })
            )
        });
        // Where the dashboard keeps what was decided about those that stay out, it does not end with this. That a release
        // was declined has to be told here: of the pull requests of a branch only the newest is looked at.
        let noted = |(member, why): &(ProposalId, WhyLeftOut)| {
            let mut decisions = planned.decided.of(member).without_pull_request(false);
            if planned.decided.is_dashboard_kept() {
                decisions = Decisions::default();
            }
            let by = match why {
                WhyLeftOut::Stands(Standing::Skipped { by }) => Some(by.clone()),
                WhyLeftOut::Stands(_) | WhyLeftOut::Waits(_) => None,
            };
            let source = plan_of(planned, member).and_then(offer_name);
            let skipped = by.zip(source).map(|(by, source)| Skipped { source, by });
            decisions.skipped = skipped.or(decisions.skipped);
            (!decisions.is_empty()).then(|| (member.target.clone(), decisions))
        };
        let mut room = MOST_NOTED_BESIDES;
        let fits = |(target, decisions): &(Target, Decisions)| {
            let part = BlockPart::left_out(target.clone(), decisions.clone());
            let left = room.checked_sub(room_for_part(&part));
            room = left.unwrap_or(room);
            if left.is_none() {
                tracing::warn!(repository = %self.repository.name, cluster = %target, "so much is noted of a group that what was decided about one of its clusters has no room");
            }
            left.is_some()
        };
        let noted_besides = decided.left_out.iter().filter_map(noted).filter(fits).collect();
        let known = pull.and_then(|pull| {
            Block::read(&pull.body, &self.ports.key, self.repository.id, pull.number, proposal)
        });
        let previous = previous_offers(known.as_ref(), &offer.source, self.ports.clock.now());
        Some(Intent {
            left_out: told.map(|(member, _)| (member.target.clone(), why(member))).collect(),
            noted_besides,
            after: decided.after,
            decisions: planned.decided.of(proposal),
            drafted: planned.decided.drafted(proposal),
            proposal,
            parts,
            offer,
            branch,
            pull,
            settings: planned.settings,
            origin: planned.origin,
            previous,
        })
    }
}
