//! Which proposals a command is about.

use capstan_facts::PullRequest;
use capstan_model::ids::ClusterId;
use capstan_model::wording::sentence;
use capstan_plan::proposal::ProposalId;
use capstan_plan::verbs::{Command, Concerns};
use capstan_report::{Answer, Refusal};

use super::request::{Request, RequestOrigin};
use crate::facts::{Facts, Scopes, proposal_for};

/// What a request is about, as far as that is known without reading the pull request.
#[derive(Debug)]
pub enum About<'a> {
    /// These proposals.
    These(Vec<ProposalId>),
    /// What that pull request carries or touches.
    Pull(&'a PullRequest),
    /// Nothing, and what is said to that.
    Nothing(Answer),
}

/// What is said of a pull request that nobody can read, however often it is tried.
pub fn unreadable(why: &str) -> Answer {
    let why = sentence(why.trim_end_matches('.'));
    let text = format!("Capstan cannot read what this pull request touches. {why}.\n");
    Answer::refused(Refusal::NotJudged, &text)
}

impl Facts {
    /// The proposal on whose branch the pull request of a request is, or that a tick is about.
    pub fn proposal_asked(&self, request: &Request) -> Option<ProposalId> {
        match &request.origin {
            RequestOrigin::Comment(_) | RequestOrigin::Button(_) => self.proposal_of(request.pull.as_ref()?),
            RequestOrigin::Page(_) => None,
            RequestOrigin::Tick { about, .. } => about.clone(),
        }
    }

    /// The proposals whose changes the pull request of a request brought, where that is a shared one and not open any
    /// more; none where nobody noted which.
    pub fn ended_shared(&self, request: &Request) -> Option<Vec<ProposalId>> {
        if matches!(request.origin, RequestOrigin::Tick { .. }) {
            return None;
        }
        let (id, pull) = (self.proposal_asked(request)?, request.pull.as_ref()?);
        let is_open = self.proposals.get(&id).is_some_and(|open| open.number == pull.number);
        (id.target.group().is_some() && !is_open).then(|| self.members_in(&id, pull))
    }

    /// The proposal on whose branch the pull request is that a request is about.
    pub fn carrier_of(&self, request: &Request) -> Option<ProposalId> {
        let proposal = self.proposal_asked(request)?;
        match &request.origin {
            RequestOrigin::Comment(_) | RequestOrigin::Button(_) | RequestOrigin::Page(_) => Some(proposal),
            RequestOrigin::Tick { .. } => Some(self.carrier(&proposal).cloned().unwrap_or(proposal)),
        }
    }

    /// The proposals that a command is about: that of the cluster which it names, else those whose changes the pull
    /// request brings.
    pub fn proposals_of(&self, scopes: &Scopes, request: &Request, command: &Command) -> Vec<ProposalId> {
        let id = self.proposal_asked(request);
        let members = match (&id, &request.pull, &request.origin) {
            (Some(id), _, RequestOrigin::Tick { .. }) => vec![id.clone()],
            (Some(id), Some(pull), _) => self.members_in(id, pull),
            _ => Vec::new(),
        };
        match command.cluster() {
            Some(cluster) => {
                let named = proposal_for(scopes, cluster);
                let shared = members.into_iter().find(|member| member.target == named.target);
                vec![shared.unwrap_or(named)]
            }
            None => members,
        }
    }

    /// The same of a command that decides something; what is decided about a pull request as a whole is noted of that.
    pub fn decided_by(&self, scopes: &Scopes, request: &Request, command: &Command) -> Vec<ProposalId> {
        if command.verb().concerns() == Concerns::PullRequest {
            return self.carrier_of(request).into_iter().collect();
        }
        self.proposals_of(scopes, request, command)
    }

    /// The proposals whose changes a pull request brings, where it is one of Capstan's and that is known.
    pub fn carried_by(&self, pull: &PullRequest) -> Vec<ProposalId> {
        let id = self.proposal_of(pull);
        id.as_ref().map(|id| self.members_in(id, pull)).unwrap_or_default()
    }

    /// The proposals of these clusters, which a pull request touches: of its own kind where it is one of Capstan's.
    pub fn proposals_touched(
        &self,
        pull: &PullRequest,
        clusters: &[ClusterId],
        scopes: &Scopes,
    ) -> Vec<ProposalId> {
        let id = self.proposal_of(pull);
        let of = |cluster: &ClusterId| match &id {
            Some(id) => ProposalId { target: proposal_for(scopes, cluster).target, kind: id.kind.clone() },
            None => proposal_for(scopes, cluster),
        };
        clusters.iter().map(of).collect()
    }

    /// What a request is about.
    pub fn about<'a>(&self, request: &'a Request) -> About<'a> {
        match (&request.origin, &request.pull) {
            (RequestOrigin::Page(_), _) => About::These(Vec::new()),
            (RequestOrigin::Tick { about, .. }, _) => {
                let is_whole = |command: &Command| command.verb().concerns() == Concerns::PullRequest;
                let shared = about.as_ref().and_then(|about| self.carrier(about));
                let shared = shared.filter(|_| request.commands.iter().flatten().any(is_whole));
                About::These(match shared {
                    // What is about all who share a pull request needs the right for each.
                    Some(id) => self.members_of(id),
                    None => about.iter().cloned().collect(),
                })
            }
            (RequestOrigin::Comment(_) | RequestOrigin::Button(_), Some(pull)) => About::Pull(pull),
            (RequestOrigin::Comment(_) | RequestOrigin::Button(_), None) => {
                let text = "This is an issue: comment on a pull request, or name the cluster.\n";
                About::Nothing(Answer::refused(Refusal::NothingThere, text))
            }
        }
    }
}
