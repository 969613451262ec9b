//! What the forge knows beside Git: accounts, the App, repositories with their issues and pull requests, checks,
//! and recorded deliveries. Plain data with look-ups; what may be done to it stands in [`actions`](crate::actions).

mod account;
mod app;
mod checks;
mod issue;
mod pull;
mod release;
mod repository;
mod stack;
mod whole;

pub use self::account::Permission;
pub(crate) use self::account::{Account, AccountKind};
pub use self::app::Selection;
pub(crate) use self::app::{App, Authorization, Installation, Registration, Token};
pub(crate) use self::checks::{CheckRun, CheckSuite, Status};
pub(crate) use self::issue::{Comment, Issue, Label, Reaction};
pub(crate) use self::pull::{AutoMerge, Mergeability, Merged, Pull, Review, Size};
pub use self::pull::{MergeMethod, ReviewState};
pub(crate) use self::release::{Asset, Release};
pub use self::repository::Protection;
pub(crate) use self::repository::{Activity, BranchRule, Repository};
pub(crate) use self::stack::Stack;
pub(crate) use self::whole::{State, Team};
