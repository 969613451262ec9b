//! Where a setting comes from: flags, the environment, the file.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use capstan_model::spelling::hint_or_list;
use capstan_yaml::scalar::ScalarReading;
use capstan_yaml::{Entry, NodeKind, YamlFile};

use super::problems::{ConfigError, Environment};

/// The flags of one service, as they were typed.
pub(super) trait Flags {
    /// Every setting that the file may have, under the name of its flag.
    const NAMES: &'static [&'static str];
    fn config(&self) -> Option<&Path>;
    /// What the flag of that name was given.
    fn flag(&self, name: &str) -> Option<String>;
}

/// A path as it was typed.
pub(super) fn typed(path: Option<&PathBuf>) -> Option<String> {
    path.map(|path| path.to_string_lossy().into_owned())
}

/// The settings of `capstan serve`.
const SERVE: &[&str] = &[
    "listen",
    "internal-listen",
    "metrics-listen",
    "connections",
    "header-timeout-seconds",
    "body-timeout-seconds",
    "body-memory-mib",
    "retention-days",
    "public-url",
    "database-url",
    "state-dir",
    "key-file",
    "github-api-url",
    "github-app-id",
    "github-private-key-file",
    "github-webhook-secret-file",
    "github-client-id",
    "github-client-secret-file",
    "workers",
    "job-seconds",
    "planner-seconds",
    "planner-memory-mib",
    "provider-hosts",
    "provider-credentials-file",
    "wave-webhooks-file",
    "otlp-endpoint",
    "otlp-headers-file",
    "dry-run",
];

