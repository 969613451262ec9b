//! Webhooks that say whether a wave of a campaign is healthy: which may be asked, when, and their answers.
//!
//! *Expected flow*: a run finds a wave that waits only for its webhook ([`WaveWebhooks::heard`]). The
//! question is sent outside of the run ([`WaveWebhooks::ask`]), and the repository's job is queued again once
//! there is an answer. The next run takes the answer and records it with the campaign. *Guarantees*: only
//! hosts that the operator of Capstan lists are asked, for the repositories listed with them. No answer, an
//! error or an unknown answer counts as nothing, and the webhook is asked again at growing intervals. An
//! answer is used once. *Assumption*: this state ends with the process, so a webhook may be asked twice, with
//! the same `question`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use capstan_campaign::facts::WebhookWord;
use capstan_campaign::settings::{Webhook, WebhookUrl};
use capstan_model::doubling::Doubling;
use capstan_plan::settings::Glob;
use jiff::{SignedDuration, Timestamp};
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use ulid::Ulid;

use capstan_ports::{
    AllowedHosts, Cause, Clock, JobRequest, Jobs, Repository, RepositoryName, WaveWebhook, WebhookAnswer,
    WebhookCall, WebhookResult,
};

/// Questions at the same time.
const AT_ONCE: usize = 16;
/// The wait before the second question.
const FIRST_WAIT: Duration = Duration::from_mins(1);
/// The waits after `pending`, and after no answer.
const PENDING: Doubling = Doubling::new(FIRST_WAIT, Duration::from_mins(5));
const SILENCE: Doubling = Doubling::new(FIRST_WAIT, Duration::from_mins(30));
/// A question that nobody asked about for so long is forgotten.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(2);
/// Characters kept of a message.
const LONGEST_MESSAGE: usize = 200;

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
    entries: Mutex<HashMap<Wave, WebhookEntry>>,
}

/// The state of a wave: a wave with another state is asked about again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Wave {
    /// The repository's id.
    pub repository: u64,
    /// The campaign's name.
    pub campaign: String,
    /// The release that moves.
    pub release: String,
    /// The wave's name.
    pub wave: String,
    /// A fingerprint of its clusters, and of the webhook.
    pub state: String,
}

/// The question: the JSON that webhooks get, besides the id and the time of each call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookQuestion {
    /// Identifies the question; the same as long as the wave's state is the same.
    pub question: String,
    /// `owner/name`
    pub repository: String,
    /// The campaign's name.
    pub campaign: String,
    /// The wave's name.
    pub wave: String,
    /// `aws/v22.0.0`
    pub release: String,
    /// The clusters of the wave.
    pub clusters: Vec<WaveCluster>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaveCluster {
    /// Its folder.
    pub cluster: String,
    /// The pull request of Capstan's that upgraded it; `null` where there is none.
    pub pull_request: Option<u64>,
    pub merge_commit: Option<String>,
}

#[derive(Serialize)]
struct PendingCall<'a> {
    delivery: &'a str,
    sent_at: String,
    #[serde(flatten)]
    question: &'a WebhookQuestion,
}

/// What is known of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookAnswerState {
    /// No answer: ask now. With the question, if it was asked before.
    Due(Option<Arc<WebhookQuestion>>),
    /// It answered.
    Said(WebhookWord),
    /// It gave no answer that counts.
    Silent {
        /// Why, as a part of a sentence.
        why: String,
        /// When it is asked again; `None` = it is being asked, or never is.
        again: Option<Timestamp>,
    },
}

struct WebhookEntry {
    question: Arc<WebhookQuestion>,
    under_way: bool,
    tries: u32,
    last: Option<LastAnswer>,
    touched: Timestamp,
}

enum LastAnswer {
    Said(WebhookWord),
    Silent { why: String, next: Timestamp },
}

impl WaveWebhooks {
    /// Asks these hosts.
    pub fn new(parts: WebhookParts) -> Self {
        for result in ["pass", "fail", "pending", "none"] {
            count(result, 0);
        }
        Self(Arc::new(WebhookState { parts, slots: Semaphore::new(AT_ONCE), entries: Mutex::default() }))
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
        found.map(|found| &found.secret).ok_or_else(|| refused(url))
    }

