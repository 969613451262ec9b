//! What a change asks of an OpenStack cloud, and whether the cloud can give it: asked before the merge, while a wrong
//! name or a full quota costs a look and no machine.
//!
//! Owns the reading of what rendered objects of the OpenStack provider ask for ([`asks_of`]), what is to be found out
//! for it ([`Questions`]), and the verdict over what was found out ([`judge`]). Does not know how a cloud is asked, and
//! sees no credential: an [`Identity`] only says which Secret holds one.
//!
//! | file | tells |
//! |---|---|
//! | `identity` | with whose credential a cloud is asked |
//! | `named` | an id, or what a filter says |
//! | `version` | which versions of the provider's kinds are read |
//! | `machine` | what one machine template asks for |
//! | `group` | how many machines an owner adds and replaces, beside those that there are |
//! | `brought` | what objects of the OpenStack resource controller take, that a folder brings |
//! | `ask` | everything that one folder asks of one cloud |
//! | `facts` | what a cloud says |
//! | `names` | whether what is named is there, and fits |
//! | `quota` | whether what is needed besides is free |
//! | `shared` | whether two proposals have room together |
//! | `reason` | what is said of what cannot be, or is not known |
//! | `verdict` | all of that together |
//!
//! # What is asked for
//!
//! | | |
//! |---|---|
//! | compared | what is rendered with the machines that there are; a group that adds and replaces none asks for nothing |
//! | a rollout | asks for its surge besides. Workers wait for the control plane, so their surges are not added to its own |
//! | another flavor | new machines take the place of old ones; what counts is the moment at which the two together are most |
//! | an owner that goes | counts until it is gone |
//! | a managed topology | comes from a class and its variables, and is not judged |
//! | a version of the provider's kinds that is not known here | is told, and nothing of it is read |

mod ask;
mod brought;
mod facts;
mod group;
mod identity;
mod machine;
mod named;
mod names;
mod quota;
mod reason;
mod shared;
#[cfg(test)]
mod tests;
mod verdict;
mod version;

pub use ask::{CloudAsk, Questions, asks_of};
pub use facts::{
    Answer, CloudFacts, Flavor, Image, Network, Quota, Quotas, Resource, ServerGroup, Unanswered,
};
pub use identity::{Identity, IdentityKind};
pub use named::Named;
pub use quota::{Need, needs};
pub use reason::{CloudReason, Weight};
pub use shared::{Elsewhere, exceeded_together};
pub use verdict::{judge, unjudged};