/// Flags of `capstan serve`. Each can also be given as a variable (`CAPSTAN_LISTEN`) or in the file
/// (`listen: …`); a flag wins over a variable, and that over the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, clap::Args)]
pub struct ServeOptions {
    /// YAML file with settings, named like the flags [env: CAPSTAN_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Address and port of the webhook, the reconcilers' API, /healthz, and the pages where people sign in [env:
    /// CAPSTAN_LISTEN] [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Address and port of /readyz and /metrics, which need no sign-in, and of the pages if it is a loopback address
    /// [env: CAPSTAN_INTERNAL_LISTEN] [default: 127.0.0.1:8082]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub internal_listen: Option<String>,
    /// Address and port of a further listener with /metrics, /readyz and /healthz, and without the fleet page: for
    /// monitoring that reaches it by network, while --internal-listen stays on loopback [env:
    /// CAPSTAN_METRICS_LISTEN] [default: none]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub metrics_listen: Option<String>,
    /// Connections to --listen at a time; beyond that, those that were silent for longest are closed [env:
    /// CAPSTAN_CONNECTIONS] [default: half of the file handles that this process may have, at most 512]
    #[arg(long, value_name = "NUMBER")]
    pub connections: Option<String>,
    /// How long the head of a request may take, and how long a connection may be without a request [env:
    /// CAPSTAN_HEADER_TIMEOUT_SECONDS] [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub header_timeout_seconds: Option<String>,
    /// How long the body of a request may take [env: CAPSTAN_BODY_TIMEOUT_SECONDS] [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub body_timeout_seconds: Option<String>,
    /// Memory for bodies above 64 KiB, all together; further ones wait their turn [env:
    /// CAPSTAN_BODY_MEMORY_MIB] [default: 64]
    #[arg(long, value_name = "MIB")]
    pub body_memory_mib: Option<String>,
    /// How long to keep records for later reference: checks, answered comments, audit [env: CAPSTAN_RETENTION_DAYS]
    /// [default: 90]
    #[arg(long, value_name = "DAYS")]
    pub retention_days: Option<String>,
    /// URL at which GitHub and reconcilers reach the bot [env: CAPSTAN_PUBLIC_URL]
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// Database: sqlite:///path or postgres://user@host/name [env: CAPSTAN_DATABASE_URL] [default: SQLite
    /// in the state directory]
    #[arg(long, value_name = "URL")]
    pub database_url: Option<String>,
    /// Folder for mirrors and the database [env: CAPSTAN_STATE_DIR] [default: ~/.local/state/capstan]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// File with the bot's own key, 32 bytes in base64: it seals keys in the database and authenticates decisions
    /// [env: CAPSTAN_KEY_FILE] [default: capstan.key in the state directory, created if it is missing]
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// REST API of GitHub, GitHub Enterprise Server or a test forge [env: CAPSTAN_GITHUB_API_URL]
    /// [default: public GitHub]
    #[arg(long, value_name = "URL")]
    pub github_api_url: Option<String>,
    /// Id of the GitHub App [env: CAPSTAN_GITHUB_APP_ID]
    #[arg(long, value_name = "ID")]
    pub github_app_id: Option<String>,
    /// File with the App's private key [env: CAPSTAN_GITHUB_PRIVATE_KEY_FILE, or the key itself in
    /// CAPSTAN_GITHUB_PRIVATE_KEY]
    #[arg(long, value_name = "FILE")]
    pub github_private_key_file: Option<PathBuf>,
    /// File with the webhook secret, or two, one per line [env: CAPSTAN_GITHUB_WEBHOOK_SECRET_FILE, or the
    /// secret itself in CAPSTAN_GITHUB_WEBHOOK_SECRET]
    #[arg(long, value_name = "FILE")]
    pub github_webhook_secret_file: Option<PathBuf>,
    /// Client id of the App: with it, people sign in through GitHub to see the pages on --listen [env:
    /// CAPSTAN_GITHUB_CLIENT_ID]
    #[arg(long, value_name = "ID")]
    pub github_client_id: Option<String>,
    /// File with the App's client secret [env: CAPSTAN_GITHUB_CLIENT_SECRET_FILE, or the secret itself in
    /// CAPSTAN_GITHUB_CLIENT_SECRET]
    #[arg(long, value_name = "FILE")]
    pub github_client_secret_file: Option<PathBuf>,
    /// How many repositories are worked on at once, each with a planning process [env: CAPSTAN_WORKERS]
    /// [default: 4]
    #[arg(long, value_name = "NUMBER")]
    pub workers: Option<String>,
    /// How long the work on a repository may take before it is requeued [env: CAPSTAN_JOB_SECONDS] [default: 900]
    #[arg(long, value_name = "SECONDS")]
    pub job_seconds: Option<String>,
    /// How long planning or judging one cluster may take [env: CAPSTAN_PLANNER_SECONDS] [default: 60]
    #[arg(long, value_name = "SECONDS")]
    pub planner_seconds: Option<String>,
    /// Memory that a planning process may take, in MiB [env: CAPSTAN_PLANNER_MEMORY_MIB] [default: 1024]
    #[arg(long, value_name = "MIB")]
    pub planner_memory_mib: Option<String>,
    /// Hosts that `providers.hosts` of a repository may name, separated by commas. Add the port if it is not the
    /// default of the scheme, `http://` if the host has no TLS, and `private://` if its name resolves to a private
    /// network [env: CAPSTAN_PROVIDER_HOSTS] [default: docker.io,ghcr.io,github.com,gitlab.com,quay.io]
    #[arg(long, value_name = "HOST,…")]
    pub provider_hosts: Option<String>,
    /// File with credentials, by host, for fetching components of providers [env:
    /// CAPSTAN_PROVIDER_CREDENTIALS_FILE] [default: none]
    #[arg(long, value_name = "FILE")]
    pub provider_credentials_file: Option<PathBuf>,
    /// File with the hosts whose webhooks waves of campaigns may ask, and the secrets that sign the questions [env:
    /// CAPSTAN_WAVE_WEBHOOKS_FILE] [default: none]
    #[arg(long, value_name = "FILE")]
    pub wave_webhooks_file: Option<PathBuf>,
    /// Address of an OpenTelemetry collector for OTLP over HTTP: a span for each delivery and job. The program must
    /// be built with the feature `otlp` [env: CAPSTAN_OTLP_ENDPOINT] [default: none]
    #[arg(long, value_name = "URL")]
    pub otlp_endpoint: Option<String>,
    /// File with headers that are sent to it, one per line, such as `authorization: Bearer …` [env:
    /// CAPSTAN_OTLP_HEADERS_FILE, or the headers themselves in CAPSTAN_OTLP_HEADERS]
    #[arg(long, value_name = "FILE")]
    pub otlp_headers_file: Option<PathBuf>,
    /// Compute everything and write nothing: the log says what would be written, the pages show what would be there
    /// [env: CAPSTAN_DRY_RUN]
    #[arg(
        long,
        value_name = "true|false",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true"
    )]
    pub dry_run: Option<String>,
}

