//! `kubernetes-minor-skip`

use super::evidence::{ClusterEvidence, Evidence};
use super::kubernetes::{RequiredVersion, Role};
use super::kubernetes_steps::{spot, steps};
use super::rule::{About, PolicyRule};
use super::topology_version::class_of;
use crate::templates::ClassUpgrade;
use capstan_model::finding::{Finding, rules};
use capstan_model::version::{KubernetesMinor, KubernetesVersion};

pub(super) struct KubernetesMinorSkip;

static ABOUT: About =
    About::new(rules::KUBERNETES_MINOR_SKIP, include_str!("../../../docs/rules/kubernetes-minor-skip.md"));

impl PolicyRule for KubernetesMinorSkip {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        let control_plane: Option<KubernetesMinor> = change
            .before
            .versions
            .iter()
            .filter(|wanted| wanted.role == Role::ControlPlane)
            .map(|wanted| wanted.version.minor())
            .min();
        for (old, new) in steps(change) {
            // Machines that lag may catch up with a control plane that is there already: they are
            // replaced, not upgraded.
            let catches_up =
                new.role == Role::Workers && control_plane.is_some_and(|at| new.version.minor() <= at);
            let goes_through = new.role == Role::ControlPlane && chained(&change.after, &old.version, &new);
            if old.version.minor().skips(new.version.minor()) && !catches_up && !goes_through {
                let message = format!("{} goes {}", new.object, words(&old.version, &new.version));
                verdicts.push(
                    Finding::new(rules::KUBERNETES_MINOR_SKIP, message)
                        .object(new.object)
                        .path(&new.path())
                        .place(spot(change.occasion, &old, &new)),
                );
            }
        }
        // Clusters that name only a release show no version of their own.
        let silent = change.before.versions.is_empty() && change.after.versions.is_empty();
        let Some(step) = change.release.as_ref().filter(|_| silent) else { return };
        let old = step.from.and_then(|release| release.kubernetes.as_ref());
        if let (Some(old), Some(new)) = (old, step.to.kubernetes.as_ref())
            && old.minor().skips(new.minor())
        {
            let message = format!("release {} takes Kubernetes {}", step.to.id, words(old, new));
            let verdict = Finding::new(rules::KUBERNETES_MINOR_SKIP, message);
            verdicts.push(verdict.maybe_place(step.place.clone()));
        }
    }
}

/// Whether a topology's class, rendered here, leads Cluster API through the minors between: by the versions that it
/// lists, or by the plan of a runtime extension.
fn chained(cluster: &ClusterEvidence<'_>, from: &KubernetesVersion, wanted: &RequiredVersion<'_>) -> bool {
    let topology = cluster.object(wanted.object).and_then(|object| object.placed.at(&["spec", "topology"]));
    let Some(topology) = topology else { return false };
    class_of(cluster, topology)
        .is_some_and(|class| ClassUpgrade::of(&class.value).leads(from, &wanted.version))
}

fn words(old: &KubernetesVersion, new: &KubernetesVersion) -> String {
    format!(
        "from {old} to {new}, but Kubernetes must be upgraded one minor at a time: first upgrade to {}",
        old.minor().next()
    )
}
