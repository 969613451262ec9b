//! A running forge, and the hands to play everybody who is not Capstan.

mod error;
mod inspect;
mod options;
mod people;
mod running;

pub use self::error::ForgeError;
pub use self::inspect::{CheckView, CommentView, CommitView, PullState, PullView, StatusView};
pub use self::options::Options;
pub use self::people::Edit;
pub use self::running::{AppCredentials, Forge};
