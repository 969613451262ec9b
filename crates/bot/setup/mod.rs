//! Creates the GitHub App. A person who can read the log sends a manifest to GitHub from their browser, and
//! returns with a code. GitHub exchanges it for the App's id and secrets
//! (<https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest>).
//!
//! *Expected flow.* [`Setup::begin`] checks the token from the log, and returns a state. The log also has an
//! address with a ticket, which [`Setup::enter`] accepts once, without typing. [`Setup::finish`] checks the
//! state that returns from GitHub, exchanges the code, and stores the App.
//!
//! *Guarantees.* Without the token there is no state. Without a state from here, of the last hour and not
//! used yet, GitHub is not asked and nothing is written. An App from GitHub is stored whole or not at all.
//!
//! *Caveats.* An App that GitHub created and that could not be stored remains at GitHub, which shows its key
//! only once. So the place is tried first.

mod manifest;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use jiff::{SignedDuration, Timestamp};
use secrecy::{ExposeSecret as _, SecretString};

use super::visitors::{NotSignedIn, random_text};
use capstan_ports::{AppKeeper, AppManifests, Clock, CreatedApp, ManifestError};

pub use manifest::{Addresses, PERMISSIONS, manifest};

/// How long GitHub's code is valid.
pub const GOOD_FOR: SignedDuration = SignedDuration::from_hours(1);
/// States that are valid at a time: a person may press twice, or use two browsers.
const STATES: usize = 16;

/// A state that was issued.
struct SetupStart {
    state: String,
    until: Timestamp,
}

/// Creates the App.
pub struct Setup {
    token: SecretString,
    /// It is part of an address, which the browser's history keeps, so it is valid once.
    ticket: Mutex<Option<SecretString>>,
    /// The secret in the page of a person who came with the ticket: it counts as the token.
    pass: Mutex<Option<SecretString>>,
    manifests: Arc<dyn AppManifests>,
    keeper: Arc<dyn AppKeeper>,
    clock: Arc<dyn Clock>,
    begun: Mutex<Vec<SetupStart>>,
    /// Two requests at once are handled one after the other.
    finishing: tokio::sync::Mutex<Option<u64>>,
}

#[derive(Debug)]
pub struct StoredApp {
    pub app: CreatedApp,
    /// Where it is stored.
    pub place: PathBuf,
}

