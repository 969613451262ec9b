//! `provider-kubernetes`

use std::collections::BTreeMap;

use capstan_model::cluster_api::{Role, Verdict, supports};
use capstan_model::finding::{Finding, Place, rules};
use capstan_model::version::{KubernetesVersion, ReleaseVersion};

use super::{Case, found, is_cluster_api, parsed};
use crate::state::Member;

pub(super) fn judge(case: &Case<'_>, findings: &mut Vec<Finding>) {
    // The same table holds for the three: versions that are equal are judged once.
    let mut versions: BTreeMap<ReleaseVersion, &Member> = BTreeMap::new();
    for member in case.after.members.iter().filter(|member| is_cluster_api(member)) {
        if let Some(version) = parsed(member) {
            versions.entry(version).or_insert(member);
        }
    }
    for (version, member) in versions {
        let mut judge = |who: String, role: Role, runs: &KubernetesVersion, place: Option<Place>| {
            let why = match supports(&version, role, runs.minor()) {
                Verdict::Supported => return,
                Verdict::OutOf { first, last } => {
                    let of = match role {
                        Role::Management => "runs on",
                        Role::Workload => "manages clusters of",
                    };
                    format!(
                        "which {of} 1.{first} to 1.{last}: upgrade the cluster first, or use another version"
                    )
                }
                Verdict::NeedsPatch(patch) => format!(
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
            judge("the management cluster".to_owned(), Role::Management, management, None);
        }
        for workload in &case.facts.workloads {
            let who = format!("cluster {}", workload.name);
            judge(who, Role::Workload, &workload.version, workload.place.clone());
        }
    }
}
