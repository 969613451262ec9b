//! The JSON that GitHub's description of its API demands, made from the forge's state. Views only read.

mod checks;
mod conversation;
mod git;
mod pulls;
mod repository;

pub(crate) use checks::{check_run, check_suite, combined_status, status};
pub(crate) use conversation::{comment, issue, label, reaction, review};
pub(crate) use git::{blob, commit, git_commit, git_ref, git_tree, push_commit, simple_commit};
pub(crate) use pulls::{diff_entry, pull, pull_minimal, pull_simple};
pub(crate) use repository::{
    app, full_repository, installation, installation_repository, push_repository, repository, simple_user,
};

use serde_json::{Map, Value};

/// Adds the fields of one object to another.
pub(crate) fn extend(mut base: Value, more: Value) -> Value {
    if let (Value::Object(base), Value::Object(more)) = (&mut base, more) {
        base.extend(more);
    }
    base
}

/// An object with a URL for each name: `{base}/{path}`.
fn urls(base: &str, fields: &[(&str, &str)]) -> Map<String, Value> {
    fields.iter().map(|(field, path)| ((*field).to_owned(), Value::String(format!("{base}{path}")))).collect()
}
