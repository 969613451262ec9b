//! A bot's server with a few records, a forge with people, and a browser's worth of HTTP by hand.
//!
//! | who | in `acme/gitops` | in `acme/secret` |
//! |---|---|---|
//! | `ada` | admin | admin |
//! | `wim` | write | nothing |
//! | `rea` | read | nothing |
//! | `sam` | nothing | nothing |

use std::net::SocketAddr;
use std::sync::Arc;

use capstan_bot::agents::SealingKey;
use capstan_bot::visitors::Visitors;
use capstan_bot::worker::Heartbeats;
use capstan_forge::{CANARY, Forge, Options, Permission, Selection};
use capstan_github::{AppCredentials, GitHub, GitHubLimits, GitHubSignIn};
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_model::tree::CommitId;
use capstan_model::version::KubernetesVersion;
use capstan_plan::proposal::ProposalId;
use capstan_ports::{
    AuditEntry, CampaignLimits, CampaignRecord, CampaignTarget, CheckRecord, CheckVerdict, Clock as _,
    FleetFacts, JobCause, JobRequest, Jobs as _, ProposalRecord, Records as _, RepositoryName, WavePlace,
};
use capstan_report::ProposalState;
use capstan_server::{self as server, Listeners, Probe, ServerParts};
use capstan_server::{Intake, Mode};
use capstan_telemetry as telemetry;
use capstan_test_support::tally;
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use reqwest::{Client, Method, redirect};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::database::{Bench, sqlite};
use capstan_test_parts::canary;

pub(super) const GITOPS: &str = "acme/gitops";
pub(super) const SECRET: &str = "acme/secret";
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Whether people can sign in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SigningIn {
    Configured,
    Not,
}

pub(super) struct World {
    pub(super) forge: Forge,
    pub(super) bench: Bench,
    pub(super) public: SocketAddr,
    pub(super) internal: SocketAddr,
    pub(super) gitops: u64,
    pub(super) secret: u64,
    client: Client,
    _stop: oneshot::Sender<()>,
    _serving: JoinHandle<()>,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) status: u16,
    pub(super) location: String,
    pub(super) cookies: Vec<String>,
    pub(super) policy: String,
    pub(super) body: String,
}

impl Page {
    #[track_caller]
    pub(super) fn has(&self, expected: &str) {
        assert!(self.body.contains(expected), "{expected} is missing in {}", self.body);
    }

    #[track_caller]
    pub(super) fn lacks(&self, unwanted: &str) {
        assert!(!self.body.contains(unwanted), "{unwanted} stands in {}", self.body);
    }

    /// What the page's forms carry.
    pub(super) fn form_token(&self) -> String {
        let (_, rest) = self.body.split_once("name=\"token\" value=\"").expect("the page has a form");
        rest.split_once('"').unwrap().0.to_owned()
    }
}

/// A request to a page.
pub(super) struct Ask<'a> {
    pub(super) method: Method,
    pub(super) path: &'a str,
    pub(super) headers: Vec<(&'a str, String)>,
    pub(super) form: Option<String>,
}

impl<'a> Ask<'a> {
    pub(super) fn get(path: &'a str) -> Self {
        Self { method: Method::GET, path, headers: Vec::new(), form: None }
    }

    pub(super) fn post(path: &'a str, token: &str) -> Self {
        Self { method: Method::POST, path, headers: Vec::new(), form: Some(format!("token={token}")) }
    }

    pub(super) fn with(mut self, name: &'a str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn of(self, cookie: Option<&str>) -> Self {
        match cookie {
            Some(cookie) => self.with(COOKIE.as_str(), cookie),
            None => self,
        }
    }
}

fn forge() -> Forge {
    let forge = Forge::start(Options::default()).unwrap();
    forge.create_organization("acme").unwrap();
    for login in ["ada", "rea", "sam", "wim"] {
        forge.create_user(login).unwrap();
    }
    for repository in [GITOPS, SECRET] {
        forge.create_repository(repository).unwrap();
        forge.grant(repository, "ada", Permission::Admin).unwrap();
    }
    forge.grant(GITOPS, "wim", Permission::Write).unwrap();
    forge.grant(GITOPS, "rea", Permission::Read).unwrap();
    forge.install("acme", Selection::All).unwrap();
    forge
}

impl World {
    pub(super) async fn start(signing_in: SigningIn) -> Self {
        tally::count(tally::Cost::World, 1);
        Self::start_on("127.0.0.1:0", signing_in).await
    }

