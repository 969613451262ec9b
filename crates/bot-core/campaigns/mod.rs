//! Campaigns: which releases move, how far each cluster is with one, who waits, and what is said of it.
//!
//! How a campaign goes on is decided in [`capstan_campaign::decision`]; this gives it its facts, and says what follows for
//! proposals.

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
