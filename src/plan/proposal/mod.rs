//! Proposals: the pull request that carries one cluster's upgrade, and what to do with it.
//!
//! Everything that [`decide`] needs can be read from GitHub and Git: which source and plan a branch
//! carries stands in the trailers of its commit, who closed a pull request in the folded block of its
//! body. A lost database changes nothing here.
//!
//! Deliberately absent: calls, clocks, and the texts that people read (those are `capstan_report`'s).

mod authorship;
mod decide;
mod source;
mod wanted;
mod write_guard;

pub use authorship::{Authorship, Head, OfBase, Parent, judge_head};
pub use decide::{
    Action, Branch, BranchStep, Closer, Command, Draft, Facts, Mergeable, Offer, Pull, PullState, Reviewed,
    Standing, Wanted, decide,
};
pub use source::{
    PlanDigest, ReleasesOrigin, SourceState, TRAILER_PLAN, TRAILER_RELEASES, TRAILER_SOURCE, trailer_value,
};
pub use wanted::wanted;
pub use write_guard::{OutsideCluster, Scope, guard};

use crate::cluster::ClusterId;
use capstan_model::tree::RepoPath;

/// What the branches of proposals begin with.
pub const BRANCH_PREFIX: &str = "capstan/upgrade/";

/// The branch of a cluster's proposal: `capstan/upgrade/gauss/peu01`. What Git does not allow in the
/// name of a reference is written as `%XX`, so that two clusters never share a branch.
pub fn branch_of(cluster: &ClusterId) -> String {
    use std::fmt::Write as _;

    if cluster.folder().is_root() {
        return format!("{BRANCH_PREFIX}%");
    }
    let mut branch = String::from(BRANCH_PREFIX);
    for (index, part) in cluster.folder().parts().enumerate() {
        if index > 0 {
            branch.push('/');
        }
        let last = part.len().saturating_sub(1);
        for (at, byte) in part.bytes().enumerate() {
            let forbidden =
                matches!(byte, 0..=b' ' | 0x7f.. | b'~' | b'^' | b':' | b'?' | b'*' | b'[' | b'\\' | b'%');
            // A part may neither begin nor end with a dot, nor hold `..`, nor end with `.lock`, nor be `@`.
            let dot = byte == b'.'
                && (at == 0
                    || at == last
                    || part.as_bytes().get(at + 1) == Some(&b'.')
                    || &part[at..] == ".lock");
            let at_sign = byte == b'@' && (part == "@" || part.as_bytes().get(at + 1) == Some(&b'{'));
            if forbidden || dot || at_sign {
                let _ = write!(branch, "%{byte:02X}");
            } else {
                branch.push(char::from(byte));
            }
        }
    }
    branch
}

/// The cluster whose proposal stands on that branch; `None` for a branch that Capstan never makes.
pub fn cluster_of(branch: &str) -> Option<ClusterId> {
    let name = branch.strip_prefix(BRANCH_PREFIX)?;
    let folder = if name == "%" { String::new() } else { source::decode(name)? };
    let cluster = ClusterId::new(RepoPath::parse(&folder).ok()?);
    (branch_of(&cluster) == branch).then_some(cluster)
}

#[cfg(test)]
mod tests {
    use super::{branch_of, cluster_of};
    use crate::cluster::ClusterId;
    use capstan_model::tree::RepoPath;

    #[test]
    fn a_branch_is_named_after_the_cluster_and_is_always_a_good_reference() {
        for (cluster, branch) in [
            ("gauss/peu01", "capstan/upgrade/gauss/peu01"),
            ("a b/c~1", "capstan/upgrade/a%20b/c%7E1"),
            (".hidden/x.lock", "capstan/upgrade/%2Ehidden/x%2Elock"),
            ("a..b/c.", "capstan/upgrade/a%2E.b/c%2E"),
            ("50%", "capstan/upgrade/50%25"),
            ("größe", "capstan/upgrade/gr%C3%B6%C3%9Fe"),
            ("@", "capstan/upgrade/%40"),
            ("", "capstan/upgrade/%"),
        ] {
            let id = ClusterId::new(RepoPath::parse(cluster).unwrap());
            assert_eq!(branch_of(&id), branch, "{cluster}");
            assert_eq!(cluster_of(branch), Some(id), "{branch}");
        }
        assert_eq!(cluster_of("capstan/upgrade/%2"), None);
        assert_eq!(cluster_of("capstan/upgrade/a%62"), None);
    }
}
