//! The way from release to release, one Kubernetes minor at a time ([U14](self#u14)).
//!
//! ```text
//! Standing (where a cluster is) + EffectiveSettings + Catalogue + a day -> Offer
//! ```
//!
//! [`upgrade_path()`] makes all of these steps, one after the other.
//!
//! Owns which release comes next, what follows after it, and the sentence that says why nothing does.
//!
//! Deliberately absent: whether the rendered result really skips a minor or goes backwards: rules
//! judge that ([`crate::policy`]), because a cluster's own edits count there too.
//!
//! # U14
//!
//! What is offered, first that fits:
//!
//! | | |
//! |---|---|
//! | a hold in the overlay, track `none`, no known provider | nothing |
//! | the inventory asks for a release | as below, of its provider's releases up to that one; one that is older, or another provider's, is taken by name alone |
//! | track narrower than `any`, and the cluster's release is unknown | nothing |
//! | newer releases within the track | the newest, if it skips no minor of Kubernetes; else the newest within the next minor; without one there, the newest of all, as a draft with `kubernetes-minor-skip` |
//! | the cluster's own release with other content | that release, as a refresh |
//! | else | nothing, with the reason |
//!
//! | track | allows |
//! |---|---|
//! | `any` | any newer release |
//! | `minor` | the same major |
//! | `patch` | the same minor |
//!
//! A release of provider objects is offered to provider sets alone, and they are offered no other; minors of Kubernetes
//! say nothing of it.
//!
//! Archived, deprecated, work-in-progress, preview and pre-release versions are not offered, nor are releases that lack
//! what their provider's requests ask for. Asked for by name (`--to`), every release may be taken, also an older
//! one; what speaks against it is said. Releases compare as semver,
//! components loosely ([`capstan_model::version`]): what cannot be compared is unknown, no downgrade. Components
//! that go backwards are `component-downgrade`.

mod choose;
mod outcome;
mod standing;
#[cfg(test)]
mod tests;
mod unreadable;
mod upgrade_path;

pub use self::outcome::{
    Direction, Excludes, MinorSkip, NoSuchRelease, NotOffered, Offer, OfferedStep, PathOutcome,
};
pub use choose::offer;
pub use standing::{ProviderUnknown, TargetPosition};
pub use unreadable::{OwnContent, unreadable, unreadable_own};
pub use upgrade_path::{PathStep, UpgradePath, path_to_json, upgrade_path};
