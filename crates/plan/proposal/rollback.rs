//! Whether a merged upgrade is taken back, and to what.
//!
//! Back is the release that the cluster was at when the upgrade was planned. What is known decides: where that release is
//! not recorded, or the cluster is somewhere else by now, nothing is offered.

use std::cmp::Ordering;

use capstan_model::ids::{ReleaseId, ReleaseName};

/// A proposal that was merged, as the commits around it tell.
#[derive(Debug, Clone, Copy)]
pub struct MergedProposal<'a> {
    /// The release that the cluster recorded before it; `None` where it recorded none.
    pub before: Option<&'a ReleaseId>,
    /// The release that it brought; `None` where no commit of Capstan's tells.
    pub brought: Option<&'a ReleaseId>,
    /// The release that the cluster records now.
    pub now: Option<&'a ReleaseId>,
}

/// A rollback that is to be offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RollBack {
    /// Where it goes.
    pub to: ReleaseName,
    /// The release that it leaves.
    pub leaves: ReleaseId,
}

/// Why none is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotRolledBack {
    /// No commit of Capstan is in it.
    #[error("no commit of Capstan records what it brought, so the earlier state is unknown")]
    Unknown,
    /// The cluster recorded no release before.
    #[error(
        "the cluster recorded no earlier release, so the earlier state is unknown: revert the merge in Git, or offer a release with `upgrade`"
    )]
    NothingBefore,
    /// It brought the same release with other content.
    #[error(
        "it refreshed `{0}` in a cluster that was already at `{0}`, so there is no earlier release: revert the merge in Git"
    )]
    Refresh(ReleaseId),
    /// The cluster is elsewhere by now.
    #[error("it brought `{brought}`, but the cluster is now at {}: only the last upgrade can be rolled back", now.as_ref().map_or_else(|| "no recorded release".to_owned(), |now| format!("`{now}`")))]
    Elsewhere {
        /// What it brought.
        brought: ReleaseId,
        /// Where the cluster is.
        now: Option<ReleaseId>,
    },
    /// What was before is not an older release of the same provider.
    #[error(
        "before it the cluster was at `{before}`, which is not older than `{brought}`: offer it with `upgrade`"
    )]
    NotBack {
        /// What was before.
        before: ReleaseId,
        /// What it brought.
        brought: ReleaseId,
    },
}

/// What taking a merged upgrade back comes to.
///
/// # Errors
/// Why nothing is offered.
pub fn roll_back(merged: MergedProposal<'_>) -> Result<RollBack, NotRolledBack> {
    let brought = merged.brought.ok_or(NotRolledBack::Unknown)?;
    if merged.now != Some(brought) {
        return Err(NotRolledBack::Elsewhere { brought: brought.clone(), now: merged.now.cloned() });
    }
    let before = merged.before.ok_or(NotRolledBack::NothingBefore)?;
    if before == brought {
        return Err(NotRolledBack::Refresh(brought.clone()));
    }
    let is_older = before.provider() == brought.provider()
        && matches!((before.version(), brought.version()), (Some(one), Some(other)) if one.cmp(&other) == Ordering::Less);
    if !is_older {
        return Err(NotRolledBack::NotBack { before: before.clone(), brought: brought.clone() });
    }
    Ok(RollBack { to: ReleaseName::Id(before.clone()), leaves: brought.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_known_is_taken_back() {
        let said = |before: &str, brought: &str, now: &str| {
            let [before, brought, now] =
                [before, brought, now].map(|id| (!id.is_empty()).then(|| ReleaseId::from_path(id)));
            match roll_back(MergedProposal {
                before: before.as_ref(),
                brought: brought.as_ref(),
                now: now.as_ref(),
            }) {
                Ok(back) => format!("{} leaves {}", back.to, back.leaves),
                Err(why) => why.to_string(),
            }
        };
        let (v21, v22, v23) = ("aws/v21.0.0", "aws/v22.0.0", "aws/v23.0.0");
        for (before, brought, now, expected) in [
            (v21, v22, v22, "aws/v21.0.0 leaves aws/v22.0.0"),
            (v21, "", v22, "no commit of Capstan records what it brought, so the earlier state is unknown"),
            (
                "",
                v22,
                v22,
                "the cluster recorded no earlier release, so the earlier state is unknown: revert the merge in Git, or offer a release with `upgrade`",
            ),
            (
                v22,
                v22,
                v22,
                "it refreshed `aws/v22.0.0` in a cluster that was already at `aws/v22.0.0`, so there is no earlier release: revert the merge in Git",
            ),
            (
                v21,
                v22,
                v23,
                "it brought `aws/v22.0.0`, but the cluster is now at `aws/v23.0.0`: only the last upgrade can be rolled back",
            ),
            (
                v21,
                v22,
                "",
                "it brought `aws/v22.0.0`, but the cluster is now at no recorded release: only the last upgrade can be rolled back",
            ),
            (
                v22,
                v21,
                v21,
                "before it the cluster was at `aws/v22.0.0`, which is not older than `aws/v21.0.0`: offer it with `upgrade`",
            ),
            (
                "gcp/v20.0.0",
                v22,
                v22,
                "before it the cluster was at `gcp/v20.0.0`, which is not older than `aws/v22.0.0`: offer it with `upgrade`",
            ),
        ] {
            assert_eq!(said(before, brought, now), expected, "{before} {brought} {now}");
        }
    }
}
