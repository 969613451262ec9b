//! How a topology goes over several minors of Kubernetes, where its ClusterClass lists versions.
//!
//! The rules are those of Cluster API 1.14: its webhook (`validateKubernetesVersions`), and
//! `GetUpgradePlanFromClusterClassVersions` and `DefaultAndValidateUpgradePlans` in
//! <https://github.com/kubernetes-sigs/cluster-api/blob/main/exp/topology/desiredstate/upgrade_plan.go>.
//! Deliberately absent: the plans that a runtime extension makes. Only the extension knows them.

use std::cmp::Ordering;

use crate::version::{KubernetesMinor, KubernetesVersion};

/// How many minors workers may be behind their control plane.
const WORKERS_BEHIND: u64 = 3;

/// What the API server refuses in a list of versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Disorder {
    /// This version is not newer than the one before it.
    Falls(KubernetesVersion),
    /// A minor is left out between the version before it and this one.
    Gap(KubernetesMinor),
}

/// The first version of a list that the API server refuses, with its index.
pub fn first_disorder(listed: &[KubernetesVersion]) -> Option<(usize, Disorder)> {
    listed.windows(2).enumerate().find_map(|(at, pair)| {
        let [before, after] = pair else { return None };
        let disorder = match before.compare(after) {
            Some(Ordering::Greater) => Disorder::Falls(before.clone()),
            // The same version may stand there with another build.
            Some(Ordering::Equal) if before.as_str() == after.as_str() => Disorder::Falls(before.clone()),
            _ if before.minor().skips(after.minor()) => Disorder::Gap(before.minor().next()),
            _ => return None,
        };
        Some((at + 1, disorder))
    })
}

/// The versions that a control plane takes one after the other on its way; `None` where the list does not lead there:
/// the version is not in it, a minor is missing, or the API server refuses the list.
pub fn control_plane_steps<'v>(
    listed: &'v [KubernetesVersion],
    from: &KubernetesVersion,
    to: &KubernetesVersion,
) -> Option<Vec<&'v KubernetesVersion>> {
    if first_disorder(listed).is_some() || from.compare(to) != Some(Ordering::Less) {
        return None;
    }
    let end = listed.iter().position(|version| version.as_str() == to.as_str())?;
    let mut steps: Vec<&KubernetesVersion> = Vec::new();
    for version in &listed[..=end] {
        if from.compare(version) != Some(Ordering::Less) {
            continue;
        }
        match steps.last_mut() {
            Some(last) if last.minor() == version.minor() => *last = version,
            _ => steps.push(version),
        }
    }
    // Newer patches of the minor that it leaves are passed over.
    if from.minor() != to.minor() {
        steps.retain(|version| version.minor() != from.minor());
    }
    let first = steps.first()?.minor();
    (!from.minor().skips(first)).then_some(steps)
}

/// How often workers are replaced on the way between these minors.
pub const fn worker_steps(from: KubernetesMinor, to: KubernetesMinor) -> u64 {
    let minors = to.minor.saturating_sub(from.minor);
    1 + minors.saturating_sub(1) / WORKERS_BEHIND
}

#[cfg(test)]
mod tests {
    use super::*;

    fn versions(text: &str) -> Vec<KubernetesVersion> {
        text.split_whitespace().map(|text| KubernetesVersion::parse(text).unwrap()).collect()
    }

    #[test]
    fn a_list_leads_somewhere_by_the_last_version_of_each_minor() {
        for (listed, from, to, steps) in [
            ("v1.31.4 v1.32.9 v1.33.2", "v1.31.4", "v1.33.2", Some("v1.32.9 v1.33.2")),
            ("v1.31.4 v1.31.9 v1.32.1 v1.32.9 v1.33.2", "v1.31.4", "v1.33.2", Some("v1.32.9 v1.33.2")),
            ("v1.31.4 v1.32.9 v1.33.2 v1.33.5", "v1.31.4", "v1.33.2", Some("v1.32.9 v1.33.2")),
            ("v1.32.9 v1.33.2", "v1.31.4", "v1.33.2", Some("v1.32.9 v1.33.2")),
            ("v1.31.4 v1.31.7 v1.31.9", "v1.31.4", "v1.31.9", Some("v1.31.9")),
            ("v1.31.4 v1.32.9", "v1.31.4", "v1.32.9", Some("v1.32.9")),
            // The wanted version is not listed; a minor is missing, or the current version is before the
            // first.
            ("v1.31.4 v1.32.9 v1.33.2", "v1.31.4", "v1.33.3", None),
            ("v1.31.4 v1.33.2", "v1.31.4", "v1.33.2", None),
            ("v1.33.2", "v1.31.4", "v1.33.2", None),
            ("v1.31.4 v1.32.9 v1.32.1 v1.33.2", "v1.31.4", "v1.33.2", None),
            ("v1.31.4 v1.32.9", "v1.32.9", "v1.31.4", None),
        ] {
            let listed = versions(listed);
            let (from, to) = (versions(from).remove(0), versions(to).remove(0));
            let found = control_plane_steps(&listed, &from, &to);
            let expected = steps.map(versions);
            assert_eq!(found.map(|steps| steps.into_iter().cloned().collect()), expected, "{listed:?} {to}");
        }
    }

    #[test]
    fn workers_follow_at_every_third_minor_and_at_the_end() {
        let minor = |minor| KubernetesMinor { major: 1, minor };
        for (to, steps) in [(30, 1), (31, 1), (32, 1), (33, 1), (34, 2), (36, 2), (37, 3)] {
            assert_eq!(worker_steps(minor(30), minor(to)), steps, "{to}");
        }
    }

    #[test]
    fn a_list_rises_and_leaves_no_minor_out() {
        for (listed, expected) in [
            ("v1.31.4 v1.32.9 v1.33.2", None),
            ("v1.31.4+a v1.31.4+b v1.32.0", None),
            ("v1.31.4 v1.31.4", Some((1, "falls"))),
            ("v1.31.4 v1.32.9 v1.32.1", Some((2, "falls"))),
            ("v1.31.4 v1.32.0 v1.34.0", Some((2, "gap 1.33"))),
        ] {
            let found = first_disorder(&versions(listed)).map(|(at, disorder)| match disorder {
                Disorder::Falls(_) => (at, "falls".to_owned()),
                Disorder::Gap(minor) => (at, format!("gap {minor}")),
            });
            assert_eq!(found, expected.map(|(at, text)| (at, text.to_owned())), "{listed}");
        }
    }
}
