//! What a management cluster says to a head's provider set, besides the dry runs of its objects. Do its Kubernetes, its
//! stored objects and its field managers fit the coming definitions? Does the installer's account have the rights that
//! the set needs? Where Capstan installs: what is the result of a server-side dry run of everything?
//!
//! Read with that account's rights. Components are those of the head, else those of live ConfigMaps, else they are fetched
//! from the hosts that the reconciler may contact, and not kept. *Bounded*: one look at each definition of the set, one list of
//! a kind that loses a version, one question about rights and one list of ConfigMaps for each namespace of a provider, one
//! dry run an object.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::render::{PlacedValue, RenderedObject};
use capstan_live::applying::{InventoryObject, RefusalKind};
use capstan_live::installing::DEFINITION;
use capstan_live::installing::pass::ProviderRecord;
use capstan_live::live_objects::identity;
use capstan_model::finding::{Finding, Severity, rules};
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_model::version::KubernetesVersion;
use capstan_model::wording::count;
use capstan_plan::settings::ProvidersBy;
use capstan_providers::{
    ComponentsState, Inputs, InstalledSet, Live, Managed, Migration, Provider, ProviderKind,
    ProviderRuleFacts, ProviderSet, Recorded, RenderedSet, Supplies, Supply, VariableValues, at_hand,
    compare, installation_of, lacking, supply,
};
use serde::Deserialize as _;
use serde_json::Value;

use super::dependencies::Ports;
use super::revision::Revision;
use super::set_trial::try_all;
use capstan_fleet::components::{Download, Sort};
use capstan_ports::{
    ApiKind, ApiObject, As, LiveError, ManagementCluster, SourceCredentials, WantedComponents,
};
use capstan_reconciler_core::reason::Reason;

/// How many kinds that lose a version have their objects listed.
const MOST_KINDS: usize = 40;
/// How many missing rights are named one by one.
const MOST_NAMED: usize = 20;
/// What holds everywhere is asked here, where nobody grants anything to an installer.
const ANYWHERE: &str = "kube-public";

/// What is to be said of a set, the worst not first.
///
/// # Errors
/// The API server does not answer, or refuses.
pub(super) async fn look(
    ports: &Ports,
    by: &As,
    head: &Revision,
    id: &ClusterId,
    applied: ProvidersBy,
    objects: &[RenderedObject],
) -> Result<Vec<Reason>, LiveError> {
    let live = ports.live.as_ref();
    let placed = objects.iter().map(|object| object.placed.clone()).collect::<Vec<PlacedValue>>();
    // The check of the pull request reports what is wrong with the objects themselves.
    let Ok(mut set) = ProviderSet::of(placed) else { return Ok(Vec::new()) };
    let tree = head.fleet.tree().as_ref();
    // That check also reports what the files alone show.
    let in_git: BTreeSet<String> = set
        .providers()
        .iter()
        .filter(|provider| {
            matches!(at_hand(tree, &set, provider), Ok(Some(_))) && provider.config_secret().is_none()
        })
        .map(Provider::label)
        .collect();
    let mut reasons = complete(ports, by, head, id, applied, &mut set).await?;
    let variables = VariableValues::default();
    let rendered = RenderedSet::read(Inputs { tree, set: &set, variables: &variables, configuration: None });
    for member in &rendered.members {
        if let ComponentsState::Unknown(why) = &member.components {
            let message = format!(
                "the objects of {} are unknown here, so Capstan checks neither its definitions nor the rights that it needs: {why}",
                member.id()
            );
            reasons
                .push(Reason { severity: Severity::Warning, ..Reason::plain("ComponentsUnknown", message) });
        }
    }
    let definitions: Vec<&Value> = rendered
        .members
        .iter()
        .filter_map(|member| member.rendered())
        .flat_map(|rendered| &rendered.objects)
        .filter(|object| object["kind"] == DEFINITION.1)
        .collect();
    let (stored, defined) = stored(live, by, &definitions).await?;
    let facts = ProviderRuleFacts {
        management: KubernetesVersion::parse(&live.version().await?),
        live: Some(stored),
        recorded: recorded(head, id),
        migration: match applied {
            ProvidersBy::Capstan => Migration::Capstan,
            ProvidersBy::Operator | ProvidersBy::Others => Migration::Nobody,
        },
        ..ProviderRuleFacts::default()
    };
    let severities = head.fleet.settings().severities();
    let live_rules = [rules::PROVIDER_KUBERNETES, rules::PROVIDER_API_IN_USE];
    let beyond_git = [rules::PROVIDER_DIGEST_DIFFERS, rules::PROVIDER_VARIABLE_UNBOUND, rules::RENDER_FAILED];
    let is_of_git = |finding: &Finding| {
        let object = finding.object.as_ref();
        let kind = object.and_then(|object| ProviderKind::parse(&object.kind));
        kind.zip(object).is_some_and(|(kind, object)| in_git.contains(&kind.label(&object.name)))
    };
    let found = compare(None, &rendered, &facts).findings.into_iter();
    let found = found.filter(|finding| {
        live_rules.contains(&finding.rule) || beyond_git.contains(&finding.rule) && !is_of_git(finding)
    });
    reasons.extend(found.filter_map(|finding| severities.judged(finding)).map(of_finding));
    if applied == ProvidersBy::Capstan {
        let lacks = rights(live, by, &set, &rendered).await?;
        let knows_rights = !lacks.is_empty();
        reasons.extend(lacks);
        reasons.extend(try_all(live, by, &rendered, &defined, objects, knows_rights).await?);
    }
    Ok(reasons)
}

