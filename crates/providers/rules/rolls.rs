//! `provider-rolls-machines`: upgrades that are known to have replaced machines by themselves.
//!
//! Nothing of this can be computed from manifests: a manager fills in, or computes, something else than the one before,
//! and takes every machine for outdated. So this is a table of what was seen, with sources, and never all there is.

use capstan_kustomize::render::PlacedValue;
use capstan_model::finding::{Finding, rules};
use capstan_model::object::api_group;
use capstan_model::version::ReleaseVersion;
use capstan_model::wording::few;

use super::case::{RuleCase, found, is_cluster_api, parsed};
use crate::state::SetMember;

/// How many control planes a message names.
const NAMED: usize = 5;

/// An upgrade that replaced machines.
struct RollingUpgrade {
    /// Whether a provider is the one.
    of: fn(&SetMember) -> bool,
    /// Versions left: major and minor, the first and the last.
    from: [(u64, u64); 2],
    /// Versions entered, likewise.
    to: [(u64, u64); 2],
    what: &'static str,
    /// The kind of the control planes, and which of them, as far as a file can tell.
    kind: &'static str,
    affects: fn(&PlacedValue) -> bool,
    source: &'static str,
}

const CONTROL_PLANE: &str = "KubeadmControlPlane";

fn is_kubeadm_control_plane(member: &SetMember) -> bool {
    is_cluster_api(member) && member.kind == crate::kind::ProviderKind::ControlPlane
}

fn is_rke2(member: &SetMember) -> bool {
    member.name == "rke2"
}

const KNOWN: &[RollingUpgrade] = &[
    RollingUpgrade {
        of: is_kubeadm_control_plane,
        from: [(1, 0), (1, 0)],
        to: [(1, 1), (1, u64::MAX)],
        what: "every KubeadmControlPlane, because `format` got a default",
        kind: CONTROL_PLANE,
        affects: |object| object.at(&["spec", "kubeadmConfigSpec", "format"]).is_none(),
        source: "https://github.com/kubernetes-sigs/cluster-api/issues/6093",
    },
    RollingUpgrade {
        of: is_kubeadm_control_plane,
        from: [(1, 0), (1, 10)],
        to: [(1, 11), (1, u64::MAX)],
        what: "KubeadmControlPlanes that leave some fields unset, `timeoutForControlPlane` and arguments among them",
        kind: CONTROL_PLANE,
        affects: |object| {
            let server = ["spec", "kubeadmConfigSpec", "clusterConfiguration", "apiServer"];
            let field = |name: &str| object.at(&server).and_then(|server| server.field(name));
            field("timeoutForControlPlane").is_none() || field("extraArgs").is_none()
        },
        source: "https://github.com/kubernetes-sigs/cluster-api/issues/13017",
    },
    RollingUpgrade {
        of: is_kubeadm_control_plane,
        from: [(1, 0), (1, 11)],
        to: [(1, 12), (1, 14)],
        what: "KubeadmControlPlanes whose join configuration was never written, in versions before the fix of September 2026",
        kind: CONTROL_PLANE,
        affects: |object| object.at(&["spec", "kubeadmConfigSpec", "joinConfiguration"]).is_none(),
        source: "https://github.com/kubernetes-sigs/cluster-api/pull/14167",
    },
    RollingUpgrade {
        of: is_rke2,
        from: [(0, 0), (0, 7)],
        to: [(0, 12), (0, u64::MAX)],
        what: "RKE2 control planes, from 0.7.1 to 0.12.0",
        kind: "RKE2ControlPlane",
        affects: |_| true,
        source: "https://github.com/rancher/cluster-api-provider-rke2/issues/596",
    },
];

fn is_within([first, last]: [(u64, u64); 2], version: &ReleaseVersion) -> bool {
    (first..=last).contains(&(version.major(), version.minor()))
}

pub(super) fn judge(case: &RuleCase<'_>, findings: &mut Vec<Finding>) {
    for member in &case.after.members {
        let Some((old, new)) = case.before(member).and_then(parsed).zip(parsed(member)) else { continue };
        let happens = |known: &&RollingUpgrade| {
            (known.of)(member) && is_within(known.from, &old) && is_within(known.to, &new)
        };
        for known in KNOWN.iter().filter(happens) {
            let of_kind = |object: &&&PlacedValue| {
                let text = |key: &str| object.text_at(&[key]).unwrap_or_default();
                text("kind") == known.kind && api_group(text("apiVersion")) == "controlplane.cluster.x-k8s.io"
            };
            let all: Vec<&PlacedValue> = case.facts.objects.iter().filter(of_kind).copied().collect();
            let mut affected: Vec<String> = all
                .iter()
                .filter(|object| (known.affects)(object))
                .map(|object| {
                    let text = |key: &str| object.text_at(&["metadata", key]).unwrap_or_default();
                    format!("{}/{}", text("namespace"), text("name"))
                })
                .collect();
            affected.sort();
            affected.dedup();
            let here = match (all.is_empty(), affected.is_empty()) {
                (true, _) => "there is no control plane of that kind here".to_owned(),
                (false, true) => "none of the control planes here matches".to_owned(),
                (false, false) => {
                    format!(
                        "of the control planes here, {} may match",
                        few(&affected, NAMED, "more").join(", ")
                    )
                }
            };
            let message = format!(
                "upgrades such as {} v{old} to v{new} are known to replace machines by themselves: {} ({}); {here}. Others may do it too: watch the first cluster",
                member.label(),
                known.what,
                known.source
            );
            findings.push(found(rules::PROVIDER_ROLLS_MACHINES, member, message));
        }
    }
}
