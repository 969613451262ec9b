//! The harness of the live tests: the same town, with ten clusters.

#[path = "../../cluster/live/ground.rs"]
pub(crate) mod ground;
#[path = "../../cluster/live/prediction.rs"]
pub(crate) mod prediction;
#[path = "../../cluster/live/sample.rs"]
pub(crate) mod sample;
#[path = "../../cluster/live/setting.rs"]
mod setting;
#[path = "../../cluster/live/town.rs"]
pub(crate) mod town;
#[path = "../../cluster/live/waiting.rs"]
pub(crate) mod waiting;
