//! Providers that the operator, clusterctl or kubectl installed before: what taking them over would change, said until somebody
//! allows it; and what the operator leaves behind.
//!
//! *Guarantee*: before it is allowed nothing of the provider is written but the status of its object. Taken over, an object
//! keeps its content where that is what is rendered: the managers of its fields move, no pod is restarted.

use std::collections::{BTreeMap, BTreeSet};

use capstan_live::applying::{
    RefusalKind, TakeOver, is_applied_by_capstan, speaks_another_version, take_over,
};
use capstan_live::installing::pass::{DesiredProvider, installers};
use capstan_live::installing::{ADOPT, FailedCheck};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_model::wording::count;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::perform::as_seen;
use super::ports::ProviderPorts;
use capstan_ports::{
    ApiKind, ApiObject, As, Contested, Deleted, LiveError, ManagementCluster as _, ObjectPart, Run,
};
use capstan_reconciler_core::providers::halted::Halted;
use capstan_reconciler_core::providers::member::{APPLIED_SPEC_HASH, PassMember, mark};
use capstan_reconciler_core::providers::members::Members;

/// How many requests are under way at a time.
const AT_A_TIME: usize = 4;
/// How many changed objects a preview names, and how many fields of each.
const NAMED: usize = 5;

/// Holds back the providers that another tool installed and whose takeover nobody allowed.
pub(super) async fn hold(ports: &ProviderPorts, by: &As, members: &mut Members) -> Result<(), LiveError> {
    for member in &mut members.all {
        hold_one(ports, by, member).await?;
    }
    Ok(())
}

/// The same of one of them.
pub(super) async fn hold_one(
    ports: &ProviderPorts,
    by: &As,
    member: &mut PassMember,
) -> Result<(), LiveError> {
    let theirs = found(ports, by, member).await?;
    if theirs.is_empty() || member.object.as_ref().is_some_and(is_allowed) {
        return Ok(());
    }
    let check = FailedCheck::AdoptionNeeded(preview(ports, by, member, &theirs).await?);
    member.wanted = DesiredProvider::Halted(check.message());
    member.halted = Some(Halted::Check(check));
    Ok(())
}

/// Describes what a takeover would change of each provider that another tool installed; writes nothing.
pub(super) async fn previews(
    ports: &ProviderPorts,
    by: &As,
    members: &mut Members,
) -> Result<BTreeMap<ObjectId, String>, LiveError> {
    let mut told = BTreeMap::new();
    for member in &mut members.all {
        let theirs = found(ports, by, member).await?;
        if !theirs.is_empty() {
            told.insert(member.id.clone(), preview(ports, by, member, &theirs).await?);
        }
    }
    Ok(told)
}

/// The objects that another tool applied of a provider that Capstan never had. Notes the version that clusterctl has of
/// it.
async fn found(
    ports: &ProviderPorts,
    by: &As,
    member: &mut PassMember,
) -> Result<Vec<(ObjectId, Value)>, LiveError> {
    let is_new = member.remembered.is_none() && member.deletion.is_none();
    if !is_new || !matches!(member.wanted, DesiredProvider::Components(_)) {
        return Ok(Vec::new());
    }
    let theirs = theirs(ports, by, member).await?;
    if !theirs.is_empty() && member.installed_before.is_none() {
        member.installed_before = of_clusterctl(ports, by, member).await?;
    }
    Ok(theirs)
}

