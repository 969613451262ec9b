//! The harness of the live tests: the same town, with ten clusters.

#[path = "../../suite/live/ground.rs"]
pub(crate) mod ground;
#[path = "../../suite/live/prediction.rs"]
pub(crate) mod prediction;
#[path = "../../suite/live/sample.rs"]
pub(crate) mod sample;
#[path = "../../suite/live/setting.rs"]
mod setting;
#[path = "../../suite/live/town.rs"]
pub(crate) mod town;
#[path = "../../suite/live/waiting.rs"]
pub(crate) mod waiting;
