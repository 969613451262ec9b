//! Which proposals a command is about.

use capstan_model::ids::ClusterId;
use capstan_model::wording::sentence;
use capstan_plan::proposal::ProposalId;
use capstan_plan::verbs::Command;
use capstan_report::{Answer, Block, BlockPlace, Refusal};

use super::facts::part_id;
use super::request::{Origin, Request};
use super::{Run, Scopes, SyncError};
use capstan_ports::PullRequest;

impl Run<'_> {
    /// The proposals that a pull request carries; of a person's, those that bring the clusters that it touches to
    /// a newer release. Where nobody can read what it touches, however often it is tried, the words of that.
    pub(super) async fn concerned(
        &self,
        pull: &PullRequest,
        scopes: &Scopes,
    ) -> Result<Result<Vec<ProposalId>, Answer>, SyncError> {
        let id = self.facts.proposal_of(pull);
        let members = id.as_ref().map(|id| self.members_in(id, pull)).unwrap_or_default();
        if !members.is_empty() {
            return Ok(Ok(members));
        }
        let of = |cluster: ClusterId| match &id {
            Some(id) => ProposalId { target: self.proposal_for(cluster).target, kind: id.kind.clone() },
            None => self.proposal_for(cluster),
        };
        match self.touched_by_head(pull, scopes).await {
            Ok(clusters) => Ok(Ok(clusters.into_iter().map(of).collect())),
            Err(error) if error.is_lasting() => {
                tracing::warn!(repository = %self.repository.name, pull_request = pull.number, error = %error, "what a pull request touches cannot be read");
                let why = error.to_string();
                let why = sentence(why.trim_end_matches('.'));
                let text = format!("Capstan cannot read what this pull request touches. {why}.\n");
                Ok(Err(Answer::refused(Refusal::NotJudged, &text)))
            }
            Err(error) => Err(error),
        }
    }

    /// The proposals whose changes a pull request brings, open or not, as its body tells; none of a group's whose body
    /// tells nothing any more.
    pub(super) fn members_in(&self, id: &ProposalId, pull: &PullRequest) -> Vec<ProposalId> {
        if self.facts.proposals.get(id).is_some_and(|open| open.number == pull.number) {
            return self.facts.members_of(id);
        }
        if id.target.group().is_none() {
            return vec![id.clone()];
        }
        let block = Block::read(&pull.body, &self.ports.key, self.repository.id, pull.number, id);
        let parts = block.map(|block| block.parts).unwrap_or_default();
        let carried = parts.iter().filter(|part| part.place == BlockPlace::Carried);
        carried.map(|part| part_id(id, part)).collect()
    }

    /// The proposal on whose branch the pull request of a request is, or that a tick is about.
    pub(super) fn proposal_of(&self, request: &Request) -> Option<ProposalId> {
        match &request.origin {
            Origin::Comment(_) | Origin::Button(_) => self.facts.proposal_of(request.pull.as_ref()?),
            Origin::Tick { about, .. } => about.clone(),
        }
    }

    /// The proposals whose changes the pull request of a request brought, where that is a shared one and not open any
    /// more; none where nobody noted which.
    pub(super) fn ended_shared(&self, request: &Request) -> Option<Vec<ProposalId>> {
        if matches!(request.origin, Origin::Tick { .. }) {
            return None;
        }
        let (id, pull) = (self.proposal_of(request)?, request.pull.as_ref()?);
        let is_open = self.facts.proposals.get(&id).is_some_and(|open| open.number == pull.number);
        (id.target.group().is_some() && !is_open).then(|| self.members_in(&id, pull))
    }

    /// The proposal on whose branch the pull request is that a request is about.
    pub(super) fn carrier_of(&self, request: &Request) -> Option<ProposalId> {
        let proposal = self.proposal_of(request)?;
        match &request.origin {
            Origin::Comment(_) | Origin::Button(_) => Some(proposal),
            Origin::Tick { .. } => Some(self.facts.carrier(&proposal).cloned().unwrap_or(proposal)),
        }
    }

    /// The proposals that a command is about: that of the cluster which it names, else those whose changes the pull
    /// request brings.
    pub(super) fn proposals_of(&self, request: &Request, command: &Command) -> Vec<ProposalId> {
        let id = self.proposal_of(request);
        let members = match (&id, &request.pull, &request.origin) {
            (Some(id), _, Origin::Tick { .. }) => vec![id.clone()],
            (Some(id), Some(pull), _) => self.members_in(id, pull),
            _ => Vec::new(),
        };
        match command.cluster() {
            Some(cluster) => {
                let named = self.proposal_for(cluster.clone());
                let shared = members.into_iter().find(|member| member.target == named.target);
                vec![shared.unwrap_or(named)]
            }
            None => members,
        }
    }

    /// The same of a command that decides something; what is decided about a pull request as a whole is noted of that.
    pub(super) fn decided_by(&self, request: &Request, command: &Command) -> Vec<ProposalId> {
        if command.verb().is_of_pull_request() {
            return self.carrier_of(request).into_iter().collect();
        }
        self.proposals_of(request, command)
    }

    /// What the pull request of a request concerns.
    pub(super) async fn concerned_by(
        &self,
        request: &Request,
        scopes: &Scopes,
    ) -> Result<Result<Vec<ProposalId>, Answer>, SyncError> {
        match (&request.origin, &request.pull) {
            (Origin::Tick { about, .. }, _) => {
                let is_whole = |command: &Command| command.verb().is_of_pull_request();
                let shared = about.as_ref().and_then(|about| self.facts.carrier(about));
                let shared = shared.filter(|_| request.commands.iter().flatten().any(is_whole));
                Ok(Ok(match shared {
                    // What is about all who share a pull request needs the right for each.
                    Some(id) => self.facts.members_of(id),
                    None => about.iter().cloned().collect(),
                }))
            }
            (Origin::Comment(_) | Origin::Button(_), Some(pull)) => self.concerned(pull, scopes).await,
            (Origin::Comment(_) | Origin::Button(_), None) => {
                let text = "This is an issue: say it on a pull request, or name the cluster.\n";
                Ok(Err(Answer::refused(Refusal::NothingThere, text)))
            }
        }
    }

    async fn touched_by_head(
        &self,
        pull: &PullRequest,
        scopes: &Scopes,
    ) -> Result<Vec<ClusterId>, SyncError> {
        let before = self.required_snapshot(&pull.base).await?;
        let after = self.required_snapshot(&pull.head).await?;
        self.touched(&before.tree, &after.tree, scopes).await
    }
}