impl Flags for ServeOptions {
    const NAMES: &'static [&'static str] = SERVE;

    fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    fn flag(&self, name: &str) -> Option<String> {
        match name {
            "listen" => self.listen.clone(),
            "internal-listen" => self.internal_listen.clone(),
            "metrics-listen" => self.metrics_listen.clone(),
            "connections" => self.connections.clone(),
            "header-timeout-seconds" => self.header_timeout_seconds.clone(),
            "body-timeout-seconds" => self.body_timeout_seconds.clone(),
            "body-memory-mib" => self.body_memory_mib.clone(),
            "retention-days" => self.retention_days.clone(),
            "public-url" => self.public_url.clone(),
            "database-url" => self.database_url.clone(),
            "state-dir" => typed(self.state_dir.as_ref()),
            "key-file" => typed(self.key_file.as_ref()),
            "github-api-url" => self.github_api_url.clone(),
            "github-app-id" => self.github_app_id.clone(),
            "github-private-key-file" => typed(self.github_private_key_file.as_ref()),
            "github-webhook-secret-file" => typed(self.github_webhook_secret_file.as_ref()),
            "github-client-id" => self.github_client_id.clone(),
            "github-client-secret-file" => typed(self.github_client_secret_file.as_ref()),
            "workers" => self.workers.clone(),
            "job-seconds" => self.job_seconds.clone(),
            "planner-seconds" => self.planner_seconds.clone(),
            "planner-memory-mib" => self.planner_memory_mib.clone(),
            "provider-hosts" => self.provider_hosts.clone(),
            "provider-credentials-file" => typed(self.provider_credentials_file.as_ref()),
            "wave-webhooks-file" => typed(self.wave_webhooks_file.as_ref()),
            "otlp-endpoint" => self.otlp_endpoint.clone(),
            "otlp-headers-file" => typed(self.otlp_headers_file.as_ref()),
            "dry-run" => self.dry_run.clone(),
            _ => None,
        }
    }
}

/// Where a setting was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SettingOrigin {
    /// A flag, with its dashes.
    Flag(String),
    /// A variable of the environment.
    Variable(String),
    /// A file of settings, with the place in it where that is known.
    File(String),
    /// Nowhere.
    Default,
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) | Self::File(name) => f.write_str(name),
            Self::Default => f.write_str("the default"),
        }
    }
}

/// A setting as it was given.
pub(super) struct Setting {
    name: &'static str,
    origin: SettingOrigin,
    /// What was given.
    pub(super) text: String,
    /// The folder that a relative path starts from; empty for the working directory.
    folder: PathBuf,
}

impl Setting {
    pub(super) fn new(name: &'static str, origin: SettingOrigin, text: &str) -> Self {
        Self { name, origin, text: text.to_owned(), folder: PathBuf::new() }
    }

    /// `listen (from CAPSTAN_LISTEN)`: without the value.
    pub(super) fn named(&self) -> String {
        format!("{} (from {})", self.name, self.origin)
    }

    /// `listen (from CAPSTAN_LISTEN, "8080")`
    pub(super) fn described(&self) -> String {
        format!("{} (from {}, `{}`)", self.name, self.origin, self.shown())
    }

    pub(super) fn wrong(&self, why: &str) -> String {
        format!("{}: `{}` {why}", self.named(), self.shown())
    }

