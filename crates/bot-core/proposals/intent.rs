//! The content of one pull request: the changes of one cluster, or of several of a group, and its texts.

use capstan_facts::{ProposalRecord, PullRequest};
use capstan_model::rest::Rest;
use capstan_model::target::Target;
use capstan_model::tree::CommitId;
use capstan_plan::forecast::worst;
use capstan_plan::proposal::{
    Action, BranchStep, Decisions, Drafted, Guarded, LeaveReason, Offer, Offers, OutsideTarget, ProposalId,
    ProposalPlan, ReleasesOrigin, Scope, Sidebar, SidebarStanding, Skipped, SourceState, Title, TitleDigest,
    TitleStep, WhyLeftOut, guard_upgrade, offer_name,
};
use capstan_plan::settings::{RepositorySettings, TitleTemplate};
use capstan_plan::upgrade::{Retarget, Upgrade, Versions};
use capstan_report::{
    Block, BlockKey, BlockPart, BlockPlace, GroupProposal, PreviousOffer, Proposal, ProposalState,
    commit_message, group_body, group_commit_message, group_title, offer_in_words, previous_offers,
    proposal_body, proposal_title, room_for_part, text_digest, visible_group_text, visible_text,
};
use jiff::Timestamp;

use super::deciding::DecidedPull;
use super::outcome::{Outcome, ProposalOutcome};
use crate::effects::{
    Audited, CommitFiles, DesiredBranch, DesiredPull, DesiredSidebar, Effect, NewText, Numbered, OpenText,
    PullText, TextEdit,
};
use crate::facts::Facts;
use crate::planned::PlannedRun;

/// Bytes in a group's body for the records of members that are left out.
const MOST_NOTED_BESIDES: usize = 32 << 10;

/// The content of a pull request.
pub struct Intent<'a> {
    /// The proposal of its branch.
    pub proposal: &'a ProposalId,
    /// The changes: one cluster's, or those of a group's clusters, the worst first.
    pub parts: Vec<ProposalPart<'a>>,
    /// Members of the group that are left out, and why.
    pub left_out: Vec<(Target, String)>,
    /// Decisions about such members that have no other place.
    pub noted_besides: Vec<(Target, Decisions)>,
    /// Members with a decision that has no room in it.
    pub without_room: Vec<Target>,
    /// The group's previous pull request, whose block counts for them until this one has a number.
    pub after: Option<u64>,
    pub offer: &'a Offer,
    /// What happens to the branch.
    pub branch: BranchStep,
    /// Decisions about the pull request of a group as a whole.
    pub decisions: Decisions,
    /// Whether Capstan made the open pull request a draft.
    pub drafted: Drafted,
    /// The open pull request, if there is one.
    pub pull: Option<&'a PullRequest>,
    /// The settings of the base branch.
    pub settings: &'a RepositorySettings,
    /// The repository that the offer comes from, if it is another one.
    pub origin: Option<&'a ReleasesOrigin>,
    /// Earlier offers of the open pull request.
    pub previous: Vec<PreviousOffer>,
}

/// One cluster's changes.
pub struct ProposalPart<'a> {
    pub proposal: &'a ProposalId,
    /// Which files it may write.
    pub scope: Scope,
    /// The upgrade that it writes.
    pub upgrade: &'a Upgrade,
    /// Decisions made by command.
    pub decisions: Decisions,
    /// The management cluster whose reconciler reports on the target.
    pub reporter: Option<&'a str>,
}

impl<'a> Intent<'a> {
    /// The only part, where the pull request is one cluster's own.
    fn alone(&self) -> Option<&ProposalPart<'a>> {
        self.parts.first().filter(|_| self.proposal.target.group().is_none())
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

    /// The title from the settings.
    pub fn wanted_title(&self) -> String {
        self.title(self.template())
    }

    /// Capstan's own title.
    pub fn own_title(&self) -> String {
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

    /// The decisions about one cluster's proposal, or about the pull request of several.
    pub fn decisions(&self) -> &Decisions {
        self.alone().map_or(&self.decisions, |part| &part.decisions)
    }

    /// Whether its one cluster's overlay may be edited; of a group each part says so.
    pub fn retarget(&self) -> Retarget {
        self.alone().map_or_else(Retarget::default, |part| part.scope.retarget)
    }

    /// The record of each of several clusters, by their names.
    pub fn noted(&self) -> Vec<BlockPart> {
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

    /// Whether the body has to contain decisions.
    pub fn holds_decisions(&self) -> bool {
        let decided = |part: &BlockPart| part.retarget == Retarget::Allowed || !part.decisions.is_empty();
        self.retarget() == Retarget::Allowed
            || !self.decisions().is_empty()
            || self.noted().iter().any(decided)
    }

    fn texts<'p>(&'p self, drafted: Drafted, sidebar: &'p SidebarStanding) -> Vec<Proposal<'p>> {
        let text = |part: &'p ProposalPart<'a>| Proposal {
            upgrade: part.upgrade,
            source: &self.offer.source,
            plan: &self.offer.plan,
            origin: self.origin,
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

    /// Gives the content to the writer of the text: for one cluster, or for a group.
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
            origin: self.origin,
            command_prefix: self.settings.commands.prefix.as_str(),
            decisions: &self.decisions,
            noted: &self.noted(),
            drafted,
            sidebar,
            after: self.after,
            previous: &self.previous,
        }))
    }

