//! Campaigns: which releases move, the progress of each cluster, which clusters wait, and the texts about it.
//!
//! [`capstan_campaign::decision`] decides how a campaign continues; this room gives it its facts, and applies
//! the result to proposals.

mod fleet_facts;
mod moving;
mod releases;
mod standing;
mod telling;
#[cfg(test)]
mod tests;

pub use self::fleet_facts::fleet_facts;
pub use self::moving::{Moving, by_folder, candidate, give, note_begun};
pub use self::releases::{Obeyed, in_no_wave, is_urgent, moving, unnoted, waiting};
pub use self::standing::{Members, Place, Stand, besides, members, places};
pub use self::telling::{progress, standing, told};
