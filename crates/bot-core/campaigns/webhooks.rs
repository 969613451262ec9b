//! Which webhook is asked about which wave, and when.
//!
//! An answer is used once. No answer, an error or an unknown answer counts as nothing, and the webhook is asked again at
//! growing intervals.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use capstan_campaign::facts::WebhookWord;
use capstan_campaign::settings::WebhookUrl;
use capstan_facts::{WebhookAnswer, WebhookQuestion, WebhookResult};
use capstan_model::doubling::Doubling;
use jiff::{SignedDuration, Timestamp};

/// The wait before the second question.
const FIRST_WAIT: Duration = Duration::from_mins(1);
/// The waits after `pending`, and after no answer.
const PENDING: Doubling = Doubling::new(FIRST_WAIT, Duration::from_mins(5));
const SILENCE: Doubling = Doubling::new(FIRST_WAIT, Duration::from_mins(30));
/// A question that nobody asked about for so long is forgotten.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(2);
/// Characters kept of a message.
const LONGEST_MESSAGE: usize = 200;

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
        /// When it is asked again; `None` while it is being asked.
        again: Option<Timestamp>,
    },
    /// It may not be asked: why, as a part of a sentence.
    Refused(String),
}

/// What is done about a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionStep {
    /// It is sent.
    Send,
    /// It is under way already.
    UnderWay,
}

/// The questions that were asked, with their answers. They end with the process: then a webhook is asked again, with the
/// same `question`.
#[derive(Debug, Default)]
pub struct WaveQuestions(HashMap<Wave, WebhookEntry>);

#[derive(Debug)]
struct WebhookEntry {
    question: Arc<WebhookQuestion>,
    under_way: bool,
    tries: u32,
    last: Option<LastAnswer>,
    touched: Timestamp,
}

#[derive(Debug)]
enum LastAnswer {
    Said(WebhookWord),
    Silent { why: String, next: Timestamp },
}

impl WaveQuestions {
    /// What is known of a wave's webhook, which is at that host; an answer is returned once.
    pub fn heard(&mut self, wave: &Wave, host: &str, now: Timestamp) -> WebhookAnswerState {
        let Some(entry) = self.0.get_mut(wave) else { return WebhookAnswerState::Due(None) };
        entry.touched = now;
        match &entry.last {
            Some(LastAnswer::Said(word)) => {
                let word = word.clone();
                self.0.remove(wave);
                WebhookAnswerState::Said(word)
            }
            Some(LastAnswer::Silent { next, .. }) if !entry.under_way && *next <= now => {
                WebhookAnswerState::Due(Some(Arc::clone(&entry.question)))
            }
            Some(LastAnswer::Silent { why, next }) => WebhookAnswerState::Silent {
                why: format!("the webhook at `{host}` {why}"),
                again: (!entry.under_way).then_some(*next),
            },
            None => WebhookAnswerState::Silent { why: asking(host), again: None },
        }
    }

    /// Notes that a question is asked: whether it is sent, and the state until its answer.
    pub fn ask(
        &mut self,
        wave: &Wave,
        host: &str,
        question: &Arc<WebhookQuestion>,
        now: Timestamp,
    ) -> (QuestionStep, WebhookAnswerState) {
        self.0.retain(|_, entry| entry.under_way || now.duration_since(entry.touched) < FORGOTTEN);
        let entry = self.0.entry(wave.clone()).or_insert_with(|| WebhookEntry {
            question: Arc::clone(question),
            under_way: false,
            tries: 0,
            last: None,
            touched: now,
        });
        let why = match &entry.last {
            Some(LastAnswer::Silent { why, .. }) => format!("the webhook at `{host}` {why}"),
            _ => asking(host),
        };
        let was_under_way = std::mem::replace(&mut entry.under_way, true);
        let step = if was_under_way { QuestionStep::UnderWay } else { QuestionStep::Send };
        (step, WebhookAnswerState::Silent { why, again: None })
    }

