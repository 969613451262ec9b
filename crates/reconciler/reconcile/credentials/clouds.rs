//! Logins with which credentials are made, clouds that are away, and when each cluster's were looked at.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capstan_model::digest::sha256;
use capstan_model::doubling::Doubling;
use capstan_model::ids::ClusterId;
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret as _;
use serde_json::json;

use crate::reconcile::ports::StatusStore;
use capstan_ports::{CloudCredential, CloudSession, Clouds, NoClouds};
use capstan_reconciler_core::credentials::{Place, Trouble};
use capstan_reconciler_core::records::FleetKey;
use capstan_reconciler_core::resources::CloudCredentialsSpec;

/// How long a login may take, its tries included.
const LOGIN: Duration = Duration::from_secs(30);
/// How long one login is worked with: far less than a token lives anywhere.
const SESSION: SignedDuration = SignedDuration::from_mins(5);
/// For how long nobody asks a cloud again that did not answer, or refused.
const PAUSES: Doubling = Doubling::new(Duration::from_secs(30), Duration::from_mins(10));
/// For how long it is remembered when a cluster's credentials were looked at.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(2);

/// The Secret that a login is from: namespace, name, and the entry of its `clouds.yaml`.
type Key = (String, String, String);

/// Clouds in which credentials are made, and what this process remembers of them.
pub struct CloudCredentials {
    clouds: Arc<dyn Clouds>,
    patience: Duration,
    makers: Mutex<BTreeMap<Key, Maker>>,
    looked: Mutex<BTreeMap<(FleetKey, ClusterId), Timestamp>>,
}

/// What is known of one login.
struct Maker {
    /// Of what was logged in with: another one is another chance.
    print: String,
    state: State,
}

enum State {
    In { session: Arc<dyn CloudSession>, at: Timestamp },
    Away { until: Timestamp, times: u32, why: Trouble },
}

/// Somebody who is logged in, and where.
pub(super) struct LoggedIn {
    pub(super) session: Arc<dyn CloudSession>,
    pub(super) place: Place,
}

impl CloudCredentials {
    /// Makes them in these clouds.
    pub fn new(clouds: Arc<dyn Clouds>) -> Self {
        Self { clouds, patience: LOGIN, makers: Mutex::default(), looked: Mutex::default() }
    }

    /// The same with another bound for a login; 30 seconds by default.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Logs in with what a Fleet names, or says why not: without asking, where the cloud was away just now.
    pub(super) async fn log_in(
        &self,
        store: &dyn StatusStore,
        opened: &CloudCredentialsSpec,
        now: Timestamp,
    ) -> Result<LoggedIn, Trouble> {
        let credential = read(store, opened).await?;
        let ca = credential.ca.clone();
        let print = sha256(json!([credential.clouds_yaml.expose_secret(), ca]).to_string());
        let key = (opened.namespace.clone(), opened.secret.clone(), opened.cloud.clone());
        let session = match self.known(&key, &print, now)? {
            Some(session) => session,
            None => match tokio::time::timeout(self.patience, self.clouds.log_in(&credential)).await {
                Ok(Ok(session)) => {
                    let state = State::In { session: Arc::clone(&session), at: now };
                    self.makers().insert(key, Maker { print, state });
                    session
                }
                failed => {
                    let why = match failed {
                        Ok(Err(error)) => Trouble::from(error),
                        _ => Trouble::too_slow(&opened.cloud, self.patience),
                    };
                    self.away(&key, &print, now, &why);
                    return Err(why);
                }
            },
        };
        let entrance = session.entrance().clone();
        Ok(LoggedIn { session, place: Place { cloud: opened.cloud.clone(), entrance, ca } })
    }

    /// The same for whoever only asks: of a cluster that has no credential yet its maker's project has the answers.
    ///
    /// # Errors
    /// Why nobody is logged in; no byte of a credential.
    pub(in crate::reconcile) async fn session(
        &self,
        store: &dyn StatusStore,
        opened: &CloudCredentialsSpec,
        now: Timestamp,
    ) -> Result<Arc<dyn CloudSession>, (&'static str, String)> {
        let logged_in = self.log_in(store, opened, now).await;
        logged_in.map(|one| one.session).map_err(|trouble| (trouble.kind, trouble.message))
    }