    /// The whole body; `of` are the repository and the pull request, if it has a number yet.
    pub fn body(
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

    /// The visible part of it.
    pub fn visible(&self, drafted: Drafted, sidebar: &SidebarStanding) -> String {
        self.tell(drafted, sidebar, visible_text, visible_group_text).unwrap_or_default()
    }

    /// Whether the body of an open pull request has this content: then it is not written, and people's
    /// additions stay.
    pub fn is_said(
        &self,
        block: &Block,
        drafted: Drafted,
        sidebar: &SidebarStanding,
        title: &TitleStep,
    ) -> bool {
        block.source == self.offer.source
            && block.plan == self.offer.plan
            && block.text == text_digest(&self.visible(drafted, sidebar))
            && block.retarget == self.retarget()
            && block.decisions == *self.decisions()
            && block.parts == self.noted()
            && block.previous == self.previous
            && block.drafted == drafted
            && block.title.as_ref().map_or(title.write.is_none(), |known| *known == title.written)
            && block.sidebar == sidebar.done
            && block.closed_by.is_none()
    }

    /// What happens to the title of an open pull request with that previous offer.
    pub fn title_step(&self, shown: &str, block: Option<&Block>, offered: Option<&SourceState>) -> TitleStep {
        let is_same = offered.is_some_and(|offered| offered.source() == self.offer.source.source());
        // An earlier Capstan recorded no title, and only wrote its own.
        let own = || TitleDigest::of(&self.own_title());
        let written = block.and_then(|block| block.title.clone()).unwrap_or_else(own);
        let title = Title {
            shown,
            wanted: &self.wanted_title(),
            written: &written,
            offers: if is_same { Offers::TheSame } else { Offers::Another },
        };
        title.step()
    }

    /// The proposals whose changes it brings.
    pub fn members(&self) -> Vec<ProposalId> {
        self.parts.iter().map(|part| part.proposal.clone()).collect()
    }

    /// The desired branch; `None` where it has this content.
    ///
    /// # Errors
    /// A file outside of the target.
    pub fn desired_branch<'f>(
        &'f self,
        facts: &'f Facts,
    ) -> Result<Option<DesiredBranch<'f>>, OutsideTarget> {
        if self.branch == BranchStep::Keep {
            return Ok(None);
        }
        let guard =
            |part: &'f ProposalPart<'a>| guard_upgrade(&part.scope, facts.base.tree.as_ref(), part.upgrade);
        let guarded: Vec<Guarded<'f>> = self.parts.iter().map(guard).collect::<Result<_, _>>()?;
        Ok(Some(DesiredBranch {
            name: self.proposal.branch(),
            step: self.branch.clone(),
            parent: &facts.base,
            key: &facts.key,
            files: CommitFiles::OfClusters(Guarded::together(guarded)),
            message: self.commit_message(),
        }))
    }

    /// The records to write once that commit is on the branch of this pull request: one for each of its
    /// proposals, and none for previous members.
    pub fn noted_in_records(
        &self,
        facts: &Facts,
        (pull_request, head): (Option<u64>, &CommitId),
        now: Timestamp,
    ) -> Vec<Effect> {
        let opened_at = self.pull.map_or(now, |pull| pull.created_at);
        let record = |part: &ProposalPart<'a>| ProposalRecord {
            repository: facts.repository.id,
            proposal: part.proposal.clone(),
            pull_request,
            source: self.offer.source.to_string(),
            plan: self.offer.plan.to_string(),
            head: head.clone(),
            opened_at,
            ended_at: None,
        };
        let saved = self.parts.iter().map(|part| Effect::SaveProposal(record(part)));
        let is_shared = self.proposal.target.group().is_some();
        let shared = self.pull.filter(|_| is_shared).map(|pull| pull.number);
        let is_left = |proposal: &ProposalId, record: &ProposalRecord| {
            shared.is_some()
                && record.pull_request == shared
                && !self.parts.iter().any(|part| part.proposal == proposal)
        };
        let left = facts.records.iter().filter(|(proposal, record)| is_left(proposal, record));
        saved.chain(left.map(|(proposal, _)| Effect::ForgetProposal(proposal.clone()))).collect()
    }

    pub fn commit_message(&self) -> String {
        let (offer, origin) = (self.offer, self.origin);
        let one = |text: &Proposal<'_>| {
            let versions = self.versions();
            commit_message(text.upgrade, &offer.source, &offer.plan, origin, self.template(), versions)
        };
        let several = |text: &GroupProposal<'_>| group_commit_message(text, origin, &self.wanted_title());
        self.tell(Drafted::No, &SidebarStanding::default(), one, several).unwrap_or_default()
    }

    /// The head whose source [`Self::desired_pull`] needs: a person removed the block from the body.
    pub fn head_to_ask(&self, facts: &Facts) -> Option<&'a CommitId> {
        let is_unknown = |pull: &&PullRequest| facts.block(self.proposal, pull.number, &pull.body).is_none();
        self.pull.filter(is_unknown).map(|pull| &pull.head)
    }

    /// Its pull request as it should be; `offered` is the source of [`Self::head_to_ask`].
    pub fn desired_pull<'f>(
        &'f self,
        facts: &'f Facts,
        offered: Option<SourceState>,
        now: Timestamp,
    ) -> DesiredPull<'f> {
        let asked = Sidebar::asked(&self.settings.upgrade.proposals);
        let (text, done) = match self.pull {
            None => (PullText::New(self.new_text(facts, now)), Sidebar::default()),
            Some(pull) => {
                let block = facts.block(self.proposal, pull.number, &pull.body);
                // If a person removed the block, it is unknown what Capstan did, so Capstan repeats nothing.
                let done = block.as_ref().map_or_else(|| asked.clone(), |block| block.sidebar.clone());
                (PullText::Open(self.open_text(facts, (pull, block), offered)), done)
            }
        };
        DesiredPull {
            text,
            draft: Some(self.offer.draft),
            sidebar: Some(DesiredSidebar { proposal: self.proposal, asked, done }),
            audited: Audited {
                of: Some(self.members()),
                opened: "proposal-opened",
                updated: "proposal-updated",
                around: (
                    format!("{} in ", self.offer_in_words(&self.offer.source.source().to_string())),
                    String::new(),
                ),
            },
        }
    }

    /// What it does for its clusters, as the predicate of a sentence.
    fn offer_in_words(&self, source: &str) -> String {
        offer_in_words(self.parts.first().map(|part| part.upgrade), source)
    }

    fn new_text<'f>(&'f self, facts: &'f Facts, now: Timestamp) -> NewText<'f> {
        let drafted = Drafted::made(self.offer.draft);
        let title = self.wanted_title();
        let written = TitleDigest::of(&title);
        let body = move |number: Option<u64>, sidebar: &SidebarStanding| {
            self.body((facts.repository.id, number), drafted, sidebar, &written, &facts.key)
        };
        let remembered =
            move |pull: &PullRequest| self.noted_in_records(facts, (Some(pull.number), &pull.head), now);
        NewText {
            head_branch: self.proposal.branch(),
            title,
            body: Box::new(body),
            // A decision counts only in a block that names its pull request.
            numbered: if self.holds_decisions() { Numbered::AtOnce } else { Numbered::WithTheNext },
            remembered: Box::new(remembered),
        }
    }

    /// The text is rewritten only where Capstan has something new to say: what people added stays till then.
    fn open_text<'f>(
        &'f self,
        facts: &'f Facts,
        (pull, block): (&'f PullRequest, Option<Block>),
        offered: Option<SourceState>,
    ) -> OpenText<'f> {
        let offered = block.as_ref().map(|block| block.source.clone()).or(offered);
        let title = self.title_step(&pull.title, block.as_ref(), offered.as_ref());
        let edit = move |drafted: Drafted, sidebar: &SidebarStanding| {
            if block.as_ref().is_some_and(|block| self.is_said(block, drafted, sidebar, &title)) {
                return None;
            }
            let of = (facts.repository.id, Some(pull.number));
            let body = self.body(of, drafted, sidebar, &title.written, &facts.key);
            Some(TextEdit { title: title.write.clone(), body })
        };
        OpenText { pull, drafted: self.drafted, edit: Box::new(edit), branch: self.branch.clone() }
    }
}

