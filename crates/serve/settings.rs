//! The bot's settings.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use capstan_bot::agents::rollouts::PACE;
use capstan_bot::wave_webhooks::WebhookHost;
use capstan_fleet::components::HostCredentials;
use capstan_plan::settings::OperatorHost;
use capstan_server::{Intake, Mode};
use secrecy::SecretString;
use tempfile::TempDir;
use url::Url;

/// All settings of `capstan serve`.
#[derive(Debug)]
pub struct Config {
    /// Whether what is decided is done.
    pub mode: Mode,
    /// The folder that a dry run works in instead of the state directory; it goes with this value.
    pub scratch: Option<TempDir>,
    /// Where GitHub and reconcilers connect.
    pub listen: SocketAddr,
    /// Where people and monitoring connect; `None` where nobody said: [`INTERNAL_LISTEN`], then.
    pub internal_listen: Option<SocketAddr>,
    /// Where monitoring alone connects; `None` where it uses the internal listener.
    pub metrics_listen: Option<SocketAddr>,
    /// What those who connect may cost.
    pub intake: Intake,
    /// How long records are kept that are only looked up.
    pub retention: Duration,
    /// How GitHub and reconcilers reach the bot, where that is known.
    pub public_url: Option<Url>,
    /// `sqlite:` or `postgres:` URL; may hold a password.
    pub database_url: SecretString,
    /// For mirrors and the SQLite database; exists and can be written to. In a dry run that of `scratch`.
    pub state_dir: PathBuf,
    /// A key of this bot's own, 32 bytes in base64: outlives the App's.
    pub key: SecretString,
    /// The GitHub App.
    pub github: GithubApp,
    /// How people sign in; `None` where nobody does.
    pub login: Option<SignInSettings>,
    /// How much is done at once, and how much of the machine it may take.
    pub work: Work,
    /// What hosts are shown from which components of providers are fetched.
    pub provider_credentials: Vec<HostCredentials>,
    /// The webhooks that waves of campaigns may ask.
    pub wave_webhooks: Vec<WebhookHost>,
    /// What an operator should know of these settings, a sentence each.
    pub warnings: Vec<String>,
    /// Hosts that repositories may name for components of providers.
    pub provider_hosts: Vec<OperatorHost>,
}

/// How much is done at once, and how much of the machine it may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Work {
    /// Repositories that are worked on at once.
    pub workers: usize,
    /// How long the work on one may take.
    pub job: Duration,
    /// How long planning or judging one cluster may take.
    pub planner: Duration,
    /// Memory that a planning process may take, in bytes.
    pub planner_memory: u64,
    /// How often the check of a rollout is written at most.
    pub rollout_pace: Duration,
}

impl Default for Work {
    fn default() -> Self {
        let (job, planner) = (Duration::from_secs(900), Duration::from_secs(60));
        Self { workers: 4, job, planner, planner_memory: 1024 << 20, rollout_pace: PACE }
    }
}

/// Where the internal listener listens where nobody said.
pub const INTERNAL_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8082);

/// How people sign in.
#[derive(Debug)]
pub struct SignInSettings {
    /// The App's client id.
    pub client_id: String,
    pub client_secret: SecretString,
    /// Where people come back to.
    pub callback: Url,
}

/// Records that are kept where nobody says for how long.
pub const RETENTION: Duration = Duration::from_secs(90 * 24 * 3600);

/// How to be the GitHub App.
#[derive(Debug)]
pub struct GithubApp {
    /// Base of the REST API, without a slash at its end: `https://api.github.com`.
    pub api_url: Url,
    /// The App's id.
    pub app_id: u64,
    /// Its private key, PEM.
    pub private_key: SecretString,
    /// Its webhook secrets, one or two: while a secret is changed both are valid.
    pub webhook_secrets: Vec<SecretString>,
}

impl GithubApp {
    /// Where people look at repositories.
    pub fn web_url(&self) -> Url {
        capstan_github::web_url(&self.api_url)
    }
}