/// Deletes what the operator keeps of a provider that is Capstan's: its caches, which hold credentials. Its ConfigMaps stay, so
/// that it fetches nothing when it gets the provider back. Its mark goes last: as long as it is there, this is done again.
pub(super) async fn clear(ports: &ProviderPorts, by: &As, members: &Members) -> Result<(), LiveError> {
    for member in members.all.iter().filter(|member| member.remembered.is_some()) {
        let Some(object) = member.object.as_ref().filter(|object| mark(object).is_some()) else { continue };
        let mut is_done = true;
        for name in caches(member, &members.config_maps) {
            let secret = ApiObject {
                kind: ApiKind::of_version("v1", "Secret"),
                namespace: Some(member.namespace.clone()),
                name,
            };
            match remove(ports, by, &secret).await {
                // Another client changed it meanwhile: the mark stays, and the next pass tries again.
                Ok(Deleted::Changed) => is_done = false,
                Ok(Deleted::Gone | Deleted::Terminating | Deleted::Absent | Deleted::Replaced) => {}
                // The mark stays, and with it the warning, until it is gone.
                Err(error @ LiveError::Refused { .. }) => {
                    is_done = false;
                    tracing::warn!(%secret, %error, "a cache of the operator may hold credentials and cannot be deleted: delete it");
                }
                Err(error) => return Err(error),
            }
        }
        if !is_done {
            continue;
        }
        let Some(named) = ApiObject::of(object) else { continue };
        let patch = json!([
            {"op": "test", "path": "/metadata/uid", "value": object["metadata"]["uid"]},
            {"op": "remove", "path": format!("/metadata/annotations/{}", APPLIED_SPEC_HASH.replace('/', "~1"))},
        ]);
        match ports.live.patch(by, &named, ObjectPart::Whole, &patch, Run::Real).await {
            // It went, or the mark did.
            Err(LiveError::Refused { refusal, .. })
                if matches!(refusal.kind, RefusalKind::NotFound | RefusalKind::Invalid) => {}
            outcome => drop(outcome?),
        }
    }
    Ok(())
}

/// Deletes one of the operator's caches, unless it changed since it was read.
async fn remove(ports: &ProviderPorts, by: &As, secret: &ApiObject) -> Result<Deleted, LiveError> {
    let Some(found) = ports.live.read(by, secret).await? else { return Ok(Deleted::Absent) };
    if found.pointer("/data/cache").is_none() {
        return Ok(Deleted::Absent);
    }
    let deleted = ports.live.delete(by, secret, as_seen(&found), Run::Real).await?;
    if deleted == Deleted::Gone {
        tracing::info!(%secret, "deleted: the operator kept rendered objects there, credentials included");
    }
    Ok(deleted)
}

fn is_allowed(object: &Value) -> bool {
    let annotations = object.pointer("/metadata/annotations");
    annotations.and_then(|all| all.get(ADOPT)?.as_str()) == Some("take")
}

/// The names that the operator's caches of a provider may have: of every version that something here speaks of.
fn caches(member: &PassMember, config_maps: &[Value]) -> BTreeSet<String> {
    let label = |map: &Value, key: &str| {
        let label = map.pointer("/metadata/labels")?.get(format!("provider.cluster.x-k8s.io/{key}"))?;
        label.as_str().map(str::to_owned)
    };
    let is_its = |map: &&Value| {
        map.pointer("/metadata/namespace").and_then(Value::as_str) == Some(&member.namespace)
            && label(map, "name").is_none_or(|name| name == member.name)
            && label(map, "type").is_none_or(|word| word == member.kind.word())
    };
    let known = config_maps.iter().filter(is_its).filter_map(|map| label(map, "version"));
    let status = member.object.as_ref().and_then(|one| one.pointer("/status/installedVersion")?.as_str());
    let own = member.version.iter().cloned().chain(status.map(str::to_owned));
    known.chain(own).map(|version| member.kind.operators_cache(&member.name, &version)).collect()
}

/// What is there of a provider's objects that Capstan never applied.
async fn theirs(
    ports: &ProviderPorts,
    by: &As,
    member: &PassMember,
) -> Result<Vec<(ObjectId, Value)>, LiveError> {
    let reads = member.manifests().iter().map(|(id, manifest)| async move {
        ports.live.read(by, &manifest.object).await.map(|live| (id.clone(), live))
    });
    let mut found = stream::iter(reads.collect::<Vec<_>>()).buffered(AT_A_TIME);
    let mut theirs = Vec::new();
    while let Some(one) = found.next().await {
        if let (id, Some(live)) = one?
            && !is_applied_by_capstan(&live)
        {
            theirs.push((id, live));
        }
    }
    Ok(theirs)
}

