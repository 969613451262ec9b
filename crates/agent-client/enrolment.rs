//! Becoming an agent, once.

use std::path::Path;
use std::sync::PoisonError;

use capstan_live::agent::wire::{EnrolAnswer, EnrolRequest};
use capstan_live::agent::{AgentId, JoinCode, PublicKey};
use capstan_outbound as outbound;
use http::StatusCode;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};

use super::http::{BotAnswer, BotCall};
use super::key::SigningKey;
use super::{AgentClient, AgentError, files};

/// The file in the agent's folder.
const FILE: &str = "enrolment.json";

/// What the bot said when it took the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Enrolment {
    pub(super) agent: AgentId,
    pub(super) bot_public_key: PublicKey,
    pub(super) audience: String,
    /// The key that it enrolled with.
    pub(super) public_key: PublicKey,
    /// Hash of the code that it enrolled with: a new code is worth a new try.
    pub(super) join_code_hash: String,
}

impl Enrolment {
    /// The enrolment of the folder; none where the key is another one now.
    pub(super) fn kept(folder: &Path, key: &SigningKey) -> Result<Option<Self>, AgentError> {
        let Some(bytes) = files::read(&folder.join(FILE))? else { return Ok(None) };
        let kept: Option<Self> = serde_json::from_slice(&bytes).ok();
        Ok(kept.filter(|kept| kept.public_key == *key.public()))
    }
}

impl AgentClient {
    /// The enrolment, made where there is none.
    pub(super) async fn enrolled(&self) -> Result<Enrolment, AgentError> {
        let mut enrolment = self.enrolment.lock().await;
        if let Some(known) = enrolment.as_ref() {
            return Ok(known.clone());
        }
        let made = self.enrol().await?;
        *enrolment = Some(made.clone());
        Ok(made)
    }

    /// Enrols again where the bot no longer knows this agent and there is a code that was not used for it.
    async fn enrol_again(&self, refused: &Enrolment) -> Result<Option<Enrolment>, AgentError> {
        let mut enrolment = self.enrolment.lock().await;
        if let Some(known) = enrolment.as_ref().filter(|known| *known != refused) {
            return Ok(Some(known.clone()));
        }
        let code = self.join_code.as_ref().and_then(parsed);
        if code.is_none_or(|code| code.hash() == refused.join_code_hash) {
            return Ok(None);
        }
        let made = self.enrol().await?;
        *enrolment = Some(made.clone());
        Ok(Some(made))
    }

    async fn enrol(&self) -> Result<Enrolment, AgentError> {
        let Some(given) = &self.join_code else {
            return Err(AgentError::Settings(format!(
                "this reconciler has not enrolled with the bot yet: make a join code with `capstan agents invite \
                 --management-cluster {}` where the bot runs, and put it into the Secret that the Fleet names, under \
                 `joinCode`",
                self.management_cluster.uid
            )));
        };
        let code = parsed(given).ok_or_else(|| {
            AgentError::Settings(
                "`joinCode` in the Secret that the Fleet names is not a join code: `capstan agents invite` prints one"
                    .to_owned(),
            )
        })?;
        let request = EnrolRequest {
            join_code: code.expose().to_owned(),
            management_cluster: self.management_cluster.clone(),
            public_key: self.key.public().clone(),
        };
        let call = self.http.post("enrol", &request, "enrolling")?;
        let answer = match self.http.send(&call, None).await? {
            BotAnswer::Given(response) => self.http.json::<EnrolAnswer>(&response)?,
            BotAnswer::Unauthorised(why) => {
                return Err(AgentError::Refused {
                    url: self.url().to_string(),
                    doing: "enrolling",
                    status: StatusCode::UNAUTHORIZED,
                    reason: format!(
                        "{why} The join code is used, expired, or not for the management cluster {uid}, or this one already has a reconciler: make another one with `capstan agents invite --management-cluster {uid}` where the bot runs",
                        uid = self.management_cluster.uid
                    ),
                });
            }
        };
        let enrolment = Enrolment {
            agent: answer.agent,
            bot_public_key: answer.bot_public_key,
            audience: answer.audience,
            public_key: self.key.public().clone(),
            join_code_hash: code.hash(),
        };
        let path = self.folder.join(FILE);
        let text = serde_json::to_vec_pretty(&enrolment).map_err(|error| AgentError::Disk {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        // Should this fail, the same code and the same key give the same agent once more.
        files::write(&path, &text)?;
        tracing::info!(agent = %enrolment.agent, bot = %self.url(), "enrolled");
        *self.unreported.lock().unwrap_or_else(PoisonError::into_inner) = Some(enrolment.clone());
        // A bot that takes somebody new may have heard nothing yet.
        self.outbox.lock().unwrap_or_else(PoisonError::into_inner).forget_said(None);
        self.published.lock().unwrap_or_else(PoisonError::into_inner).forget();
        Ok(enrolment)
    }

    /// The enrolment that was made since this was asked last.
    pub(super) fn take_unreported(&self) -> Option<Enrolment> {
        self.unreported.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Sends a call with a token of its own, and repeats it after a new enrolment.
    pub(super) async fn authorised(&self, call: BotCall) -> Result<outbound::HttpAnswer, AgentError> {
        let enrolment = self.enrolled().await?;
        let why = match self.http.send(&call, Some(self.token(&enrolment)?)).await? {
            BotAnswer::Given(response) => return Ok(response),
            BotAnswer::Unauthorised(why) => why,
        };
        if let Some(anew) = self.enrol_again(&enrolment).await?
            && let BotAnswer::Given(response) = self.http.send(&call, Some(self.token(&anew)?)).await?
        {
            return Ok(response);
        }
        Err(AgentError::Refused {
            url: self.url().to_string(),
            doing: call.doing(),
            status: StatusCode::UNAUTHORIZED,
            reason: format!(
                "{why} Agent {} is revoked or unknown there, or this machine's clock is wrong; a new join code in \
                 the Secret lets it enrol again",
                enrolment.agent
            ),
        })
    }

    fn token(&self, enrolment: &Enrolment) -> Result<SecretString, AgentError> {
        self.key.token(&enrolment.agent, &enrolment.audience, jiff::Timestamp::now())
    }
}

fn parsed(given: &SecretString) -> Option<JoinCode> {
    JoinCode::parse(given.expose_secret()).ok()
}
