//! One lease is ended.

use capstan_live::secrets::ResolvedReason;

use capstan_ports::VaultError;

use super::asking::Asking;
use super::logins::LoginGroup;
use super::store::Store;
use capstan_ports::Vault as _;

/// Ends a lease: alone where the policy allows that, else together with its login. Whether it is gone now.
pub(super) async fn end(
    asking: Asking<'_>,
    group: &mut LoginGroup,
    store: &Store,
    (login, id): (&str, &str),
) -> Result<bool, VaultError> {
    let Some(token) = group.token_of(asking, store, login).await? else {
        // Nobody has its login any more: it ends with that.
        return Ok(true);
    };
    asking.ports.check_leading("revoking a lease").await?;
    match store.vault.revoke(&token, id).await {
        Ok(()) => Ok(true),
        Err(error) if error.why == ResolvedReason::Denied => {
            group.retire(asking, store, login).await?;
            Ok(!store.makes_logins())
        }
        Err(error) => Err(error),
    }
}
