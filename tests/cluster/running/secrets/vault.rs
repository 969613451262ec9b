//! A strict stand-in of HashiCorp's Vault: key-value secrets in versions, logins with service account tokens, policies, leases.
//!
//! Its answers are those of version 1.20. A request that was never tried there is an error of the test. Values and
//! tokens contain the word CANARY: anywhere else, that word is a leak.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State as Shared;
use axum::http::{HeaderMap, Method, Response, Uri};
use capstan_ports::{Clock, SystemClock};
use capstan_test_support::tally;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use serde_json::{Map, Value, json};

use capstan_test_parts::plane::Plane;

/// The word that every value contains.
pub(crate) const CANARY: &str = "CANARY";

/// Who may log in by a role, and what they may do.
#[derive(Clone)]
pub(crate) struct Role {
    pub(crate) audience: String,
    /// The name of the service account; `*` for any.
    pub(crate) account: String,
    /// Paths that are read and written, `{namespace}` in them being the account's; a `*` at the end.
    pub(crate) policy: Vec<String>,
    pub(crate) seconds: i64,
    /// The longest that a login lives, renewed or not.
    pub(crate) most: i64,
    pub(crate) is_renewable: bool,
}

pub(super) struct Token {
    accessor: String,
    namespace: String,
    /// Whose policy is asked whenever somebody asks.
    role: String,
    expires: i64,
    dies: i64,
    seconds: i64,
    is_renewable: bool,
}

/// A lease that lives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lease {
    token: String,
    expires: i64,
    dies: i64,
    is_renewable: bool,
    pub(crate) password: String,
}

/// How a secrets engine gives leases.
#[derive(Clone, Copy)]
pub(crate) struct Engine {
    pub(crate) seconds: i64,
    pub(crate) most: i64,
    pub(crate) is_renewable: bool,
    pub(crate) method: &'static str,
}

#[derive(Clone, Default)]
struct Version {
    data: Option<Map<String, Value>>,
    is_destroyed: bool,
}

#[derive(Default)]
pub(crate) struct State {
    kv: BTreeMap<String, Vec<Version>>,
    pub(crate) roles: BTreeMap<String, Role>,
    pub(crate) engines: BTreeMap<String, Engine>,
    pub(super) tokens: BTreeMap<String, Token>,
    pub(super) leases: BTreeMap<String, Lease>,
    pub(crate) is_sealed: bool,
    /// Answers this to everything.
    pub(crate) answers: Option<(u16, String)>,
    /// Gives the next lease, and its answer is lost.
    pub(crate) loses_lease: bool,
    pub(crate) logins: usize,
    /// Who logged in: namespace and account.
    pub(crate) accounts: Vec<String>,
    pub(crate) asked: Vec<String>,
    /// What it was never seen to answer.
    pub(crate) unseen: Vec<String>,
    counter: u64,
    /// With which key tokens of service accounts are signed; `None` where they are the tests' own.
    key: Option<Vec<u8>>,
}

/// A Vault that listens until this is dropped.
pub(crate) struct FakeVault {
    pub(crate) url: String,
    inner: Arc<Inner>,
    serving: tokio::task::JoinHandle<()>,
}

struct Inner {
    state: Mutex<State>,
    clock: Arc<dyn Clock>,
}

/// A token of a service account, as the tests' own API server signs it.
pub(crate) fn jwt(namespace: &str, account: &str, audience: &str) -> String {
    format!("test|{namespace}|{account}|{audience}")
}

