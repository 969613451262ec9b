//! Provider objects of the Cluster API operator (`operator.cluster.x-k8s.io`), and what their components render to.
//!
//! Rendering is the operator's (v0.28.0, with clusterctl's library 1.12.10), object for object and in its
//! order ([`rendering`]); the intended differences are in one table, in `docs/providers.md`.
//!
//! Two states of a set are compared, and the later one judged ([`rules`]); what that comes to is the shape of `providers` in
//! `plan -o json` ([`comparison`]).
//!
//! Deliberately absent: the network (what is fetched comes in as files) and the management cluster (what it holds comes in
//! as facts).
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
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
//! | [`pods`] | the containers of an object's pods | nothing |
//! | [`images`] | names of images and their overrides | `pods`, `refusal` |
//! | [`placing`] | namespace, labels, order, owner | `refusal` |
//! | [`deployment`] | what `deployment`, `manager` and `additionalDeployments` do to a Deployment | `duration`, `objects`, `refusal`, `spec` |
//! | [`patches`] | what `patches` and `manifestPatches` do to objects | `objects`, `refusal`, `spec` |
//! | [`known`] | the providers whose releases clusterctl knows | `kind` |
//! | [`origin`] | where a provider's components are published | `kind`, `known`, `refusal`, `spec` |
//! | [`published`] | components of one version as they were published | `gzip`, `refusal` |
//! | [`set`] | the objects below a path: providers, ConfigMaps, Secrets; and what was fetched for them | `kind`, `known`, `published`, `refusal`, `spec`, `variables` |
//! | [`source`] | where a provider's components and metadata are at hand | `gzip`, `origin`, `published`, `refusal`, `selector`, `set`, `spec` |
//! | [`supply`] | components that are not in the repository: which are needed, and the result of fetching them | `kind`, `origin`, `published`, `set`, `source`, `spec` |
//! | [`rendering`] | all of it, in the operator's order | `deployment`, `images`, `objects`, `patches`, `placing`, `pods`, `refusal`, `set`, `source`, `spec`, `variables` |
//! | [`live`] | what an API server holds, rendered from that alone | `kind`, `refusal`, `rendering`, `set`, `source`, `spec`, `variables` |
//! | [`state`] | a set at one state: each provider's components, or why they are unknown | `kind`, `refusal`, `rendering`, `source`, `spec`, `variables` |
//! | [`installation`] | what installing a set takes in RBAC, and what its managers may do | `kind`, `objects`, `rendering`, `set`, `spec`, `state` |
//! | [`lacking`] | which of those rights somebody has not | nothing |
//! | [`rights`] | what roles and bindings come to for each subject | nothing |
//! | [`definitions`] | definitions compared: versions and fields | nothing |
//! | [`comparison`] | what becomes of each provider | `definitions`, `kind`, `objects`, `pods`, `rendering`, `rights`, `state`, `variables` |
//! | [`rules`] | what is wrong with a set | `comparison`, `definitions`, `kind`, `objects`, `rendering`, `rights`, `state` |

mod comparison;
mod definitions;
mod deployment;
mod duration;
mod fields;
mod gzip;
mod images;
mod installation;
mod kind;
mod known;
mod lacking;
mod live;
mod objects;
mod origin;
mod patches;
mod placing;
mod pods;
mod published;
mod refusal;
mod rendering;
mod rights;
mod rules;
mod selector;
mod set;
mod source;
mod spec;
mod state;
mod supply;
mod variables;

pub use comparison::{
    ContainerChange, DefinitionChange, ObjectChanges, ProviderChange, RightsChange, ValueChange,
    VariableChange,
};
pub use definitions::{FieldNote, VersionChange, VersionState};
pub use images::Overrides;
pub use installation::{InstalledSet, SERVICE_ACCOUNT, SetInstallation, installation, installation_of};
pub use kind::{GROUP, ProviderKind, VERSION};
pub use known::{CORE_PROVIDER, is_known};
pub use lacking::{Lacking, lacking};
pub use live::{COMPONENTS_ANNOTATION, LiveSet, RecordedComponents};
pub use origin::{CREDENTIAL_NAMES, ComponentOrigin, GitHubRelease, GitLabPackage, OciArtifact, Scheme};
pub use published::{COMPONENTS_BYTES, METADATA_BYTES, Published};
pub use refusal::{Refusal, RefusalCause, RenderStage};
pub use rendering::{Inputs, RenderedObjects, Variable, render};
pub use rights::{Grant, RbacRight, RightSet, RightsSubject, SubjectRights, grants};
pub use rules::{
    Live, Managed, ManagedWorkload, Migration, ProviderRuleFacts, Recorded, SetComparison, accepts_contract,
    compare,
};
pub use set::ProviderSet;
pub use source::{at_hand, check_metadata, digests, versions_at_hand};
pub use spec::Provider;
pub use state::{ComponentsState, ProviderRelease, RenderedComponents, RenderedSet, SetMember};
pub use supply::{MissingComponents, Supplied, Supplies, Supply, supply};
pub use variables::VariableValues;
