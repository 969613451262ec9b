//! `kubernetes-downgrade`

use super::evidence::Evidence;
use super::kubernetes_steps::{spot, steps};
use super::rule::{About, PolicyRule};
use capstan_model::finding::{Finding, rules};

pub(super) struct KubernetesDowngrade;

static ABOUT: About =
    About::new(rules::KUBERNETES_DOWNGRADE, include_str!("../../../docs/rules/kubernetes-downgrade.md"));

impl PolicyRule for KubernetesDowngrade {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn compare(&self, change: &Evidence<'_>, verdicts: &mut Vec<Finding>) {
        for (old, new) in steps(change) {
            if new.version.compare(&old.version).is_some_and(std::cmp::Ordering::is_lt) {
                verdicts.push(
                    Finding::new(
                        rules::KUBERNETES_DOWNGRADE,
                        format!(
                            "{} goes back from {} to {}. Kubernetes cannot be downgraded: keep {} or newer",
                            new.object, old.version, new.version, old.version
                        ),
                    )
                    .object(new.object)
                    .path(&new.path())
                    .place(spot(change.occasion, &old, &new)),
                );
            }
        }
        let silent = change.before.versions.is_empty() && change.after.versions.is_empty();
        let Some(step) = change.release.as_ref().filter(|_| silent) else { return };
        let old = step.from.and_then(|release| release.kubernetes.as_ref());
        if let (Some(old), Some(new)) = (old, step.to.kubernetes.as_ref())
            && new.compare(old).is_some_and(std::cmp::Ordering::is_lt)
        {
            let message = format!(
                "release {} takes Kubernetes back from {old} to {new}. Kubernetes cannot be downgraded: use a newer release",
                step.to.id
            );
            let verdict = Finding::new(rules::KUBERNETES_DOWNGRADE, message);
            verdicts.push(verdict.maybe_place(step.place.clone()));
        }
    }
}
