//! A Keystone in memory: users by their `clouds.yaml`, application credentials, and ways not to answer.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use capstan_live::cloud::{CloudFacts, Questions};
use capstan_openstack::Entrance;
use capstan_ports::{
    Clock, CloudAccount, CloudCredential, CloudError, CloudSession, Clouds, CredentialForms, Issued,
    NewCredential,
};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};

/// An application credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credential {
    pub(crate) name: String,
    pub(crate) user: String,
    pub(crate) expires_at: Timestamp,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) credentials: BTreeMap<String, Credential>,
    /// When each one that was ever made ends.
    pub(crate) ever: BTreeMap<String, Timestamp>,
    /// Ids of the credentials that another client deleted.
    pub(crate) taken_away: Vec<String>,
    /// It answers nothing.
    pub(crate) is_away: bool,
    /// It takes connections, and never answers.
    pub(crate) hangs: bool,
    /// It makes the next one, and its answer is lost.
    pub(crate) loses_answer: bool,
    /// Logins and calls that reached it, or would have.
    pub(crate) asked: u32,
    pub(crate) auth_url: String,
}

pub(crate) struct FakeKeystone {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
}

impl FakeKeystone {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        let state = State { auth_url: "https://keystone.example.com:5000/v3".to_owned(), ..State::default() };
        Arc::new(Self { state: Mutex::new(state), clock })
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Ids of all that a user has.
    pub(crate) fn ids(&self, user: &str) -> Vec<String> {
        let state = self.state();
        state.credentials.iter().filter(|(_, one)| one.user == user).map(|(id, _)| id.clone()).collect()
    }

    /// Deletes a credential as another client.
    pub(crate) fn take_away(&self, id: &str) {
        let mut state = self.state();
        state.credentials.remove(id);
        state.taken_away.push(id.to_owned());
    }

    async fn ask(&self) -> Result<(), CloudError> {
        let (is_away, hangs) = {
            let mut state = self.state();
            state.asked += 1;
            (state.is_away, state.hangs)
        };
        if hangs {
            std::future::pending::<()>().await;
        }
        if is_away { Err(unanswered("answers 503")) } else { Ok(()) }
    }
}

fn unanswered(reason: &str) -> CloudError {
    CloudError::Unanswered(format!("Keystone at keystone.example.com:5000 {reason}"))
}

/// The Clouds of a process, which knows one Keystone.
pub(crate) struct FakeClouds(pub(crate) Arc<FakeKeystone>);

struct Session {
    keystone: Arc<FakeKeystone>,
    account: CloudAccount,
    entrance: Entrance,
}

#[async_trait]
impl Clouds for FakeClouds {
    fn may_ask(&self) -> bool {
        false
    }

    async fn log_in(&self, credential: &CloudCredential) -> Result<Arc<dyn CloudSession>, CloudError> {
        let text = |key: &str| credential.secret.get(key).map(|text| text.expose_secret().to_owned());
        let user =
            text("clouds.yaml").ok_or_else(|| CloudError::Unusable("it has no `clouds.yaml`".to_owned()))?;
        self.0.ask().await?;
        if user.starts_with("refused") {
            return Err(CloudError::Refused(
                "Keystone at keystone.example.com:5000 refuses the login (401): the credential is wrong, has expired or was deleted".to_owned(),
            ));
        }
        let account = CloudAccount {
            host: "keystone.example.com:5000".to_owned(),
            region: Some("RegionOne".to_owned()),
            account: "project".to_owned(),
            user,
        };
        let entrance = Entrance {
            cloud: credential.cloud.clone(),
            auth_url: self.0.state().auth_url.clone(),
            region: account.region.clone(),
            interface: "public".to_owned(),
            ca: text("cacert"),
        };
        Ok(Arc::new(Session { keystone: Arc::clone(&self.0), account, entrance }))
    }
}

#[async_trait]
impl CloudSession for Session {
    fn account(&self) -> &CloudAccount {
        &self.account
    }

    fn place(&self) -> String {
        self.entrance.place()
    }

    fn forms(&self, credential: &NewCredential) -> CredentialForms {
        self.entrance.forms(credential)
    }

    async fn ask(&self, _questions: &Questions) -> CloudFacts {
        unreachable!("no preflight asks here")
    }

    async fn credentials(&self, beginning: &str) -> Result<Vec<Issued>, CloudError> {
        self.keystone.ask().await?;
        let beginning = format!("{beginning}-");
        let state = self.keystone.state();
        let own = state.credentials.iter().filter(|(_, one)| one.user == self.account.user);
        let named = own.filter(|(_, one)| one.name.starts_with(&beginning));
        Ok(named.map(|(id, one)| Issued { id: id.clone(), expires_at: Some(one.expires_at) }).collect())
    }

    async fn issue(&self, name: &str, expires_at: Timestamp) -> Result<NewCredential, CloudError> {
        self.keystone.ask().await?;
        let now = self.keystone.clock.now();
        let mut state = self.keystone.state();
        assert!(name.len() <= 255 && now < expires_at, "{name} {expires_at}");
        let user = self.account.user.clone();
        if state.credentials.values().any(|one| one.name == name && one.user == user) {
            return Err(CloudError::Unusable("Keystone answers 409".to_owned()));
        }
        let id = format!("c{}", state.ever.len() + 1);
        state.ever.insert(id.clone(), expires_at);
        state.credentials.insert(id.clone(), Credential { name: name.to_owned(), user, expires_at });
        if std::mem::take(&mut state.loses_answer) {
            return Err(unanswered("cannot be reached: connection reset"));
        }
        Ok(NewCredential { secret: SecretString::from(format!("s3cr3t-of-{id}")), id })
    }

    async fn revoke(&self, id: &str) -> Result<(), CloudError> {
        self.keystone.ask().await?;
        let mut state = self.keystone.state();
        assert!(
            state.credentials.get(id).is_none_or(|one| one.user == self.account.user),
            "{id} is another user's"
        );
        state.credentials.remove(id);
        Ok(())
    }
}
