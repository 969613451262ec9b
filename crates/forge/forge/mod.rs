//! A running forge, and the hands to play everybody who is not Capstan.

mod error;
mod inspect;
mod merging;
mod options;
mod people;
mod releases;
mod running;
mod sidebar;

pub use self::error::ForgeError;
pub use self::inspect::{CheckView, CommentView, CommitView, IssueView, PullState, PullView, StatusView};
pub use self::options::{Enterprise, Options};
pub use self::people::Edit;
pub use self::running::{AppCredentials, Forge};
