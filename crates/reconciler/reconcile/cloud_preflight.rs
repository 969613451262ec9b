//! The cloud's part of a preflight: whether it can give what a head commit asks for besides what it gives already.
//!
//! *Expected flow*: each folder is compared with the live cluster ([`look`]). Then all folders of one question are
//! answered together ([`answer`]): credentials are read with each folder's own rights, logins and accounts are asked
//! side by side, and each account once. *Guarantees*: nothing is written, here or there; no reason contains a byte of a
//! credential. What proposals asked before is remembered until they are closed (`cloud_memory`).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_kustomize::render::RenderedObject;
use capstan_live::applying::place_in_namespaces;
use capstan_live::cloud::{
    CloudAsk, CloudReason, CredentialHolder, Identity, Need, Questions, Weight, asks_of, exceeded_together,
    judge, needs, unjudged,
};
use capstan_live::rollout::rollouts_live;
use capstan_model::ids::ClusterId;
use capstan_model::object::ObjectId;
use capstan_plan::classes::ClassesElsewhere as Classes;
use capstan_plan::templates::TemplateNames;
use capstan_reconciler_core::credentials::CredentialRequest;
use capstan_reconciler_core::preflight::add_of_cloud;
use futures_util::{StreamExt as _, stream};
use secrecy::SecretString;
use serde_json::Value;

use super::blocking::where_blocking_is_allowed;
use super::cloud_memory::AccountNeeds;
use super::dependencies::Ports;
use super::kinds::kinds_of;
use super::observation::Observation;
use super::ports::{FleetRecord, PreflightAnswer};
use super::revision::Revision;
use capstan_ports::{
    ApiObject, As, CloudAccount, CloudCredential, CloudError, CloudSession, ManagementCluster,
};

/// Logins and accounts that are asked at a time.
const AT_A_TIME: usize = 8;

/// What one folder asks of clouds.
pub(super) struct CloudLook {
    cluster: ClusterId,
    by: As,
    asks: Vec<CloudAsk>,
    /// What is not judged.
    unjudged: Vec<CloudReason>,
    /// Which credentials Capstan makes for it.
    credentials: CredentialRequest,
    objects: Vec<RenderedObject>,
}

/// Reads what a folder asks of clouds; `None` where that is nothing, or no cloud may be asked. `known` are the names of
/// templates before the change.
pub(super) async fn look(
    ports: &Ports,
    head: &Revision,
    id: &ClusterId,
    observed: &Observation,
    known: &TemplateNames,
) -> Option<CloudLook> {
    if !ports.cloud_preflight.clouds.may_ask() {
        return None;
    }
    let before = before(ports, head, id).await;
    let after = &observed.wanted.rendered.objects;
    let names = [known, &observed.names];
    let rolls = rollouts_live(&before, after, names, &Classes::default(), head.fleet.schemas());
    let asks = asks_of(&observed.objects, &observed.live, &rolls);
    let (by, objects) = (observed.wanted.by.clone(), observed.objects.clone());
    let unjudged = unjudged(&observed.objects, &observed.live, &rolls);
    let is_anything = !asks.is_empty() || !unjudged.is_empty();
    let credentials = observed.credentials.clone();
    is_anything.then(|| CloudLook { cluster: id.clone(), by, asks, unjudged, credentials, objects })
}

/// What the folder renders on the default branch; nothing where it is new there, or cannot be rendered.
async fn before(ports: &Ports, head: &Revision, id: &ClusterId) -> Vec<RenderedObject> {
    let Some(fleet) = head.before.clone() else { return Vec::new() };
    let of = id.clone();
    let rendered = where_blocking_is_allowed(move || fleet.render(&of).ok()).await;
    let Some(mut rendered) = rendered else { return Vec::new() };
    let Ok(scopes) = ports.kinds.learn(ports.live.as_ref(), &kinds_of(&rendered.objects)).await else {
        return Vec::new();
    };
    match place_in_namespaces(&mut rendered, &scopes) {
        Ok(_home) => rendered.objects,
        Err(_lies_nowhere) => Vec::new(),
    }
}