    /// Binds the internal listener to `inside`. The tests reach it by 127.0.0.1 in any case.
    pub(super) async fn start_on(inside: &str, signing_in: SigningIn) -> Self {
        let (forge, bench) = (forge(), sqlite().await);
        let app = forge.app();
        let api = format!("{}/api/v3", forge.url()).parse().unwrap();
        let credentials =
            AppCredentials::from_pem(app.id, &app.private_key.into(), "the forge's key").unwrap();
        let github = Arc::new(GitHub::connect(&api, credentials, GitHubLimits::default()).unwrap());
        let any = "127.0.0.1:0".parse().unwrap();
        let listeners = Listeners {
            public: server::bind(any, "--listen").await.unwrap(),
            internal: server::bind(inside.parse().unwrap(), "--internal-listen").await.unwrap(),
            metrics: None,
        };
        let (public, internal) =
            (listeners.public.local_addr().unwrap(), listeners.internal.local_addr().unwrap());
        let internal = SocketAddr::new(public.ip(), internal.port());
        let callback = format!("http://{public}/login/callback");
        forge.send_back_to(&callback);
        let visitors = (signing_in == SigningIn::Configured).then(|| {
            let sign_in = GitHubSignIn {
                github,
                web: forge.url().parse().unwrap(),
                client_id: app.client_id,
                client_secret: app.client_secret.into(),
                callback: callback.parse().unwrap(),
            };
            let key = SealingKey::parse(&KEY.into()).unwrap();
            let public = callback.parse().unwrap();
            Arc::new(Visitors::new(Arc::new(sign_in), key, bench.clock.clone(), &public))
        });
        let parts = ServerParts {
            deliveries: Arc::new(bench.database.clone()),
            fleet: Arc::new(bench.database.clone()),
            pages: Arc::new(bench.database.clone()),
            visitors,
            github: Probe::new(|| async { Ok(()) }),
            workers: Heartbeats::default(),
            metrics: telemetry::metrics_recorder().unwrap().handle(),
            webhook_secrets: vec![format!("the webhook secret {CANARY}").into()],
            web_url: forge.url().parse().unwrap(),
            clock: bench.clock.clone(),
            agents: None,
            intake: Intake::default(),
            mode: Mode::Live,
        };
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(server::serve(listeners, parts, async {
            stopped.await.ok();
        }));
        let client = Client::builder().redirect(redirect::Policy::none()).no_proxy().build().unwrap();
        let mut world = Self {
            forge,
            bench,
            public,
            internal,
            gitops: 0,
            secret: 0,
            client,
            _stop: stop,
            _serving: serving,
        };
        world.gitops = world.id_of(GITOPS).await;
        world.secret = world.id_of(SECRET).await;
        world
    }

    pub(super) async fn id_of(&self, repository: &str) -> u64 {
        let token = self.forge.token_for("ada").unwrap();
        let url = format!("{}/api/v3/repos/{repository}", self.forge.url());
        let answer = self.client.get(url).bearer_auth(token).send().await.unwrap();
        answer.json::<serde_json::Value>().await.unwrap()["id"].as_u64().unwrap()
    }

    pub(super) async fn ask(&self, door: SocketAddr, ask: Ask<'_>) -> Page {
        self.ask_at(&format!("http://{door}{}", ask.path), ask).await
    }

    async fn ask_at(&self, url: &str, ask: Ask<'_>) -> Page {
        let mut request = self.client.request(ask.method, url);
        for (name, value) in ask.headers {
            request = request.header(name, value);
        }
        if let Some(form) = ask.form {
            request = request.header("content-type", "application/x-www-form-urlencoded").body(form);
        }
        let answer = request.send().await.unwrap();
        canary::assert_none_in(url, format!("{:?}", answer.headers()).as_bytes());
        let text = |name: &str| {
            answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
        };
        let cookies = answer.headers().get_all(SET_COOKIE).iter();
        Page {
            status: answer.status().as_u16(),
            location: text(LOCATION.as_str()),
            cookies: cookies.map(|cookie| cookie.to_str().unwrap().to_owned()).collect(),
            policy: text("content-security-policy"),
            body: {
                let body = answer.text().await.unwrap();
                canary::assert_none_in(url, body.as_bytes());
                body
            },
        }
    }

    /// What somebody at this machine sees.
    pub(super) async fn local(&self, path: &str) -> Page {
        self.ask(self.internal, Ask::get(path)).await
    }

    /// What somebody with a session sees.
    pub(super) async fn page(&self, path: &str, cookie: &str) -> Page {
        self.ask(self.public, Ask::get(path).of(Some(cookie))).await
    }

    /// Goes to GitHub and says there who one is; where GitHub sends one back to, and what one carries.
    pub(super) async fn go_to_github(&self, login: &str, next: &str) -> (String, String) {
        let begin = self.ask(self.public, Ask::get(&format!("/login/github?next={next}"))).await;
        assert_eq!(begin.status, 303, "{begin:?}");
        let cookie = begin.cookies[0].split(';').next().unwrap().to_owned();
        let (_, query) = begin.location.split_once('?').unwrap();
        assert_eq!(self.ask_at(&begin.location, Ask::get("")).await.status, 200);
        let form = Some(format!("{query}&login={login}"));
        let authorize = format!("{}/login/oauth/authorize", self.forge.url());
        let ask = Ask { method: Method::POST, path: "", headers: Vec::new(), form };
        let back = self.ask_at(&authorize, ask).await;
        assert_eq!(back.status, 302, "{back:?}");
        let path = back.location.strip_prefix(&format!("http://{}", self.public)).unwrap();
        (path.to_owned(), cookie)
    }

