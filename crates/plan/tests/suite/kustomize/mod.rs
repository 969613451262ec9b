//! `capstan render` against the real `kubectl kustomize`: equal objects in the same order, or a refusal.
//!
//! `tests/prepare` builds kubectl, and a driver that renders many folders in one process by the very code
//! that kubectl runs (`tests/kubectl`). Where they are missing these tests say aloud that they skip.
//!
//! `CAPSTAN_KUSTOMIZE_TREES` says how many trees are generated, `CAPSTAN_SEED` from which seed, and
//! `CAPSTAN_KUBECTL_ALL` has the real kubectl render every tree besides the driver.

mod corpus;
mod generated;
mod generator;
mod kubectl;
mod objects;
mod verdict;
mod write;
