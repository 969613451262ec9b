//! What a change asks of a cloud, and whether the cloud can give it: asked before the merge, while a wrong
//! name or a full quota costs a look and no machine.
//!
//! Owns the reading of what rendered objects of a cloud's providers ask for ([`asks_of`]), what is to be found out
//! for it ([`Questions`]), and the verdict over what was found out ([`judge`]). Does not know how a cloud is asked, and
//! sees no credential: an [`Identity`] only says which Secret holds one.
//!
//! | file | tells |
//! |---|---|
//! | `reader` | how the objects of a kind of cloud are read |
//! | `table` | the kinds of clouds whose objects are read: a row each |
//! | `openstack` | the row of OpenStack |
//! | `new_cluster` | a cluster that is not there yet |
//! | `words` | what people call things in one kind of cloud |
//! | `identity` | with whose credential a cloud is asked |
//! | `named` | an id, or what a filter says |
//! | `machine` | what one machine template asks for |
//! | `group` | how many machines an owner adds and replaces, beside those that there are |
//! | `brought` | what objects take that a folder brings |
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
//! | another machine type | new machines take the place of old ones; what counts is the moment at which the two together are most |
//! | an owner that goes | counts until it is gone |
//! | a managed topology | comes from a class and its variables, and is not judged |
//! | a version of the provider's kinds that is not known here | is reported, and nothing of it is read |

mod ask;
mod brought;
mod facts;
mod group;
mod identity;
mod machine;
mod named;
mod names;
mod new_cluster;
mod openstack;
mod quota;
mod reader;
mod reason;
mod shared;
mod table;
#[cfg(test)]
mod tests;
mod verdict;
mod words;

pub use ask::{CloudAsk, Questions, asks_of};
pub use facts::{
    CloudAnswer, CloudFacts, Image, MachineType, Network, PlacementGroup, Quota, Quotas, Resource, Unanswered,
};
pub use identity::{CloudKind, CredentialHolder, Identity};
pub use named::CloudSelector;
pub use quota::{Need, needs};
pub use reason::{CloudReason, Weight};
pub use shared::{OtherProposal, exceeded_together};
pub use table::{secret_of, worked_on};
pub use verdict::{judge, unjudged};
pub use words::Words;
