//! The planner: given a cluster folder and a source of change, what should change, and why? It also decides what is
//! offered to which clusters, when, and what becomes of the pull request.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`giant_swarm`] | where clusters of Giant Swarm name their release (U16) | nothing |
//! | [`kubeconfig`] | what of a kubeconfig may count | nothing |
//! | [`patch`] | unified diffs that `git apply` accepts | nothing |
//! | [`strangers`] | provider objects in one folder with other objects of Cluster API | nothing |
//! | [`verbs`] | the verbs of slash-commands: what follows each, and who may | nothing |
//! | [`settings`] | `.capstan.yaml`, a cluster's and an overlay's `capstan.yaml` | `verbs` |
//! | [`command`] | how comments are read, and whose commands are obeyed | `settings`, `verbs` |
//! | [`layout`] | which folders are releases, clusters and provider sets; where definitions are | `giant_swarm`, `settings` |
//! | [`boundary`] | what a cluster's folder may bring to its management cluster | `kubeconfig`, `layout`, `settings` |
//! | [`templates`] | who names templates, rotation, names | `settings` |
//! | [`flux`] | what Flux substitutes after the build, as the repository shows it | `layout` |
//! | [`onboarding`] | first contact: the settings that fit a repository which has none | `flux`, `giant_swarm`, `layout`, `settings` |
//! | [`substitution`] | templated scalars: expressions, variables and what binds them (U3) | `flux` |
//! | [`release`] | what one release holds | `layout`, `settings`, `strangers`, `substitution` |
//! | [`cluster`] | what the folder of one cluster or provider set holds | `giant_swarm`, `layout`, `release`, `settings`, `strangers` |
//! | [`provider_set`] | what becomes of the providers of a set, and what is wrong with it | `cluster`, `layout`, `release`, `settings` |
//! | [`first_release`] | the first release, made from a cluster's base | `cluster`, `substitution` |
//! | [`merge`] | three-way merge of objects, fields, lists and templated scalars | `flux`, `giant_swarm`, `release`, `settings`, `substitution`, `templates` |
//! | [`inference`] | which release a base comes from that records none | `merge` |
//! | [`path`] | the way from release to release, one Kubernetes minor at a time | `cluster`, `release`, `settings` |
//! | [`upgrade`] | cluster + source + policy -> [`upgrade::Upgrade`] | `flux`, `giant_swarm`, `merge`, `release`, `settings`, `substitution`, `templates` |
//! | [`services`] | what runs inside a cluster, from release to release | `layout`, `merge`, `release`, `settings`, `upgrade` |
//! | [`inventory`] | what the inventory says of each cluster, and releases under its values | `merge`, `release`, `settings`, `upgrade` |
//! | [`policy`] | rules, one a file, and their catalogue | `boundary`, `cluster`, `flux`, `inventory`, `layout`, `merge`, `provider_set`, `release`, `services`, `settings`, `substitution`, `templates`, `upgrade` |
//! | [`creation`] | a new cluster, made from a release | `flux`, `layout`, `merge`, `settings`, `substitution`, `upgrade` |
//! | [`retirement`] | a cluster that is to go: its tombstone, and what goes with it | `upgrade` |
//! | [`proposal`] | what to do with one pull request, given what GitHub shows | `settings`, `upgrade`, `verbs` |
//! | [`campaign`] | which clusters get a proposal now, and which wait for what | `proposal`, `settings` |
//! | [`forecast`] | what would be offered after a merge: which clusters are planned, and which upgrades are the worst | `proposal`, `settings`, `upgrade` |
//! | [`migration`] | newer API versions of a target's objects, as a source of change | `merge`, `policy` |
//! | [`classes`] | ClusterClasses: who uses which, and what a class elsewhere is | `cluster`, `layout`, `policy`, `templates` |
//!
//! # The rules of an upgrade
//!
//! O is the old release, C the cluster's base, N the new release. Each rule is at the head of the module that decides
//! it, or of its room; `cargo doc -p capstan-plan --document-private-items` shows all of them.
//!
//! | rule | decides | documented in |
//! |---|---|---|
//! | U1 | which documents a release may hold | [`merge::source`](merge::source#u1) |
//! | U2 | which object a document speaks of | [`merge::matching`](merge::matching#u2) |
//! | U3 | variables in scalars | [`substitution`](substitution#u3) |
//! | U4 | whole objects that come and go | [`merge::objects`](merge::objects#u4) |
//! | U5 | fields that one or both sides changed | [`merge::fields`](merge::fields#u5) |
//! | U5a | whether the upgrade is complete | [`upgrade`](upgrade#u5a) |
//! | U6 | which values are equal | [`merge::values`](merge::values#u6) |
//! | U7 | lists | [`merge::lists`](merge::lists#u7) |
//! | U7a | API versions | [`merge::converted`](merge::converted#u7a) |
//! | U8 | fields that change their type | [`merge::fields`](merge::fields#u8) |
//! | U9 | what moves together | [`merge::step_group`](merge::step_group#u9) |
//! | U10 | bytes, and files that cannot be edited | [`upgrade`](upgrade#u10) |
//! | U11 | the overlay | [`policy`](policy#u11) |
//! | U12 | templates | [`templates`](templates#u12) |
//! | U13 | removals | [`upgrade`](upgrade#u13) |
//! | U14 | which release comes next | [`path`](path#u14) |
//! | U15 | machines that are replaced | `capstan_live::rollout` |
//! | U16 | releases of Giant Swarm | [`upgrade`](upgrade#u16) |

pub mod boundary;
pub mod campaign;
pub mod classes;
pub mod cluster;
pub mod command;
pub mod creation;
pub mod first_release;
pub mod flux;
pub mod forecast;
pub mod giant_swarm;
pub mod inference;
pub mod inventory;
pub mod kubeconfig;
pub mod layout;
pub mod merge;
pub mod migration;
pub mod onboarding;
pub mod patch;
pub mod path;
pub mod policy;
pub mod proposal;
pub mod provider_set;
pub mod release;
pub mod retirement;
pub mod services;
pub mod settings;
mod strangers;
pub mod substitution;
pub mod templates;
pub mod upgrade;
pub mod verbs;
