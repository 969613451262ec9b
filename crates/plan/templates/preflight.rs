//! Workers whose machines Cluster API checks before it makes them, and who skips a check.

use super::references::{Reference, references};
use super::role::TemplateRole;
use capstan_model::kinds::preflight::{KUBEADM_TEMPLATE, PreflightCheck, SKIP_PREFLIGHT};
use capstan_model::kinds::{KindRole, Workers, role_of};
use capstan_model::object::ObjectId;
use capstan_yaml::Readable;

/// The bootstrap template of workers whose machines a MachineSet makes: nobody checks the machines of a MachinePool.
pub fn checked_template<'n, T: Readable>(id: &ObjectId, root: &'n T) -> Option<Reference<'n>> {
    let makes = matches!(role_of(id), Some(KindRole::Workers(Workers::Deployment | Workers::Set)));
    let named = makes.then(|| references(&id.group, &id.kind, root));
    named?.into_iter().find(|reference| reference.role == TemplateRole::Bootstrap)
}

/// The same of workers that kubeadm joins.
pub fn checked_kubeadm_template<'n, T: Readable>(id: &ObjectId, root: &'n T) -> Option<Reference<'n>> {
    checked_template(id, root).filter(|template| template.kind == KUBEADM_TEMPLATE)
}

/// Whether workers skip a check, by their annotation or by that of their bootstrap template.
pub fn skips_check<T: Readable>(check: PreflightCheck, workers: &T, template: Option<&T>) -> bool {
    check.is_skipped(skipped(workers), template.and_then(skipped))
}

fn skipped<T: Readable>(root: &T) -> Option<&str> {
    root.field("metadata")?.field("annotations")?.field(SKIP_PREFLIGHT)?.text()
}
