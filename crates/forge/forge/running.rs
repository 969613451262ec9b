//! A running forge: started, its deliveries, its faults, its record.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::error::ForgeError;
use super::options::Options;
use crate::app_key::AppKey;
use crate::clock::now;
use crate::deliver::deliver;
use crate::error::ApiError;
use crate::faults::{Fault, Faults, Matching, Strike, Struck};
use crate::log::{Exchange, Log};
use crate::outbox::{Delivery, DeliveryOrder, Outbox};
use crate::random::random_secret;
use crate::server::serve;
use crate::shared::SharedState;
use crate::state::{Account, AccountKind, App, BearerToken, State};

/// What the App's operator knows.
#[derive(Clone)]
pub struct AppCredentials {
    /// The App's id.
    pub id: u64,
    /// The App's name in addresses.
    pub slug: String,
    /// PKCS #8, in PEM.
    pub private_key: String,
    /// The secret that deliveries are signed with.
    pub webhook_secret: String,
    /// What the App is called where people sign in.
    pub client_id: String,
    /// The secret that codes of people who sign in are exchanged with.
    pub client_secret: String,
}

/// A running forge; it ends when this is dropped.
pub struct Forge {
    pub(crate) shared: Arc<SharedState>,
    url: String,
    runtime: Option<tokio::runtime::Runtime>,
    _folder: tempfile::TempDir,
}

impl Drop for Forge {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // Not waited for: this may be dropped on a thread of another runtime.
            runtime.shutdown_background();
        }
    }
}

impl Forge {
    /// Starts a forge without accounts or repositories, with one App that is installed nowhere.
    pub fn start(options: Options) -> Result<Forge, ForgeError> {
        let folder = tempfile::Builder::new().prefix("capstan-forge-").tempdir()?;
        let listener = std::net::TcpListener::bind(&options.listen)?;
        listener.set_nonblocking(true)?;
        let url = format!("http://{}", listener.local_addr()?);
        let state = State {
            web: options.enterprise.as_ref().map_or_else(|| url.clone(), |server| server.web.clone()),
            storage: None,
            enterprise: options.enterprise.as_ref().map(|server| server.version.clone()),
            folder: folder.path().to_owned(),
            last_id: 1000,
            last_event: 0,
            accounts: BTreeMap::new(),
            teams: BTreeMap::new(),
            app: app(&options)?,
            installations: BTreeMap::new(),
            tokens: HashMap::new(),
            authorizations: HashMap::new(),
            registrations: HashMap::new(),
            repositories: BTreeMap::new(),
            outbox: Outbox::default(),
            faults: Faults::default(),
            log: Log { recording: options.recording, exchanges: Vec::new() },
            mergeability_reads: options.mergeability_reads,
            welcome: String::new(),
        };
        let shared = Arc::new(SharedState::new(state));
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("forge")
            .enable_all()
            .build()?;
        // From here on the forge is dropped as a whole: a runtime alone must not be dropped within another one.
        let forge = Forge { shared, url, runtime: Some(runtime), _folder: folder };
        if let Some(runtime) = &forge.runtime {
            let _within = runtime.enter();
            let listener = tokio::net::TcpListener::from_std(listener)?;
            runtime.spawn(serve(Arc::clone(&forge.shared), listener));
            runtime.spawn(deliver(Arc::clone(&forge.shared)));
        }
        Ok(forge)
    }

    /// The root of the REST API, of the pages, and of the clone addresses: `{url}/{owner}/{name}.git`. The API
    /// answers below `{url}/api/v3` and `{url}/api/graphql` as well.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Shows a text in Markdown on the first page, above the repositories.
    pub fn welcome(&self, text: &str) {
        text.clone_into(&mut self.shared.lock().welcome);
    }

    /// What the App's operator knows.
    pub fn app(&self) -> AppCredentials {
        let state = self.shared.lock();
        AppCredentials {
            id: state.app.id,
            slug: state.app.slug.clone(),
            private_key: state.app.key.pem().to_owned(),
            webhook_secret: state.app.webhook_secret.clone(),
            client_id: state.app.client_id(),
            client_secret: state.app.client_secret.clone(),
        }
    }

    /// Gives the App another private key, and takes the one before back.
    ///
    /// # Errors
    /// No key can be made.
    pub fn renew_private_key(&self) -> std::io::Result<()> {
        let key = AppKey::generate().map_err(|_| std::io::Error::other("no key can be made"))?;
        self.shared.lock().app.key = key;
        Ok(())
    }

    /// Sets where people who sign in are sent back to.
    pub fn send_back_to(&self, callback: &str) {
        self.shared.lock().app.callback = Some(callback.to_owned());
    }

    /// Takes all tokens of a person back.
    pub fn revoke_tokens_of(&self, login: &str) {
        let is_theirs =
            |token: &BearerToken| matches!(token, BearerToken::User(account) if account.login == login);
        self.shared.lock().tokens.retain(|_, token| !is_theirs(token));
    }

    /// The login of the App's bot.
    pub fn bot_login(&self) -> String {
        self.shared.lock().app.bot.login.clone()
    }

    /// Does something to the state, then wakes the deliveries.
    pub(crate) fn act<T>(
        &self,
        work: impl FnOnce(&mut State) -> Result<T, ForgeError>,
    ) -> Result<T, ForgeError> {
        let result = work(&mut self.shared.lock());
        self.shared.outbox_changed.notify_one();
        result
    }

