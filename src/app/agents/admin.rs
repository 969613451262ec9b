//! What people do with agents: `capstan agents invite`.

use capstan_live::agent::JoinCode;
use capstan_live::agent::limits::JOIN_CODE_SECONDS;
use capstan_plan::settings::ManagementClusterUid;
use jiff::{SignedDuration, Timestamp};
use rand::RngExt as _;

use crate::app::ports::{Clock, Enrolment, Invitation, RecordsError};

/// A join code, to be shown once.
#[derive(Debug)]
pub struct Invited {
    /// The code.
    pub code: JoinCode,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Makes a join code, good for one reconciler within the hour; where a management cluster is given, for
/// that one alone.
///
/// # Errors
/// The records do not take it.
pub async fn invite(
    records: &dyn Enrolment,
    clock: &dyn Clock,
    management_cluster: Option<ManagementClusterUid>,
) -> Result<Invited, RecordsError> {
    let code = JoinCode::from_random(rand::rng().random());
    let expires_at = clock.now() + SignedDuration::from_secs(JOIN_CODE_SECONDS);
    let invitation = Invitation { hash: code.hash(), management_cluster, expires_at };
    records.save_invitation(&invitation).await?;
    Ok(Invited { code, expires_at })
}
