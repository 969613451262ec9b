//! Logins with which credentials are made, clouds that do not answer, and when each cluster's credentials were last
//! checked.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capstan_live::cloud::CloudKind;
use capstan_model::digest::sha256;
use capstan_model::doubling::Doubling;
use capstan_model::ids::ClusterId;
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret as _;
use serde_json::json;

use crate::reconcile::ports::StatusStore;
use capstan_ports::{CloudCredential, CloudError, CloudSession, Clouds, NoClouds};
use capstan_reconciler_core::credentials::CredentialError;
use capstan_reconciler_core::records::FleetKey;
use capstan_reconciler_core::resources::{CloudCredentialsSpec, SecretRef};

/// How long a login may take, its tries included.
const LOGIN: Duration = Duration::from_secs(30);
/// How long one login is worked with: far less than a token lives anywhere.
const SESSION: SignedDuration = SignedDuration::from_mins(5);
/// For how long nobody asks a cloud again that did not answer, or refused.
const PAUSES: Doubling = Doubling::new(Duration::from_secs(30), Duration::from_mins(10));
/// For how long this process remembers when a cluster's credentials were last checked.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(2);

/// The Secret that a login is from: namespace, name, and which of its clouds.
type LoginKey = (String, String, String);

/// Clouds in which credentials are made, and what this process remembers of them.
pub struct CloudCredentials {
    clouds: Arc<dyn Clouds>,
    patience: Duration,
    makers: Mutex<BTreeMap<LoginKey, Maker>>,
    looked: Mutex<BTreeMap<(FleetKey, ClusterId), Timestamp>>,
}

/// What is known of one login.
struct Maker {
    /// Of what was logged in with: another one is another chance.
    print: String,
    state: SessionState,
}

enum SessionState {
    In { session: Arc<dyn CloudSession>, at: Timestamp },
    Away { until: Timestamp, times: u32, why: CredentialError },
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
    ) -> Result<Arc<dyn CloudSession>, CredentialError> {
        let credential = read(store, opened).await?;
        let content = credential.secret.iter().map(|(key, text)| (key.as_str(), text.expose_secret()));
        let print = sha256(json!(content.collect::<BTreeMap<_, _>>()).to_string());
        let key = (opened.secret_ref.namespace.clone(), opened.secret_ref.name.clone(), opened.cloud.clone());
        match self.known(&key, &print, now)? {
            Some(session) => Ok(session),
            None => match tokio::time::timeout(self.patience, self.clouds.log_in(&credential)).await {
                Ok(Ok(session)) => {
                    let state = SessionState::In { session: Arc::clone(&session), at: now };
                    self.makers().insert(key, Maker { print, state });
                    Ok(session)
                }
                failed => {
                    let why = match failed {
                        Ok(Err(CloudError::Unusable(why))) => {
                            CredentialError::login(format!("{}: {why}", named(opened)))
                        }
                        Ok(Err(error)) => CredentialError::from(error),
                        _ => CredentialError::too_slow(&opened.cloud, self.patience),
                    };
                    self.away(&key, &print, now, &why);
                    Err(why)
                }
            },
        }
    }

    /// The same for a caller that only reads: for a cluster without a credential yet, the maker's account answers.
    ///
    /// # Errors
    /// Why nobody is logged in; no byte of a credential.
    pub(in crate::reconcile) async fn session(
        &self,
        store: &dyn StatusStore,
        opened: &CloudCredentialsSpec,
        now: Timestamp,
    ) -> Result<Arc<dyn CloudSession>, (&'static str, String)> {
        self.log_in(store, opened, now).await.map_err(|trouble| (trouble.kind, trouble.message))
    }

    /// A login that is fresh, or why nobody asks now; `None` where it is to be asked. While one asks a cloud that was
    /// away, the others go on.
    fn known(
        &self,
        key: &LoginKey,
        print: &str,
        now: Timestamp,
    ) -> Result<Option<Arc<dyn CloudSession>>, CredentialError> {
        let mut makers = self.makers();
        let Some(maker) = makers.get_mut(key).filter(|maker| maker.print == print) else { return Ok(None) };
        match &mut maker.state {
            SessionState::In { session, at } if now.duration_since(*at) < SESSION => {
                Ok(Some(Arc::clone(session)))
            }
            SessionState::In { .. } => Ok(None),
            SessionState::Away { until, why, .. } if now < *until => Err(why.clone()),
            SessionState::Away { until, times, .. } => {
                *until = now.saturating_add(PAUSES.after(*times)).unwrap_or(now);
                Ok(None)
            }
        }
    }

    /// Nobody asks it for a while.
    fn away(&self, key: &LoginKey, print: &str, now: Timestamp, why: &CredentialError) {
        let mut makers = self.makers();
        let times = match makers.get(key).filter(|maker| maker.print == print).map(|maker| &maker.state) {
            Some(SessionState::Away { times, .. }) => times.saturating_add(1),
            _ => 1,
        };
        let until = now.saturating_add(PAUSES.after(times)).unwrap_or(now);
        let state = SessionState::Away { until, times, why: why.clone() };
        makers.insert(key.clone(), Maker { print: print.to_owned(), state });
    }

    /// Notes that a request failed after the login: the next one logs in again, after a pause.
    pub(super) fn failed(&self, opened: &CloudCredentialsSpec, now: Timestamp, why: &CredentialError) {
        let key = (opened.secret_ref.namespace.clone(), opened.secret_ref.name.clone(), opened.cloud.clone());
        let print = self.makers().get(&key).map(|maker| maker.print.clone());
        if let Some(print) = print {
            self.away(&key, &print, now, why);
        }
    }

    /// Whether the cloud is to be asked although nothing is due: the last look of this process is so long ago.
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

    /// Notes that all credentials of a cluster were checked.
    pub(super) fn looked(&self, fleet: &FleetKey, cluster: &ClusterId, now: Timestamp) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        looked.retain(|_, last| now.duration_since(*last) < REMEMBERED);
        looked.insert((fleet.clone(), cluster.clone()), now);
    }

    fn makers(&self) -> MutexGuard<'_, BTreeMap<LoginKey, Maker>> {
        self.makers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for CloudCredentials {
    fn default() -> Self {
        Self::new(Arc::new(NoClouds))
    }
}

/// The Secret with the credential that makes the others.
fn named(opened: &CloudCredentialsSpec) -> String {
    let SecretRef { namespace, name } = &opened.secret_ref;
    format!("Secret {namespace}/{name}, which `cloudCredentials` of the Fleet names")
}

async fn read(
    store: &dyn StatusStore,
    opened: &CloudCredentialsSpec,
) -> Result<CloudCredential, CredentialError> {
    let unusable = |why: &str| CredentialError::login(format!("{}, {why}", named(opened)));
    let found = store.secret(&opened.secret_ref.namespace, &opened.secret_ref.name).await;
    let found = found.map_err(|error| unusable(&format!("cannot be read: {error}")))?;
    let secret = found.ok_or_else(|| unusable("is not there"))?;
    // A Fleet names clouds of one kind.
    Ok(CloudCredential { kind: CloudKind::OPENSTACK, secret, cloud: opened.cloud.clone(), region: None })
}
