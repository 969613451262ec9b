//! A plain HTTP client for the tests of the forge itself: the App, by hand, without Capstan's own code.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use capstan_forge::{AppCredentials, Forge};
use serde_json::{Value, json};

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Makes one request on a connection of its own; `None` where the connection closed without an answer.
pub(crate) fn try_request(
    forge: &Forge,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &Value,
) -> Option<Response> {
    let host = forge.url().trim_start_matches("http://");
    let mut stream = TcpStream::connect(host).unwrap();
    // A string is sent as it is: a form.
    let body = match body {
        Value::Null => String::new(),
        Value::String(form) => form.clone(),
        json => json.to_string(),
    };
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    let split = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&answer[..split]).into_owned();
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    let text = &answer[split + 4..];
    let body = serde_json::from_slice(text)
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(text).into_owned()));
    Some(Response { status, headers, body: if text.is_empty() { Value::Null } else { body } })
}

/// The App installed on an account.
pub(crate) struct Installed<'a> {
    pub(crate) forge: &'a Forge,
    pub(crate) token: String,
}

impl<'a> Installed<'a> {
    pub(crate) fn new(forge: &'a Forge, installation: u64) -> Installed<'a> {
        let path = format!("/app/installations/{installation}/access_tokens");
        let response = as_app(forge, "POST", &path, Value::Null);
        assert_eq!(response.status, 201, "{response:?}");
        Installed { forge, token: response.body["token"].as_str().unwrap().to_owned() }
    }

    pub(crate) fn call(&self, method: &str, path: &str, body: Value) -> Response {
        self.call_with(method, path, &[], body)
    }

    pub(crate) fn call_with(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Value,
    ) -> Response {
        let authorization = format!("Bearer {}", self.token);
        let mut all = vec![("authorization", authorization.as_str())];
        all.extend_from_slice(headers);
        try_request(self.forge, method, path, &all, &body).unwrap()
    }

    /// A call that must succeed.
    pub(crate) fn get(&self, path: &str) -> Value {
        let response = self.call("GET", path, Value::Null);
        assert_eq!(response.status, 200, "GET {path}: {response:?}");
        response.body
    }

    /// A call that must create something.
    pub(crate) fn post(&self, path: &str, body: Value) -> Value {
        let response = self.call("POST", path, body);
        assert!(matches!(response.status, 200 | 201), "POST {path}: {response:?}");
        response.body
    }

    pub(crate) fn graphql(&self, query: &str, variables: Value) -> Value {
        self.post("/graphql", json!({"query": query, "variables": variables}))
    }
}

/// Makes a request as the App itself.
pub(crate) fn as_app(forge: &Forge, method: &str, path: &str, body: Value) -> Response {
    let now = jiff::Timestamp::now().as_second();
    let token = web_token(&forge.app(), now - 30, now + 540);
    let authorization = format!("Bearer {token}");
    try_request(forge, method, path, &[("authorization", &authorization)], &body).unwrap()
}

/// An App's JSON web token.
pub(crate) fn web_token(app: &AppCredentials, issued: i64, expires: i64) -> String {
    let pem: String = app.private_key.lines().filter(|line| !line.starts_with("-----")).collect();
    let der = STANDARD.decode(pem).unwrap();
    let pair = aws_lc_rs::rsa::KeyPair::from_pkcs8(&der).unwrap();
    let part = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let header = part(json!({"alg": "RS256", "typ": "JWT"}));
    let claims = part(json!({"iss": app.id.to_string(), "iat": issued, "exp": expires}));
    let signed = format!("{header}.{claims}");
    let mut signature = vec![0; pair.public_modulus_len()];
    let random = aws_lc_rs::rand::SystemRandom::new();
    pair.sign(&aws_lc_rs::signature::RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature).unwrap();
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}
