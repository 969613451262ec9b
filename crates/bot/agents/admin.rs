//! What people do with agents: `capstan agents invite`.

use capstan_live::agent::limits::JOIN_CODE_SECONDS;
use capstan_live::agent::{AgentId, JoinCode};
use capstan_plan::settings::ManagementClusterUid;
use jiff::{SignedDuration, Timestamp};
use rand::RngExt as _;

use capstan_ports::{Agent, Clock, Enrolment, Invitation, RecordsError};

/// A join code, to be shown once.
#[derive(Debug)]
pub struct Invited {
    /// The code.
    pub code: JoinCode,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Whom a join code is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invitee {
    /// Its management cluster.
    pub management_cluster: ManagementClusterUid,
    /// Its name, without which it is the only one of its management cluster.
    pub name: Option<String>,
    /// Who asks for the code.
    pub invited_by: String,
}

/// Why there is no join code.
#[derive(Debug, thiserror::Error)]
pub enum NotInvited {
    /// Another agent is there.
    #[error(
        "the management cluster {management_cluster} already has an agent, {} ({}). To replace it, first run `capstan agents revoke {}`. To add a second one, name it with --name",
        agent.id, agent.name, agent.id
    )]
    NotAlone {
        /// Whose it is.
        management_cluster: ManagementClusterUid,
        /// The one that is there.
        agent: Box<Agent>,
    },
    /// Another agent is called so.
    #[error("the agent {0} already has this name: choose another --name, or revoke that agent first")]
    NameTaken(AgentId),
    /// The records.
    #[error(transparent)]
    Records(#[from] RecordsError),
}

/// Makes a join code, good for one reconciler of one management cluster within the hour.
///
/// # Errors
/// The management cluster has an agent and no name was said, or the records do not take it.
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
