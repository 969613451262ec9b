//! The JSON that GitHub's description of its API demands, made from the forge's state. Views only read.

mod checks;
mod conversation;
mod deliveries;
mod git;
mod object;
mod pulls;
mod releases;
mod repository;
mod stacks;

pub(crate) use self::checks::{check_run, check_suite, combined_status, status};
pub(crate) use self::conversation::{comment, issue, label, reaction, review};
pub(crate) use self::deliveries::{delivery_item, delivery_view};
pub(crate) use self::git::{blob, commit, git_commit, git_ref, git_tree, push_commit, simple_commit};
pub(crate) use self::object::extend;
pub(crate) use self::pulls::{diff_entry, pull, pull_simple, stack_of, team};
pub(crate) use self::releases::{release, release_asset};
pub(crate) use self::repository::{
    app, full_repository, installation, installation_repository, push_repository, repository, simple_user,
};
pub(crate) use self::stacks::{stack, stack_minimal};
