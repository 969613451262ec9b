//! Which clusters a command is about, if GitHub and Git have to be asked.

use capstan_bot_core::facts::{Facts, Scopes};
use capstan_bot_core::requests::{About, Request, unreadable};
use capstan_plan::proposal::ProposalId;
use capstan_report::Answer;

use super::SyncError;
use super::inputs::ClusterInputs;
use capstan_ports::PullRequest;

/// Finds them.
#[derive(Clone, Copy)]
pub(super) struct RequestSubjects<'a> {
    pub(super) facts: &'a Facts,
    pub(super) inputs: ClusterInputs<'a>,
}

impl RequestSubjects<'_> {
    /// The proposals that a pull request carries; of a person's pull request, the proposals of the clusters
    /// that it upgrades. If its changes can never be read, the reason.
    pub(super) async fn of_pull(
        self,
        pull: &PullRequest,
        scopes: &Scopes,
    ) -> Result<Result<Vec<ProposalId>, Answer>, SyncError> {
        let members = self.facts.carried_by(pull);
        if !members.is_empty() {
            return Ok(Ok(members));
        }
        match self.inputs.touched_by_head(pull, scopes).await {
            Ok(clusters) => Ok(Ok(self.facts.proposals_touched(pull, &clusters, scopes))),
            Err(error) if error.is_lasting() => {
                tracing::warn!(repository = %self.facts.repository.name, pull_request = pull.number, error = %error, "what a pull request touches cannot be read");
                Ok(Err(unreadable(&error.to_string())))
            }
            Err(error) => Err(error),
        }
    }

    /// The proposals that the pull request of a request is about.
    pub(super) async fn of_request(
        self,
        request: &Request,
        scopes: &Scopes,
    ) -> Result<Result<Vec<ProposalId>, Answer>, SyncError> {
        match self.facts.about(request) {
            About::These(proposals) => Ok(Ok(proposals)),
            About::Pull(pull) => self.of_pull(pull, scopes).await,
            About::Nothing(why) => Ok(Err(why)),
        }
    }
}
