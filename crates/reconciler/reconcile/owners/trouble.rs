//! Why owners have no key, or not the newest.

use capstan_live::services::Problem;

use crate::reconcile::ports::BotError;
use crate::reconcile::services::is_of_cluster;
use capstan_ports::LiveError;

/// Why, in a word and a sentence.
#[derive(Debug, Clone)]
pub(super) struct Trouble {
    /// A CamelCase word of a closed set.
    pub(super) kind: &'static str,
    /// What was found and what to do; no byte of a key.
    pub(super) message: String,
    /// The cluster does not do its part.
    pub(super) of_cluster: Option<Box<Problem>>,
}

impl Trouble {
    pub(super) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), of_cluster: None }
    }
}

impl From<Problem> for Trouble {
    fn from(problem: Problem) -> Self {
        let told = Self::new(problem.cause.as_str(), problem.line());
        Self { of_cluster: Some(problem).filter(is_of_cluster).map(Box::new), ..told }
    }
}

impl From<LiveError> for Trouble {
    fn from(error: LiveError) -> Self {
        let kind = error.refusal().map_or("NotAnswered", |refusal| refusal.kind.as_str());
        Self::new(kind, error.to_string())
    }
}

impl From<BotError> for Trouble {
    fn from(error: BotError) -> Self {
        let message = format!("the file lies ready, and the bot has not taken it: {error}");
        Self::new("BotNotReached", message)
    }
}
