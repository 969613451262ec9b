//! Authentication of agents.

use capstan_live::agent::wire::{EnrolAnswer, EnrolRequest};
use capstan_live::agent::{AgentId, Claims, JoinCode, judge_claims};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use ulid::Ulid;

use super::{Agents, Denied};
use capstan_ports::{Agent, Enrolled, TokenUse};

/// Tokens of one agent that are remembered: two minutes at its maximum rate.
const REMEMBERED_TOKENS: u32 = 4_000;
/// Bytes of a token at most.
const TOKEN_BYTES: usize = 2_048;

impl Agents {
    /// Enrols an agent with a join code.
    ///
    /// # Errors
    /// The code is not valid for this, or the records fail.
    pub async fn enrol(&self, request: &EnrolRequest) -> Result<EnrolAnswer, Denied> {
        // An agent with a valid code never counts as one that guesses.
        let refused = |why: &str| match self.limiter.wrong_code() {
            Ok(()) => Denied::Unauthorised(format!("enrolment refused: {why}")),
            Err(_) => Denied::TooMuch(format!("too many refused enrolments: {why}")),
        };
        let code = JoinCode::parse(&request.join_code).map_err(|error| refused(&error.to_string()))?;
        if !self.records().is_invited(&code.hash()).await? {
            return Err(refused("the join code is unknown or has expired"));
        }
        let id =
            AgentId::parse(&Ulid::generate().to_string()).map_err(|error| refused(&error.to_string()))?;
        let name: String = request.management_cluster.name.as_str().chars().take(100).collect();
        let agent = Agent {
            id: id.clone(),
            management_cluster: request.management_cluster.uid.clone(),
            name,
            public_key: request.public_key.clone(),
            invited_by: String::new(),
            enrolled_at: self.clock.now(),
            seen_at: None,
            revoked_at: None,
        };
        match self.records().enrol(&code.hash(), &agent).await? {
            Enrolled::Yes => {
                tracing::info!(
                    agent = %id,
                    management_cluster = %agent.management_cluster,
                    name = agent.name,
                    key = agent.public_key.fingerprint(),
                    "a reconciler enrolled"
                );
                // Preflights that waited for a reconciler are judged again.
                for watched in self.records().watched_repositories().await? {
                    if watched.managed_by.knows(&agent.management_cluster) {
                        self.look_at(watched.repository.id).await?;
                    }
                }
                Ok(self.welcome(id))
            }
            Enrolled::Before(id) => Ok(self.welcome(id)),
            Enrolled::CodeRefused => {
                Err(refused("the join code is unknown, used, expired, or for another management cluster"))
            }
            Enrolled::NotAlone => Err(refused(
                "the management cluster already has an agent, and the join code is not for a second one: revoke that agent, or make a code with --name",
            )),
        }
    }

    fn welcome(&self, agent: AgentId) -> EnrolAnswer {
        EnrolAnswer {
            agent,
            bot_public_key: self.key.public().clone(),
            audience: self.key.audience().to_owned(),
        }
    }

    /// The agent of a token; a token is accepted once.
    ///
    /// # Errors
    /// The token is not valid, the agent exceeds its limits, or the records fail.
    pub async fn authenticate(&self, token: &str) -> Result<Agent, Denied> {
        let refused = |why: &dyn std::fmt::Display| Denied::Unauthorised(format!("token refused: {why}"));
        if token.len() > TOKEN_BYTES {
            return Err(refused(&"it is too long"));
        }
        let header = decode_header(token).map_err(|error| refused(&error))?;
        let id = header.kid.as_deref().and_then(|kid| AgentId::parse(kid).ok());
        let id = id.ok_or_else(|| refused(&"its `kid` names no agent"))?;
        let agent = self.records().agent(&id).await?.ok_or_else(|| refused(&"the agent is unknown"))?;
        if agent.revoked_at.is_some() {
            return Err(refused(&format_args!("agent {id} is revoked")));
        }
        // Only the signature: our own rules judge the claims.
        let mut validation = Validation::new(Algorithm::EdDSA);
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        validation.validate_aud = false;
        let key = DecodingKey::from_ed_der(agent.public_key.as_bytes());
        let claims = decode::<Claims>(token, &key, &validation).map_err(|error| refused(&error))?.claims;
        judge_claims(&claims, &id, self.key.audience(), self.clock.now()).map_err(|error| refused(&error))?;
        // Counted after the check, so that others cannot use an agent's share up.
        if self.limiter.request(&id).is_err() {
            return Err(Denied::TooMuch(format!("agent {id} sends too many requests")));
        }
        let until = claims.remembered_until();
        match self.records().use_token(&id, &claims.jti, until, REMEMBERED_TOKENS).await? {
            TokenUse::First => {}
            TokenUse::Replayed => return Err(refused(&format_args!("agent {id} has already used it"))),
            TokenUse::TooMany => {
                return Err(Denied::TooMuch(format!("agent {id} has too many tokens that have not expired")));
            }
        }
        self.records().saw_agent(&id).await?;
        Ok(agent)
    }

    /// Whether an agent that was authenticated earlier still is enrolled.
    pub(super) async fn still_trusts(&self, agent: &Agent) -> Result<(), Denied> {
        match self.records().agent(&agent.id).await? {
            Some(now) if now.revoked_at.is_none() => Ok(()),
            _ => Err(revoked(agent)),
        }
    }
}

/// The refusal of an agent that was revoked during its request.
pub(super) fn revoked(agent: &Agent) -> Denied {
    Denied::Unauthorised(format!("agent {} was revoked meanwhile", agent.id))
}