impl FakeVault {
    pub(crate) async fn start(clock: Arc<dyn Clock>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address: SocketAddr = listener.local_addr().unwrap();
        let inner = Arc::new(Inner { state: Mutex::default(), clock });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&inner));
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url: format!("http://{address}"), inner, serving }
    }

    /// Tokens are signed with this key (PEM) from now on.
    pub(crate) fn believe(&self, key: &[u8]) {
        self.state().key = Some(key.to_owned());
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.inner.state.lock().unwrap()
    }

    /// A role that may read what is of its namespace, and ask for leases.
    pub(crate) fn role(&self, name: &str) {
        let policy = ["kv/data/{namespace}/*", "database/creds/*", "pki/issue/*"];
        self.state().roles.insert(
            name.to_owned(),
            Role {
                audience: "vault".to_owned(),
                account: "capstan-applier".to_owned(),
                policy: policy.map(str::to_owned).to_vec(),
                seconds: 3600,
                most: 1_000_000,
                is_renewable: true,
            },
        );
    }

    /// Writes the next version of a secret: `kv/acme/fra1`.
    pub(crate) fn put(&self, path: &str, data: Value) {
        let data = Some(data.as_object().unwrap().clone());
        self.state().kv.entry(path.to_owned()).or_default().push(Version { data, is_destroyed: false });
    }

    /// Deletes a version, or destroys it.
    pub(crate) fn delete(&self, path: &str, version: usize, is_destroyed: bool) {
        let mut state = self.state();
        let versions = state.kv.get_mut(path).unwrap();
        versions[version - 1] = Version { data: None, is_destroyed };
    }

    /// Ends every login.
    pub(crate) fn revoke_logins(&self) {
        self.state().tokens.clear();
    }

    /// The leases that live.
    pub(crate) fn leases(&self) -> BTreeMap<String, Lease> {
        let mut state = self.state();
        state.expire(self.inner.clock.now().as_second());
        state.leases.clone()
    }

    /// How many logins leases hang on.
    pub(crate) fn logins_with_leases(&self) -> usize {
        let leases = self.leases();
        leases.values().map(|lease| &lease.token).collect::<BTreeSet<_>>().len()
    }

    /// How many logins live.
    pub(crate) fn living_logins(&self) -> usize {
        let mut state = self.state();
        state.expire(self.inner.clock.now().as_second());
        state.tokens.len()
    }

    /// What was asked since this was called last.
    pub(crate) fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut self.state().asked)
    }
}

impl Drop for FakeVault {
    fn drop(&mut self) {
        self.serving.abort();
        let unseen = std::mem::take(&mut self.inner.state.lock().unwrap().unseen);
        if !std::thread::panicking() {
            assert_eq!(unseen, Vec::<String>::new(), "HashiCorp's server was never asked that");
        }
    }
}

/// A Vault for those who wait without a runtime, which believes what a management cluster signs.
pub(crate) struct Beside {
    pub(crate) vault: FakeVault,
    _runtime: tokio::runtime::Runtime,
}

impl Beside {
    /// One that believes the service accounts of a management cluster.
    pub(crate) fn start(plane: &Plane) -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let vault = runtime.block_on(FakeVault::start(Arc::new(SystemClock)));
        let certificate = plane.state().join("pki/service-accounts/tls.crt");
        let key = tally::command("openssl")
            .args(["x509", "-pubkey", "-noout", "-in"])
            .arg(certificate)
            .output()
            .unwrap();
        assert!(key.status.success(), "{}", String::from_utf8_lossy(&key.stderr));
        vault.believe(&key.stdout);
        Self { vault, _runtime: runtime }
    }
}

type Answer = (u16, Value);

fn errors(status: u16, text: &str) -> Answer {
    (status, json!({"errors": [text]}))
}

fn denied() -> Answer {
    errors(403, "1 error occurred:\n\t* permission denied\n\n")
}

async fn answer(
    Shared(inner): Shared<Arc<Inner>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let now = inner.clock.now().as_second();
    let (status, body) = {
        let mut state = inner.state.lock().unwrap();
        let path = uri.path().strip_prefix("/v1/").unwrap_or_default().to_owned();
        state.asked.push(format!("{method} {path}"));
        match state.answers.clone() {
            Some((status, text)) => (status, text),
            None => {
                let token =
                    headers.get("x-vault-token").and_then(|token| token.to_str().ok()).unwrap_or_default();
                let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
                let (status, answer) = state.ask(now, (&method, &path, uri.query()), token, &body);
                (status, if answer.is_null() { String::new() } else { answer.to_string() })
            }
        }
    };
    let mut response = Response::builder().status(status);
    if status == 307 {
        response = response.header("location", "http://169.254.169.254/v1/kv/data/a");
    }
    response.header("content-type", "application/json").body(Body::from(body)).unwrap()
}

impl State {
    fn expire(&mut self, now: i64) {
        self.tokens.retain(|_, token| now < token.expires);
        let tokens: BTreeSet<&String> = self.tokens.keys().collect();
        // A lease lives no longer than the token that asked for it.
        self.leases.retain(|_, lease| now < lease.expires && tokens.contains(&lease.token));
    }

