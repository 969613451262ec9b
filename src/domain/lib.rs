//! The pure heart of Capstan: given a cluster folder and a source of change,
//! what should change, why, and what will it do to machines?
//!
//! Nothing here awaits, reads a clock, the environment, a file or a socket, speaks SQL or draws
//! random numbers: facts come in as values, decisions go out as values. Content is reached through
//! [`tree::Tree`], a snapshot that gives the same bytes for the same path for ever, so that laziness
//! costs no purity.
//!
//! | room | owns |
//! |---|---|
//! | [`yaml`] | lossless documents: strict reading, Kubernetes' scalar rules, editing behind a gate |
//! | [`object`] | identity and field paths of Kubernetes objects |
//! | [`finding`] | the one place, the one finding, what stops a file, the rules' entries and severities |
//! | [`kinds`] | the table of kinds: what they are for, where their version stands, how they are edited, applied and lost |
//! | [`tree`] | paths, Git ids and snapshots of a repository |
//! | [`settings`] | `.capstan.yaml`, a cluster's and an overlay's `capstan.yaml` |
//! | [`layout`] | which folders are releases and which are clusters |
//! | [`version`] | how versions of releases, Kubernetes and components compare |
//! | [`release`], [`cluster`] | what one release and one cluster folder hold |
//! | [`schema`] | what is known of objects' fields: types, lists, values |
//! | [`conversion`] | steps from one API version of a kind to another |
//! | [`merge`] | three-way merge of objects, fields, lists and templated scalars |
//! | [`templates`] | who names templates, rotation, names |
//! | [`upgrade`] | cluster + source + policy -> [`upgrade::Upgrade`] |
//! | [`adopt`] | which release a base comes from that records none |
//! | [`patch`] | unified diffs that `git apply` accepts |
//! | [`flux`] | what Flux substitutes after the build, as the repository shows it |
//! | [`path`] | the way from release to release, one Kubernetes minor at a time |
//! | [`policy`] | rules, one a file, and their catalogue |
//! | [`render`] | base + overlay -> objects |
//! | [`rollout`] | which machines an upgrade replaces |
//! | [`applying`] | what of a render goes to the management cluster now, and what never does |
//! | [`campaign`] | which clusters get a proposal now, and which wait for what |
//! | [`proposal`] | what to do with one pull request, given what GitHub shows |
//! | [`command`] | the grammar of slash-commands |
//! | [`spelling`] | the nearest right word for a wrong one |
//! | [`agent`] | what reconcilers and the bot say to each other, and what follows from it |
//! | [`report`] | pull-request bodies, check summaries, comments; redaction |

pub mod adopt;
pub mod agent;
pub mod applying;
pub mod campaign;
pub mod cluster;
pub mod command;
pub mod conversion;
pub mod digest;
pub mod file_change;
pub mod finding;
pub mod flux;
pub mod giant_swarm;
pub mod ids;
pub mod kinds;
pub mod layout;
pub mod live_objects;
mod manifest;
pub mod merge;
pub mod object;
pub mod patch;
pub mod path;
pub mod policy;
pub mod proposal;
pub mod release;
pub mod render;
pub mod report;
pub mod rollout;
pub mod schema;
pub mod settings;
#[cfg(test)]
#[path = "tests/suite/shared_data.rs"]
mod shared_data;
pub mod spelling;
pub mod substitution;
pub mod templates;
pub mod tree;
pub mod upgrade;
pub mod version;
pub mod wording;
pub mod yaml;