/// Why there is no App.
#[derive(Debug, thiserror::Error)]
pub enum NotSetUp {
    /// The token is not the one in the log.
    #[error("the token is not the one in the log")]
    Token,
    /// The state is missing, was not issued here, has expired, or was used.
    #[error("the state is unknown, too old or already used")]
    State,
    /// An App was created meanwhile.
    #[error("App {0} was already created")]
    Done(u64),
    /// The place cannot be written to; GitHub was not asked.
    #[error("the App could not be stored: {0}")]
    Place(#[source] std::io::Error),
    /// GitHub.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// GitHub created the App, and it could not be stored.
    #[error("App {id} ({page}) was created but could not be stored: {source}")]
    Lost {
        id: u64,
        page: url::Url,
        /// Why.
        source: std::io::Error,
    },
    /// The system gives no random bytes.
    #[error("the system gives no random bytes")]
    NoRandomness,
}

impl From<NotSignedIn> for NotSetUp {
    fn from(_: NotSignedIn) -> Self {
        Self::NoRandomness
    }
}

impl Setup {
    /// Starts without any state. The token is new: it is valid as long as this value exists.
    ///
    /// # Errors
    /// Without randomness there is no unguessable token.
    pub fn new(
        manifests: Arc<dyn AppManifests>,
        keeper: Arc<dyn AppKeeper>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, NotSetUp> {
        let token = random_text()?.into();
        let ticket = Mutex::new(Some(random_text()?.into()));
        let (begun, finishing) = (Mutex::default(), tokio::sync::Mutex::default());
        Ok(Self { token, ticket, pass: Mutex::default(), manifests, keeper, clock, begun, finishing })
    }

    /// The secret that `begin` requires. It may only be shown to those who can read the log.
    pub const fn token(&self) -> &SecretString {
        &self.token
    }

    /// The ticket, once; `None` after that. For who may see it, see [`Self::token`].
    pub fn ticket(&self) -> Option<SecretString> {
        self.ticket.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Consumes the ticket, and returns the secret that [`Self::begin`] accepts from then on.
    ///
    /// # Errors
    /// The ticket is wrong, or was used already; or the system gives no random bytes.
    pub fn enter(&self, ticket: &str) -> Result<SecretString, NotSetUp> {
        let mut known = self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.as_ref().is_some_and(|known| is_same(known.expose_secret(), ticket)) {
            return Err(NotSetUp::Token);
        }
        let pass = SecretString::from(random_text()?);
        *known = None;
        *self.pass.lock().unwrap_or_else(PoisonError::into_inner) = Some(pass.clone());
        Ok(pass)
    }

    /// A state for a person with the token, or with the ticket's secret.
    ///
    /// # Errors
    /// The token is wrong, or the system gives no random bytes.
    pub fn begin(&self, known: &str) -> Result<String, NotSetUp> {
        let pass = self.pass.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let came_in = pass.is_some_and(|pass| is_same(pass.expose_secret(), known));
        if !is_same(self.token.expose_secret(), known) && !came_in {
            return Err(NotSetUp::Token);
        }
        let state = random_text()?;
        let now = self.clock.now();
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|one| one.until >= now);
        if begun.len() >= STATES {
            begun.remove(0);
        }
        begun.push(SetupStart { state: state.clone(), until: now + GOOD_FOR });
        Ok(state)
    }

    /// Handles the return from GitHub, and stores the App. If GitHub does not answer, the same state is valid
    /// once more.
    ///
    /// # Errors
    /// The state is not valid, GitHub does not give an App, or it cannot be stored.
    pub async fn finish(&self, state: &str, code: &str) -> Result<StoredApp, NotSetUp> {
        let mut done = self.finishing.lock().await;
        if !self.is_good(state) {
            return Err(NotSetUp::State);
        }
        if let Some(id) = *done {
            return Err(NotSetUp::Done(id));
        }
        self.keeper.try_to_keep().map_err(NotSetUp::Place)?;
        let converted = self.manifests.convert(code).await;
        if !matches!(converted, Err(ManifestError::Unreachable(_))) {
            self.use_up(state);
        }
        let app = converted?;
        match self.keeper.keep(&app) {
            Ok(place) => {
                *done = Some(app.id);
                Ok(StoredApp { app, place })
            }
            Err(source) => Err(NotSetUp::Lost { id: app.id, page: app.page, source }),
        }
    }

    /// Compares with all of them, so that the time does not show which one it is.
    fn is_good(&self, state: &str) -> bool {
        let now = self.clock.now();
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        let good = begun.iter().filter(|one| one.until >= now);
        good.filter(|one| is_same(&one.state, state)).count() > 0
    }

    fn use_up(&self, state: &str) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.retain(|one| !is_same(&one.state, state));
    }
}

/// Whether two texts are the same, in constant time.
fn is_same(known: &str, given: &str) -> bool {
    verify_slices_are_equal(known.as_bytes(), given.as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use async_trait::async_trait;

    use super::*;

    /// Gives App 12 for `good`, does not answer `slow`, refuses all others; counts its requests.
    #[derive(Default)]
    struct Host(AtomicUsize);

    #[async_trait]
    impl AppManifests for Host {
        async fn convert(&self, code: &str) -> Result<CreatedApp, ManifestError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            match code {
                "good" => Ok(CreatedApp {
                    id: 12,
                    name: "Capstan".to_owned(),
                    page: "https://github.example/apps/capstan".parse().unwrap(),
                    client_id: "Iv1.1".to_owned(),
                    client_secret: "client".into(),
                    webhook_secret: "webhook".into(),
                    private_key: "key".into(),
                }),
                "slow" => Err(ManifestError::Unreachable("no answer in time".to_owned())),
                _ => Err(ManifestError::Refused("Not Found".to_owned())),
            }
        }
    }

    /// Stores ids as long as there is room.
    #[derive(Default)]
    struct Shelf {
        kept: Mutex<Vec<u64>>,
        is_full: Mutex<Option<&'static str>>,
    }

    impl AppKeeper for Shelf {
        fn try_to_keep(&self) -> std::io::Result<()> {
            match *self.is_full.lock().unwrap() {
                Some("before") => Err(std::io::Error::other("full")),
                _ => Ok(()),
            }
        }

        fn keep(&self, app: &CreatedApp) -> std::io::Result<PathBuf> {
            if self.is_full.lock().unwrap().is_some() {
                return Err(std::io::Error::other("full"));
            }
            self.kept.lock().unwrap().push(app.id);
            Ok(PathBuf::from("there"))
        }
    }

    struct Watch(Mutex<Timestamp>);

    impl Clock for Watch {
        fn now(&self) -> Timestamp {
            *self.0.lock().unwrap()
        }
    }

    struct Place {
        host: Arc<Host>,
        shelf: Arc<Shelf>,
        watch: Arc<Watch>,
        setup: Setup,
    }

    impl Place {
        fn new() -> Self {
            let (host, shelf) = (Arc::new(Host::default()), Arc::new(Shelf::default()));
            let watch = Arc::new(Watch(Mutex::new(Timestamp::UNIX_EPOCH)));
            let setup = Setup::new(host.clone(), shelf.clone(), watch.clone()).unwrap();
            Self { host, shelf, watch, setup }
        }

        fn begin(&self) -> String {
            self.setup.begin(self.setup.token().expose_secret()).unwrap()
        }

        fn asked(&self) -> usize {
            self.host.0.load(Ordering::Relaxed)
        }
    }

    #[tokio::test]
    async fn who_knows_the_token_gets_one_app() {
        let place = Place::new();
        let (state, another) = (place.begin(), place.begin());
        let kept = place.setup.finish(&state, "good").await.unwrap();
        assert_eq!((kept.app.id, kept.place), (12, PathBuf::from("there")));
        assert!(matches!(place.setup.finish(&state, "good").await, Err(NotSetUp::State)), "it is used");
        assert!(matches!(place.setup.finish(&another, "good").await, Err(NotSetUp::Done(12))));
        assert_eq!((place.asked(), place.shelf.kept.lock().unwrap().len()), (1, 1));
    }

    #[tokio::test]
    async fn the_ticket_lets_one_in_once() {
        let place = Place::new();
        let ticket = place.setup.ticket().unwrap();
        let ticket = ticket.expose_secret();
        for wrong in ["", "x", &ticket[1..], place.setup.token().expose_secret()] {
            assert!(matches!(place.setup.enter(wrong), Err(NotSetUp::Token)), "{wrong}");
        }
        assert!(matches!(place.setup.begin(ticket), Err(NotSetUp::Token)), "it is no token");
        let pass = place.setup.enter(ticket).unwrap();
        assert!(place.setup.ticket().is_none() && matches!(place.setup.enter(ticket), Err(NotSetUp::Token)));
        let state = place.setup.begin(pass.expose_secret()).unwrap();
        assert_eq!(place.setup.finish(&state, "good").await.unwrap().app.id, 12);
    }

    #[tokio::test]
    async fn a_wrong_token_or_state_makes_no_call_and_writes_nothing() {
        let place = Place::new();
        for token in ["", "x", &place.setup.token().expose_secret()[1..]] {
            assert!(matches!(place.setup.begin(token), Err(NotSetUp::Token)));
        }
        let state = place.begin();
        for wrong in ["", "x", &state[1..]] {
            assert!(matches!(place.setup.finish(wrong, "good").await, Err(NotSetUp::State)), "{wrong}");
        }
        *place.watch.0.lock().unwrap() = Timestamp::UNIX_EPOCH + GOOD_FOR + SignedDuration::from_secs(1);
        assert!(matches!(place.setup.finish(&state, "good").await, Err(NotSetUp::State)));
        assert_eq!((place.asked(), place.shelf.kept.lock().unwrap().len()), (0, 0));
    }

    #[tokio::test]
    async fn a_state_is_good_again_only_where_github_did_not_answer() {
        let place = Place::new();
        let state = place.begin();
        let slow = place.setup.finish(&state, "slow").await;
        assert!(matches!(slow, Err(NotSetUp::Manifest(ManifestError::Unreachable(_)))), "{slow:?}");
        let refused = place.setup.finish(&state, "bad").await;
        assert!(matches!(refused, Err(NotSetUp::Manifest(ManifestError::Refused(_)))), "{refused:?}");
        assert!(matches!(place.setup.finish(&state, "good").await, Err(NotSetUp::State)));
        assert!(place.shelf.kept.lock().unwrap().is_empty());
    }

    #[tokio::test]
    async fn without_a_place_github_is_not_asked_and_a_lost_app_is_named() {
        let place = Place::new();
        let state = place.begin();
        *place.shelf.is_full.lock().unwrap() = Some("before");
        assert!(matches!(place.setup.finish(&state, "good").await, Err(NotSetUp::Place(_))));
        assert_eq!(place.asked(), 0);
        *place.shelf.is_full.lock().unwrap() = Some("after");
        let lost = place.setup.finish(&state, "good").await.unwrap_err().to_string();
        assert_eq!(
            lost,
            "App 12 (https://github.example/apps/capstan) was created but could not be stored: full"
        );
    }

    #[tokio::test]
    async fn of_many_states_the_newest_are_good() {
        let place = Place::new();
        let first = place.begin();
        let later: Vec<String> = (0..STATES).map(|_| place.begin()).collect();
        assert!(matches!(place.setup.finish(&first, "good").await, Err(NotSetUp::State)));
        assert!(place.setup.finish(&later[0], "good").await.is_ok());
    }
}
