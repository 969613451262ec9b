//! The key of a cluster that its owners alone can open: whom it is for, what comes next of it, and what stands in it.
//!
//! Owners hold a client certificate of the group `capstan:owners:<n>`, which one ClusterRoleBinding inside of the cluster
//! gives everything. Certificates cannot be taken back; so when somebody leaves, the binding names the group `n + 1`, at
//! once, and all who stay get a new file. Facts come in as values; the same facts give the same step.
//!
//! *Guarantees*, however often whoever performs the steps dies: once a step other than [`Step::Count`] was taken after
//! somebody left, the binding names no group of which they ever had a certificate; a file that serves is neither made anew
//! nor written.
//!
//! *Assumption*: one process at a time performs steps, and what was handed out is written down before anybody can fetch it.
//!
//! *Caveat*: Cluster API's own key ([`Form::Admin`]) is of `system:masters`. Whoever leaves keeps it until it ends.
//!
//! | file | owns |
//! |---|---|
//! | `step` | what comes next |
//! | `granted` | the objects inside of the cluster: binding, certificate request |
//! | `kubeconfig` | where the cluster is, and the kubeconfigs that say so |
//!
//! Deliberately absent: keys, certificates and encryption, which need randomness.

mod granted;
mod kubeconfig;
mod step;
#[cfg(test)]
mod tests;

pub use granted::{
    BINDING, Bound, FURTHEST, REQUEST_KIND, Request, Requested, USER, approval, binding, binding_id, bound,
    group, request, requested,
};
pub use kubeconfig::{AGE_FILE, Endpoint, LOGIN_FILE};
pub use step::{Facts, File, Form, Handed, Step, Wanted, next_step, renewal};
