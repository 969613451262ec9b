//! The bot as the reconciler sees it: who asks for preflights and hears how rollouts go.

use std::time::Duration;

use async_trait::async_trait;
use capstan_model::ids::ClusterId;
use capstan_model::tree::CommitId;
use capstan_reconciler_core::reports::{
    BotError, ClusterReport, NewAgent, OwnersFile, PendingWork, Preflight, PreflightAnswer,
};

#[async_trait]
pub trait Bot: Send + Sync {
    /// What there is to do; returns at once where the tip is not `after` or a question is open, else
    /// after at most `patience`. A question stays open until it is answered, so it may come twice.
    async fn work(&self, after: Option<&CommitId>, patience: Duration) -> Result<PendingWork, BotError>;
    /// Answers a question; `took` is how long that took.
    async fn answer(
        &self,
        preflight: &Preflight,
        answers: &[PreflightAnswer],
        took: Duration,
    ) -> Result<(), BotError>;
    /// Takes a report: it is stored when this returns, and sent once, in order, as soon as the bot takes it. A report
    /// that says of its cluster what the last one said (whatever the time and the commit that was tried) is dropped.
    async fn report(&self, report: &ClusterReport) -> Result<(), BotError>;
    /// Publishes a file for a cluster's owners; sends nothing if the bot already has it.
    async fn publish_key(&self, _file: &OwnersFile) -> Result<(), BotError> {
        Ok(())
    }
    /// Withdraws the file of a cluster; sends nothing if the bot has none.
    async fn withdraw_key(&self, _cluster: &ClusterId) -> Result<(), BotError> {
        Ok(())
    }
    /// The name of another management cluster that the bot heard of this cluster from earlier.
    async fn recorded_elsewhere(&self, cluster: &ClusterId) -> Result<Option<String>, BotError>;
    /// What this reconciler became since this was asked last; `None` where it has not enrolled since.
    fn newly_enrolled(&self) -> Option<NewAgent> {
        None
    }
}

/// No bot: the Fleet reads a Git URL.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoBot;

#[async_trait]
impl Bot for NoBot {
    async fn work(&self, _after: Option<&CommitId>, patience: Duration) -> Result<PendingWork, BotError> {
        tokio::time::sleep(patience).await;
        Ok(PendingWork::default())
    }

    async fn answer(
        &self,
        _preflight: &Preflight,
        _answers: &[PreflightAnswer],
        _took: Duration,
    ) -> Result<(), BotError> {
        Ok(())
    }

    async fn report(&self, _report: &ClusterReport) -> Result<(), BotError> {
        Ok(())
    }

    async fn recorded_elsewhere(&self, _cluster: &ClusterId) -> Result<Option<String>, BotError> {
        Ok(None)
    }
}