/// The version that clusterctl's inventory has of a provider.
async fn of_clusterctl(
    ports: &ProviderPorts,
    by: &As,
    member: &PassMember,
) -> Result<Option<String>, LiveError> {
    let provider = ApiObject {
        kind: ApiKind::preferred("clusterctl.cluster.x-k8s.io", "Provider"),
        namespace: Some(member.namespace.clone()),
        name: member.label(),
    };
    match ports.live.read(by, &provider).await {
        Ok(found) => Ok(found.and_then(|found| found.get("version")?.as_str().map(str::to_owned))),
        // Without the right to read it, the version is unknown.
        Err(LiveError::Refused { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What taking over would change, in words.
async fn preview(
    ports: &ProviderPorts,
    by: &As,
    member: &PassMember,
    theirs: &[(ObjectId, Value)],
) -> Result<String, LiveError> {
    let from: BTreeSet<String> = theirs.iter().flat_map(|(_, live)| installers(live)).collect();
    let from: Vec<String> = from.into_iter().collect();
    let mut changed = Vec::new();
    let mut restarted = Vec::new();
    for (id, live) in theirs {
        let Some(manifest) = member.manifests().get(id) else { continue };
        let manifest = &manifest.value();
        let tried = match ports.live.apply(by, manifest, Run::Dry, Contested::Take).await {
            Ok(tried) => tried,
            Err(LiveError::Refused { refusal, .. }) => {
                changed.push(format!("{id} is refused ({refusal})"));
                continue;
            }
            Err(error) => return Err(error),
        };
        let from = installers(live);
        let created = if speaks_another_version(live, manifest, &from) {
            match ports.live.dry_run_create(by, manifest).await {
                Ok(created) => Some(created),
                // Then the preview compares field paths of the two versions, which is right where both name a field
                // alike.
                Err(LiveError::Refused { .. }) => None,
                Err(error) => return Err(error),
            }
        } else {
            None
        };
        let found = take_over(live, manifest, Some(&tried), created.as_ref(), &from);
        if found.sets.iter().chain(&found.removes).any(|path| restarts(id, path)) {
            restarted.push(id.to_string());
        }
        changed.extend(words(id, &found));
    }
    let label = member.label();
    let by_whom = if from.is_empty() { "somebody else".to_owned() } else { from.join(", ") };
    let objects = count(theirs.len(), "object", "objects");
    let what = match changed.len() {
        0 => "changes only who manages their fields".to_owned(),
        number => {
            let mut named: Vec<String> = changed.into_iter().take(NAMED).collect();
            if number > NAMED {
                named.push(format!("{} more change", number - NAMED));
            }
            named.join("; ")
        }
    };
    let pods = match restarted.is_empty() {
        true => "no pod is restarted".to_owned(),
        false => format!("the pods of {} are replaced", restarted.join(", ")),
    };
    let version = match (&member.installed_before, &member.version) {
        (Some(before), Some(after)) if before != after => {
            format!("; {before} is installed, and {after} follows as an upgrade")
        }
        _ => String::new(),
    };
    Ok(format!(
        "{objects} of {label} were applied by {by_whom}, not by Capstan; taking them over {what}, and {pods}{version}. Allow it \
         by `adopt: take`, in the Fleet's guards or the ManagedCluster's spec of the set, or by the annotation `{ADOPT}: take`"
    ))
}

/// Whether a change of that field replaces pods.
fn restarts(id: &ObjectId, path: &FieldPath) -> bool {
    id.group == "apps" && path.to_string().starts_with("/spec/template")
}

fn words(id: &ObjectId, found: &TakeOver) -> Option<String> {
    let part = |verb: &str, fields: &[FieldPath]| {
        let named: Vec<String> = fields.iter().take(NAMED).map(ToString::to_string).collect();
        let more = fields.len().saturating_sub(NAMED);
        let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!named.is_empty()).then(|| format!("{verb} {}{tail}", named.join(", ")))
    };
    let parts: Vec<String> =
        [part("sets", &found.sets), part("removes", &found.removes)].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{} of {id}", parts.join(" and ")))
}