    /// What is known of a wave's webhook; an answer is returned once.
    pub fn heard(&self, wave: &Wave, url: &WebhookUrl) -> WebhookAnswerState {
        let now = self.0.parts.clock.now();
        let mut entries = self.0.lock();
        let Some(entry) = entries.get_mut(wave) else { return WebhookAnswerState::Due(None) };
        entry.touched = now;
        let host = url.host();
        match &entry.last {
            Some(LastAnswer::Said(word)) => {
                let word = word.clone();
                entries.remove(wave);
                WebhookAnswerState::Said(word)
            }
            Some(LastAnswer::Silent { next, .. }) if !entry.under_way && *next <= now => {
                WebhookAnswerState::Due(Some(Arc::clone(&entry.question)))
            }
            Some(LastAnswer::Silent { why, next }) => WebhookAnswerState::Silent {
                why: format!("the webhook at `{host}` {why}"),
                again: (!entry.under_way).then_some(*next),
            },
            None => WebhookAnswerState::Silent { why: asking(&host), again: None },
        }
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
            Err(why) => return WebhookAnswerState::Silent { why, again: None },
        };
        let (now, host) = (self.0.parts.clock.now(), webhook.url.host());
        let mut entries = self.0.lock();
        entries.retain(|_, entry| entry.under_way || now.duration_since(entry.touched) < FORGOTTEN);
        let entry = entries.entry(wave.clone()).or_insert_with(|| WebhookEntry {
            question: Arc::clone(&question),
            under_way: false,
            tries: 0,
            last: None,
            touched: now,
        });
        let stands = match &entry.last {
            Some(LastAnswer::Silent { why, .. }) => format!("the webhook at `{host}` {why}"),
            _ => asking(&host),
        };
        if !std::mem::replace(&mut entry.under_way, true) {
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
                    cause: Cause::Event,
                },
            };
            tokio::spawn(errand.run());
        }
        WebhookAnswerState::Silent { why: stands, again: None }
    }
}

impl WebhookState {
    fn lock(&self) -> MutexGuard<'_, HashMap<Wave, WebhookEntry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
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
        if let Some(entry) = self.shared.lock().get_mut(&self.wave) {
            entry.under_way = false;
            entry.tries = entry.tries.saturating_add(1);
            entry.last = Some(last(answer, entry.tries, now));
            entry.touched = now;
        }
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

/// The state after an answer.
fn last(answer: Result<WebhookAnswer, String>, tries: u32, now: Timestamp) -> LastAnswer {
    let said = |message: &str| match in_a_line(message) {
        message if message.is_empty() => String::new(),
        message => format!(" ({message})"),
    };
    let (why, waits) = match answer {
        Ok(WebhookAnswer { result: WebhookResult::Pending, message }) => {
            (format!("cannot tell yet{}", said(&message)), PENDING)
        }
        Ok(WebhookAnswer { result, message }) => {
            let passed = result == WebhookResult::Pass;
            let why = if passed { String::new() } else { in_a_line(&message) };
            return LastAnswer::Said(WebhookWord { at: now, passed, why });
        }
        Err(why) => (why, SILENCE),
    };
    let next = now.saturating_add(waits.after(tries)).unwrap_or(Timestamp::MAX);
    let shown = next.strftime("%Y-%m-%d %H:%M:%S UTC");
    LastAnswer::Silent { why: format!("{why}; Capstan asks again at {shown}"), next }
}

/// An untrusted text on one line, without characters that would end its code span or sentence.
fn in_a_line(message: &str) -> String {
    let mut line = String::new();
    for word in message.split(|letter: char| letter.is_whitespace() || letter.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().map(|letter| if letter == '`' { '\'' } else { letter }));
    }
    match line.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.trim_end_matches('.').to_owned(),
    }
}

fn asking(host: &str) -> String {
    format!("the webhook at `{host}` is being asked")
}

/// Why a webhook is not asked.
pub fn refused(url: &WebhookUrl) -> String {
    format!(
        "`{}` is not among the hosts that Capstan may ask for this repository (its operator lists them in the file of the setting `wave-webhooks-file`)",
        url.host()
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_of_a_webhook_is_one_short_line() {
        for (message, expected) in [
            ("error rate\n\r\t is `5 %`.", "error rate is '5 %'"),
            ("", ""),
            ("\u{7}", ""),
            (&"x".repeat(300), &format!("{}…", "x".repeat(200))),
        ] {
            assert_eq!(in_a_line(message), expected, "{message:?}");
        }
    }

    #[test]
    fn a_silent_webhook_is_asked_at_growing_intervals() {
        let now: Timestamp = "2026-11-24T12:00:00Z".parse().unwrap();
        let next = |answer: Result<WebhookAnswer, String>, tries| match last(answer, tries, now) {
            LastAnswer::Silent { why, next } => (why, next.duration_since(now).as_secs()),
            LastAnswer::Said(word) => panic!("{word:?}"),
        };
        let silence = || Err("has not answered (it answers 500)".to_owned());
        let waits: Vec<i64> = (1..=8).map(|tries| next(silence(), tries).1).collect();
        assert_eq!(waits, [60, 120, 240, 480, 960, 1_800, 1_800, 1_800]);
        assert_eq!(next(silence(), u32::MAX).1, 1_800);
        let pending =
            || Ok(WebhookAnswer { result: WebhookResult::Pending, message: "2 of 5 min".to_owned() });
        assert_eq!(
            next(pending(), 1),
            ("cannot tell yet (2 of 5 min); Capstan asks again at 2026-11-24 12:01:00 UTC".to_owned(), 60)
        );
        assert_eq!(next(pending(), 4).1, 300);
    }
}
