//! Signing in through the App in a browser: OAuth's web flow, as GitHub has it
//! (<https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-user-access-token-for-a-github-app>).
//!
//! GitHub's description of its API does not hold these two addresses, so nothing but that page says what is true here.
//! Who signs in is chosen on the page: the forge keeps no sessions of its own.

use std::collections::BTreeMap;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use crate::error::ApiError;
use crate::http::{HttpRequest, HttpResponse};
use crate::random::{random_secret, random_text};
use crate::shared::SharedState;
use crate::state::{AccountKind, Authorization, BearerToken, State};
use crate::url_encoding::{encode, parse_query};

type OAuthFields = BTreeMap<String, String>;

pub(crate) fn answer(shared: &SharedState, request: &HttpRequest) -> HttpResponse {
    let mut state = shared.lock();
    let form = || parse_query(&String::from_utf8_lossy(&request.body));
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/login/oauth/authorize") => choose(&state, &parse_query(&request.query)),
        ("POST", "/login/oauth/authorize") => authorize(&mut state, &form()),
        ("POST", "/login/oauth/access_token") => {
            let body = exchange(&mut state, &form());
            if request.header("accept") == Some("application/json") {
                return HttpResponse::json(200, &body);
            }
            let fields = body.as_object().into_iter().flatten();
            let pairs: Vec<String> = fields
                .map(|(name, value)| format!("{name}={}", encode(value.as_str().unwrap_or_default())))
                .collect();
            HttpResponse::new(200, "application/x-www-form-urlencoded", pairs.join("&").into_bytes())
        }
        _ => HttpResponse::error(&ApiError::not_found()),
    }
}

fn text<'a>(fields: &'a OAuthFields, name: &str) -> &'a str {
    fields.get(name).map(String::as_str).unwrap_or_default()
}

/// Why nobody is sent back there.
fn refuse(state: &State, fields: &OAuthFields) -> Option<HttpResponse> {
    let refuse = |why: &str| HttpResponse::error(&ApiError::new(404, why));
    if text(fields, "client_id") != state.app.client_id() {
        return Some(refuse("There is no App of that client id."));
    }
    if state.app.callback.as_deref() != Some(text(fields, "redirect_uri")) {
        return Some(refuse("The redirect_uri is not associated with this application."));
    }
    None
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// The page on which somebody says who they are.
fn choose(state: &State, fields: &OAuthFields) -> HttpResponse {
    if let Some(refused) = refuse(state, fields) {
        return refused;
    }
    let hidden: String = fields
        .iter()
        .map(|(name, value)| {
            format!("<input type=hidden name=\"{}\" value=\"{}\">", escape(name), escape(value))
        })
        .collect();
    let people = state.accounts.values().filter(|account| account.kind == AccountKind::User);
    let buttons: String = people
        .map(|account| {
            let login = escape(&account.login);
            format!("<p><button name=login value=\"{login}\">Continue as {login}</button></p>")
        })
        .collect();
    let page = format!(
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">\
         <title>Sign in</title><link rel=icon href=\"data:,\"><h1>Sign in to {}</h1>\
         <form method=post action=\"/login/oauth/authorize\">{hidden}{buttons}</form>",
        escape(&state.app.slug)
    );
    HttpResponse::new(200, "text/html; charset=utf-8", page.into_bytes())
}

/// Sends somebody back with a code.
fn authorize(state: &mut State, fields: &OAuthFields) -> HttpResponse {
    if let Some(refused) = refuse(state, fields) {
        return refused;
    }
    let account = match state.account(text(fields, "login")) {
        Ok(account) => account.clone(),
        Err(error) => return HttpResponse::error(&error),
    };
    let callback = text(fields, "redirect_uri").to_owned();
    let challenge = fields.get("code_challenge").filter(|_| text(fields, "code_challenge_method") == "S256");
    let code = random_text("");
    let back = format!("{callback}?code={code}&state={}", encode(text(fields, "state")));
    state.authorizations.insert(code, Authorization { account, callback, challenge: challenge.cloned() });
    let mut response = HttpResponse::new(302, "text/html; charset=utf-8", Vec::new());
    response.headers.push(("location".to_owned(), back));
    response
}

/// The answer to an exchange: refusals come with status 200.
fn exchange(state: &mut State, fields: &OAuthFields) -> Value {
    let refuse = |word: &str| json!({"error": word, "error_description": "It is refused."});
    if text(fields, "client_id") != state.app.client_id()
        || text(fields, "client_secret") != state.app.client_secret
    {
        return refuse("incorrect_client_credentials");
    }
    let Some(known) = state.authorizations.remove(text(fields, "code")) else {
        return refuse("bad_verification_code");
    };
    if fields.get("redirect_uri").is_some_and(|callback| *callback != known.callback) {
        return refuse("redirect_uri_mismatch");
    }
    let proof = URL_SAFE_NO_PAD.encode(digest(&SHA256, text(fields, "code_verifier").as_bytes()));
    if known.challenge.is_some_and(|challenge| challenge != proof) {
        return refuse("bad_verification_code");
    }
    let token = random_secret("ghu_");
    state.tokens.insert(token.clone(), BearerToken::User(known.account));
    json!({"access_token": token, "token_type": "bearer", "scope": ""})
}
