//! Campaigns: which releases move, the progress of each cluster, which clusters wait, and the texts about it.
//!
//! [`capstan_campaign::decision`] decides how a campaign continues; this room gives it its facts, asks for those that it
//! lacks, and applies the result to proposals.

mod fleet_facts;
mod moving;
mod obeying;
mod records;
mod release;
#[cfg(test)]
mod release_tests;
mod releases;
mod standing;
mod telling;
#[cfg(test)]
mod tests;
mod webhooks;

pub use self::moving::{Moving, by_folder};
pub use self::obeying::Obeying;
pub use self::records::records;
pub use self::release::{
    AskedWave, CampaignRelease, CheckSeen, ReleaseDecided, ReleaseFound, ReleaseNeed, UnreadNow,
};
pub use self::releases::{Obeyed, new_problems};
pub use self::telling::progress_effects;
pub use self::webhooks::{QuestionStep, Wave, WaveQuestions, WebhookAnswerState, not_allowed};
