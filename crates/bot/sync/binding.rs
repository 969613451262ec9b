//! What binds a request: the rights of its author, and what the author had seen.

use capstan_bot_core::commands::hearing::{BindAnswers, BindFacts, BindNeed, MergeResult, bind};
use capstan_bot_core::facts::{Facts, Scopes};
use capstan_bot_core::proposals::DecisionStep;
use capstan_bot_core::requests::Request;
use capstan_plan::settings::CommandSettings;

use super::SyncError;
use super::checks::{Comparisons, TestMerges};
use super::ending::Ending;
use super::heads::Heads;
use super::request_subjects::RequestSubjects;
use super::rights::RepositoryRights;
use capstan_ports::{Clock, CodeHost};

/// Binds requests.
#[derive(Clone, Copy)]
pub(super) struct RequestBinder<'a> {
    pub(super) host: &'a dyn CodeHost,
    pub(super) clock: &'a dyn Clock,
    pub(super) facts: &'a Facts,
    pub(super) heads: Heads<'a>,
    pub(super) merges: TestMerges<'a>,
    pub(super) subjects: RequestSubjects<'a>,
}

impl RequestBinder<'_> {
    /// Checks commands against the rights of their authors, and those that overwrite branches against what
    /// their authors had seen. If GitHub does not report that yet, they are left for the next run.
    pub(super) async fn bind_all(
        self,
        requests: Vec<Request>,
        settings: &CommandSettings,
        scopes: &Scopes,
        (ending, seen): (&mut Ending, &mut Comparisons),
    ) -> Result<Vec<Request>, SyncError> {
        let mut rights = RepositoryRights::of(self.host, self.subjects, settings);
        let mut bound = Vec::new();
        for request in requests {
            let id = request.id();
            match self.bind(request, &mut rights, scopes, seen).await {
                Ok(Some(request)) => bound.push(*request),
                Ok(None) => ending.look_again(),
                // A problem with one request does not affect the others.
                Err(error) if error.is_of_one() => {
                    tracing::warn!(repository = %self.facts.repository.name, request = %id, error = %error, "commands are not executed");
                    ending.fail(error);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(bound)
    }

    async fn bind(
        self,
        mut request: Request,
        rights: &mut RepositoryRights<'_>,
        scopes: &Scopes,
        seen: &mut Comparisons,
    ) -> Result<Option<Box<Request>>, SyncError> {
        rights.judge(&mut request, scopes).await?;
        let own = self.host.bot_login().await?;
        let of = BindFacts { facts: self.facts, scopes, own: &own, now: self.clock.now() };
        let mut known = BindAnswers::default();
        loop {
            match bind(of, &request, &known) {
                DecisionStep::Decided(bound) => return Ok(bound),
                DecisionStep::Ask(BindNeed::Pushes(branch)) => {
                    let pushes = self.heads.pushes(&branch).await?;
                    known.pushes.insert(branch, pushes);
                }
                DecisionStep::Ask(BindNeed::Result(pull)) => {
                    let result = self.merges.result_of(pull, seen).await?;
                    known.result = Some(result.map_or(MergeResult::NotYet, MergeResult::Is));
                }
                // If it cannot be read nothing is written; the answer says so.
                DecisionStep::Ask(BindNeed::Concerned) => {
                    let concerned = self.subjects.of_request(&request, scopes).await?;
                    known.concerned = Some(concerned.unwrap_or_default());
                }
            }
        }
    }
}