    /// A login that is fresh, or why nobody asks now; `None` where it is to be asked. While one asks a cloud that was
    /// away, the others go on.
    fn known(
        &self,
        key: &Key,
        print: &str,
        now: Timestamp,
    ) -> Result<Option<Arc<dyn CloudSession>>, Trouble> {
        let mut makers = self.makers();
        let Some(maker) = makers.get_mut(key).filter(|maker| maker.print == print) else { return Ok(None) };
        match &mut maker.state {
            State::In { session, at } if now.duration_since(*at) < SESSION => Ok(Some(Arc::clone(session))),
            State::In { .. } => Ok(None),
            State::Away { until, why, .. } if now < *until => Err(why.clone()),
            State::Away { until, times, .. } => {
                *until = now.saturating_add(PAUSES.after(*times)).unwrap_or(now);
                Ok(None)
            }
        }
    }

    /// Nobody asks it for a while.
    fn away(&self, key: &Key, print: &str, now: Timestamp, why: &Trouble) {
        let mut makers = self.makers();
        let times = match makers.get(key).filter(|maker| maker.print == print).map(|maker| &maker.state) {
            Some(State::Away { times, .. }) => times.saturating_add(1),
            _ => 1,
        };
        let until = now.saturating_add(PAUSES.after(times)).unwrap_or(now);
        let state = State::Away { until, times, why: why.clone() };
        makers.insert(key.clone(), Maker { print: print.to_owned(), state });
    }

    /// What was asked after a login failed: the next one logs in anew, and after a while.
    pub(super) fn failed(&self, opened: &CloudCredentialsSpec, now: Timestamp, why: &Trouble) {
        let key = (opened.namespace.clone(), opened.secret.clone(), opened.cloud.clone());
        let print = self.makers().get(&key).map(|maker| maker.print.clone());
        if let Some(print) = print {
            self.away(&key, &print, now, why);
        }
    }

    /// Whether Keystone is to be asked although nothing is due: the last look of this process is so long ago.
    pub(super) fn is_to_look(
        &self,
        fleet: &FleetKey,
        cluster: &ClusterId,
        interval: SignedDuration,
        now: Timestamp,
    ) -> bool {
        let looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        let last = looked.get(&(fleet.clone(), cluster.clone()));
        last.is_none_or(|last| now.duration_since(*last) >= interval)
    }

    /// Everything of a cluster was looked at.
    pub(super) fn looked(&self, fleet: &FleetKey, cluster: &ClusterId, now: Timestamp) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.retain(|_, last| now.duration_since(*last) < REMEMBERED);
        looked.insert((fleet.clone(), cluster.clone()), now);
    }

    fn makers(&self) -> MutexGuard<'_, BTreeMap<Key, Maker>> {
        self.makers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for CloudCredentials {
    fn default() -> Self {
        Self::new(Arc::new(NoClouds))
    }
}

/// The credential that makes the others.
async fn read(store: &dyn StatusStore, opened: &CloudCredentialsSpec) -> Result<CloudCredential, Trouble> {
    let CloudCredentialsSpec { namespace, secret, cloud, .. } = opened;
    let unusable = |why: &str| {
        Trouble::login(format!(
            "Secret {namespace}/{secret}, which `cloudCredentials` of the Fleet names, {why}"
        ))
    };
    let found = store.secret(namespace, secret).await;
    let found = found.map_err(|error| unusable(&format!("cannot be read: {error}")))?;
    let found = found.ok_or_else(|| unusable("is not there"))?;
    let text = |key: &str| found.get(key).filter(|text| !text.expose_secret().trim().is_empty());
    let clouds_yaml = text("clouds.yaml").ok_or_else(|| unusable("has no key `clouds.yaml`"))?.clone();
    let ca = text("cacert").map(|pem| pem.expose_secret().to_owned());
    Ok(CloudCredential { clouds_yaml, ca, cloud: cloud.clone(), region: None })
}