/// The content of a pull request that is opened or updated; `None` where one of its members has no plan.
pub(super) fn intent<'a>(
    planned: PlannedRun<'a>,
    proposal: &'a ProposalId,
    decided: &'a DecidedPull,
    outcome: &Outcome,
    now: Timestamp,
) -> Option<Intent<'a>> {
    let facts = planned.facts;
    let ProposalPlan::Offer(offer) = &decided.wanted else { return None };
    let (pull, branch) = match &decided.action {
        Action::Open { branch } => (None, branch.clone()),
        Action::Update { pull, branch } => (facts.open_of_number(proposal, *pull), branch.clone()),
        Action::Close { .. } | Action::Leave(_) => return None,
    };
    let part = |member: &'a ProposalId| -> Option<ProposalPart<'a>> {
        let upgrade = planned.plan_of(member)?;
        let scope = planned.scopes.get(&member.target)?;
        let retarget = planned.retarget_of(member);
        Some(ProposalPart {
            proposal: member,
            scope: Scope { retarget, ..scope.clone() },
            upgrade,
            decisions: planned.decided.of(member).still(upgrade, facts.today),
            reporter: member.target.cluster().and_then(|cluster| planned.reporters.name_for(cluster)),
        })
    };
    let mut parts: Vec<ProposalPart<'a>> = decided.carried.iter().map(part).collect::<Option<_>>()?;
    let order: Vec<&Target> =
        worst(parts.iter().map(|part| part.upgrade), usize::MAX).into_iter().map(|one| &one.target).collect();
    parts.sort_by_key(|part| order.iter().position(|target| **target == part.proposal.target));
    let why = |member: &ProposalId| {
        let one = outcome.proposals.get(member);
        one.map_or_else(String::new, |one| format!("{}: {}", one.state.as_str(), one.why))
    };
    let told = decided.left_out.iter().filter(|(_, why)| {
        !matches!(
            why,
            WhyLeftOut::LeftAlone(LeaveReason::NothingOffered { rest: Rest::Current | Rest::Gone, .. })
        )
    });
    // Where the dashboard keeps decisions about left out members, they survive this pull request. A declined
    // release has to be recorded here, because only the newest pull request of a branch is read.
    let noted = |(member, why): &(ProposalId, WhyLeftOut)| {
        let mut decisions = planned.decided.of(member).without_pull_request(false);
        if planned.decided.is_dashboard_kept() {
            decisions = Decisions::default();
        }
        let by = match why {
            WhyLeftOut::LeftAlone(LeaveReason::Skipped { by }) => Some(by.clone()),
            WhyLeftOut::LeftAlone(_) | WhyLeftOut::Waits(_) => None,
        };
        let source = planned.plan_of(member).and_then(offer_name);
        let skipped = by.zip(source).map(|(by, source)| Skipped { source, by });
        decisions.skipped = skipped.or(decisions.skipped);
        (!decisions.is_empty()).then(|| (member.target.clone(), decisions))
    };
    let mut room = MOST_NOTED_BESIDES;
    let fits = |(target, decisions): &(Target, Decisions)| {
        let left = room.checked_sub(room_for_part(&BlockPart::left_out(target.clone(), decisions.clone())));
        room = left.unwrap_or(room);
        left.is_some()
    };
    let (noted_besides, without_room): (Vec<_>, Vec<_>) =
        decided.left_out.iter().filter_map(noted).partition(fits);
    let known = pull.and_then(|pull| facts.block(proposal, pull.number, &pull.body));
    let previous = previous_offers(known.as_ref(), &offer.source, now);
    Some(Intent {
        left_out: told.map(|(member, _)| (member.target.clone(), why(member))).collect(),
        noted_besides,
        without_room: without_room.into_iter().map(|(target, _)| target).collect(),
        after: decided.after,
        decisions: planned.decided.of(proposal),
        drafted: planned.decided.drafted(proposal),
        proposal,
        parts,
        offer,
        branch,
        pull,
        settings: planned.settings,
        origin: planned.origin_of(&offer.source),
        previous,
    })
}

