//! `secret-needs-reconciler`: a reference to Vault where nobody resolves it.

use super::evidence::ClusterEvidence;
use super::rule::{About, PolicyRule};
use capstan_model::finding::{Finding, rules};
use capstan_model::kinds::{KindRole, role_of};

pub(super) struct SecretNeedsReconciler;

static ABOUT: About = About::new(
    rules::SECRET_NEEDS_RECONCILER,
    include_str!("../../../docs/rules/secret-needs-reconciler.md"),
);

impl PolicyRule for SecretNeedsReconciler {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn inspect(&self, cluster: &ClusterEvidence<'_>, verdicts: &mut Vec<Finding>) {
        if cluster.boundary.is_some_and(|around| around.is_claimed()) {
            return;
        }
        let is_reference =
            |group: &str, role: Option<KindRole>| group == "capstan.dev" && role == Some(KindRole::Secret);
        for object in
            cluster.objects.iter().filter(|object| is_reference(&object.id.group, role_of(&object.id)))
        {
            let message = format!(
                "{} is resolved only by Capstan's reconciler, but no management cluster claims this folder, so its Secret is never written. Claim the folder under `managementClusters` in .capstan.yaml, or use an ExternalSecret",
                object.id
            );
            verdicts.push(
                Finding::new(rules::SECRET_NEEDS_RECONCILER, message)
                    .object(&object.id)
                    .place(object.origin()),
            );
        }
    }
}
