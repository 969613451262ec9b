//! The three-way merge: of objects, fields, lists and templated scalars.
//!
//! Three inputs per object: the **O**ld release, the **C**luster's base, the **N**ew release. The room
//! decides what of N goes into C and why; it writes no file. One idea a file:
//!
//! | file | idea |
//! |---|---|
//! | [`source`] | a release's pieces and what they wrap ([U1]) |
//! | [`overlay`] | a release's overlay over its base |
//! | [`cluster_objects`] | the cluster's base, read |
//! | [`converted`] | objects in the new release's API version ([U7a]) |
//! | `tidying` | what of them holds nothing and stays written all the same ([U7a]) |
//! | `positions` | where what is found in them stands in the file ([U7a]) |
//! | [`matching`] | which object a piece speaks of ([U2]) |
//! | `namespaces` | namespaces that a release gives its objects anew ([U2]) |
//! | `twins` | documents of a release that are one object ([U2]) |
//! | `learning` | what a cluster says of a release's variables ([U3]) |
//! | [`prepared`] | a piece as one cluster sees it ([U3]) |
//! | [`kinds`] | objects whose kind changes ([U2]) |
//! | [`objects`] | whole objects, and all objects of a cluster ([U4]) |
//! | [`fields`], [`values`] | the walk over the fields; types and equality ([U5], [U6], [U8]) |
//! | [`three_way`] | one field of the three inputs |
//! | [`decision`] | the record of what was decided, by which rule, and where the releases have it |
//! | [`knowledge`] | what the own table and the schemas are asked with |
//! | [`lists`], `list_merge`, `sequence` | how lists merge ([U7]) |
//! | [`form`], [`kustomization`], [`inputs`] | a release with kustomizations: as objects, or as files of a type of their own, with what those read ([U1], [U4]) |
//! | [`step_group`] | what moves together ([U9]) |
//! | [`fit`] | how well a release fits a base of unknown release ([U5], `infer`; `adopt`) |
//! | [`api_versions`] | what an API version leaves behind ([U8]) |
//!
//! Deliberately absent: text. The cluster's bytes are touched by edits alone (`capstan_yaml`).
//!
//! [U1]: crate::merge::source#u1
//! [U2]: crate::merge::matching#u2
//! [U3]: crate::substitution#u3
//! [U4]: crate::merge::objects#u4
//! [U5]: crate::merge::fields#u5
//! [U6]: crate::merge::values#u6
//! [U7]: crate::merge::lists#u7
//! [U7a]: crate::merge::converted#u7a
//! [U8]: crate::merge::fields#u8
//! [U9]: crate::merge::step_group#u9

pub(crate) mod api_versions;
pub(crate) mod cluster_objects;
pub(crate) mod converted;
pub(crate) mod decision;
mod facts;
pub(crate) mod fields;
pub(crate) mod fit;
pub(crate) mod form;
pub(crate) mod inputs;
pub(crate) mod kinds;
pub(crate) mod knowledge;
pub(crate) mod kustomization;
mod learning;
mod list_merge;
pub(crate) mod lists;
pub(crate) mod matching;
pub(crate) mod namespaces;
pub(crate) mod objects;
pub(crate) mod overlay;
mod positions;
pub(crate) mod prepared;
mod sequence;
pub(crate) mod source;
pub(crate) mod step_group;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod tests;
pub(crate) mod three_way;
mod tidying;
mod twins;
pub(crate) mod values;

pub use facts::{AppliedBy, ClusterFacts, OtherFile, SourceFile};
pub use fit::Fit;
pub use source::{Source, SourceFacts};
