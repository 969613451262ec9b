//! Provider objects of the Cluster API operator (`operator.cluster.x-k8s.io`), and what their components render to.
//!
//! Rendering is the operator's (v0.28.0, with clusterctl's library 1.12.10), object for object and in its order
//! ([`rendering`]); where it differs on purpose stands in one table, in `docs/providers.md`.
//!
//! Deliberately absent: the network (what is fetched comes in as files), the management cluster, and judging.
//!
//! A room may import the rooms of this package that its line names; `tests/suite/house.rs` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`refusal`] | why a provider is not rendered, and where that is written | nothing |
//! | [`kind`] | the seven kinds: their words, labels, files and built-in names | nothing |
//! | [`duration`] | durations as Go writes them | nothing |
//! | [`gzip`] | unpacking, up to a bound | nothing |
//! | [`fields`] | reading fields of an object: what is there, what is unknown, what is of the wrong type | `duration`, `refusal` |
//! | [`selector`] | label selectors with labels and expressions | `fields`, `refusal` |
//! | [`spec`] | provider objects, v1alpha1 and v1alpha2 | `duration`, `fields`, `kind`, `refusal`, `selector` |
//! | [`variables`] | `${EXPRESSIONS}` in a text, and which bytes of the result are a value's | `refusal` |
//! | [`objects`] | the objects of a text | `refusal`, `variables` |
//! | [`images`] | names of images and their overrides | `refusal` |
//! | [`placing`] | namespace, labels, order, owner | `refusal` |
//! | [`deployment`] | what `deployment`, `manager` and `additionalDeployments` do to a Deployment | `duration`, `objects`, `refusal`, `spec` |
//! | [`patches`] | what `patches` and `manifestPatches` do to objects | `objects`, `refusal`, `spec` |
//! | [`known`] | the providers whose releases clusterctl knows | `kind` |
//! | [`origin`] | where a provider's components are published | `known`, `refusal`, `spec` |
//! | [`published`] | components of one version as they were published | `gzip`, `refusal` |
//! | [`set`] | the objects below a path: providers, ConfigMaps, Secrets; and what was fetched for them | `kind`, `known`, `published`, `refusal`, `spec`, `variables` |
//! | [`source`] | where a provider's components and metadata are at hand | `gzip`, `origin`, `published`, `refusal`, `selector`, `set`, `spec` |
//! | [`rendering`] | all of it, in the operator's order | `deployment`, `images`, `objects`, `patches`, `placing`, `refusal`, `set`, `source`, `spec`, `variables` |
//! | [`installation`] | what installing a set takes in RBAC, and what its managers may do | `kind`, `rendering`, `spec` |

mod deployment;
mod duration;
mod fields;
mod gzip;
mod images;
mod installation;
mod kind;
mod known;
mod objects;
mod origin;
mod patches;
mod placing;
mod published;
mod refusal;
mod rendering;
mod selector;
mod set;
mod source;
mod spec;
mod variables;

pub use images::Overrides;
pub use installation::{Installation, installation};
pub use kind::ProviderKind;
pub use origin::{GitHubRelease, GitLabPackage, OciArtifact, Origin, Scheme};
pub use published::{COMPONENTS_BYTES, METADATA_BYTES, Published};
pub use refusal::Refusal;
pub use rendering::{Inputs, Rendered, render};
pub use set::ProviderSet;
pub use source::{at_hand, check_metadata};
pub use spec::Provider;
pub use variables::Values;
