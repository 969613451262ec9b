//! All that runs on a management cluster, or is held against a real one: the reconciler, the Kubernetes adapter, what is
//! deployed, clouds, providers, conversions, and the whole loop.

mod conversions;
mod deploy;
mod installing;
mod k8s;
mod live;
mod openstack;
mod operator;
mod planes;
mod running;
