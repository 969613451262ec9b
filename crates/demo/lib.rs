//! `make demo`: the whole bot on an embedded forge with sample data.
//!
//! Everything is real but GitHub, and GitHub's stand-in speaks its language: the bot is started as
//! `capstan serve` starts it, learns of things by signed webhooks, and reads and writes over HTTP. All of it
//! lives in temporary folders and is gone afterwards.

mod arguments;
mod failure;
mod sample;
mod story;
mod text;
mod watch;

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use capstan_forge::{Forge, ForgeError, Options, Permission, Selection};
use capstan_planner_process::STACK;
use capstan_serve::{Config, GithubApp, RETENTION, Work, shutdown_asked};
use capstan_server::{Intake, Mode};
use secrecy::SecretString;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::arguments::{Arguments, Demo};
use self::failure::{Failure, failed};
use self::sample::{CUSTOMER, PLATFORM, REPOSITORY};
use self::story::Story;
use self::watch::Watch;

/// The program: reads its arguments, plays the demo or plans for it, and says how that ended.
pub fn main() -> ExitCode {
    let ended = match Arguments::read(std::env::args().skip(1)) {
        Ok(Arguments::Demo(demo)) => start(&demo),
        Ok(Arguments::Planner { memory, stack }) => {
            capstan_serve::plan_on_standard_input(memory, stack).map_err(failed)
        }
        Ok(Arguments::Help) => story::say(arguments::HELP),
        Err(wrong) => return wrong.report(2),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(1),
    }
}

fn start(demo: &Demo) -> Result<(), Failure> {
    // What the planning process could render is rendered here too.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
    runtime?.block_on(run(demo))
}

async fn run(demo: &Demo) -> Result<(), Failure> {
    let environment = |name: &str| std::env::var(name).ok();
    capstan_telemetry::start_logging(&environment, "warn").map_err(failed)?;
    let forge = start_forge(demo.port)?;
    let folder = tempfile::Builder::new().prefix("capstan-demo-").tempdir()?;
    let stop = CancellationToken::new();
    let running = capstan_serve::start(config(&forge, &folder)?, stop.clone()).await.map_err(failed)?;
    forge.deliver_to(&format!("http://{}/github/webhook", running.address));

    let watch = Watch { forge: &forge, records: running.records() };
    let credentials = folder.path().join("git-credentials");
    let story = Story {
        watch,
        fleet_page: format!("http://{}/", running.internal_address),
        credentials: &credentials,
    };
    let serve = async {
        story.tell().await?;
        if !demo.once {
            story.invite()?;
            std::future::pending::<()>().await;
        }
        Ok(())
    };
    let told = tokio::select! {
        told = serve => told,
        () = shutdown_asked() => Ok(()),
    };
    stop.cancel();
    let ended = running.finished().await.map_err(failed);
    told.and(ended)
}

/// The forge with its people, its repository and the App installed.
fn start_forge(port: u16) -> Result<Forge, Failure> {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port)).to_string();
    let forge = Forge::start(Options { listen, ..Options::default() }).map_err(|error| match error {
        ForgeError::Io(error) if port != 0 => failed(format!(
            "the pages cannot be served on port {port}: {error}; name another one with --port, or omit it for any free one"
        )),
        error => failed(error),
    })?;
    let people = || {
        forge.create_organization("acme")?;
        forge.create_user(PLATFORM)?;
        forge.create_user(CUSTOMER)?;
        forge.create_repository(REPOSITORY)?;
        forge.grant(REPOSITORY, PLATFORM, Permission::Admin)?;
        forge.grant(REPOSITORY, CUSTOMER, Permission::Write)?;
        let today = jiff::Zoned::now().date();
        let hold_until = today.saturating_add(jiff::Span::new().days(30));
        let commit =
            |by, message, edits: &[_]| forge.commit(REPOSITORY, "main", by, message, edits).map(drop);
        commit(PLATFORM, "Releases, and how upgrades are proposed", &sample::releases_and_settings())?;
        commit(PLATFORM, "The clusters", &sample::clusters(hold_until))?;
        forge.install("acme", Selection::All)
    };
    people().map_err(failed)?;
    Ok(forge)
}

/// Nothing of the demo outlives it.
const DEMO_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

fn config(forge: &Forge, folder: &TempDir) -> Result<Config, Failure> {
    let app = forge.app();
    let database = folder.path().join("capstan.sqlite");
    Ok(Config {
        mode: Mode::Live,
        scratch: None,
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        internal_listen: Some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
        metrics_listen: None,
        intake: Intake::default(),
        retention: RETENTION,
        public_url: None,
        database_url: SecretString::from(format!("sqlite://{}", database.display())),
        state_dir: folder.path().to_owned(),
        work: Work::default(),
        provider_credentials: Vec::new(),
        warnings: Vec::new(),
        wave_webhooks: Vec::new(),
        provider_hosts: Vec::new(),
        key: SecretString::from(DEMO_KEY),
        github: GithubApp {
            api_url: Url::parse(&format!("{}/api/v3", forge.url())).map_err(failed)?,
            app_id: app.id,
            private_key: SecretString::from(app.private_key),
            webhook_secrets: vec![SecretString::from(app.webhook_secret)],
        },
        login: None,
    })
}