/// Adds to the answers what the clouds say.
pub(super) async fn answer(
    ports: &Ports,
    fleet: &FleetRecord,
    (question, head): (&str, &Revision),
    looks: &[CloudLook],
    answers: &mut [PreflightAnswer],
) {
    if looks.is_empty() {
        return;
    }
    let asked = &ports.cloud_preflight;
    asked.recall().await;
    let clusters: BTreeSet<&ClusterId> = looks.iter().map(|look| &look.cluster).collect();
    let mut said: Vec<(usize, CloudReason)> = Vec::new();
    for (at, look) in looks.iter().enumerate() {
        said.extend(look.unjudged.iter().map(|reason| (at, reason.clone())));
    }
    let mut needed: Vec<AccountNeeds> = looks.iter().map(|_| Vec::new()).collect();
    let mut accounts: BTreeMap<CloudAccount, AskedAccount<'_>> = BTreeMap::new();
    for (at, ask, session) in log_in(ports, looks).await {
        match session {
            Ok(session) => {
                let account = accounts.entry(session.account().clone());
                let account = account.or_insert_with(|| AskedAccount { session, asks: Vec::new() });
                account.asks.push((at, ask));
            }
            Err(refused) => said.push((at, refused.of(ask))),
        }
    }
    let answered = accounts.into_iter().map(|(key, account)| async move {
        let mut questions = Questions::default();
        account.asks.iter().for_each(|(_, ask)| questions.add(ask));
        let facts = account.session.ask(&questions).await;
        (key, account.asks, facts)
    });
    let answered: Vec<_> = side_by_side(answered.collect()).await;
    for (key, asks, facts) in answered {
        let all: Vec<(usize, Vec<Need>)> = asks.iter().map(|(at, ask)| (*at, needs(ask, &facts))).collect();
        for (index, (at, ask)) in asks.iter().enumerate() {
            let beside: Vec<(String, Vec<Need>)> = all
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index)
                .map(|(_, (other, needs))| (looks[*other].cluster.to_string(), needs.clone()))
                .collect();
            said.extend(judge(ask, &facts, &beside).into_iter().map(|reason| (*at, reason)));
            let own = &all[index].1;
            let others = asked.elsewhere(fleet, head, &clusters, &key, ports.clock.now());
            let together = exceeded_together(ask, own, &others, &facts);
            said.extend(together.into_iter().map(|reason| (*at, reason)));
            needed[*at].push((key.clone(), own.clone()));
        }
    }
    let needed = looks.iter().map(|look| &look.cluster).zip(needed).collect();
    asked.remember(fleet, (question, head), needed, ports.clock.now()).await;
    for (at, reason) in said {
        let Some(answer) = answers.iter_mut().find(|answer| answer.cluster == looks[at].cluster) else {
            continue;
        };
        add_of_cloud(answer, &reason, &looks[at].objects);
    }
}

struct AskedAccount<'a> {
    session: Arc<dyn CloudSession>,
    asks: Vec<(usize, &'a CloudAsk)>,
}

async fn side_by_side<T>(futures: Vec<impl Future<Output = T>>) -> Vec<T> {
    stream::iter(futures).buffer_unordered(AT_A_TIME).collect().await
}

/// Why nobody is logged in for an ask.
#[derive(Clone)]
struct NotLoggedIn {
    kind: &'static str,
    weight: Weight,
    why: String,
}

impl NotLoggedIn {
    fn unknown(kind: &'static str, why: impl Into<String>) -> Self {
        Self { kind, weight: Weight::Unknown, why: why.into() }
    }

    fn of(self, ask: &CloudAsk) -> CloudReason {
        let (object, field) = ask.named_by.clone();
        let message = format!("{}: {}", ask.identity.shown(), self.why);
        CloudReason { kind: self.kind, weight: self.weight, message, object, field }
    }
}

impl From<CloudError> for NotLoggedIn {
    fn from(error: CloudError) -> Self {
        let (kind, weight) = match &error {
            CloudError::Refused(_) => ("CloudLoginRefused", Weight::Impossible),
            CloudError::Unusable(_) => ("CloudCredentialUnusable", Weight::Unknown),
            CloudError::HostNotAllowed { .. } | CloudError::Unanswered(_) => {
                ("CloudNotAnswered", Weight::Unknown)
            }
        };
        Self { kind, weight, why: error.to_string() }
    }
}

type LoggedIn<'a> = (usize, &'a CloudAsk, Result<Arc<dyn CloudSession>, NotLoggedIn>);

