//! What the forge knows beside Git: accounts, the App, repositories with their issues and pull requests,
//! checks, and recorded deliveries. Plain data with look-ups; the actions are in [`actions`](crate::actions).

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
pub(crate) use self::app::{App, AppInstallation, Authorization, BearerToken, Registration};
pub(crate) use self::checks::{CheckRun, CheckSuite, ForgeStatus};
pub(crate) use self::issue::{Comment, ForgeIssue, Label, Reaction};
pub(crate) use self::pull::{AutoMerge, CompletedMerge, Mergeability, Pull, PullSize, Review};
pub use self::pull::{MergeMethod, ReviewState};
pub(crate) use self::release::{Asset, ForgeRelease};
pub use self::repository::Protection;
pub(crate) use self::repository::{Activity, BranchRule, ForgeRepository};
pub(crate) use self::stack::Stack;
pub(crate) use self::whole::{State, Team};