    /// The parts between commas, each parsed as a host; or all parts that are not hosts.
    pub(super) fn each<T, E: fmt::Display>(
        &self,
        parse: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Vec<T>, String> {
        let parts = || self.text.split(',').map(str::trim).filter(|part| !part.is_empty());
        // A password may have a comma: what is before the last `@` is shown nowhere.
        let last = parts().enumerate().filter(|(_, part)| part.contains('@')).last().map(|(at, _)| at);
        let told = |(at, part): (usize, &str), error: E| match last {
            Some(last) if at < last => "`…` is not a host".to_owned(),
            _ => without_login(&error.to_string(), part),
        };
        all(parts().enumerate().map(|(at, part)| parse(part).map_err(|error| told((at, part), error))))
            .map_err(|why| self.wrong(&format!("has an invalid host{why}")))
    }

    fn shown(&self) -> String {
        hidden(&self.text)
    }

    pub(super) const fn is_flag(&self) -> bool {
        matches!(self.origin, SettingOrigin::Flag(_))
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.join(&self.text)
    }
}

/// A value without the user, the password, the query and the fragment that an address may have.
fn hidden(text: &str) -> String {
    let (at, tail) = (text.rfind('@'), text.find(['?', '#']));
    if at.zip(tail).is_some_and(|(at, tail)| tail < at) {
        // A password with a `?` looks like a query with an `@`.
        return "…".to_owned();
    }
    let (before, rest) = text.rsplit_once('@').map_or(("", text), |(_, rest)| ("…@", rest));
    match rest.find(['?', '#']) {
        Some(end) => format!("{before}{}…", &rest[..=end]),
        None => format!("{before}{rest}"),
    }
}

/// An error that quotes a value, without the parts of the value that nobody may see.
pub(super) fn without_login(error: &str, value: &str) -> String {
    // A parser may quote the value without its scheme.
    let bare = value.split_once("://").map_or(value, |(_, rest)| rest);
    error.replace(bare, &hidden(bare))
}

/// A secret as it was given.
pub(super) struct Secret {
    /// Which setting or file it came from, for errors.
    pub(super) origin: String,
    pub(super) text: String,
}

/// All settings as they were given; of each the one that wins.
pub(super) struct SettingSources {
    settings: BTreeMap<&'static str, Setting>,
    /// What is wrong in the file of settings besides its values.
    problems: Vec<String>,
}

impl SettingSources {
    /// Reads them all.
    ///
    /// # Errors
    /// The file of settings cannot be read at all: what it may say is unknown, so that no other setting is called missing.
    pub(super) fn read<F: Flags>(options: &F, environment: Environment<'_>) -> Result<Self, ConfigError> {
        let given = |name: &str| environment(name).filter(|value| !value.trim().is_empty());
        let file = match (options.config(), given("CAPSTAN_CONFIG")) {
            (Some(path), _) => Some((path.to_path_buf(), "--config")),
            (None, Some(path)) => Some((PathBuf::from(path), "CAPSTAN_CONFIG")),
            (None, None) => None,
        };
        let (mut in_file, file) = match file {
            Some((path, origin)) => {
                let read = InFile::read(&path, origin, F::NAMES);
                (read.map_err(|problem| ConfigError { problems: vec![problem] })?, path)
            }
            None => (InFile::default(), PathBuf::new()),
        };
        let mut settings = BTreeMap::new();
        for name in F::NAMES.iter().copied() {
            let variable = variable(name);
            let setting = if let Some(text) = options.flag(name) {
                Setting::new(name, SettingOrigin::Flag(format!("--{name}")), &text)
            } else if let Some(text) = given(&variable) {
                Setting::new(name, SettingOrigin::Variable(variable), &text)
            } else if let Some((place, text)) = in_file.settings.remove(name) {
                let mut setting = Setting::new(name, SettingOrigin::File(place), &text);
                // Where the bot is started from should not change what a file means.
                setting.folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
                setting
            } else {
                continue;
            };
            settings.insert(name, setting);
        }
        Ok(Self { settings, problems: in_file.problems })
    }

    /// What is wrong in the file of settings besides its values: keys, above all.
    pub(super) fn problems(&self) -> Vec<String> {
        self.problems.clone()
    }

    /// Adds a setting that nobody gave.
    pub(super) fn add(&mut self, setting: Setting) {
        self.settings.entry(setting.name).or_insert(setting);
    }

    pub(super) fn setting(&self, name: &'static str) -> Option<Setting> {
        self.settings.get(name).map(|setting| Setting {
            name: setting.name,
            origin: setting.origin.clone(),
            text: setting.text.clone(),
            folder: setting.folder.clone(),
        })
    }

