//! The planner: given a cluster folder and a source of change, what should change, and why? And what is offered to whom,
//! when, and what becomes of the pull request.
//!
//! A room may import the rooms of this package that its line names; `tests/suite/house.rs` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`giant_swarm`] | where clusters of Giant Swarm name their release (U16) | nothing |
//! | [`patch`] | unified diffs that `git apply` accepts | nothing |
//! | [`settings`] | `.capstan.yaml`, a cluster's and an overlay's `capstan.yaml` | nothing |
//! | [`command`] | the grammar of slash-commands | `settings` |
//! | [`layout`] | which folders are releases and which are clusters; where definitions lie | `giant_swarm`, `settings` |
//! | [`templates`] | who names templates, rotation, names | `settings` |
//! | [`flux`] | what Flux substitutes after the build, as the repository shows it | `layout` |
//! | [`substitution`] | templated scalars: expressions, variables and what binds them (U3) | `flux` |
//! | [`release`] | what one release holds | `layout`, `settings`, `substitution` |
//! | [`cluster`] | what one cluster folder holds | `giant_swarm`, `layout`, `release`, `settings` |
//! | [`merge`] | three-way merge of objects, fields, lists and templated scalars | `flux`, `giant_swarm`, `release`, `settings`, `substitution`, `templates` |
//! | [`adopt`] | which release a base comes from that records none | `merge`, `release` |
//! | [`path`] | the way from release to release, one Kubernetes minor at a time | `cluster`, `release`, `settings` |
//! | [`upgrade`] | cluster + source + policy -> [`upgrade::Upgrade`] | `flux`, `giant_swarm`, `merge`, `release`, `settings`, `substitution`, `templates` |
//! | [`policy`] | rules, one a file, and their catalogue | `cluster`, `flux`, `layout`, `merge`, `release`, `settings`, `substitution`, `templates`, `upgrade` |
//! | [`proposal`] | what to do with one pull request, given what GitHub shows | `settings`, `upgrade` |
//! | [`campaign`] | which clusters get a proposal now, and which wait for what | `proposal`, `settings` |
//! | [`classes`] | ClusterClasses: who uses which, and what one is that lies elsewhere | `cluster`, `layout`, `policy`, `templates` |

pub mod adopt;
pub mod campaign;
pub mod classes;
pub mod cluster;
pub mod command;
pub mod flux;
pub mod giant_swarm;
pub mod layout;
pub mod merge;
pub mod patch;
pub mod path;
pub mod policy;
pub mod proposal;
pub mod release;
pub mod settings;
pub mod substitution;
pub mod templates;
pub mod upgrade;
