//! `provider-kubernetes`

use std::collections::BTreeMap;

use capstan_model::cluster_api::{ClusterRole, KubernetesSupport, supports};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::version::{KubernetesVersion, ReleaseVersion};

use super::case::{RuleCase, found, is_cluster_api, parsed};
use crate::state::SetMember;

pub(super) fn judge(case: &RuleCase<'_>, findings: &mut Vec<Finding>) {
    // The same table holds for the three: versions that are equal are judged once.
    let mut versions: BTreeMap<ReleaseVersion, &SetMember> = BTreeMap::new();
    for member in case.after.members.iter().filter(|member| is_cluster_api(member)) {
        if let Some(version) = parsed(member) {
            versions.entry(version).or_insert(member);
        }
    }
    for (version, member) in versions {
        let mut judge = |who: String, role: ClusterRole, runs: &KubernetesVersion, place: Option<Place>| {
            let why = match supports(&version, role, runs.minor()) {
                KubernetesSupport::Supported => return,
                KubernetesSupport::OutOf { first, last } => {
                    let of = match role {
                        ClusterRole::Management => "runs on",
                        ClusterRole::Workload => "manages clusters of",
                    };
                    format!(
                        "which {of} 1.{first} to 1.{last}: upgrade the cluster first, or use another version"
                    )
                }
                KubernetesSupport::NeedsPatch(patch) => format!(
                    "which supports {} only from v{}.{}.{patch} on: use that",
                    runs.minor(),
                    version.major(),
                    version.minor()
                ),
            };
            let message = format!(
                "{who} runs Kubernetes {}, but the set has {} v{version}, {why}",
                runs.as_str(),
                member.label()
            );
            findings.push(found(rules::PROVIDER_KUBERNETES, member, message).maybe_place(place));
        };
        if let Some(management) = &case.facts.management {
            judge("the management cluster".to_owned(), ClusterRole::Management, management, None);
        }
        for workload in &case.facts.workloads {
            let who = format!("cluster {}", workload.name);
            judge(who, ClusterRole::Workload, &workload.version, workload.place.clone());
        }
    }
}