/// Logs in for every ask: with each credential once.
async fn log_in<'a>(ports: &Ports, looks: &'a [CloudLook]) -> Vec<LoggedIn<'a>> {
    let mut credentials: HashMap<(&As, &Identity), Vec<(usize, &'a CloudAsk)>> = HashMap::new();
    for (at, look) in looks.iter().enumerate() {
        for ask in &look.asks {
            credentials.entry((&look.by, &ask.identity)).or_default().push((at, ask));
        }
    }
    let logins = credentials.into_values().map(|asks| async move {
        let session = match asks.first() {
            Some((at, ask)) => log_in_as(ports, &looks[*at], &ask.identity).await,
            None => return Vec::new(),
        };
        asks.into_iter().map(|(at, ask)| (at, ask, session.clone())).collect::<Vec<_>>()
    });
    let mut all: Vec<_> = side_by_side(logins.collect()).await.into_iter().flatten().collect();
    all.sort_by_key(|(at, ask, _)| (*at, ask.identity.clone()));
    all
}

async fn log_in_as(
    ports: &Ports,
    look: &CloudLook,
    identity: &Identity,
) -> Result<Arc<dyn CloudSession>, NotLoggedIn> {
    if identity.holder != CredentialHolder::Secret {
        let why = "it belongs to no folder, so Capstan does not use it";
        return Err(NotLoggedIn::unknown("CloudCredentialUnusable", why));
    }
    let Some(secret) = secret(ports.live.as_ref(), look, identity).await? else {
        return log_in_as_maker(ports, look, identity).await;
    };
    let credential = CloudCredential {
        kind: identity.of,
        secret: texts(&secret),
        cloud: identity.cloud.clone(),
        region: identity.region.clone(),
    };
    Ok(ports.cloud_preflight.clouds.log_in(&credential).await?)
}

/// What a Secret holds, as far as it is text: `stringData` counts before `data`.
fn texts(secret: &Value) -> BTreeMap<String, SecretString> {
    let fields = |of: &str| secret.get(of).and_then(Value::as_object).into_iter().flatten();
    let encoded = fields("data").filter_map(|(key, value)| {
        let text = String::from_utf8(STANDARD.decode(value.as_str()?).ok()?).ok()?;
        Some((key.clone(), SecretString::from(text)))
    });
    let plain = fields("stringData")
        .filter_map(|(key, value)| Some((key.clone(), SecretString::from(value.as_str()?.to_owned()))));
    encoded.chain(plain).collect()
}

/// Where a cluster has no credential of its own yet, what will make it is asked with: it is for the same account.
async fn log_in_as_maker(
    ports: &Ports,
    look: &CloudLook,
    identity: &Identity,
) -> Result<Arc<dyn CloudSession>, NotLoggedIn> {
    let made = look.credentials.makes(identity.namespace.as_deref(), &identity.name, &identity.cloud);
    let Some(opened) = made else {
        return Err(NotLoggedIn::unknown("CloudCredentialUnusable", "there is no such Secret yet"));
    };
    let (store, now) = (ports.status_store.as_ref(), ports.clock.now());
    let session = ports.cloud_credentials.session(store, opened, now).await;
    session
        .map_err(|(kind, why)| NotLoggedIn::unknown(kind, format!("there is no such Secret yet, and {why}")))
}

/// The Secret of an identity, `None` where there is none: as the folder brings it, else as the folder's own account may read it.
async fn secret(
    live: &dyn ManagementCluster,
    look: &CloudLook,
    identity: &Identity,
) -> Result<Option<Value>, NotLoggedIn> {
    let id = ObjectId {
        group: String::new(),
        kind: "Secret".to_owned(),
        namespace: identity.namespace.clone(),
        name: identity.name.clone(),
    };
    if let Some(rendered) = look.objects.iter().find(|object| object.id == id) {
        return Ok(Some(rendered.value.clone()));
    }
    match live.read(&look.by, &ApiObject::from(&id)).await {
        Ok(found) => Ok(found),
        Err(error) if error.is_forbidden() => {
            let who = match &look.by {
                As::Impersonated(account) => account.to_string(),
                As::Reconciler => "the reconciler".to_owned(),
            };
            let why = format!("{who} may not read it: grant `get` on this Secret, or the cloud is not asked");
            Err(NotLoggedIn::unknown("CloudCredentialUnusable", why))
        }
        Err(error) => Err(NotLoggedIn::unknown("CloudNotAnswered", error.to_string())),
    }
}
