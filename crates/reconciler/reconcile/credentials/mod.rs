//! Credentials of a cluster's own for its cloud: made there, written as Secrets beside its `Cluster`, renewed, and
//! taken away with it.
//!
//! *Expected flow* of one look at one cluster ([`pass`]): who asks and who opens ([`asked`]); the two Secrets are read
//! with the rights of the folder's account; where anything of them is due, or nobody looked for an hour, the maker's
//! credential is read and logged in with ([`clouds`]); then the core decides step by step
//! ([`capstan_reconciler_core::credentials`]), and each step is performed and everything looked at again ([`life`]).
//!
//! *Guarantees*, however often whoever performs the steps dies: the core's; and that nothing is made in the cloud of
//! which the API server has not said that its Secret may be written. A cloud that is away costs its clusters one bounded
//! wait, and the others nothing: for a while nobody asks it again. No byte of a credential stands in a log line, message
//! or status.
//!
//! *Caveat*: what works with a credential inside of the cluster is seen where a service of role ccm or csi is declared
//! ([`inside`]). Otherwise the credential that it had is kept until it ends, or until somebody says by an annotation which
//! one is worked with ([`capstan_reconciler_core::credentials::secret::IN_USE`]).
//!
//! | file | |
//! |---|---|
//! | `asked` | which cluster asks for credentials of which cloud |
//! | `consumers` | who works with it |
//! | `inside` | the credential of the controllers, inside of their cluster |
//! | `clouds` | logins, and clouds that are away |
//! | `life` | facts and effects of one credential |
//! | `pass` | a cluster's turn |

mod asked;
mod clouds;
mod consumers;
mod inside;
mod life;
mod pass;

pub(super) use asked::asked;
pub use clouds::CloudCredentials;
pub(super) use inside::{
    Brought, SECRET as SECRET_INSIDE, bring_credential, id_inside, see_credential, take_credential_out,
};
pub(super) use pass::{publish_credentials, remove_credentials, renew_remembered_credentials};
