//! Installing providers on a management cluster (`docs/providers.md`): the job of the Cluster API operator, where Capstan
//! has it.
//!
//! Owns the decisions about provider objects of `operator.cluster.x-k8s.io`, from facts that the caller gathered.
//! Deliberately absent: requests, clocks, and what components render to ([`capstan_providers`]).
//!
//! | file | tells |
//! |---|---|
//! | `ownership` | who installs: Capstan, or an operator that lives; which Leases Capstan holds meanwhile |
//! | `checks` | what preflight says of one provider among all others, before anything is rendered |
//! | `workloads` | the health of a Deployment, DaemonSet or StatefulSet |
//! | `conditions` | the status of a provider object, in the operator's words |
//! | `deletion` | what must be gone before a provider goes, or a definition |
//! | `pass` | what is done next, over all providers |
//! | `verdict` | what has become of a set that was applied from Git, by Capstan or an operator |

mod checks;
mod conditions;
mod deletion;
mod ownership;
pub mod pass;
mod verdict;
mod workloads;

pub use checks::{ADOPT, CheckedProvider, FailedCheck, check};
pub use conditions::{
    INSTALLED, InstallFailure, Installed, PREFLIGHT, ProviderCondition, ProviderCourse, READY, UPGRADED,
    status, with_wait,
};
pub use deletion::{
    Blocked, DEFINITION, DELETION_BLOCKED, Deletion, DeletionFacts, InUse, definition_may_go, deletion,
    with_deletion,
};
pub use ownership::{
    HOLDER, InstallOwner, LEASE, LiveOperator, OPERATOR_LABELS, OWNED_ELSEWHERE, OwnerFacts, Sightings, owner,
};
pub use verdict::{PROVIDER_LABEL, SetFacts, is_provider, judge_set};
pub use workloads::{APPS, DEPLOYMENT, LEASE_KIND, ProviderWorkload, WORKLOADS, WorkloadHealth, workload};
