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
use std::time::Duration;

use capstan_forge::{Forge, ForgeError, Options, Permission, Selection};
use capstan_planner_process::STACK;
use capstan_serve::{Config, GithubApp, RETENTION, Work, shutdown_asked};
use capstan_server::{Intake, Mode};
use secrecy::SecretString;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use url::Url;

use self::arguments::{Demo, DemoArguments, Tour};
use self::failure::{DemoFailure, failed};
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

fn start(demo: &Demo) -> Result<(), DemoFailure> {
    // What the planning process could render is rendered here too.
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK).build();
    runtime?.block_on(run(demo))
}

async fn run(demo: &Demo) -> Result<(), DemoFailure> {
    let environment = |name: &str| std::env::var(name).ok();
    capstan_telemetry::start_logging(&environment, "warn").map_err(failed)?;
    let tours = demo.tours();
    let forge = start_forge(demo.port)?;
    let folder = tempfile::Builder::new().prefix("capstan-demo-").tempdir()?;
    let stop = CancellationToken::new();
    let running = capstan_serve::start(config(&forge, &folder)?, stop.clone()).await.map_err(failed)?;
    forge.deliver_to(&format!("http://{}/github/webhook", running.address));

    let capstan = format!("http://{}", running.internal_address);
    // Now that the address of Capstan's pages is known, which the repositories name.
    fill(&forge, &tours, &capstan).map_err(failed)?;
    let serve = async {
        introduce(&forge, &capstan)?;
        let mut reconciler = None;
        for tour in &tours {
            let watch = Watch { forge: &forge, records: running.records(), repository: repository(*tour) };
            match tour {
                Tour::Release => ReleaseTour { watch, capstan: &capstan }.play().await?,
                Tour::Inventory => InventoryTour { watch }.play().await?,
                Tour::Waves => {
                    let tour = WavesTour { watch, running: &running, capstan: &capstan };
                    reconciler = Some(tour.play().await?);
                }
            }
        }
        if !demo.once {
            invite(&forge, &capstan, &tours, &folder.path().join("git-credentials"))?;
            match reconciler {
                Some(reconciler) => reconciler.follow(&forge).await,
                None => std::future::pending::<()>().await,
            }
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

fn introduce(forge: &Forge, capstan: &str) -> Result<(), DemoFailure> {
    say(&format!(
        "Capstan demo\n\n\
         A stand-in for GitHub serves {}\n\
         Capstan runs beside it, installed as a GitHub App. Its own pages are at {capstan}/\n\
         Nothing leaves this machine.",
        forge.url()
    ))
}

const fn repository(tour: Tour) -> &'static str {
    match tour {
        Tour::Release => release::REPOSITORY,
        Tour::Inventory => inventory::REPOSITORY,
        Tour::Waves => waves::REPOSITORY,
    }
}

/// What can be done while the demo continues.
fn invite(forge: &Forge, capstan: &str, tours: &[Tour], credentials: &Path) -> Result<(), DemoFailure> {
    let token = forge.token_for(PLATFORM).map_err(failed)?;
    let address = forge.url().trim_start_matches("http://");
    // In a file that only its owner reads: a token in an address would be in shell histories.
    std::fs::write(credentials, format!("http://{PLATFORM}:{token}@{address}\n"))?;
    let pages: Vec<String> =
        tours.iter().map(|tour| format!("      http://{address}/{}\n", repository(*tour))).collect();
    let first = tours.first().map_or(release::REPOSITORY, |tour| repository(*tour));
    say(&format!(
        "\nNow you: the demo continues until Ctrl-C\n   \
         Begin here, each page says what to look at and what to try:\n      http://{address}/\n{}   \
         The fleet as Capstan sees it:\n      {capstan}/\n   \
         Push something of your own:\n      git clone -c credential.helper='store --file {}' http://{PLATFORM}@{address}/{first}.git\n",
        pages.concat(),
        credentials.display()
    ))
}

fn start_forge(port: u16) -> Result<Forge, DemoFailure> {
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, port)).to_string();
    Forge::start(Options { listen, ..Options::default() }).map_err(|error| match error {
        ForgeError::Io(error) if port != 0 => failed(format!(
            "the pages cannot be served on port {port}: {error}; name another one with --port, or omit it for any free one"
        )),
        error => failed(error),
    })
}

/// The people, the repositories of the tours, and the App installed in them. `capstan` is the address of Capstan's pages.
fn fill(forge: &Forge, tours: &[Tour], capstan: &str) -> Result<(), ForgeError> {
    forge.create_organization("acme")?;
    forge.create_user(PLATFORM)?;
    forge.create_user(CUSTOMER)?;
    for tour in tours {
        let repository = repository(*tour);
        forge.create_repository(repository)?;
        forge.grant(repository, PLATFORM, Permission::Admin)?;
        forge.grant(repository, CUSTOMER, Permission::Write)?;
        let commits = match tour {
            Tour::Release => release::begins_with(jiff::Zoned::now().date(), capstan),
            Tour::Inventory => inventory::begins_with(capstan),
            Tour::Waves => waves::begins_with(jiff::Timestamp::now(), capstan),
        };
        for (message, edits) in commits {
            forge.commit(repository, "main", PLATFORM, message, &edits)?;
        }
    }
    let first = tours.iter().enumerate().map(|(place, tour)| {
        let (name, shows) = (repository(*tour), tour.shows());
        format!("{}. [{name}](/{name}): {shows}.\n", place + 1)
    });
    forge.welcome(&WELCOME.replace("@tours@", &first.collect::<String>()).replace("@capstan@", capstan));
    forge.install("acme", Selection::All)?;
    Ok(())
}

/// On the forge's first page.
const WELCOME: &str = "\
This is a stand-in for GitHub, with repositories in which Capstan works. You act as a person with all rights in them, and
nothing leaves this machine. Each repository's page has steps to look at and to try:

@tours@
Then see what Capstan's own pages show of it: [the fleet](@capstan@/), [campaigns](@capstan@/campaigns),
[the queue](@capstan@/queue) and [the audit trail](@capstan@/audit).
";

/// Nothing of the demo outlives it.
const DEMO_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

fn config(forge: &Forge, folder: &TempDir) -> Result<Config, DemoFailure> {
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
        // The machines are played: nobody has to wait for a check longer than for them.
        work: Work { rollout_pace: Duration::from_millis(500), ..Work::default() },
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
