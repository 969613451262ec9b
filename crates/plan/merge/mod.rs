//! The three-way merge: of objects, fields, lists and templated scalars.
//!
//! Three inputs per object: the **O**ld release, the **C**luster's base, the **N**ew release. The room
//! decides what of N goes into C and why; it writes no file. One idea a file:
//!
//! | file | idea |
//! |---|---|
//! | [`piece`], [`source`] | a release's documents, and what they wrap ([U1]) |
//! | [`overlay`] | a release's overlay over its base |
//! | [`cluster_objects`] | the cluster's base, read |
//! | [`form`] | in which form it holds a release that has kustomizations ([U1]) |
//! | [`convert`], [`converted`] | objects in the new release's API version ([U7a]) |
//! | `tidying` | fields of them that hold nothing: which stay written, and which a definition refuses ([U7a]) |
//! | `positions` | the place in the file of what is found in them ([U7a]) |
//! | [`matching`], [`matched`] | which object a piece speaks of ([U2]) |
//! | `twins` | documents of a release that are one object ([U2]) |
//! | `learning` | what a cluster says of a release's variables ([U3]) |
//! | [`prepared`] | a piece as one cluster sees it ([U3]) |
//! | [`views`] | all that each release says of an object, as one cluster sees it |
//! | [`objects`], [`cluster_merge`] | whole objects, and all objects of a cluster ([U4]); what that comes to |
//! | [`namespaces`], [`kinds`] | namespaces that a release adds to its objects, changes or drops; objects whose kind changes ([U2]) |
//! | [`fields`], [`values`] | the walk over the fields; types and equality ([U5], [U6], [U8]) |
//! | [`lists`], `list_merge`, `sequence` | how lists merge ([U7]) |
//! | [`texts`] | texts of several lines that both sides changed ([U5]) |
//! | [`three_way`], [`knowledge`], [`nodes`] | one field: the three inputs, what tables and schemas say of it, its value |
//! | [`decision`], `places` | the record of what was decided, by which rule, and where the releases have it |
//! | [`kustomization`], [`kustomization_merge`], [`inputs`] | a type of its own, with the files that it reads ([U4]) |
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
pub(crate) mod cluster_merge;
pub(crate) mod cluster_objects;
pub(crate) mod convert;
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
pub(crate) mod kustomization_merge;
mod learning;
mod list_merge;
pub(crate) mod lists;
pub(crate) mod matched;
pub(crate) mod matching;
pub(crate) mod namespaces;
pub(crate) mod nodes;
pub(crate) mod objects;
pub(crate) mod overlay;
pub(crate) mod piece;
mod places;
mod positions;
pub(crate) mod prepared;
mod sequence;
pub(crate) mod source;
pub(crate) mod step_group;
#[cfg(test)]
mod tables;
#[cfg(test)]
mod tests;
pub(crate) mod texts;
pub(crate) mod three_way;
mod tidying;
mod twins;
pub(crate) mod values;
pub(crate) mod views;

pub use facts::{AppliedBy, ClusterFacts, OtherFile, SourceFile};
pub use fit::ReleaseFit;
pub use source::{ReleaseSource, SourceFacts};
