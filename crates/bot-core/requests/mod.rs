//! Requests: which comments, ticks and buttons count, and what each is about; and what people decided so far.

mod clusters;
mod concerned;
#[cfg(test)]
mod concerned_tests;
mod decided;
mod hearing;
#[cfg(test)]
mod hearing_tests;
mod kept;
mod request;
#[cfg(test)]
mod request_tests;
#[cfg(test)]
mod tests;

pub use self::clusters::{AskedClusters, ClusterChange, ClusterRequest};
pub use self::concerned::{About, unreadable};
pub use self::decided::{CommandIndex, GivenOrder, Ground, MOST_BYTES, Noted, RunDecisions};
pub use self::hearing::{DealtWith, right_of};
pub(crate) use self::hearing::{
    Overlooked, address, branches_to_see, hearing_of, meant_by, open_subject, readers_of, rewritten_by,
};
pub use self::kept::DashboardWrite;
pub use self::request::{CommandAuthor, Request, RequestId, RequestOrigin, UnseenBranch};
