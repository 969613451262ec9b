//! Flux's post-build substitution, as far as the repository shows it ([U3]).
//!
//! A Flux `Kustomization` that applies a cluster's folder may give variables values after the build:
//! `spec.postBuild.substitute`, and `substituteFrom` ConfigMaps and Secrets
//! (<https://fluxcd.io/flux/components/kustomize/kustomizations/#post-build-variable-substitution>).
//! Later entries of `substituteFrom` win over earlier ones, `substitute` wins over them all, line feeds
//! are dropped from values, and objects labelled or annotated
//! `kustomize.toolkit.fluxcd.io/substitute: disabled` are passed over
//! (<https://github.com/fluxcd/pkg/blob/main/kustomize/kustomize_varsub.go>).
//!
//! Values of Secrets are never read: Capstan knows which variables they set, but not the values.
//!
//! Deliberately absent: values that are in no file of the repository, and substitution itself ([`crate::merge`]).
//!
//! [U3]: crate::substitution#u3

mod applied;
mod apply;
mod index;
mod post_build;
mod remote;
#[cfg(test)]
mod tests;

pub(crate) use applied::{AppliedExtent, reached};
pub(crate) use apply::{Apply, read_apply};
pub use index::FluxIndex;
pub use remote::FluxRemote;

pub use self::post_build::{Disagreement, PlacedVariable, PostBuild};
use capstan_yaml::Readable;

/// The label or annotation by which Flux passes over an object.
const SUBSTITUTE: &str = "kustomize.toolkit.fluxcd.io/substitute";

/// Whether Flux passes over an object when it substitutes.
pub(crate) fn passes_over<T: Readable>(object: &T) -> bool {
    let Some(metadata) = object.field("metadata") else { return false };
    ["labels", "annotations"].iter().any(|key| {
        let value = metadata.field(key).and_then(|map| map.field(SUBSTITUTE)).and_then(T::text);
        value == Some("disabled")
    })
}