/// What a set records of its components. A record that cannot be read is reported elsewhere.
fn recorded(head: &Revision, id: &ClusterId) -> BTreeMap<String, Recorded> {
    let records = head.fleet.own_settings(id).unwrap_or_default().components;
    let of = |(label, record): (String, capstan_plan::settings::ComponentsRecord)| {
        (label, Recorded { version: record.version, sha256: record.sha256, place: None })
    };
    records.into_iter().map(of).collect()
}

/// Adds to a set what the API server holds of its ConfigMaps and config Secrets, and what can be fetched. What the
/// account may not read counts as absent: the missing right is reported.
async fn complete(
    ports: &Ports,
    by: &As,
    head: &Revision,
    id: &ClusterId,
    applied: ProvidersBy,
    set: &mut ProviderSet,
) -> Result<Vec<Reason>, LiveError> {
    let live = ports.live.as_ref();
    let mut held = Vec::new();
    let namespaces: BTreeSet<&str> = set.providers().iter().map(|one| one.namespace.as_str()).collect();
    for namespace in namespaces {
        let listed = live.list(by, &ApiKind::of_version("v1", "ConfigMap"), Some(namespace), &[]).await;
        let listed = unless_forbidden(listed)?.unwrap_or_default();
        held.extend(listed.into_iter().filter(|map| set.providers().iter().any(|one| one.reads(map))));
    }
    let mut versions = BTreeMap::new();
    for provider in set.providers() {
        let Some(name) = provider.config_secret() else { continue };
        let secret = ApiObject {
            kind: ApiKind::of_version("v1", "Secret"),
            namespace: Some(provider.namespace.clone()),
            name: name.to_owned(),
        };
        if let Some(found) = unless_forbidden(live.read(by, &secret).await)?.flatten() {
            let version = found.pointer("/metadata/resourceVersion").and_then(Value::as_str);
            versions.insert(provider.label(), version.unwrap_or_default().to_owned());
            held.push(found);
        }
    }
    set.complete_with(&held);
    if applied != ProvidersBy::Capstan {
        return Ok(Vec::new());
    }
    let tree = head.fleet.tree().as_ref();
    let records =
        recorded(head, id).into_iter().map(|(label, one)| (label, (one.version, one.sha256))).collect();
    let mut supplies = Supplies::default();
    let unasked = supply(tree, set, &supplies, &records).unasked;
    let mut reasons = Vec::new();
    let mut asked = Vec::new();
    for wanted in unasked {
        let provider = set.providers().iter().find(|one| one.label() == wanted.label());
        let values =
            provider.and_then(|one| set.values(one, &VariableValues::default()).ok()).unwrap_or_default();
        let who = versions.get(&wanted.label()).cloned().unwrap_or_default();
        asked.push(async move {
            let components = WantedComponents {
                kind: wanted.kind,
                name: wanted.name.clone(),
                version: Some(wanted.version.clone()),
                origin: wanted.origin.clone(),
                credentials: SourceCredentials::read(|name| values.get(name).map(str::to_owned)),
                recorded: wanted.recorded.clone(),
            };
            let download = ports.downloads.ask(components, &format!("before the merge {who}")).await;
            (wanted, download)
        });
    }
    for (wanted, download) in futures_util::future::join_all(asked).await {
        let supply = match download {
            Download::Here(published) => Supply::Fetched(published),
            Download::Not(not) => {
                if not.sort == Sort::DigestDiffers {
                    reasons.push(Reason::plain(rules::PROVIDER_DIGEST_DIFFERS.id(), not.why.clone()));
                }
                Supply::Missing(not.why)
            }
        };
        supplies.add(wanted, supply);
    }
    supply(tree, set, &supplies, &records);
    Ok(reasons)
}

