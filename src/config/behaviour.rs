//! How the bot works, whatever App it is.

use std::time::Duration;

use capstan_plan::settings::OperatorHost;
use capstan_serve::{RETENTION, Work};
use capstan_server::Intake;

use super::problems::ConfigCheck;
use super::provider_credentials::{ProviderCredentials, provider_credentials};
use super::sources::SettingSources;
use super::values::{number, provider_hosts, seconds};
use super::wave_webhooks::{WaveWebhookHost, wave_webhooks};

/// How the bot works, whatever App it is.
pub(super) struct Behaviour {
    pub(super) intake: Intake,
    pub(super) retention: Duration,
    pub(super) work: Work,
    pub(super) provider_credentials: Vec<ProviderCredentials>,
    pub(super) wave_webhooks: Vec<WaveWebhookHost>,
    pub(super) provider_hosts: Vec<OperatorHost>,
}

impl Behaviour {
    pub(super) fn of(sources: &SettingSources, checked: &mut ConfigCheck<'_>) -> Option<Self> {
        let intake = intake(sources, checked);
        let retention = checked.take(retention(sources));
        let work = work(sources, checked);
        let provider_credentials = checked.take(provider_credentials(sources));
        let wave_webhooks = checked.take(wave_webhooks(sources));
        let provider_hosts = checked.take(provider_hosts(sources, OperatorHost::public()));
        Some(Self {
            intake: intake?,
            retention: retention?,
            work: work?,
            provider_credentials: provider_credentials?,
            wave_webhooks: wave_webhooks?,
            provider_hosts: provider_hosts?,
        })
    }
}

fn work(sources: &SettingSources, checked: &mut ConfigCheck<'_>) -> Option<Work> {
    let default = Work::default();
    let workers = checked.take(number(sources, "workers", 1..=64));
    let job = checked.take(seconds(sources, "job-seconds", 1..=86_400));
    let planner = checked.take(seconds(sources, "planner-seconds", 1..=86_400));
    let planner_memory = checked.take(number(sources, "planner-memory-mib", 128..=1_048_576));
    Some(Work {
        workers: workers?.unwrap_or(default.workers),
        job: job?.unwrap_or(default.job),
        planner: planner?.unwrap_or(default.planner),
        planner_memory: planner_memory?.map_or(default.planner_memory, |mebibytes| (mebibytes as u64) << 20),
        rollout_pace: default.rollout_pace,
    })
}

fn intake(sources: &SettingSources, checked: &mut ConfigCheck<'_>) -> Option<Intake> {
    let default = Intake::default();
    let connections = checked.take(number(sources, "connections", 8..=100_000));
    let header_timeout = checked.take(seconds(sources, "header-timeout-seconds", 1..=3600));
    let body_timeout = checked.take(seconds(sources, "body-timeout-seconds", 1..=3600));
    // The largest delivery is one of 25 MiB.
    let body_memory = checked.take(number(sources, "body-memory-mib", 25..=65_536));
    Some(Intake {
        connections: connections?.unwrap_or(default.connections),
        header_timeout: header_timeout?.unwrap_or(default.header_timeout),
        body_timeout: body_timeout?.unwrap_or(default.body_timeout),
        send_timeout: default.send_timeout,
        body_bytes: body_memory?.map_or(default.body_bytes, |mebibytes| mebibytes << 20),
    })
}

fn retention(sources: &SettingSources) -> Result<Duration, String> {
    // A week: GitHub delivers again for three days, and comments are read again for as long.
    let days = number(sources, "retention-days", 7..=36_500)?;
    Ok(days.map_or(RETENTION, |days| Duration::from_secs(days as u64 * 24 * 3600)))
}
