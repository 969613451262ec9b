//! Credentials of a cluster's own for its cloud: made there, written as Secrets beside its `Cluster`, renewed, and
//! taken away with it.
//!
//! *Expected flow* of one look at one cluster ([`pass`]): who asks and who opens ([`asked`]). The two Secrets are read
//! with the rights of the folder's account. Where anything of them is due, or nobody looked for an hour, the maker's
//! credential is read and logged in with ([`clouds`]). Then the core decides step by step
//! ([`capstan_reconciler_core::credentials`]); each step is performed, and everything is read again ([`life`]).
//!
//! *Guarantees*, however often the process dies between steps: the core's; and that nothing is made in the cloud before
//! the API server has said that its Secret may be written. A cloud that is away costs its clusters one bounded wait,
//! and the others nothing: for a while it is not asked again. No log line, message or status contains a byte of a
//! credential.
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
    CredentialDelivery, SECRET as SECRET_INSIDE, bring_credential, id_inside, see_credential,
    take_credential_out,
};
pub(super) use pass::{publish_credentials, remove_credentials, renew_remembered_credentials};
