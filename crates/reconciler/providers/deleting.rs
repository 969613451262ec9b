//! Whether a provider whose object is being deleted may go.

use capstan_live::installing::pass::{DesiredProvider, is_definition};
use capstan_live::installing::{Deletion, DeletionFacts, FailedCheck, InUse, deletion};
use capstan_model::object::ObjectId;
use serde_json::Value;

use super::ports::ProviderPorts;
use capstan_ports::{ApiKind, ApiObject, As, LiveError, ManagementCluster as _};
use capstan_reconciler_core::providers::halted::{Halted, may_not};
use capstan_reconciler_core::providers::member::PassMember;
use capstan_reconciler_core::providers::record::text;

/// Whether a provider that is being deleted may go.
pub(super) async fn settle(
    ports: &ProviderPorts,
    by: &As,
    member: &mut PassMember,
    all: &[ObjectId],
) -> Result<(), LiveError> {
    let is_deleted = |object: &Value| !text(object, "/metadata/deletionTimestamp").is_empty();
    if !member.object.as_ref().is_some_and(is_deleted) {
        return Ok(());
    }
    let objects = match objects_of(ports, by, member).await {
        Ok(objects) => objects,
        Err(error) => {
            let check = FailedCheck::MissingRights(may_not(error)?);
            member.wanted = DesiredProvider::Halted(check.message());
            member.halted = Some(Halted::Check(check));
            return Ok(());
        }
    };
    let others: Vec<ObjectId> = all.iter().filter(|id| **id != member.id).cloned().collect();
    let verdict = deletion(&DeletionFacts { kind: member.kind, objects: &objects, others: &others });
    if verdict == Deletion::May {
        member.wanted = DesiredProvider::Nothing;
        member.halted = None;
    }
    member.deletion = Some(verdict);
    Ok(())
}

/// The objects of the kinds that a provider's definitions bring.
async fn objects_of(ports: &ProviderPorts, by: &As, member: &PassMember) -> Result<Vec<InUse>, LiveError> {
    let mut found = Vec::new();
    let inventory = member.remembered.iter().flat_map(|one| one.record.inventory.objects());
    for definition in inventory.filter(|object| is_definition(&object.id())) {
        let Some(live) = ports.live.read(by, &ApiObject::from(&definition.id())).await? else { continue };
        let kind = ApiKind::preferred(text(&live, "/spec/group"), text(&live, "/spec/names/kind"));
        let objects = ports.live.list(by, &kind, None, &[]).await?;
        if objects.is_empty() {
            continue;
        }
        let name = |object: &Value| match text(object, "/metadata/namespace") {
            "" => text(object, "/metadata/name").to_owned(),
            namespace => format!("{namespace}/{}", text(object, "/metadata/name")),
        };
        found.push(InUse {
            definition: definition.name.clone(),
            count: objects.len(),
            names: objects.iter().take(5).map(name).collect(),
        });
    }
    Ok(found)
}