    /// Signs somebody in: their session's cookie.
    pub(super) async fn sign_in(&self, login: &str) -> String {
        let (back, begun) = self.go_to_github(login, "/").await;
        let done = self.ask(self.public, Ask::get(&back).of(Some(&begun))).await;
        assert_eq!((done.status, done.location.as_str()), (303, "/"), "{done:?}");
        session_of(&done)
    }

    // Records.

    pub(super) async fn know(&self, repository: u64, name: &str) {
        let name = RepositoryName::parse(name).unwrap();
        let request = JobRequest { repository, installation: 7, name, cause: JobCause::Start };
        self.bench.database.enqueue(&request).await.unwrap();
    }

    pub(super) async fn campaign(&self, repository: u64, targets: Vec<CampaignTarget>) {
        let campaign = CampaignRecord {
            kind: SourceKind::RELEASE,
            source: "aws/v22.0.0@9d1f".to_owned(),
            limits: Some(CampaignLimits { open: 20, per_hour: 5 }),
            targets,
        };
        self.bench.database.save_campaigns(repository, &[campaign]).await.unwrap();
    }

    /// A small fleet in both repositories.
    pub(super) async fn with_a_fleet(self) -> Self {
        self.know(self.gitops, GITOPS).await;
        self.know(self.secret, SECRET).await;
        let held = |target: CampaignTarget, by: &str| CampaignTarget { hold: Some(by.to_owned()), ..target };
        let audit = "The overlay holds upgrades back until 2026-12-01: audit.";
        let approved = target(
            "gauss/peu01",
            "proposed",
            "#12 offers `aws/v22.0.0`.",
            "aws/v21.0.0",
            Some("aws/v22.0.0"),
        );
        let facts = |now: &str, then: Option<&str>, wave: Option<&str>| FleetFacts {
            kubernetes: KubernetesVersion::parse(now),
            kubernetes_offered: then.and_then(KubernetesVersion::parse),
            wave: wave.map(|name| WavePlace { place: 0, name: name.to_owned() }),
            machines: then.map(|_| 8),
            more_machines: false,
        };
        let mut targets = vec![
            held(target("euler/web", "held", audit, "aws/v21.0.0", None), audit),
            held(approved, "On hold by `olga` until 2026-12-24: the <b>freeze."),
            target(
                "gauss/peu02",
                "blocked",
                "One field of `<b>peu02` conflicts.",
                "aws/v21.0.0",
                Some("aws/v22.0.0"),
            ),
            target(
                "gauss/peu03",
                "current",
                "The cluster is at aws/v22.0.0, and there is no newer release.",
                "aws/v22.0.0",
                None,
            ),
        ];
        targets[1].facts = facts("v1.31.9", Some("v1.32.7"), Some("canary"));
        targets[2].facts = facts("v1.31.10", Some("v1.32.7"), None);
        targets[3].facts = facts("v1.32.7", None, None);
        self.campaign(self.gitops, targets).await;
        self.campaign(
            self.secret,
            vec![target("noether/vault", "current", "It is there.", "aws/v22.0.0", None)],
        )
        .await;
        let database = &self.bench.database;
        let head = CommitId::parse(&"a".repeat(40)).unwrap();
        let proposal = ProposalId::of_release(Target::parse("gauss/peu01").unwrap());
        database
            .save_proposal(&ProposalRecord {
                repository: self.gitops,
                proposal: proposal.clone(),
                pull_request: Some(12),
                source: "aws/v22.0.0@9d1f".to_owned(),
                plan: "plan".to_owned(),
                head: head.clone(),
                opened_at: self.bench.clock.now(),
                ended_at: None,
            })
            .await
            .unwrap();
        database
            .save_check(&CheckRecord {
                repository: self.gitops,
                head,
                name: "capstan".to_owned(),
                check_run: 5,
                content: String::new(),
                verdict: Some(CheckVerdict {
                    conclusion: "action_required".to_owned(),
                    title: "One conflict blocks".to_owned(),
                }),
                pressed: None,
            })
            .await
            .unwrap();
        let entry = AuditEntry {
            repository: self.gitops,
            proposal: Some(proposal),
            actor: "capstan".to_owned(),
            action: "proposal-opened",
            detail: "offers `aws/v22.0.0` in #12".to_owned(),
        };
        database.audit(&entry).await.unwrap();
        self
    }
}

/// The cookie of a session that begins.
pub(super) fn session_of(page: &Page) -> String {
    let session = page.cookies.iter().find(|cookie| cookie.starts_with("__Host-capstan-session="));
    session.expect("a session begins").split(';').next().unwrap().to_owned()
}

pub(super) fn target(
    path: &str,
    state: &str,
    reason: &str,
    at: &str,
    offered: Option<&str>,
) -> CampaignTarget {
    CampaignTarget {
        target: Target::parse(path).unwrap(),
        state: ProposalState::parse(state).unwrap(),
        reason: reason.to_owned(),
        at: Some(at.to_owned()),
        offered: offered.map(str::to_owned),
        hold: None,
        facts: FleetFacts::default(),
    }
}