    fn ask(
        &mut self,
        now: i64,
        (method, path, query): (&Method, &str, Option<&str>),
        token: &str,
        body: &Value,
    ) -> Answer {
        if self.is_sealed {
            return errors(503, "Vault is sealed");
        }
        self.expire(now);
        if let Some(login) = path.strip_prefix("auth/").and_then(|rest| rest.strip_suffix("/login"))
            && method == Method::POST
        {
            return self.log_in(now, login, body);
        }
        let Some(known) = self.tokens.get(token) else { return denied() };
        // What Vault's policy `default` allows.
        let own = [
            "auth/token/lookup-self",
            "auth/token/renew-self",
            "auth/token/revoke-self",
            "sys/leases/lookup",
            "sys/leases/renew",
        ];
        let allows = |pattern: &String| {
            let pattern = pattern.replace("{namespace}", &known.namespace);
            pattern.strip_suffix('*').map_or(path == pattern, |start| path.starts_with(start))
        };
        let policy = self.roles.get(&known.role).map(|role| role.policy.as_slice()).unwrap_or_default();
        if !own.contains(&path) && !policy.iter().any(allows) {
            return denied();
        }
        match (method.as_str(), path) {
            ("GET", "auth/token/lookup-self") => {
                let data = json!({"accessor": known.accessor, "ttl": known.expires - now, "renewable": known.is_renewable});
                (200, json!({"data": data, "auth": null}))
            }
            ("PUT", "auth/token/renew-self") => self.renew_token(now, token),
            ("PUT", "auth/token/revoke-self") => {
                self.tokens.remove(token);
                self.expire(now);
                (204, Value::Null)
            }
            ("PUT", "sys/leases/renew") => self.renew_lease(now, body),
            ("PUT", "sys/leases/lookup") => {
                match self.leases.get(body["lease_id"].as_str().unwrap_or_default()) {
                    Some(lease) => (200, json!({"data": {"ttl": lease.expires - now}})),
                    None => errors(400, "invalid lease"),
                }
            }
            ("PUT", "sys/leases/revoke") => {
                let id = body["lease_id"].as_str().unwrap_or_default();
                match self.leases.remove(id) {
                    Some(_) => (204, Value::Null),
                    None => errors(400, "invalid lease"),
                }
            }
            ("GET", _) if path.starts_with("kv/data/") => self.read(&path.replacen("data/", "", 1), query),
            (method, _) => match self.engines.get(path).copied().filter(|engine| engine.method == method) {
                Some(engine) => self.lease(now, path, token, engine),
                None => {
                    self.unseen.push(format!("{method} {path}"));
                    errors(404, "no handler for route")
                }
            },
        }
    }

    fn log_in(&mut self, now: i64, mount: &str, body: &Value) -> Answer {
        let refused =
            || errors(400, "error validating token: invalid audience (aud) claim: CANARY of claims");
        let role_name = body["role"].as_str().unwrap_or_default();
        let role = self.roles.get(role_name).cloned();
        let (namespace, role, role_name) = match mount {
            "jwt" | "kubernetes" => {
                let Some(role) = role else { return errors(400, "role could not be found") };
                let jwt = body["jwt"].as_str().unwrap_or_default();
                let Some((namespace, account, audiences)) = self.claims(jwt) else { return refused() };
                let who = format!("{namespace}/{account}");
                if account != role.account && role.account != "*" || !audiences.contains(&role.audience) {
                    return refused();
                }
                self.accounts.push(who);
                (namespace, role, role_name)
            }
            "approle" => {
                let is_it =
                    body["role_id"] == "role-of-all" && body["secret_id"] == format!("{CANARY}-secret-id");
                let Some(role) = self.roles.get("approle").cloned().filter(|_| is_it) else {
                    return errors(400, "invalid role or secret ID");
                };
                ("all".to_owned(), role, "approle")
            }
            _ => return denied(),
        };
        self.logins += 1;
        self.counter += 1;
        let (token, accessor) =
            (format!("hvs.{CANARY}{}", self.counter), format!("accessor-{}", self.counter));
        self.tokens.insert(
            token.clone(),
            Token {
                accessor: accessor.clone(),
                namespace,
                role: role_name.to_owned(),
                expires: now + role.seconds,
                dies: now + role.most,
                seconds: role.seconds,
                is_renewable: role.is_renewable,
            },
        );
        let auth = json!({"client_token": token, "accessor": accessor, "policies": ["default", "capstan"],
            "lease_duration": role.seconds, "renewable": role.is_renewable, "token_type": "service", "orphan": true});
        (
            200,
            json!({"request_id": "r", "lease_id": "", "renewable": false, "lease_duration": 0, "data": null, "auth": auth}),
        )
    }

