//! What people ask for: which requests there are, what each is about, and what it decides.

mod clusters;
mod concerned;
mod decisions;
mod hearing;
mod request;
mod rollbacks;
#[cfg(test)]
mod tests;

pub use self::clusters::{AskedClusters, ClusterChange, Wanted, page_of};
pub use self::concerned::{About, unreadable};
pub use self::decisions::{Decided, GivenOrder, Ground, MOST_BYTES, instead_of};
pub use self::hearing::{
    DealtWith, Overlooked, address, branches_to_see, heads_to_try, meant_by, open_subject, readers_of,
    rewritten_by, right_of,
};
pub use self::request::{Origin, Request, RequestId, UnseenBranch, retargeted};
pub use self::rollbacks::{RollBacks, branches_of, newest_of, subject_of};
