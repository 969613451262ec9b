//! `make demo`: the whole bot on an embedded forge with sample data. Tours ([`arguments::Tour`]) play what people do, each in
//! a repository of its own. A step waits for the bot and checks what it tells: a demo that goes wrong says so and fails.
//!
//! Everything is real but GitHub, and GitHub's stand-in speaks its language: the bot is started as
//! `capstan serve` starts it, learns of things by signed webhooks, and reads and writes over HTTP. All of it
//! lives in temporary folders and is gone afterwards.

/// Files of an example of the documentation, as a repository of the demo begins with them.
macro_rules! example {
    ($example:literal: $($path:literal),+ $(,)?) => {
        [$(capstan_forge::Edit::write(
            $path,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/", $example, "/", $path)),
        )),+]
    };
}

mod arguments;
mod failure;
mod inventory;
mod release;
mod tell;
mod text;
mod watch;
mod waves;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;

use capstan_forge::{Forge, ForgeError, Options, Permission, Selection};
use capstan_planner_process::STACK;
use capstan_serve::{Config, GithubApp, RETENTION, Running, Work, shutdown_asked};
use capstan_server::{Intake, Mode};
use secrecy::SecretString;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::arguments::{Demo, DemoArguments, Tour};
use self::failure::{Failure, failed};
use self::inventory::InventoryTour;
use self::release::ReleaseTour;
use self::tell::say;
use self::watch::Watch;
use self::waves::WavesTour;

/// Of the platform team; administers the repositories.
const PLATFORM: &str = "petra";
/// Of the customer gauss; may write.
const CUSTOMER: &str = "gabi";

/// The program: reads its arguments, plays the demo or plans for it, and says how that ended.
pub fn main() -> ExitCode {
    let ended = match DemoArguments::read(std::env::args().skip(1)) {
        Ok(DemoArguments::Demo(demo)) => start(&demo),
        Ok(DemoArguments::Planner { memory, stack }) => {
            capstan_serve::plan_on_standard_input(memory, stack).map_err(failed)
        }
        Ok(DemoArguments::Help) => say(arguments::HELP),
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
    let tours = demo.tours();
    let forge = start_forge(demo.port, &tours)?;
    let folder = tempfile::Builder::new().prefix("capstan-demo-").tempdir()?;
    let stop = CancellationToken::new();
    let running = capstan_serve::start(config(&forge, &folder)?, stop.clone()).await.map_err(failed)?;
    forge.deliver_to(&format!("http://{}/github/webhook", running.address));

    let fleet_page = format!("http://{}/", running.internal_address);
    let serve = async {
        introduce(&forge, &fleet_page)?;
        for tour in &tours {
            play(*tour, &forge, &running, &fleet_page).await?;
        }
        if !demo.once {
            invite(&forge, &fleet_page, &tours, &folder.path().join("git-credentials"))?;
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

fn introduce(forge: &Forge, fleet_page: &str) -> Result<(), Failure> {
    say(&format!(
        "Capstan demo\n\n\
         A stand-in for GitHub serves {}\n\
         Capstan runs beside it, installed as a GitHub App. Its own pages are at {fleet_page}\n\
         Nothing leaves this machine.",
        forge.url()
    ))
}

async fn play(tour: Tour, forge: &Forge, running: &Running, fleet_page: &str) -> Result<(), Failure> {
    let watch = Watch { forge, records: running.records(), repository: repository(tour) };
    match tour {
        Tour::Release => ReleaseTour { watch, fleet_page }.play().await,
        Tour::Inventory => InventoryTour { watch }.play().await,
        Tour::Waves => WavesTour { watch, running, fleet_page }.play().await,
    }
}

const fn repository(tour: Tour) -> &'static str {
    match tour {
        Tour::Release => release::REPOSITORY,
        Tour::Inventory => inventory::REPOSITORY,
        Tour::Waves => waves::REPOSITORY,
    }
}

/// What can be done while the demo continues.
fn invite(forge: &Forge, fleet_page: &str, tours: &[Tour], credentials: &Path) -> Result<(), Failure> {
    let token = forge.token_for(PLATFORM).map_err(failed)?;
    let address = forge.url().trim_start_matches("http://");
    // In a file that only its owner reads: a token in an address would be in shell histories.
    std::fs::write(credentials, format!("http://{PLATFORM}:{token}@{address}\n"))?;
    let pages: Vec<String> =
        tours.iter().map(|tour| format!("      http://{address}/{}\n", repository(*tour))).collect();
    let first = tours.first().map_or(release::REPOSITORY, |tour| repository(*tour));
    say(&format!(
        "\nNow you: the demo continues until Ctrl-C\n   \
         Each repository's page says what to look at and what to try:\n{}   \
         The fleet as Capstan sees it:\n      {fleet_page}\n   \
         Push something of your own:\n      git clone -c credential.helper='store --file {}' http://{PLATFORM}@{address}/{first}.git\n",
        pages.concat(),
        credentials.display()
    ))
}

/// The forge with its people, the repositories of the tours and the App installed.
fn start_forge(port: u16, tours: &[Tour]) -> Result<Forge, Failure> {
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
        for tour in tours {
            let repository = repository(*tour);
            forge.create_repository(repository)?;
            forge.grant(repository, PLATFORM, Permission::Admin)?;
            forge.grant(repository, CUSTOMER, Permission::Write)?;
            let commits = match tour {
                Tour::Release => release::begins_with(jiff::Zoned::now().date()),
                Tour::Inventory => inventory::begins_with(),
                Tour::Waves => waves::begins_with(),
            };
            for (message, edits) in commits {
                forge.commit(repository, "main", PLATFORM, message, &edits)?;
            }
        }
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