/// An answer; `None` where the account may not have it.
fn unless_forbidden<T>(answer: Result<T, LiveError>) -> Result<Option<T>, LiveError> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(error) if error.refusal().is_some_and(|refusal| refusal.kind == RefusalKind::Forbidden) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn of_finding(finding: Finding) -> Reason {
    Reason {
        severity: finding.severity(),
        object: finding.object.clone(),
        place: finding.place.clone(),
        ..Reason::plain(finding.rule.id(), finding.message)
    }
}

/// What is stored of the kinds that these definitions define, and who manages fields in versions that go; and those definitions
/// that are there, by name.
async fn stored(
    live: &dyn ManagementCluster,
    by: &As,
    definitions: &[&Value],
) -> Result<(Live, BTreeMap<String, Value>), LiveError> {
    let mut found = Live::default();
    let mut defined = BTreeMap::new();
    let mut losing: Vec<ApiKind> = Vec::new();
    for definition in definitions {
        let Some(object) = ApiObject::of(definition) else { continue };
        let there = ApiObject { kind: ApiKind::preferred(DEFINITION.0, DEFINITION.1), ..object };
        let Some(now) = live.read(by, &there).await? else { continue };
        let stored = now.pointer("/status/storedVersions").and_then(Value::as_array).into_iter().flatten();
        let stored = stored.filter_map(|version| Some(version.as_str()?.to_owned())).collect();
        found.stored_versions.insert(there.name.clone(), stored);
        let kept = versions(definition);
        if !versions(&now).is_subset(&kept) {
            let text = |pointer: &str| now.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            losing.push(ApiKind::preferred(text("/spec/group"), text("/spec/names/kind")));
        }
        defined.insert(there.name, now);
    }
    for kind in losing.iter().take(MOST_KINDS) {
        for object in live.list(by, kind, None, &[]).await? {
            let Some(id) = identity(&object) else { continue };
            let entries = object.pointer("/metadata/managedFields").and_then(Value::as_array);
            for entry in entries.into_iter().flatten() {
                let text = |field: &str| entry[field].as_str().unwrap_or_default().to_owned();
                let (api_version, manager) = (text("apiVersion"), text("manager"));
                found.managed.push(Managed { object: id.clone(), api_version, manager });
            }
        }
    }
    Ok((found, defined))
}

/// The versions of a definition.
fn versions(definition: &Value) -> BTreeSet<&str> {
    let all = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|version| version["name"].as_str()).collect()
}

/// What the account installed here before.
async fn before(live: &dyn ManagementCluster, by: &As) -> Result<InstalledSet, LiveError> {
    let kind = ApiKind::of_version("capstan.dev/v1alpha1", "ManagedProvider");
    let all = match live.list(by, &kind, None, &[]).await {
        // That it may not see them is among the rights that it lacks.
        Err(LiveError::Refused { .. }) => return Ok(InstalledSet::default()),
        all => all?,
    };
    let records = all.iter().filter_map(|one| ProviderRecord::deserialize(one.get("status")?).ok());
    let objects = records.flat_map(|record| {
        record.inventory.objects().iter().map(InventoryObject::id).collect::<Vec<ObjectId>>()
    });
    Ok(InstalledSet { objects: objects.collect(), ..InstalledSet::default() })
}

/// The rights that the set takes and the account has not.
async fn rights(
    live: &dyn ManagementCluster,
    by: &As,
    set: &ProviderSet,
    rendered: &RenderedSet,
) -> Result<Vec<Reason>, LiveError> {
    let needed = installation_of(set, rendered, &before(live, by).await?);
    let namespaces = needed.roles.iter().filter_map(|role| role.pointer("/metadata/namespace")?.as_str());
    let mut held = BTreeMap::new();
    for namespace in namespaces.chain([ANYWHERE]) {
        let rights = live.rights(by, namespace).await?;
        if !rights.is_whole {
            let message = "the API server does not list all rights of the installer, so it is unknown whether they are enough";
            return Ok(vec![Reason {
                severity: Severity::Warning,
                ..Reason::plain("RightsUnknown", message)
            }]);
        }
        held.insert(namespace.to_owned(), rights.rules);
    }
    let lacking = lacking(&needed.roles, &held);
    let who = match by {
        As::Impersonated(account) => account.to_string(),
        As::Reconciler => "the reconciler".to_owned(),
    };
    let left = lacking.len().saturating_sub(MOST_NAMED);
    let mut reasons: Vec<Reason> = lacking
        .iter()
        .take(MOST_NAMED)
        .map(|lacking| {
            let message = format!(
                "{who} lacks `{lacking}`: apply what `capstan providers rights` prints before the merge"
            );
            Reason::plain("RightsMissing", message)
        })
        .collect();
    if left > 0 {
        reasons.push(Reason::plain(
            "RightsMissing",
            format!("{who} lacks {}", count(left, "more right", "more rights")),
        ));
    }
    Ok(reasons)
}
