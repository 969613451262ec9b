//! Services inside a cluster: whose turn it is, the state of each, and what of the cloud is in its way.
//!
//! Owns every decision between what was read of a workload cluster and the reported state of its services. Facts come
//! in as values: objects in JSON, settings, times. *Guarantee*: the same facts and the same status before give the same
//! status after.
//!
//! | file | tells |
//! |---|---|
//! | `cause` | why a service is not ready, in words of a closed set |
//! | `state` | the state of a service, in one word |
//! | `conditions` | conditions of the present generation |
//! | `status` | the services in the status of a ManagedCluster, and what becomes of them |
//! | `network` | whether a network of pods would take the place of another one |
//! | `turn` | whether a service may begin, and whether it may change while machines roll |
//! | `health` | the health of one object, by what its controller says of its present generation |
//! | `pods` | what keeps the pods of a workload from running |
//! | `checks` | what `checks` of settings say |
//! | `roles` | what is true of a cluster once a service of a role is well |
//! | `order` | in which order objects of a service are applied, and taken away |
//! | `removal` | what of a service may go from a cluster |
//! | `outliving` | what a cluster leaves in its cloud when it is deleted |
//! | `cloud` | whether the cloud gives what the cluster asks of it |
//! | `warnings` | what Events warn of |
//!
//! Deliberately absent: requests, clocks, and rendering.

mod cause;
mod checks;
mod cloud;
mod conditions;
mod health;
mod network;
mod order;
mod outliving;
mod pods;
mod removal;
mod roles;
mod state;
mod status;
#[cfg(test)]
mod tests;
mod turn;
mod warnings;

pub use cause::{Problem, ServiceCause};
pub use checks::evaluate;
pub use cloud::{CloudState, cloud_state, infrastructure_of, is_initialized};
pub use health::{ObjectHealth, health};
pub use network::{networks_there, refused_network};
pub use order::{defines, is_later, stage};
pub use outliving::{
    CleanupState, CleanupStatus, OUTLIVING_KINDS, Outliving, has_claims_that_go, name_pods, outliving,
};
pub use pods::{failing_pod, has_pods, selector_of};
pub use removal::{RemovalBlocker, defined_kind, held, is_fleeting, is_namespace, is_of_its_own};
pub use roles::{RoleFacts, RoleNeeds, needs_of, unmet};
pub use state::ServiceState;
pub use status::{ServiceStatus, Summary, SummaryState, summary};
pub use turn::{MachineConvergence, gate, may_change};
pub use warnings::{Warning, last_warnings};
