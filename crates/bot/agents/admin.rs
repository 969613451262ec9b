//! Administration of agents: `capstan agents invite`.

use capstan_live::agent::limits::JOIN_CODE_SECONDS;
use capstan_live::agent::{AgentId, JoinCode};
use capstan_plan::settings::ManagementClusterUid;
use jiff::{SignedDuration, Timestamp};
use rand::RngExt as _;

use capstan_ports::{Agent, Clock, Enrolment, Invitation, RecordsError};

/// A join code, to be shown once.
#[derive(Debug)]
pub struct Invited {
    pub code: JoinCode,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// The agent that a join code is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitee {
    pub management_cluster: ManagementClusterUid,
    /// Its name; without one it is the only agent of its management cluster.
    pub name: Option<String>,
    /// Who asks for the code.
    pub invited_by: String,
}

/// Why there is no join code.
#[derive(Debug, thiserror::Error)]
pub enum NotInvited {
    /// The management cluster has an agent already.
    #[error(
        "the management cluster {management_cluster} already has an agent, {} ({}). To replace it, first run `capstan agents revoke {}`. To add a second one, name it with --name",
        agent.id, agent.name, agent.id
    )]
    NotAlone {
        management_cluster: ManagementClusterUid,
        /// The existing agent.
        agent: Box<Agent>,
    },
    /// Another agent has this name.
    #[error("the agent {0} already has this name: choose another --name, or revoke that agent first")]
    NameTaken(AgentId),
    #[error(transparent)]
    Records(#[from] RecordsError),
}

/// Makes a join code, valid for one reconciler of one management cluster for an hour.
///
/// # Errors
/// The management cluster has an agent and no name was given, or the records fail.
pub async fn invite(
    records: &dyn Enrolment,
    clock: &dyn Clock,
    invitee: Invitee,
) -> Result<Invited, NotInvited> {
    let Invitee { management_cluster, name, invited_by } = invitee;
    let mut known = records.agents().await?;
    known.retain(|agent| {
        agent.revoked_at.is_none() && agent.management_cluster.is(management_cluster.as_str())
    });
    for agent in known {
        match &name {
            None => return Err(NotInvited::NotAlone { management_cluster, agent: Box::new(agent) }),
            Some(name) if *name == agent.name => return Err(NotInvited::NameTaken(agent.id)),
            Some(_) => {}
        }
    }
    let code = JoinCode::from_random(rand::rng().random());
    let expires_at = clock.now() + SignedDuration::from_secs(JOIN_CODE_SECONDS);
    let hash = code.hash();
    let invitation = Invitation { hash, management_cluster, agent: name, invited_by, expires_at };
    records.save_invitation(&invitation).await?;
    Ok(Invited { code, expires_at })
}
