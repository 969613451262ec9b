//! A release: version, state, components, and the files of its objects and fragments.
//!
//! Two shapes give the same [`Release`]: a folder with `base/` (and `overlay/`), and one with a Giant
//! Swarm `release.yaml`. [`Catalogue`] holds those of a repository and finds them by what people
//! write. [`Requests`] is what a provider's `requests.yaml` asks of them.
//!
//! Deliberately absent: the merge of a release's objects ([`crate::merge`]), and which release a
//! cluster is offered ([`crate::path`]).

mod catalogue;
mod content;
mod giant_swarm;
mod kubernetes;
mod notes;
mod parts;
mod range;
mod read;
mod rendered;
mod requests;
mod step;
#[cfg(test)]
mod tests;
mod watched;

pub use self::parts::{App, Release, ReleaseComponent, ReleaseService, ReleaseState, Unmet};
pub use catalogue::{Catalogue, nearest_release};
pub use content::{ReleaseContent, Standalone};
pub(crate) use kubernetes::{
    class_versions, holds_providers, infrastructure_kinds, kubernetes_version, place_of_version,
};
pub(crate) use notes::changelogs;
pub use range::{NoRange, VersionRange};
pub use read::ReleaseError;
pub use rendered::Rendering;
pub(crate) use rendered::only_lists;
pub use requests::Requests;
pub use step::{Downgrade, downgrades, goes_back_in_time};
pub(crate) use watched::Watched;
