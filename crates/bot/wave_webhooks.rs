//! Webhooks that say whether a wave of a campaign is healthy: which host an operator lets be asked, and the calls.
//!
//! *Expected flow*: a run finds a wave that waits only for its webhook ([`WaveWebhooks::heard`]). The
//! question is sent outside of the run ([`WaveWebhooks::ask`]), and the repository's job is queued again once
//! there is an answer. The next run takes the answer and records it with the campaign. *Guarantees*: only
//! hosts that the operator of Capstan lists are asked, for the repositories listed with them.
//! *Assumption*: this state ends with the process, so a webhook may be asked twice, with the same `question`.
//!
//! Which wave is asked about, when, and what an answer means: [`capstan_bot_core::campaigns`].

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capstan_bot_core::campaigns::{QuestionStep, Wave, WaveQuestions, WebhookAnswerState, not_allowed};
use capstan_campaign::settings::{Webhook, WebhookUrl};
use capstan_plan::settings::Glob;
use secrecy::SecretString;
use serde::Serialize;
use tokio::sync::Semaphore;
use ulid::Ulid;

use capstan_ports::{
    AllowedHosts, Clock, JobCause, JobRequest, Jobs, Repository, RepositoryName, WaveWebhook, WebhookAnswer,
    WebhookCall, WebhookQuestion, WebhookResult,
};

/// Questions at the same time.
const AT_ONCE: usize = 16;

/// A host that may be asked.
#[derive(Debug, Clone)]
pub struct WebhookHost {
    /// The host, with its port where that is not the scheme's own.
    pub host: String,
    /// The repositories that may use it.
    pub repositories: Vec<Glob>,
    /// The secret that signs questions to it.
    pub secret: SecretString,
}

/// What asking needs from outside.
pub struct WebhookParts {
    /// The network.
    pub port: Arc<dyn WaveWebhook>,
    /// Who may be asked.
    pub hosts: Vec<WebhookHost>,
    /// Queues a repository's job.
    pub jobs: Arc<dyn Jobs>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// Asks webhooks. Cheap to clone.
#[derive(Clone)]
pub struct WaveWebhooks(Arc<WebhookState>);

struct WebhookState {
    parts: WebhookParts,
    slots: Semaphore,
    questions: Mutex<WaveQuestions>,
}

#[derive(Serialize)]
struct PendingCall<'a> {
    delivery: &'a str,
    sent_at: String,
    #[serde(flatten)]
    question: &'a WebhookQuestion,
}

impl WaveWebhooks {
    /// Asks these hosts.
    pub fn new(parts: WebhookParts) -> Self {
        for result in ["pass", "fail", "pending", "none"] {
            count(result, 0);
        }
        Self(Arc::new(WebhookState { parts, slots: Semaphore::new(AT_ONCE), questions: Mutex::default() }))
    }

    /// Whether a repository may ask that webhook; the secret that signs its questions.
    ///
    /// # Errors
    /// Why not, as a part of a sentence.
    pub fn allows(&self, repository: &RepositoryName, url: &WebhookUrl) -> Result<&SecretString, String> {
        let name = repository.to_string();
        let is_meant = |one: &&WebhookHost| {
            AllowedHosts::new([one.host.as_str()]).allow_url(url.url())
                && Glob::grants(&one.repositories, &name)
        };
        let found = self.0.parts.hosts.iter().find(is_meant);
        found.map(|found| &found.secret).ok_or_else(|| not_allowed(url))
    }

    /// What is known of a wave's webhook; an answer is returned once.
    pub fn heard(&self, repository: &RepositoryName, wave: &Wave, webhook: &Webhook) -> WebhookAnswerState {
        if let Err(why) = self.allows(repository, &webhook.url) {
            return WebhookAnswerState::Refused(why);
        }
        let now = self.0.parts.clock.now();
        self.0.questions().heard(wave, &webhook.url.host(), now)
    }

    /// Sends a question; returns the state until its answer.
    pub fn ask(
        &self,
        wave: Wave,
        webhook: &Webhook,
        question: Arc<WebhookQuestion>,
        repository: &Repository,
    ) -> WebhookAnswerState {
        let secret = match self.allows(&repository.name, &webhook.url) {
            Ok(secret) => secret.clone(),
            Err(why) => return WebhookAnswerState::Refused(why),
        };
        let (now, host) = (self.0.parts.clock.now(), webhook.url.host());
        let (step, state) = self.0.questions().ask(&wave, &host, &question, now);
        if step == QuestionStep::Send {
            let errand = Errand {
                shared: Arc::clone(&self.0),
                wave,
                host,
                url: webhook.url.url().clone(),
                secret,
                timeout: Duration::from_secs(webhook.timeout.seconds()),
                question,
                job: JobRequest {
                    repository: repository.id,
                    installation: repository.installation,
                    name: repository.name.clone(),
                    cause: JobCause::Event,
                },
            };
            tokio::spawn(errand.run());
        }
        state
    }
}

impl WebhookState {
    fn questions(&self) -> MutexGuard<'_, WaveQuestions> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call.
struct Errand {
    shared: Arc<WebhookState>,
    wave: Wave,
    host: String,
    url: url::Url,
    secret: SecretString,
    timeout: Duration,
    question: Arc<WebhookQuestion>,
    job: JobRequest,
}

impl Errand {
    async fn run(self) {
        let answer = {
            // The semaphore is never closed.
            let _slot = self.shared.slots.acquire().await;
            self.call().await
        };
        let now = self.shared.parts.clock.now();
        self.shared.questions().answered(&self.wave, answer, now);
        if let Err(error) = self.shared.parts.jobs.enqueue(&self.job).await {
            tracing::warn!(repository = %self.job.name, error = %error, "a repository whose webhook was asked is checked only at the next resync");
        }
    }

    async fn call(&self) -> Result<WebhookAnswer, String> {
        let Wave { campaign, wave, .. } = &self.wave;
        let delivery = Ulid::generate().to_string();
        let sent_at = self.shared.parts.clock.now().to_string();
        let call = PendingCall { delivery: &delivery, sent_at, question: &self.question };
        let body = serde_json::to_vec(&call).map_err(|error| format!("cannot be asked: {error}"))?;
        let (url, secret) = (self.url.clone(), self.secret.clone());
        let call = WebhookCall { url, secret, timeout: self.timeout, delivery, body };
        let answer = self.shared.parts.port.ask(&call).await;
        match &answer {
            Ok(answer) => {
                let result = word(answer.result);
                count(result, 1);
                tracing::info!(repository = %self.job.name, campaign, wave, host = self.host, delivery = call.delivery, result, "a webhook was asked whether a wave is well");
            }
            Err(error) => {
                count("none", 1);
                tracing::warn!(repository = %self.job.name, campaign, wave, host = self.host, delivery = call.delivery, error = %error, "a webhook did not say whether a wave is well");
            }
        }
        answer.map_err(|error| format!("has not answered ({error})"))
    }
}

const fn word(result: WebhookResult) -> &'static str {
    match result {
        WebhookResult::Pass => "pass",
        WebhookResult::Fail => "fail",
        WebhookResult::Pending => "pending",
    }
}

fn count(result: &'static str, times: u64) {
    metrics::counter!("capstan_wave_webhook_answers_total", "result" => result).increment(times);
}
