//! `provider-downgrade`, `provider-minor-skip`, `provider-versions-apart`, `provider-version-unset`

use std::collections::BTreeSet;

use capstan_model::finding::{Finding, rules};
use capstan_model::version::ReleaseVersion;

use super::case::{RuleCase, found, is_cluster_api, parsed};
use crate::state::SetMember;

/// How many minors Cluster API may go up at once
/// (<https://cluster-api.sigs.k8s.io/reference/versions#skip-upgrades>).
pub(super) const MINORS: u64 = 3;

/// The first minor from which clusterctl refuses to skip more
/// (<https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/cmd/clusterctl/client/cluster/upgrader.go>).
const REFUSED_FROM: u64 = 10;

pub(super) fn judge(case: &RuleCase<'_>, findings: &mut Vec<Finding>) {
    for member in &case.after.members {
        if let Some((old, new)) = case.before(member).and_then(parsed).zip(parsed(member)) {
            findings.extend(downgrade(member, &old, &new));
            findings.extend(skip(member, &old, &new));
        }
        if member.asked.is_none() {
            let message = format!(
                "{} has no `spec.version`, so its version is the newest at the time of each look. The tools that apply and install it then revert each other: write the version",
                member.label()
            );
            findings.push(found(rules::PROVIDER_VERSION_UNSET, member, message));
        }
    }
    findings.extend(apart(case));
}

fn downgrade(member: &SetMember, old: &ReleaseVersion, new: &ReleaseVersion) -> Option<Finding> {
    if new >= old {
        return None;
    }
    let label = member.label();
    let finding = |message: String| found(rules::PROVIDER_DOWNGRADE, member, message);
    Some(if (new.major(), new.minor()) < (old.major(), old.minor()) {
        finding(format!(
            "{label} goes from v{old} down to v{new}, which Cluster API does not support: the older version may not read what the newer one stored. Use v{old} or a newer version"
        ))
    } else {
        let message = format!("{label} goes from v{old} down to v{new}: make sure that you want this");
        finding(message).warning()
    })
}

fn skip(member: &SetMember, old: &ReleaseVersion, new: &ReleaseVersion) -> Option<Finding> {
    let skips = is_cluster_api(member) && old.major() == new.major() && new.minor() > old.minor() + MINORS;
    if !skips {
        return None;
    }
    let next = format!("{}.{}", old.major(), old.minor() + MINORS);
    let message = format!(
        "{} goes from v{old} to v{new}, but Cluster API upgrades by at most {MINORS} minors: use a v{next} first",
        member.label()
    );
    let finding = found(rules::PROVIDER_MINOR_SKIP, member, message);
    // clusterctl lets older ones pass; the documentation says the same of all.
    Some(if old.minor() < REFUSED_FROM { finding.warning() } else { finding })
}

fn apart(case: &RuleCase<'_>) -> Option<Finding> {
    let together: Vec<&SetMember> =
        case.after.members.iter().filter(|member| is_cluster_api(member)).collect();
    let versions: BTreeSet<&str> = together
        .iter()
        .filter_map(|member| member.version())
        .map(|text| text.trim_start_matches('v'))
        .collect();
    let first = together.first().filter(|_| versions.len() > 1)?;
    let named: Vec<String> = together.iter().map(|member| super::case::named(member)).collect();
    let message =
        format!("{}: Cluster API releases and tests these together: give them one version", named.join(", "));
    Some(found(rules::PROVIDER_VERSIONS_APART, first, message))
}
