//! Repositories on disk: a checkout for the command line, bare mirrors for the bot, snapshots of both.
//!
//! Owned here: finding a repository, reading commits and work trees as
//! [`Tree`](capstan_model::tree::Tree)s, replacing files of a work tree all or nothing, and fetching
//! commits into bare shallow mirrors, by id or at the tip of a branch. Deliberately absent: pushing (commits
//! are written through GitHub's API), knowledge of what the files mean, and running the `git` program
//! (`file://` and `ssh://` URLs of a Fleet, which nothing else can open, aside).

mod access;
mod branch;
mod changed_tree;
mod checkout;
mod checkout_error;
mod commit_tree;
mod fetch;
mod file_writer;
mod folder_ids;
mod history;
mod identify;
mod mirror;
mod mirror_limits;
mod mirror_lock;
mod objects;
mod obstacles;
mod opened_mirror;
mod packs;
mod remote;
mod sparse_checkout;
mod stored_content;
mod stored_trees;
mod tidying;
mod trailers;
mod work_tree;
mod workspace;

pub use access::RemoteCredential;
pub use branch::BranchSource;
pub use changed_tree::changed_tree;
pub use checkout::Checkout;
pub use checkout_error::CheckoutError;
pub use file_writer::{WriteFailure, write_all_or_nothing};
pub use mirror::Mirrors;
pub use mirror_limits::MirrorLimits;
pub use stored_trees::OpenedTrees;

/// Files above this size are listed, but not read: no manifest is that large.
pub const MAXIMUM_FILE_BYTES: u64 = 4 * 1024 * 1024;
