//! The real registry (`docker-registry`), open, with passwords, or with tokens of a server of the test.

use capstan_test_support::PATIENCE;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::routing::get;
use axum::{Form, Json, Router};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_test_support::tally;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Who may, in every registry that asks.
pub const USER: (&str, &str) = ("ada", "a very long password");
/// As `htpasswd -nbB ada 'a very long password'` writes it.
const HTPASSWD: &str = "ada:$2b$05$abcdefghijklmnopqrstuuGffQpL9bq7iP4wo9J1U5zgrlkx.rG62\n";
pub const REFRESH_TOKEN: &str = "refresh-0123456789";

/// What a registry asks of those who come.
pub enum Asks<'a> {
    Nothing,
    Passwords,
    /// Tokens of the server at this address, which are signed with this certificate's key.
    Tokens(&'a TokenServer),
}

/// Runs until it is dropped.
pub struct Registry {
    child: Child,
    pub host: String,
    _folder: TempDir,
}

impl Drop for Registry {
    fn drop(&mut self) {
        let _ended = (self.child.kill(), self.child.wait());
    }
}

impl Registry {
    /// Starts one; `None`, said aloud, where there is none (`tests/prepare` installs it where it may).
    #[expect(clippy::print_stdout, reason = "what is skipped is said aloud")]
    pub fn start(asks: &Asks<'_>) -> Option<Self> {
        let known = ["/usr/bin/docker-registry", "/usr/local/bin/registry"];
        let Some(program) = known.iter().find(|path| Path::new(path).is_file()) else {
            println!(
                "SKIPPED: there is no docker-registry (package docker-registry): no artifact is fetched"
            );
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let host = format!("127.0.0.1:{port}");
        let at = |name: &str| folder.path().join(name).display().to_string();
        let auth = match asks {
            Asks::Nothing => String::new(),
            Asks::Passwords => {
                fs::write(at("htpasswd"), HTPASSWD).unwrap();
                format!("auth: {{htpasswd: {{realm: test, path: {}}}}}\n", at("htpasswd"))
            }
            Asks::Tokens(server) => format!(
                "auth: {{token: {{realm: 'http://{}/token', service: registry, issuer: test, rootcertbundle: {}}}}}\n",
                server.host,
                server.certificate.display()
            ),
        };
        let config = format!(
            "version: 0.1\nlog: {{level: error}}\nstorage: {{filesystem: {{rootdirectory: {}}}}}\nhttp: {{addr: '{host}', secret: x}}\n{auth}",
            at("content")
        );
        fs::write(at("config.yml"), config).unwrap();
        let log = fs::File::create(at("log")).unwrap();
        let child = tally::command(program)
            .args(["serve", &at("config.yml")])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let registry = Self { child, host, _folder: folder };
        let begun = Instant::now();
        while TcpStream::connect(&registry.host).is_err() {
            assert!(begun.elapsed() < PATIENCE, "the registry does not answer");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(registry)
    }
}

/// A proxy before a registry. It issues a token for the password or the refresh token, and forwards everything else to
/// the registry. It ends with the test's runtime.
pub struct TokenServer {
    pub host: String,
    /// The registry's own.
    pub behind: Arc<OnceLock<String>>,
    certificate: PathBuf,
    /// What it was asked: `GET ada SCOPE`.
    pub asked: Arc<Mutex<Vec<String>>>,
    _folder: TempDir,
}

#[derive(Clone)]
struct Signer {
    key: EncodingKey,
    certificate: String,
    asked: Arc<Mutex<Vec<String>>>,
    behind: Arc<OnceLock<String>>,
    client: reqwest::Client,
}

type Pairs = Vec<(String, String)>;

impl TokenServer {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let made = tally::command("openssl")
            .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"])
            .args(["-keyout", &at("key.pem"), "-out", &at("certificate.pem")])
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let pem = fs::read_to_string(at("certificate.pem")).unwrap();
        let signer = Signer {
            key: EncodingKey::from_rsa_pem(&fs::read(at("key.pem")).unwrap()).unwrap(),
            certificate: pem.lines().filter(|line| !line.starts_with("---")).collect(),
            asked: Arc::default(),
            behind: Arc::default(),
            client: reqwest::Client::builder().no_proxy().build().unwrap(),
        };
        let (asked, behind) = (Arc::clone(&signer.asked), Arc::clone(&signer.behind));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let router = Router::new()
            .route("/token", get(by_password).post(by_refresh_token))
            .fallback(hand_on)
            .with_state(signer);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { host, behind, certificate: folder.path().join("certificate.pem"), asked, _folder: folder }
    }
}

/// Named as it was named to, so that the registry's answers lead back here.
async fn hand_on(
    State(signer): State<Signer>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, HeaderMap, Bytes) {
    let url = format!("http://{}{uri}", signer.behind.get().unwrap());
    let told = signer.client.request(method, url).headers(headers).body(body).send().await.unwrap();
    (told.status(), told.headers().clone(), told.bytes().await.unwrap())
}

async fn by_password(
    State(signer): State<Signer>,
    Query(query): Query<Pairs>,
    headers: HeaderMap,
) -> Result<Json<Value>, StatusCode> {
    let wanted = format!("Basic {}", STANDARD.encode(format!("{}:{}", USER.0, USER.1)));
    let told = headers.get("authorization").and_then(|value| value.to_str().ok());
    let known = told == Some(wanted.as_str());
    signer.give(if known { "GET ada" } else { "GET nobody" }, known, &query)
}

async fn by_refresh_token(
    State(signer): State<Signer>,
    Form(form): Form<Pairs>,
) -> Result<Json<Value>, StatusCode> {
    let known = form.contains(&("refresh_token".to_owned(), REFRESH_TOKEN.to_owned()));
    signer.give("POST", known, &form)
}

impl Signer {
    fn give(&self, who: &str, known: bool, pairs: &[(String, String)]) -> Result<Json<Value>, StatusCode> {
        let scope = pairs.iter().find(|(name, _)| name == "scope").map(|(_, scope)| scope.clone());
        let scope = scope.unwrap_or_default();
        self.asked.lock().unwrap().push(format!("{who} {scope}"));
        if !known {
            return Err(StatusCode::UNAUTHORIZED);
        }
        let mut parts = scope.splitn(3, ':');
        let (kind, name, actions) = (parts.next(), parts.next(), parts.next().unwrap_or_default());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let claims = json!({
            "iss": "test", "sub": "ada", "aud": "registry", "exp": now + 300, "nbf": now - 60, "iat": now, "jti": "1",
            "access": [{"type": kind, "name": name, "actions": actions.split(',').collect::<Vec<_>>()}],
        });
        let header = Header { x5c: Some(vec![self.certificate.clone()]), ..Header::new(Algorithm::RS256) };
        let token = jsonwebtoken::encode(&header, &claims, &self.key).unwrap();
        Ok(Json(json!({"token": token})))
    }
}