    /// The secret in the file that the setting `name` names, or else in the variable `inline`.
    pub(super) fn secret(
        &self,
        environment: Environment<'_>,
        name: &'static str,
        inline: &str,
        what: &str,
    ) -> Result<Secret, String> {
        let inline_value = environment(inline).filter(|value| !value.trim().is_empty());
        match (self.setting(name), inline_value) {
            (Some(setting), Some(_)) if matches!(setting.origin, SettingOrigin::Variable(_)) => Err(format!(
                "{} and {inline} are both set, and one of them would be ignored: unset one",
                setting.origin
            )),
            // A variable wins over the file of settings, but not over a flag.
            (Some(setting), Some(text)) if !setting.is_flag() => {
                Ok(Secret { origin: format!("{inline} (which wins over {})", setting.origin), text })
            }
            (Some(setting), _) => {
                let path = setting.path();
                let text = std::fs::read_to_string(&path).map_err(|error| {
                    let path = path.display();
                    format!(
                        "{}: cannot read {path}: {error}; it should hold {what}, readable by this user",
                        setting.named()
                    )
                })?;
                Ok(Secret { origin: format!("{}: {}", setting.named(), path.display()), text })
            }
            (None, Some(text)) => Ok(Secret { origin: inline.to_owned(), text }),
            (None, None) => Err(format!(
                "{name} is missing: give a file with {what}, by --{name} or {}, or set {inline}",
                variable(name)
            )),
        }
    }
}

/// All entries of a file's list; or what is wrong with each of those that cannot be used, behind the file's name.
pub(super) fn all<T>(entries: impl Iterator<Item = Result<T, String>>) -> Result<Vec<T>, String> {
    let (mut good, mut wrong) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry {
            Ok(entry) => good.push(entry),
            Err(why) => wrong.push(why),
        }
    }
    if wrong.is_empty() { Ok(good) } else { Err(format!(": {}", wrong.join("; "))) }
}

/// `CAPSTAN_LISTEN` for `listen`.
fn variable(name: &str) -> String {
    format!("CAPSTAN_{}", name.replace('-', "_").to_uppercase())
}

/// What a file of settings says.
#[derive(Default)]
struct InFile {
    /// Each setting's place and text.
    settings: BTreeMap<String, (String, String)>,
    /// What is wrong beside values, each with its place.
    problems: Vec<String>,
}

impl InFile {
    /// Reads it. No message quotes a value: it could be a password.
    fn read(path: &Path, origin: &str, names: &'static [&'static str]) -> Result<Self, String> {
        let shown = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("{origin}: cannot read {shown}: {error}"))?;
        let file = YamlFile::read(&text).map_err(|error| {
            let at = error.position;
            format!("{shown}:{}:{}: this is not YAML that can be read", at.line, at.column)
        })?;
        let place = |offset: usize| {
            let at = file.position(offset);
            format!("{shown}:{}:{}", at.line, at.column)
        };
        let (root, twice) = match file.documents() {
            [] => return Ok(Self::default()),
            [document] if document.root.is_null() => return Ok(Self::default()),
            [document] => (&document.root, &document.duplicate_key),
            [_, second, ..] => {
                let place = place(second.root.span.start);
                return Err(format!("{place}: a second document starts here; the file must have only one"));
            }
        };
        let entries = root.as_mapping().ok_or_else(|| {
            format!("{}: expected lines such as `listen: 127.0.0.1:8080`", place(root.span.start))
        })?;
        let mut read = Self::default();
        for entry in entries {
            let name = entry.key.as_str();
            if !names.contains(&name) {
                read.problems.push(format!("{}: {}", place(entry.key_span.start), unknown(name, names)));
                continue;
            }
            match text_of(entry) {
                Ok(Some(text)) => {
                    read.settings.insert(name.to_owned(), (place(entry.value.span.start), text));
                }
                Ok(None) => {}
                Err(why) => {
                    read.problems.push(format!("{}: `{name}` {why}", place(entry.value.span.start)));
                }
            }
        }
        if let Some(twice) = twice {
            read.problems.push(format!("{}: `{}` occurs twice", place(twice.offset), twice.key));
        }
        Ok(read)
    }
}

/// The text of a setting; `None` where nothing is said.
fn text_of(entry: &Entry) -> Result<Option<String>, &'static str> {
    let NodeKind::Scalar(scalar) = &entry.value.kind else { return Err("must be text or a number") };
    Ok(match scalar.reading() {
        ScalarReading::Null => None,
        ScalarReading::Bool(answer) => Some(answer.to_string()),
        _ => Some(scalar.text.clone()),
    })
}

fn unknown(name: &str, names: &'static [&'static str]) -> String {
    let service = if names == SERVE { "capstan serve --help" } else { "capstan reconcile --help" };
    let hint = hint_or_list(&name.replace('_', "-"), names.iter().copied(), service);
    format!("unknown setting `{name}`{hint}")
}
