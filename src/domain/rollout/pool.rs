//! MachinePools, whose instances the infrastructure provider replaces.

use super::course::Verdict;
use super::facts::{self, PoolInfrastructure};
use super::numbers::rolling;
use super::pointer::At;
use super::reading::{Pair, Reading};
use super::references::{renamed, text};

impl Reading<'_> {
    pub(super) fn pool(&self, pair: Pair<'_>) -> Verdict {
        let mut verdict = Verdict::default();
        let infrastructure = "/spec/template/spec/infrastructureRef";
        let kind = pair.after.at(infrastructure).and_then(|node| text(node, "kind")).unwrap_or_default();
        for pointer in ["/spec/template/spec/version", "/spec/template/spec/bootstrap/dataSecretName"] {
            if pair.differs(pointer) {
                verdict.definitely(pointer);
            }
        }
        self.reference(&mut verdict, pair, "/spec/template/spec/bootstrap/configRef");
        if renamed(pair, infrastructure) {
            verdict.definitely(&format!("{infrastructure}/name"));
        } else if let Some((before, after)) = self.named(pair.before.at(infrastructure)) {
            let named = Pair { before, after };
            match facts::pool_infrastructure(kind) {
                PoolInfrastructure::Below(fields) if fields.iter().any(|field| named.differs(field)) => {
                    verdict.definitely(&format!("{infrastructure}/name"));
                }
                PoolInfrastructure::Below(_) => {}
                PoolInfrastructure::ProviderDecides => {
                    if named.differs("/spec") {
                        verdict.perhaps(&format!("{infrastructure}/name"));
                    }
                }
            }
        }
        rolling(&mut verdict, pair);
        verdict.course.strategy = None;
        if verdict.is_definite() || verdict.is_unknown() {
            verdict.note(if facts::is_managed_pool(kind) {
                "The provider replaces the nodes of its node group, by its own rules."
            } else {
                "The infrastructure provider replaces the instances in place."
            });
        }
        verdict
    }
}
