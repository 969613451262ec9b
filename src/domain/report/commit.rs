//! Messages of Capstan's commits.

use super::markdown::one_line;
use super::{count, tables};
use crate::proposal::{
    PlanDigest, ReleasesOrigin, SourceState, TRAILER_PLAN, TRAILER_RELEASES, TRAILER_SOURCE,
};
use crate::upgrade::Upgrade;

/// The message: what, from where, how much, and the trailers by which the commit is found again.
pub fn commit_message(
    upgrade: &Upgrade,
    source: &SourceState,
    plan: &PlanDigest,
    origin: Option<&ReleasesOrigin>,
) -> String {
    let cluster = one_line(upgrade.cluster.as_str(), 120);
    let to = one_line(source.release().as_str(), 120);
    let from = match &upgrade.from {
        Some(from) if from == source.release() => "The release itself has changed".to_owned(),
        Some(from) => format!("From {}", one_line(from.as_str(), 120)),
        None => "From an unknown release".to_owned(),
    };
    let mut message = format!(
        "Upgrade {cluster} to {to}\n\n{from}: {} in {}.\n",
        count(upgrade.changes.len(), "change", "changes"),
        count(upgrade.files.len(), "file", "files"),
    );
    if !upgrade.conflicts.is_empty() {
        message.push_str(&format!(
            "{} settled as the pull request says.\n",
            count(upgrade.conflicts.len(), "conflict was", "conflicts were")
        ));
    }
    if tables::replaces(&upgrade.rollouts) {
        message.push_str(&format!("It replaces {}.\n", tables::machines(&upgrade.rollouts)));
    }
    message.push_str(&format!("\n{TRAILER_SOURCE}: {source}\n"));
    if let Some(origin) = origin {
        message.push_str(&format!("{TRAILER_RELEASES}: {origin}\n"));
    }
    message.push_str(&format!("{TRAILER_PLAN}: {plan}\n"));
    message
}
