//! The bot: conversations with a forge, deaths at every call, and kills of the real process.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a panic is how tests fail, and what is skipped is said aloud"
)]

mod bombs;
mod budget;
mod campaigns;
mod checks;
mod classes;
mod clusters;
mod commands;
mod conversations;
mod dashboard;
mod deaths;
mod decisions;
mod disks;
mod dry_run;
mod elsewhere;
mod enterprise;
mod failing_calls;
mod fetched_components;
mod grouping;
mod hostile_names;
mod inventory;
mod inventory_components;
mod inventory_hostile;
mod inventory_inline;
mod inventory_management;
mod inventory_order;
mod inventory_scale;
mod kills;
mod memory;
mod merging;
mod onboarding;
mod pauses;
mod processes;
mod proposals;
mod provider_sets;
mod redaction;
mod refusals;
mod relay;
mod replicas;
mod retarget;
mod retention;
mod rollbacks;
pub(crate) mod sample;
mod schedules;
mod services;
mod several_sources;
pub(crate) mod shared;
mod shown;
mod sidebar;
mod stacks;
mod strangers;
mod too_large;
pub(crate) mod town;
#[cfg(feature = "otlp")]
mod traces;
mod trouble;
mod verdicts;
mod workers;
