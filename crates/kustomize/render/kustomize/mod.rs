//! Kustomize's meaning of a folder: what `kubectl kustomize` prints for it.
//!
//! Owns every field of a kustomization that Capstan renders, in kustomize's own order: resources,
//! generators, components, transformers; and at the very end, for the whole tree at once, the hashes in
//! generated names, the references that follow renamed objects, variables, and the order of the output. Where
//! kustomize's behaviour surprises, it is imitated: people apply what `kubectl` prints. A differential test
//! holds this room against the real thing (`crates/plan/tests/suite/kustomize`).
//!
//! Deliberately absent: Helm charts, validators, plugins that are programs. They are refused by name. Remote bases are read only where the repository vendors them (see [`remote`]).

mod accumulate;
mod accumulated;
mod annotations;
mod builder;
mod config;
mod defaults;
mod field_path;
mod fields;
mod file;
mod finish;
mod generate;
mod hash;
mod id;
mod images;
mod include;
mod labels;
mod names;
mod namespace;
mod order;
mod origin;
mod patches;
mod plugins;
mod references;
mod remote;
mod replacements;
mod replicas;
mod sources;
mod structured;
mod transformer;
mod vars;

pub(super) use accumulate::Built;
pub(super) use accumulated::Accumulated;
pub(super) use builder::Builder;
pub(super) use id::{Gvk, Id};
pub(super) use include::Inclusion;