    /// Notes the answer to a question; an error says why there is none, as the predicate of a sentence.
    pub fn answered(&mut self, wave: &Wave, answer: Result<WebhookAnswer, String>, now: Timestamp) {
        let Some(entry) = self.0.get_mut(wave) else { return };
        entry.under_way = false;
        entry.tries = entry.tries.saturating_add(1);
        entry.last = Some(last(answer, entry.tries, now));
        entry.touched = now;
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
pub fn not_allowed(url: &WebhookUrl) -> String {
    format!(
        "`{}` is not among the hosts that Capstan may ask for this repository (its operator lists them in the file of the setting `wave-webhooks-file`)",
        url.host()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "ci.example.com";

    fn at(minutes: i64) -> Timestamp {
        let begun: Timestamp = "2026-11-24T12:00:00Z".parse().unwrap();
        begun + SignedDuration::from_mins(minutes)
    }

    fn wave(state: &str) -> Wave {
        Wave {
            repository: 7,
            campaign: "prod".to_owned(),
            release: "aws/v22.0.0".to_owned(),
            wave: "canary".to_owned(),
            state: state.to_owned(),
        }
    }

    fn question(name: &str) -> Arc<WebhookQuestion> {
        Arc::new(WebhookQuestion {
            question: name.to_owned(),
            repository: "acme/fleet".to_owned(),
            campaign: "prod".to_owned(),
            wave: "canary".to_owned(),
            release: "aws/v22.0.0".to_owned(),
            clusters: Vec::new(),
        })
    }

    fn answer(result: WebhookResult, message: &str) -> Result<WebhookAnswer, String> {
        Ok(WebhookAnswer { result, message: message.to_owned() })
    }

    fn silent(why: &str, again: Option<i64>) -> WebhookAnswerState {
        WebhookAnswerState::Silent {
            why: format!("the webhook at `ci.example.com` {why}"),
            again: again.map(at),
        }
    }

    #[test]
    fn a_question_is_sent_once_until_it_is_answered() {
        let (mut questions, asked) = (WaveQuestions::default(), question("q"));
        assert_eq!(questions.heard(&wave("one"), HOST, at(0)), WebhookAnswerState::Due(None));
        let being_asked = silent("is being asked", None);
        assert_eq!(
            questions.ask(&wave("one"), HOST, &asked, at(0)),
            (QuestionStep::Send, being_asked.clone())
        );
        assert_eq!(
            questions.ask(&wave("one"), HOST, &asked, at(1)),
            (QuestionStep::UnderWay, being_asked.clone())
        );
        assert_eq!(questions.heard(&wave("one"), HOST, at(1)), being_asked);
        // A wave whose clusters changed is another one.
        assert_eq!(questions.heard(&wave("two"), HOST, at(1)), WebhookAnswerState::Due(None));
    }

    #[test]
    fn an_answer_is_used_once() {
        for (result, message, passed, why) in [
            (WebhookResult::Pass, "fine", true, ""),
            (WebhookResult::Fail, "5 % errors.", false, "5 % errors"),
        ] {
            let mut questions = WaveQuestions::default();
            questions.ask(&wave("one"), HOST, &question("q"), at(0));
            questions.answered(&wave("one"), answer(result, message), at(1));
            let word = WebhookWord { at: at(1), passed, why: why.to_owned() };
            assert_eq!(questions.heard(&wave("one"), HOST, at(2)), WebhookAnswerState::Said(word));
            assert_eq!(questions.heard(&wave("one"), HOST, at(2)), WebhookAnswerState::Due(None));
        }
    }

    #[test]
    fn a_silent_webhook_gets_the_same_question_again_once_its_time_has_come() {
        let (mut questions, asked) = (WaveQuestions::default(), question("q"));
        questions.ask(&wave("one"), HOST, &asked, at(0));
        questions.answered(&wave("one"), Err("has not answered (it answers 500)".to_owned()), at(5));
        let why = "has not answered (it answers 500); Capstan asks again at 2026-11-24 12:06:00 UTC";
        assert_eq!(questions.heard(&wave("one"), HOST, at(5)), silent(why, Some(6)));
        let due = WebhookAnswerState::Due(Some(Arc::clone(&asked)));
        assert_eq!(questions.heard(&wave("one"), HOST, at(6)), due);
        // While it is asked again, what it said before is said.
        let (step, state) = questions.ask(&wave("one"), HOST, &asked, at(6));
        assert_eq!((step, state), (QuestionStep::Send, silent(why, None)));
        assert_eq!(questions.heard(&wave("one"), HOST, at(6)), silent(why, None));
    }

    #[test]
    fn what_nobody_asked_about_for_two_hours_is_forgotten_unless_it_is_under_way() {
        for (minutes, is_answered, expected) in [
            (119, true, "has not answered; Capstan asks again at 2026-11-24 12:01:00 UTC"),
            (120, true, "is being asked"),
            (120, false, "is being asked"),
        ] {
            let mut questions = WaveQuestions::default();
            questions.ask(&wave("one"), HOST, &question("q"), at(0));
            if is_answered {
                questions.answered(&wave("one"), Err("has not answered".to_owned()), at(0));
            }
            questions.ask(&wave("other"), HOST, &question("r"), at(minutes));
            let (step, state) = questions.ask(&wave("one"), HOST, &question("q"), at(minutes));
            let sent = if is_answered { QuestionStep::Send } else { QuestionStep::UnderWay };
            assert_eq!((step, state), (sent, silent(expected, None)), "{minutes} {is_answered}");
        }
    }

    #[test]
    fn an_answer_to_a_question_that_was_forgotten_is_dropped() {
        let mut questions = WaveQuestions::default();
        questions.answered(&wave("one"), answer(WebhookResult::Pass, ""), at(0));
        assert_eq!(questions.heard(&wave("one"), HOST, at(0)), WebhookAnswerState::Due(None));
    }

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
        let next = |answer: Result<WebhookAnswer, String>, tries| match last(answer, tries, at(0)) {
            LastAnswer::Silent { why, next } => (why, next.duration_since(at(0)).as_secs()),
            LastAnswer::Said(word) => panic!("{word:?}"),
        };
        let silence = || Err("has not answered (it answers 500)".to_owned());
        let waits: Vec<i64> = (1..=8).map(|tries| next(silence(), tries).1).collect();
        assert_eq!(waits, [60, 120, 240, 480, 960, 1_800, 1_800, 1_800]);
        assert_eq!(next(silence(), u32::MAX).1, 1_800);
        let pending = || answer(WebhookResult::Pending, "2 of 5 min");
        assert_eq!(
            next(pending(), 1),
            ("cannot tell yet (2 of 5 min); Capstan asks again at 2026-11-24 12:01:00 UTC".to_owned(), 60)
        );
        assert_eq!(next(pending(), 4).1, 300);
    }
}
