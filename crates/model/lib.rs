//! The ground floor of Capstan's heart: what a repository and its objects are called, and the facts that everybody else
//! reads here.
//!
//! The packages of the heart, each of which may name those to its left: `model`, `yaml`, `kustomize`, `inventory`, `campaign`, `hosts`,
//! `providers`, `plan`, `live`, `report`. All are pure: nothing awaits, reads a clock, the environment, a file or a socket, speaks SQL or draws random
//! numbers. Facts come in as values, decisions go out as values. Content is reached through [`tree::Tree`], a snapshot
//! that gives the same bytes for the same path for ever, so that laziness costs no purity.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`digest`] | digests of texts, as they are stored and shown | nothing |
//! | [`dns_name`] | what Kubernetes takes for a name | nothing |
//! | [`doubling`] | pauses after failures that are remembered | nothing |
//! | [`object`] | identity and field paths of Kubernetes objects | nothing |
//! | [`plain_http`] | where http without encryption keeps a secret | nothing |
//! | [`rest`] | why nothing is offered to a target, in a word | nothing |
//! | [`secrets`] | names and texts that tell of a secret | nothing |
//! | [`spelling`] | the nearest right word for a wrong one | nothing |
//! | [`track`] | how far something follows newer releases | nothing |
//! | [`tree`] | paths, Git ids and snapshots of a repository | `digest` |
//! | [`version`] | how versions of releases, Kubernetes and components compare | nothing |
//! | [`wording`] | small pieces of sentences | nothing |
//! | [`chained_upgrade`] | how a topology goes over several minors, where its class lists versions | `version` |
//! | [`cluster_api`] | which Kubernetes a release of Cluster API runs on and manages | `version` |
//! | [`file_change`] | what becomes of a file | `tree` |
//! | [`finding`] | places, findings, errors that stop a file, and the rules' entries with their severities | `object`, `tree`, `wording` |
//! | [`glob`] | patterns over paths | nothing |
//! | [`kinds`] | the table of kinds: their role, the place of their version, how they are edited, applied and lost | `object`, `wording` |
//! | [`source`] | what brings change: a kind and a path | `tree` |
//! | [`ids`] | names of clusters, releases, providers and a release's content | `digest`, `source`, `tree`, `version` |
//! | [`target`] | what receives it: a cluster, a provider set, or several clusters that share a pull request | `ids`, `source`, `tree` |

pub mod chained_upgrade;
pub mod cluster_api;
pub mod digest;
pub mod dns_name;
pub mod doubling;
pub mod file_change;
pub mod finding;
pub mod glob;
pub mod ids;
pub mod kinds;
pub mod object;
pub mod plain_http;
pub mod rest;
pub mod secrets;
pub mod source;
pub mod spelling;
pub mod target;
pub mod track;
pub mod tree;
pub mod version;
pub mod wording;
