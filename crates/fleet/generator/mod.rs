//! The domain's planner over whole snapshots: a snapshot in, upgrades out. The command line and the bot both call it, so
//! that what a person sees offline is what the bot proposes.
//!
//! *Expected flow*: [`Fleet::open`] reads the settings and finds releases and clusters. [`missing_contents`] names the old
//! releases that are not in the snapshot; a caller that finds them gives them ([`Fleet::supplement_mut`]). Then [`plan_target`]
//! and the other questions, as often as wanted and from any thread. *Guarantee*: the same snapshot, trees and day give the
//! same plans.
//!
//! A file takes from those of the lines above it:
//!
//! | subject | files |
//! |---|---|
//! | the facts of a snapshot, and what was given for it | `fleet`, `supplement`, `home`, `wide`, `services` |
//! | what is kept between snapshots | `plan_cache`, `cached_snapshot`, `earlier_fleet`, `kept_plan`, `missing_contents` |
//! | what one plan is given, and the plan | `reading`, `judge`, `planning`, `answers`, `gather`, `plan` |
//! | what the inventory brings | `valued`, `to_come`, `valued_folder`, `inventory_creation`, `inventory_retirement`, `valued_plan` |
//! | all plans at once, tables | `plan_cached`, `plan_each`, `summary` |
//! | other questions, a file each | `creation`, `retirement`, `first_release`, `inventory_change`, `onboarding`, … |
//!
//! Deliberately absent: I/O (everything comes through [`Tree`](capstan_model::tree::Tree)), clocks (the day is passed in),
//! and every decision that the domain can take.

mod answers;
mod bootstrap;
mod bounded;
mod cached_plan;
mod cached_snapshot;
mod campaigns;
mod class_users;
mod classes;
mod content;
mod contents;
mod creation;
mod definitions;
mod earlier_fleet;
mod elsewhere;
mod first_release;
mod fleet;
mod fleet_inputs;
mod following;
mod gather;
mod home;
mod infer;
mod inputs;
mod instructions;
mod inventory_change;
mod inventory_creation;
mod inventory_findings;
mod inventory_retirement;
mod judge;
mod kept_plan;
mod made_folders;
mod migration;
mod missing_contents;
mod moving;
mod new_cluster;
mod not_possible;
mod offered_values;
mod old_release;
mod onboarding;
mod over_merged;
mod plan;
mod plan_cache;
mod plan_cached;
mod plan_each;
mod planning;
mod provider_objects;
mod read_beside;
mod read_set;
mod reading;
mod record;
mod refused;
mod release_migration;
mod render_reads;
mod renders;
mod retirement;
mod reuse;
mod service_step;
mod services;
mod settings_file;
mod shared;
mod sources;
mod step_facts;
mod step_sources;
mod summary;
mod supplement;
mod threads;
mod to_come;
mod trial;
mod valued;
mod valued_clusters;
mod valued_folder;
mod valued_plan;
mod wide;
mod written_inputs;
mod written_tree;

pub use bootstrap::bootstrap;
pub use campaigns::{campaign_candidate, campaign_candidates};
pub use classes::name_templates;
pub(crate) use content::Content;
pub use creation::create_cluster;
pub use first_release::{FirstReleaseFailed, MadeRelease, first_release};
pub use fleet::Fleet;
pub use home::consents;
pub use infer::{Inferred, infer_release};
pub use instructions::Instructions;
pub use inventory_change::{defined_clusters, inventory_change, lost_definitions};
pub use made_folders::{MadeFolder, ToMake, ToMakeAll, folders_to_make, make_folder};
pub use missing_contents::{missing_contents, missing_contents_of_all, missing_releases};
pub use moving::{MovedClusters, SettingsAfterMove, move_clusters, uncommitted};
pub use not_possible::NotPossible;
pub use onboarding::{onboard, templates_alone};
pub use over_merged::over_clusters_of;
pub use plan::{
    Planned, PlannedWithReasons, UpgradeWithReasons, has_release, plan_target, plan_with_reasons,
    upgrade_path,
};
pub use plan_cache::{PlanCache, PlanCacheLimits, PlanCounts, SnapshotView};
pub use plan_cached::plan_each_source;
pub use plan_each::{migrate_each, plan_each};
pub use read_beside::read_beside;
pub use refused::Refused;
pub use release_migration::{migrate_releases, versions_of_releases};
pub use render_reads::{NoWatch, RenderReads, WatchRenders};
pub use retirement::retire_cluster;
pub use services::{ClusterServices, render_service};
pub use summary::{Summary, summary};
pub use supplement::{PastRelease, Supplement};
pub use threads::limit_threads;
pub use trial::try_folder;
pub use valued_clusters::{scopes_to_come, valued_clusters, valued_target};
pub use valued_plan::plan_values;
pub use written_inputs::{Misread, WrittenInputs, write_inputs};
pub(crate) use written_tree::WrittenTree;
