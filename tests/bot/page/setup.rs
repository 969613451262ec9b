//! `/setup`: the built program creates its App on the forge, over HTTP by hand and in a browser, and continues as the
//! bot.

use capstan_test_support::PATIENCE;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use capstan_forge::{Fault, Forge, Matching, Options, Selection, Strike, Surface};
use capstan_test_support::tally;
use reqwest::{Client, redirect};
use serde_json::Value;
use tempfile::TempDir;

use super::browser::{ENTER, TAB, VIEWS, assert_sound};
use super::webdriver::Browser;
use capstan_test_parts::canary;
use capstan_test_parts::conformance::assert_conforms;

/// A bot without an App.
struct Newcomer {
    forge: Forge,
    folder: TempDir,
    program: Child,
    log: Arc<Mutex<Vec<String>>>,
    public: String,
    internal: String,
    client: Client,
}

/// An answer.
struct Page {
    status: u16,
    policy: String,
    location: String,
    body: String,
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Newcomer {
    fn start() -> Self {
        let forge = Forge::start(Options::default()).unwrap();
        forge.create_organization("acme").unwrap();
        forge.create_user("ada").unwrap();
        forge.create_repository("acme/gitops").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let (public, internal) = (format!("127.0.0.1:{}", free_port()), format!("127.0.0.1:{}", free_port()));
        let mut program = tally::command(env!("CARGO_BIN_EXE_capstan"))
            .env_clear()
            .env("CAPSTAN_LOG_FORMAT", "json")
            .args(["serve", "--listen", &public, "--internal-listen", &internal])
            .args(["--public-url", &format!("http://{public}")])
            .args(["--github-api-url", &format!("{}/api/v3", forge.url())])
            .arg("--state-dir")
            .arg(folder.path().join("state"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Mutex::new(Vec::new()));
        let out: [Box<dyn std::io::Read + Send>; 2] =
            [Box::new(program.stdout.take().unwrap()), Box::new(program.stderr.take().unwrap())];
        for stream in out {
            let log = Arc::clone(&log);
            let keep = move |line: String| log.lock().unwrap().push(line);
            std::thread::spawn(move || BufReader::new(stream).lines().map_while(Result::ok).for_each(keep));
        }
        let client = Client::builder().redirect(redirect::Policy::none()).no_proxy().build().unwrap();
        Self { forge, folder, program, log, public, internal, client }
    }

    fn logged(&self) -> String {
        self.log.lock().unwrap().join("\n")
    }

    async fn until_logged(&self, words: &str) -> String {
        let began = Instant::now();
        loop {
            let logged = self.logged();
            if logged.contains(words) {
                return logged;
            }
            assert!(began.elapsed() < PATIENCE, "{words:?} is not in the log:\n{logged}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What the log says that one has to know.
    async fn token(&self) -> String {
        self.logged_value("token").await
    }

    /// Where the log says that one should look, below the listener.
    async fn opening(&self) -> String {
        let address = self.logged_value("open").await;
        address.strip_prefix(&format!("http://{}", self.internal)).unwrap().to_owned()
    }

    async fn logged_value(&self, field: &str) -> String {
        let logged = self.until_logged("no GitHub App is configured").await;
        let lines = logged.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut values = lines.filter_map(|line| line[field].as_str().map(str::to_owned));
        values.next().expect("the log says it")
    }

    async fn ask(&self, request: reqwest::RequestBuilder) -> Page {
        let answer = request.send().await.unwrap();
        let text = |name: &str| {
            answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default()
        };
        let (status, policy, location) =
            (answer.status().as_u16(), text("content-security-policy"), text("location"));
        let body = answer.text().await.unwrap();
        canary::assert_none_in("/setup", body.as_bytes());
        Page { status, policy, location, body }
    }

    async fn get(&self, path: &str) -> Page {
        self.ask(self.client.get(format!("http://{}{path}", self.internal))).await
    }

    async fn post(&self, fields: &[(&str, &str)]) -> Page {
        self.submit(&format!("http://{}/setup", self.internal), fields).await
    }

    async fn submit(&self, url: &str, fields: &[(&str, &str)]) -> Page {
        let mut form = url::form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields);
        let request = self.client.post(url).header("content-type", "application/x-www-form-urlencoded");
        self.ask(request.body(form.finish())).await
    }

    /// Agrees at GitHub to what the page sends there; where GitHub sends one back to, below the listener.
    async fn agree(&self, page: &Page) -> String {
        let (action, manifest) = (attribute(&page.body, "action=\""), attribute(&page.body, "value=\""));
        let asked = self.submit(&action, &[("manifest", &manifest)]).await;
        assert_eq!(asked.status, 200, "{}", asked.body);
        let (_, state) = action.split_once("state=").unwrap();
        let fields = [("manifest", manifest.as_str()), ("state", state), ("owner", "acme")];
        let back = self.submit(&format!("{}/settings/apps/manifest", self.forge.url()), &fields).await;
        assert_eq!(back.status, 302, "{}", back.body);
        back.location.strip_prefix(&format!("http://{}", self.internal)).unwrap().to_owned()
    }

    fn kept(&self) -> PathBuf {
        self.folder.path().join("state/github-app")
    }

    fn conversions(&self) -> usize {
        self.forge.count_requests(|exchange| {
            exchange.surface == Surface::Rest && exchange.path.starts_with("/app-manifests/")
        })
    }

    /// The App is kept, and the bot takes what GitHub sends.
    async fn assert_working(&self) {
        let app = self.forge.app();
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!(mode(&self.kept()), 0o700);
        let read = |name: &str| {
            let path = self.kept().join(name);
            assert_eq!(mode(&path), 0o600, "{name}");
            std::fs::read_to_string(path).unwrap().trim_end().to_owned()
        };
        assert_eq!(read("app-id"), app.id.to_string());
        assert_eq!(read("private-key.pem"), app.private_key.trim_end());
        assert_eq!(read("webhook-secret"), app.webhook_secret);
        assert_eq!((read("client-id"), read("client-secret")), (app.client_id, app.client_secret));
        self.until_logged("listening").await;
        assert_eq!(self.get("/setup").await.status, 404);
        assert_eq!(self.get("/setup/created?code=x&state=y").await.status, 404);
        // GitHub knows the address of the webhook from the manifest, and the bot the secret from GitHub.
        self.forge.install("acme", Selection::All).unwrap();
        let began = Instant::now();
        loop {
            let deliveries = self.forge.deliveries();
            if let Some(delivery) = deliveries.iter().find(|delivery| delivery.event == "installation")
                && delivery.status_code != 0
            {
                assert_eq!(delivery.status_code, 202);
                break;
            }
            assert!(began.elapsed() < PATIENCE, "nothing is delivered: {deliveries:?}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let logged = self.logged();
        canary::assert_none_in("the log", logged.as_bytes());
        assert_conforms(&self.forge);
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        self.program.kill().ok();
        self.program.wait().ok();
    }
}

/// The text from the first `before` to the next quote, with entities decoded as a browser decodes them.
fn attribute(html: &str, before: &str) -> String {
    let (_, rest) = html.split_once(before).ok_or_else(|| format!("{before} is missing in {html}")).unwrap();
    let (value, _) = rest.split_once('"').unwrap();
    value.replace("&#34;", "\"").replace("&quot;", "\"").replace("&#38;", "&").replace("&amp;", "&")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_of_the_log_creates_the_app_and_the_bot_starts_its_work() {
    let bot = Newcomer::start();
    let token = bot.token().await;
    let first = bot.get("/setup").await;
    assert_eq!(first.status, 200, "{}", first.body);
    assert!(first.policy.contains("form-action 'self';"), "{}", first.policy);
    assert!(!first.body.contains(&token), "the page does not tell");

    let second = bot.post(&[("token", &token), ("organization", "acme")]).await;
    assert_eq!(second.status, 200, "{}", second.body);
    assert!(second.policy.contains(&format!("form-action {};", bot.forge.url())), "{}", second.policy);
    assert!(!second.body.contains(&token), "GitHub is not told the token");
    let action = attribute(&second.body, "action=\"");
    let expected = format!("{}/organizations/acme/settings/apps/new?state=", bot.forge.url());
    assert!(action.starts_with(&expected), "{action}");
    let manifest: Value = serde_json::from_str(&attribute(&second.body, "value=\"")).unwrap();
    assert_eq!(manifest["redirect_url"], format!("http://{}/setup/created", bot.internal));
    assert_eq!(manifest["hook_attributes"]["url"], format!("http://{}/github/webhook", bot.public));
    assert_eq!(manifest["callback_urls"][0], format!("http://{}/login/callback", bot.public));

    let back = bot.agree(&second).await;
    let last = bot.get(&back).await;
    assert_eq!(last.status, 200, "{}", last.body);
    assert!(last.body.contains("Install the App"), "{}", last.body);
    assert!(last.body.contains(bot.kept().to_str().unwrap()), "{}", last.body);
    bot.assert_working().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_address_of_the_log_needs_one_press_and_is_good_once() {
    let bot = Newcomer::start();
    let (opening, token) = (bot.opening().await, bot.token().await);
    assert!(opening.starts_with("/setup?ticket=") && !opening.contains(&token), "{opening}");
    // What would be refused costs it nothing.
    assert_eq!(bot.get(&format!("{opening}&organization=a/../b")).await.status, 400);
    for wrong in ["/setup?ticket=x", &format!("/setup?ticket={token}"), &opening[..opening.len() - 1]] {
        let refused = bot.get(wrong).await;
        assert_eq!(refused.status, 403, "{wrong}");
        assert!(!refused.body.contains("manifest"), "{}", refused.body);
    }
    let page = bot.get(&format!("{opening}&organization=acme")).await;
    assert_eq!(page.status, 200, "{}", page.body);
    assert!(page.policy.contains(&format!("form-action {} 'self';", bot.forge.url())), "{}", page.policy);
    assert!(!page.body.contains(&token), "the page has another secret than the log");
    let ticket = opening.split_once('=').unwrap().1;
    assert!(!page.body.contains(ticket), "{}", page.body);
    let action = attribute(&page.body, "action=\"");
    assert!(
        action.starts_with(&format!("{}/organizations/acme/settings/apps/new?state=", bot.forge.url())),
        "{action}"
    );
    // A person who finds the address in a browser's history cannot use it again.
    let again = bot.get(&opening).await;
    assert_eq!(again.status, 403);
    assert!(
        again.body.contains("This address was already used") && !again.body.contains("manifest"),
        "{}",
        again.body
    );
    assert_eq!(bot.post(&[("token", ticket)]).await.status, 403, "it is no token");
    // Another owner, from the page itself.
    let (_, owner) = page.body.split_once("aria-label=\"Owner\"").unwrap();
    let pass = attribute(owner, "name=\"token\" value=\"");
    let mine = bot.post(&[("token", &pass)]).await;
    let action = attribute(&mine.body, "action=\"");
    assert!(action.starts_with(&format!("{}/settings/apps/new?state=", bot.forge.url())), "{action}");

    let back = bot.agree(&page).await;
    assert!(!back.contains(&pass) && !back.contains(&token));
    assert_eq!(bot.get(&back).await.status, 200);
    bot.assert_working().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_else_makes_an_app_and_nothing_is_written() {
    let bot = Newcomer::start();
    let token = bot.token().await;
    // Without the token there is no state.
    for wrong in ["", "x", &token[1..]] {
        let refused = bot.post(&[("token", wrong)]).await;
        assert_eq!(refused.status, 403, "{}", refused.body);
        assert!(!refused.body.contains("manifest"), "{}", refused.body);
    }
    // The address holds no token.
    assert!(!bot.get(&format!("/setup?token={token}")).await.body.contains("manifest"));
    // Another site's name that leads here.
    let rebound = bot.client.get(format!("http://{}/setup", bot.internal)).header("host", "evil.example");
    assert_eq!(bot.ask(rebound).await.status, 421);
    // On the public listener there is nothing.
    let public = bot.client.get(format!("http://{}/setup", bot.public));
    assert_eq!(bot.ask(public).await.status, 404);
    let strange = bot.post(&[("token", &token), ("organization", "a/../b")]).await;
    assert_eq!(strange.status, 400);

    // A state that is missing or made up.
    let second = bot.post(&[("token", &token)]).await;
    let back = bot.agree(&second).await;
    let (code, state) = back.split_once("&state=").unwrap();
    for wrong in ["", "&state=", "&state=x", &format!("&state={}", &state[1..])] {
        let refused = bot.get(&format!("{code}{wrong}")).await;
        assert_eq!(refused.status, 400, "{wrong}");
        assert!(refused.body.contains("Capstan stored nothing"), "{}", refused.body);
    }
    assert_eq!(bot.conversions(), 0, "GitHub is asked nothing");
    // A code that GitHub does not know uses the state up.
    let unknown = bot.get(&format!("/setup/created?code=abc&state={state}")).await;
    assert_eq!(unknown.status, 502, "{}", unknown.body);
    assert!(unknown.body.contains("GitHub refuses the code: 404 Not Found"), "{}", unknown.body);
    assert_eq!(bot.get(&back).await.status, 400, "a state is good once");
    assert_eq!(bot.conversions(), 1);
    assert!(!bot.kept().exists());

    // Where GitHub does not answer, the same address is good once more.
    let second = bot.post(&[("token", &token)]).await;
    let back = bot.agree(&second).await;
    bot.forge.fail_next(1, Matching::any().path("/app-manifests/"), Strike::Before, Fault::Status(502));
    let away = bot.get(&back).await;
    assert_eq!(away.status, 502);
    assert!(away.body.contains("Load this page again within the hour"), "{}", away.body);
    assert_eq!(bot.get(&back).await.status, 200);
    bot.assert_working().await;
}

/// With the address of the log: one press here and one at GitHub, by keyboard.
#[tokio::test(flavor = "multi_thread")]
async fn it_works_in_a_browser() {
    let Some(browser) = Browser::start().await else { return };
    let bot = Newcomer::start();
    let views = async |page: &str| {
        for (width, height, scheme) in VIEWS {
            browser.resize(width, height).await;
            browser.prefer(scheme).await;
            assert_sound(&browser, scheme, &format!("{page} at {width} px, {scheme}")).await;
            browser.photograph(&format!("{page}-{width}-{scheme}")).await;
        }
    };
    let opening = bot.opening().await;
    browser.go(&format!("http://{}/setup", bot.internal)).await;
    views("setup-token").await;
    browser.go(&format!("http://{}{opening}", bot.internal)).await;
    browser.until("document.querySelector('input[name=manifest]') !== null").await;
    views("setup").await;
    // The way past the bar, and then the button.
    browser.press(TAB).await;
    browser.press(TAB).await;
    let focused = browser.script("return document.activeElement.textContent;").await;
    assert_eq!(focused, "Create the GitHub App");
    browser.press(ENTER).await;
    browser.until("document.querySelector('#agree') !== null").await;
    browser.click("#agree").await;
    browser.until("document.title === 'The App is created · Capstan'").await;
    views("setup-done").await;
    let said = browser.console().await;
    assert!(said.is_empty(), "the console says {said:#?}");
    bot.assert_working().await;
}

/// Without it: the token is typed, and what went wrong is readable too.
#[tokio::test(flavor = "multi_thread")]
async fn the_token_may_be_typed_instead() {
    let Some(browser) = Browser::start().await else { return };
    let bot = Newcomer::start();
    let token = bot.token().await;
    browser.resize(360, 900).await;
    browser.prefer("light").await;
    browser.go(&format!("http://{}/setup", bot.internal)).await;
    browser.write("input[name=token]", "wrong").await;
    browser.click("main button").await;
    browser.until("document.querySelector('[role=alert]') !== null").await;
    assert_sound(&browser, "light", "a wrong token").await;
    browser.photograph("setup-wrong").await;
    browser.write("input[name=token]", &token).await;
    browser.write("input[name=organization]", "acme").await;
    browser.click("main button").await;
    browser.until("document.querySelector('input[name=manifest]') !== null").await;
    assert_sound(&browser, "light", "the rights").await;
    browser.click("main button").await;
    browser.until("document.querySelector('#agree') !== null").await;
    browser.click("#agree").await;
    browser.until("document.title === 'The App is created · Capstan'").await;
    // A refusal is a line of the console, as Chromium has it.
    let said = browser.console().await;
    assert!(said.iter().all(|line| line.contains("403")), "the console says {said:#?}");
    bot.assert_working().await;
}
