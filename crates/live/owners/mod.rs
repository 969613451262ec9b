//! The key of a cluster that its owners alone can open: the objects and files that it consists of.
//!
//! Owners hold a client certificate of the group `capstan:owners:<n>`, which one ClusterRoleBinding inside of the cluster
//! gives everything. Certificates cannot be taken back; so when somebody leaves, the binding names the group `n + 1`.
//!
//! *Caveat*: Cluster API's own key ([`OwnersForm::Admin`]) is of `system:masters`. An owner who leaves keeps it until
//! it ends.
//!
//! | file | owns |
//! |---|---|
//! | `form` | what owners are given |
//! | `granted` | the objects inside of the cluster: binding, certificate request |
//! | `kubeconfig` | where the cluster is, and the kubeconfigs that say so |
//!
//! Deliberately absent: what comes next of a key (`crates/reconciler-core`); keys, certificates and encryption, which need
//! randomness.

mod form;
mod granted;
mod kubeconfig;
#[cfg(test)]
mod tests;

pub use form::OwnersForm;
pub use granted::{
    BINDING, BindingWord, CertificateRequest, FURTHEST, REQUEST_KIND, Requested, USER, approval, binding,
    binding_id, bound, group, request, requested,
};
pub use kubeconfig::{AGE_FILE, Endpoint, LOGIN_FILE};