    // Deliveries.

    /// Sets the App's webhook and starts delivering what has happened since.
    pub fn deliver_to(&self, url: &str) {
        self.shared.lock().app.webhook_url = Some(url.to_owned());
        self.shared.outbox_changed.notify_one();
    }

    /// Holds deliveries back until [`Forge::resume_deliveries`].
    pub fn pause_deliveries(&self) {
        self.shared.lock().outbox.paused = true;
    }

    /// Sends what was held back, in the order asked for.
    pub fn resume_deliveries(&self, order: DeliveryOrder) {
        let mut state = self.shared.lock();
        state.outbox.reorder(order);
        state.outbox.paused = false;
        drop(state);
        self.shared.outbox_changed.notify_one();
    }

    /// Loses the next deliveries: recorded as failed, never sent, as when the receiver is down.
    pub fn lose_deliveries(&self, count: u32) {
        self.shared.lock().outbox.lose_next = count;
    }

    /// Sends each of the next deliveries twice, under the same GUID.
    pub fn duplicate_deliveries(&self, count: u32) {
        self.shared.lock().outbox.duplicate_next = count;
    }

    /// Sends an earlier delivery again, under the same GUID.
    pub fn redeliver(&self, delivery: u64) -> Result<(), ForgeError> {
        self.act(|state| if state.redeliver(delivery) { Ok(()) } else { Err(ApiError::not_found().into()) })
    }

    /// So many seconds pass for the record of deliveries: GitHub keeps it for three days.
    pub fn age_deliveries(&self, seconds: i64) {
        for delivery in &mut self.shared.lock().outbox.deliveries {
            delivery.at -= seconds;
        }
    }

    /// All deliveries so far, oldest first.
    pub fn deliveries(&self) -> Vec<Delivery> {
        self.shared.lock().outbox.deliveries.clone()
    }

    /// Waits until nothing is queued or on its way, at most this long; whether that came about. What the receiver
    /// does after it has answered is its own affair.
    pub async fn delivered(&self, at_most: Duration) -> bool {
        let idle = async {
            while !self.shared.lock().outbox.is_idle() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(at_most, idle).await.is_ok()
    }

    // Trouble.

    /// Lets a fault strike the next so many matching requests.
    pub fn fail_next(&self, times: u32, matching: Matching, strike: Strike, fault: Fault) {
        self.shared.lock().faults.plan(times, matching, strike, fault);
    }

    /// Lets this decide of each request whether a fault strikes it, until faults are cleared. It must not call the forge.
    pub fn fail_by(&self, choose: impl FnMut(Struck<'_>) -> Option<(Strike, Fault)> + Send + 'static) {
        self.shared.lock().faults.choose_by(Box::new(choose));
    }

    /// Lets every so many matching requests be struck, by these faults in turn, until [`Forge::clear_faults`].
    pub fn fail_every(&self, every: u32, matching: Matching, faults: &[(Strike, Fault)]) {
        self.shared.lock().faults.recur(every, matching, faults.to_vec());
    }

    /// How many faults have not struck.
    pub fn faults_left(&self) -> usize {
        self.shared.lock().faults.left()
    }

    /// Forgets faults that have not struck.
    pub fn clear_faults(&self) {
        self.shared.lock().faults.clear();
    }

    // The record.

    /// Every request so far.
    pub fn exchanges(&self) -> Vec<Exchange> {
        self.shared.lock().log.exchanges.clone()
    }

    /// How many requests so far satisfy a condition.
    pub fn count_requests(&self, condition: impl Fn(&Exchange) -> bool) -> usize {
        self.shared.lock().log.exchanges.iter().filter(|exchange| condition(exchange)).count()
    }

    /// How many calls of the App so far may have changed something (tokens not counted).
    pub fn write_calls(&self) -> usize {
        self.count_requests(|exchange| exchange.is_write() && exchange.who.starts_with("installation"))
    }

    /// Forgets the record of requests.
    pub fn clear_exchanges(&self) {
        self.shared.lock().log.exchanges.clear();
    }
}

fn app(options: &Options) -> Result<App, ForgeError> {
    let permissions = [
        ("checks", "write"),
        ("contents", "write"),
        ("issues", "write"),
        ("members", "read"),
        ("merge_queues", "read"),
        ("metadata", "read"),
        ("pull_requests", "write"),
        ("statuses", "write"),
    ];
    // What a server does not know, nobody can grant there.
    let permissions =
        permissions.into_iter().filter(|(scope, _)| options.enterprise.is_none() || *scope != "merge_queues");
    let events = [
        "check_run",
        "check_suite",
        "issue_comment",
        "issues",
        "merge_group",
        "pull_request",
        "pull_request_review",
        "push",
    ];
    let owner = Account { id: 2, login: "platform-team".to_owned(), kind: AccountKind::Organization };
    let bot = Account { id: 3, login: format!("{}[bot]", options.slug), kind: AccountKind::Bot };
    Ok(App {
        id: 4242,
        slug: options.slug.clone(),
        owner,
        bot,
        key: AppKey::of_this_process().map_err(|_| ForgeError::Key)?,
        webhook_secret: random_secret(""),
        client_secret: random_secret(""),
        callback: None,
        webhook_url: None,
        permissions: permissions.map(|(scope, level)| (scope.to_owned(), level.to_owned())).collect(),
        events: events.map(str::to_owned).to_vec(),
        created_at: now(),
    })
}
