//! `capstan campaign …`

use std::path::PathBuf;

use capstan_campaign::time::Period;
use clap::{Args, Subcommand};
use jiff::Timestamp;

use super::format::Format;

/// `capstan campaign`
#[derive(Debug, Args)]
pub struct Campaign {
    /// What of it
    #[command(subcommand)]
    pub command: CampaignCommand,
}

/// What is done with campaigns.
#[derive(Debug, Subcommand)]
pub enum CampaignCommand {
    /// Print the time line of a campaign over the clusters that are offered a release now
    Simulate(SimulateCampaign),
}

/// `capstan campaign simulate`
#[derive(Debug, Args)]
pub struct SimulateCampaign {
    /// A file that holds `campaigns:`: a draft [default: those of .capstan.yaml]
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// The campaign, if the file has several
    #[arg(long, value_name = "NAME")]
    pub campaign: Option<String>,
    /// When the release is pushed, e.g. 2026-12-01T08:00:00Z [default: now]
    #[arg(long, value_name = "TIME")]
    pub begins: Option<Timestamp>,
    /// How long a pull request stays open on average
    #[arg(long, value_name = "DURATION", default_value = "4h", value_parser = Period::parse)]
    pub merge_after: Period,
    /// How long it takes to replace one machine
    #[arg(long, value_name = "DURATION", default_value = "6m", value_parser = Period::parse)]
    pub machine_takes: Period,
    /// How many of a thousand rollouts get stuck
    #[arg(long, value_name = "NUMBER", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub stuck_per_thousand: u32,
    /// After this time, a stuck cluster is skipped and the campaign is resumed [default: never]
    #[arg(long, value_name = "DURATION", value_parser = Period::parse, requires = "stuck_per_thousand")]
    pub resume_after: Option<Period>,
    /// Requests an hour that GitHub allows the installation, as its headers say; at least 5000 on github.com
    #[arg(long, value_name = "NUMBER", default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(500..))]
    pub requests_an_hour: u32,
    /// The random seed: the same seed gives the same time line
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    pub seed: u64,
    /// Write the time line as a picture (SVG) to this file
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: Format,
}
