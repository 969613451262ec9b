//! Requests made by hand: what no well-behaved client would send.

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair as _};
use capstan_live::agent::wire::EnrolAnswer;
use capstan_live::agent::{Claims, PublicKey};
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use reqwest::{Client, Response};
use serde_json::{Value, json};

use super::EU;
use crate::running::town::Town;

/// An agent made by hand.
pub(super) struct Raw {
    pub(super) http: Client,
    pub(super) root: String,
    pub(super) pkcs8: Vec<u8>,
    pub(super) public: PublicKey,
    pub(super) enrolment: Option<EnrolAnswer>,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Came {
    pub(super) status: u16,
    pub(super) request_id: Option<String>,
    pub(super) body: String,
}

impl Came {
    /// The sentence of a refusal, without its request id.
    #[track_caller]
    pub(super) fn refuses(&self, status: u16, sentence: &str) {
        let id = self.request_id.clone().unwrap_or_default();
        assert_eq!(
            (self.status, self.body.as_str()),
            (status, format!("{sentence}. Request {id}.\n").as_str())
        );
        assert_eq!(id.len(), 26, "an ULID");
    }
}

impl Raw {
    pub(super) fn new(town: &Town) -> Self {
        let made = Ed25519KeyPair::generate_pkcs8(&aws_lc_rs::rand::SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(made.as_ref()).unwrap();
        let public = PublicKey::new(pair.public_key().as_ref().try_into().unwrap());
        Self {
            http: Client::new(),
            root: format!("{}/agent/v1", town.bot_url()),
            pkcs8: made.as_ref().to_vec(),
            public,
            enrolment: None,
        }
    }

    pub(super) fn enrol_body(&self, code: &str, uid: &str) -> Value {
        json!({
            "join_code": code,
            "management_cluster": {"uid": uid, "name": "mc"},
            "public_key": self.public,
        })
    }

    pub(super) async fn enrol(&mut self, code: &str, uid: &str) -> Came {
        let body = self.enrol_body(code, uid).to_string();
        let came = self.post("enrol", None, body).await;
        if came.status == 201 {
            self.enrolment = Some(serde_json::from_str(&came.body).unwrap());
        }
        came
    }

    /// An agent of the management cluster in the EU.
    pub(super) async fn enrolled(town: &Town) -> Self {
        let mut raw = Self::new(town);
        let code = town.invite(EU).await;
        assert_eq!(raw.enrol(&code, EU).await.status, 201);
        raw
    }

    pub(super) fn claims(&self) -> Claims {
        let enrolment = self.enrolment.as_ref().unwrap();
        let jti = ulid::Ulid::generate().to_string();
        Claims::new(&enrolment.agent, &enrolment.audience, jti, jiff::Timestamp::now())
    }

    pub(super) fn sign(&self, claims: &Claims) -> String {
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(self.enrolment.as_ref().unwrap().agent.to_string());
        encode(&header, claims, &EncodingKey::from_ed_der(&self.pkcs8)).unwrap()
    }

    pub(super) fn token(&self) -> String {
        self.sign(&self.claims())
    }

    pub(super) async fn get(&self, path: &str, token: Option<&str>) -> Came {
        let mut request = self.http.get(format!("{}/{path}", self.root));
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        came(request.send().await.unwrap()).await
    }

    /// Sends more than is taken: the bot may hang up before all of it has arrived.
    pub(super) async fn post_too_much(&self, path: &str, token: Option<&str>, bytes: usize) -> Option<Came> {
        // On a connection of its own, which nobody else finds closed.
        let mut request = Client::new().post(format!("{}/{path}", self.root)).body(vec![b' '; bytes]);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        Some(came(request.send().await.ok()?).await)
    }

    pub(super) async fn post(&self, path: &str, token: Option<&str>, body: impl Into<reqwest::Body>) -> Came {
        let mut request = self.http.post(format!("{}/{path}", self.root)).body(body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        came(request.send().await.unwrap()).await
    }
}

async fn came(response: Response) -> Came {
    let status = response.status().as_u16();
    let id = response.headers().get("x-request-id").and_then(|id| id.to_str().ok());
    let request_id = id.map(str::to_owned);
    Came { status, request_id, body: response.text().await.unwrap() }
}