impl Outcome {
    /// Records that a pull request is up to date, and returns its state.
    pub fn published(&mut self, intent: &Intent<'_>, number: u64) -> ProposalOutcome {
        let Intent { proposal, offer, .. } = *intent;
        let carried = intent.parts.iter().map(|part| part.proposal.clone());
        self.carried.insert(proposal.clone(), carried.collect());
        let besides = intent.noted_besides.iter();
        let besides =
            besides.map(|(target, _)| ProposalId { target: target.clone(), kind: proposal.kind.clone() });
        self.noted_besides.extend(besides);
        let findings = &mut self.remarks.entry(number).or_default().findings;
        for part in &intent.parts {
            findings.insert(part.proposal.target.clone(), part.upgrade.findings.clone());
        }
        let offers = intent.offer_in_words(&format!("`{}`", offer.source.source()));
        let why = match intent.parts.as_slice() {
            [_] | [] => format!("#{number} {offers}."),
            several => format!("#{number} {offers} to {} clusters.", several.len()),
        };
        ProposalOutcome { state: ProposalState::Proposed, why, pull: Some(number) }
    }

    /// Records that another process moved the branch, and returns its state.
    pub fn overtaken(&mut self, intent: &Intent<'_>) -> ProposalOutcome {
        self.overtaken.insert(intent.proposal.clone());
        self.overtaken.extend(intent.parts.iter().map(|part| part.proposal.clone()));
        ProposalOutcome::waiting("Another write to the branch came first: Capstan checks it again.")
    }
}
