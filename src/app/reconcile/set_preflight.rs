//! What a management cluster says to a head's provider set beside the dry runs of its objects: whether its Kubernetes, what
//! it stores and whoever manages fields fit the definitions that would come, and whether the installer's account may do what
//! the set takes.
//!
//! Read with that account's rights. *Bounded*: one look at each definition of the set, one list of a kind that loses a
//! version, one question about rights for each namespace of a provider.

use std::collections::{BTreeMap, BTreeSet};

use capstan_kustomize::render::{Placed, RenderedObject};
use capstan_live::live_objects::identity;
use capstan_model::finding::{Finding, Severity, rules};
use capstan_model::version::KubernetesVersion;
use capstan_plan::settings::ProvidersBy;
use capstan_providers::{
    Components, Facts, Inputs, Live, Managed, Migration, ProviderSet, RenderedSet, Values, compare,
    installation_of, lacking,
};
use serde_json::Value;

use super::reason::Reason;
use super::revision::Revision;
use crate::app::ports::{ApiKind, ApiObject, As, LiveError, ManagementCluster};
use capstan_live::installing::DEFINITION;

/// Kinds that lose a version of which the objects are looked at.
const MOST_KINDS: usize = 40;
/// Missing rights that are told one by one.
const MOST_LACKING: usize = 20;
/// What holds everywhere is asked here, where nobody grants anything to an installer.
const ANYWHERE: &str = "kube-public";

/// What is to be said of a set, the worst not first.
///
/// # Errors
/// The API server does not answer, or refuses.
pub(super) async fn look(
    live: &dyn ManagementCluster,
    by: &As,
    head: &Revision,
    applied: ProvidersBy,
    objects: &[RenderedObject],
) -> Result<Vec<Reason>, LiveError> {
    let placed = objects.iter().map(|object| object.placed.clone()).collect::<Vec<Placed>>();
    // What is wrong with the objects themselves is told by the check of the pull request.
    let Ok(set) = ProviderSet::of(placed) else { return Ok(Vec::new()) };
    let variables = Values::default();
    let tree = head.fleet.tree().as_ref();
    let rendered = RenderedSet::read(Inputs { tree, set: &set, variables: &variables, configuration: None });
    let mut reasons: Vec<Reason> = rendered
        .members
        .iter()
        .filter_map(|member| match &member.components {
            Components::Unknown(why) => Some((member.id().to_string(), why)),
            Components::Rendered(_) | Components::Refused(_) => None,
        })
        .map(|(id, why)| {
            let message = format!("what {id} comes to is not known here, so that neither its definitions nor the rights that it takes are looked at: {why}");
            Reason { severity: Severity::Warning, ..Reason::plain("ComponentsUnknown", message) }
        })
        .collect();
    let definitions: Vec<&Value> = rendered
        .members
        .iter()
        .filter_map(|member| member.rendered())
        .flat_map(|rendered| &rendered.objects)
        .filter(|object| object["kind"] == DEFINITION.1)
        .collect();
    let facts = Facts {
        management: KubernetesVersion::parse(&live.version().await?),
        live: Some(stored(live, by, &definitions).await?),
        migration: match applied {
            ProvidersBy::Capstan => Migration::Capstan,
            ProvidersBy::Operator | ProvidersBy::Others => Migration::Nobody,
        },
        ..Facts::default()
    };
    let severities = head.fleet.settings().severities();
    let live_rules = [rules::PROVIDER_KUBERNETES, rules::PROVIDER_API_IN_USE];
    let found = compare(None, &rendered, &facts).findings.into_iter();
    let found = found.filter(|finding| live_rules.contains(&finding.rule));
    reasons.extend(found.filter_map(|finding| severities.judged(finding)).map(of_finding));
    if applied == ProvidersBy::Capstan {
        reasons.extend(rights(live, by, &set, &rendered).await?);
    }
    Ok(reasons)
}

fn of_finding(finding: Finding) -> Reason {
    Reason {
        severity: finding.severity(),
        object: finding.object.clone(),
        place: finding.place.clone(),
        ..Reason::plain(finding.rule.id(), finding.message)
    }
}

/// What is stored of the kinds that these definitions define, and who manages fields in versions that go.
async fn stored(live: &dyn ManagementCluster, by: &As, definitions: &[&Value]) -> Result<Live, LiveError> {
    let mut found = Live::default();
    let mut losing: Vec<ApiKind> = Vec::new();
    for definition in definitions {
        let Some(object) = ApiObject::of(definition) else { continue };
        let there = ApiObject { kind: ApiKind::preferred(DEFINITION.0, DEFINITION.1), ..object };
        let Some(now) = live.read(by, &there).await? else { continue };
        let stored = now.pointer("/status/storedVersions").and_then(Value::as_array).into_iter().flatten();
        let stored = stored.filter_map(|version| Some(version.as_str()?.to_owned())).collect();
        found.stored_versions.insert(there.name, stored);
        let kept = versions(definition);
        if !versions(&now).is_subset(&kept) {
            let text = |pointer: &str| now.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            losing.push(ApiKind::preferred(text("/spec/group"), text("/spec/names/kind")));
        }
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
    Ok(found)
}

/// The versions of a definition.
fn versions(definition: &Value) -> BTreeSet<&str> {
    let all = definition.pointer("/spec/versions").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(|version| version["name"].as_str()).collect()
}

/// The rights that the set takes and the account has not.
async fn rights(
    live: &dyn ManagementCluster,
    by: &As,
    set: &ProviderSet,
    rendered: &RenderedSet,
) -> Result<Vec<Reason>, LiveError> {
    let needed = installation_of(set, rendered);
    let namespaces = needed.roles.iter().filter_map(|role| role.pointer("/metadata/namespace")?.as_str());
    let mut held = BTreeMap::new();
    for namespace in namespaces.chain([ANYWHERE]) {
        let rights = live.rights(by, namespace).await?;
        if !rights.is_whole {
            let message = "the API server does not say all that the installer may do, so that nobody can tell whether it is enough";
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
    let left = lacking.len().saturating_sub(MOST_LACKING);
    let mut reasons: Vec<Reason> = lacking
        .iter()
        .take(MOST_LACKING)
        .map(|lacking| {
            let message = format!(
                "{who} lacks `{lacking}`: apply what `capstan providers rights` prints before the merge"
            );
            Reason::plain("RightsMissing", message)
        })
        .collect();
    if left > 0 {
        reasons.push(Reason::plain("RightsMissing", format!("{who} lacks {left} more rights")));
    }
    Ok(reasons)
}