    /// Namespace, account and audiences of a token that is signed as it is to be.
    fn claims(&self, jwt: &str) -> Option<(String, String, Vec<String>)> {
        let Some(key) = &self.key else {
            let mut parts = jwt.strip_prefix("test|")?.split('|').map(str::to_owned);
            return Some((parts.next()?, parts.next()?, vec![parts.next()?]));
        };
        let algorithm = decode_header(jwt).ok()?.alg;
        let mut validation = Validation::new(algorithm);
        validation.validate_aud = false;
        let key = match algorithm {
            Algorithm::ES256 => DecodingKey::from_ec_pem(key).unwrap(),
            _ => DecodingKey::from_rsa_pem(key).unwrap(),
        };
        let claims = decode::<Value>(jwt, &key, &validation).ok()?.claims;
        let of = &claims["kubernetes.io"];
        let audiences = claims["aud"].as_array()?.iter().filter_map(|one| one.as_str().map(str::to_owned));
        Some((
            of["namespace"].as_str()?.to_owned(),
            of["serviceaccount"]["name"].as_str()?.to_owned(),
            audiences.collect(),
        ))
    }

    fn renew_token(&mut self, now: i64, token: &str) -> Answer {
        let Some(known) = self.tokens.get_mut(token) else { return denied() };
        if !known.is_renewable {
            return errors(400, "lease is not renewable");
        }
        known.expires = known.dies.min(now + known.seconds);
        (200, json!({"auth": {"lease_duration": known.expires - now, "renewable": true}}))
    }

    fn renew_lease(&mut self, now: i64, body: &Value) -> Answer {
        let id = body["lease_id"].as_str().unwrap_or_default();
        let Some(lease) = self.leases.get_mut(id) else { return errors(400, "lease not found") };
        if !lease.is_renewable {
            return errors(400, "lease is not renewable");
        }
        let until = self.tokens.get(&lease.token).map_or(now, |token| token.expires);
        lease.expires = lease.dies.min(until).min(now + body["increment"].as_i64().unwrap_or(0));
        (200, json!({"lease_id": id, "renewable": true, "lease_duration": lease.expires - now, "data": null}))
    }

    fn lease(&mut self, now: i64, path: &str, token: &str, engine: Engine) -> Answer {
        self.counter += 1;
        let (id, password) =
            (format!("{path}/{}", self.counter), format!("{CANARY}-password-{}", self.counter));
        let until = self.tokens.get(token).map_or(now, |token| token.expires);
        let lease = Lease {
            token: token.to_owned(),
            expires: until.min(now + engine.seconds),
            dies: now + engine.most,
            is_renewable: engine.is_renewable,
            password: password.clone(),
        };
        let lasts = lease.expires - now;
        self.leases.insert(id.clone(), lease);
        if std::mem::take(&mut self.loses_lease) {
            return (502, Value::Null);
        }
        let data = json!({"username": format!("v-capi-{}", self.counter), "password": password});
        (
            200,
            json!({"request_id": "r", "lease_id": id, "renewable": engine.is_renewable, "lease_duration": lasts, "data": data, "auth": null}),
        )
    }

    fn read(&self, path: &str, query: Option<&str>) -> Answer {
        let none = (404, json!({"errors": []}));
        let Some(versions) = self.kv.get(path) else { return none };
        let wanted =
            query.and_then(|query| query.strip_prefix("version=")).and_then(|text| text.parse().ok());
        let number: usize = wanted.unwrap_or(versions.len());
        let Some(version) = number.checked_sub(1).and_then(|at| versions.get(at)) else { return none };
        let deleted = if version.data.is_some() { "" } else { "2026-11-01T00:00:00Z" };
        let metadata = json!({"created_time": "2026-10-01T00:00:00Z", "custom_metadata": null, "version": number,
            "deletion_time": if version.is_destroyed { "" } else { deleted }, "destroyed": version.is_destroyed});
        let body = json!({"request_id": "r", "lease_id": "", "renewable": false, "lease_duration": 0,
            "data": {"data": version.data, "metadata": metadata}, "auth": null});
        (if version.data.is_some() { 200 } else { 404 }, body)
    }
}
