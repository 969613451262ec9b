//! The check `capstan`: which commits need it, the inputs of a report, and its content.

mod comparing;
#[cfg(test)]
mod comparing_tests;
mod exemptions;
mod failures;
mod head;
#[cfg(test)]
mod head_tests;
mod inputs;
mod inventory;
mod judging;
mod outlook;
#[cfg(test)]
mod outlook_tests;
mod parts;
#[cfg(test)]
mod parts_tests;
mod preflights;
mod questions;
#[cfg(test)]
mod questions_tests;
mod remarks;
mod subject;
#[cfg(test)]
mod subject_tests;
#[cfg(test)]
mod tests;
mod touching;
mod tree_status;

pub use self::comparing::{ComparisonAnswers, ComparisonFacts, ComparisonNeed, compare};
pub use self::exemptions::{overridden, override_exemptions, retirement_exemptions};
pub use self::failures::{OwnFailure, failure_report};
pub use self::head::{CheckedHead, HeadAnswers, HeadFacts, HeadNeed, KnownPreflights, first_failure, head};
pub use self::inventory::{InventoryJudged, InventoryPlans, affected};
pub use self::judging::{
    Comparison, changes_settings, edited_files, head_file, settle, to_judge, with_buttons,
};
pub use self::outlook::{
    BothSettings, ReleasePlans, of_releases, planned_clusters, release_outlook, removes_releases,
    settings_outlook,
};
pub use self::parts::{NewSettings, Parts, PartsFacts, PartsNeed, WholeParts, next_part, put_together};
pub use self::preflights::{PreflightNeed, Preflights, TouchedClusters, is_asked, live_inputs};
pub use self::questions::{
    AnsweredQuestion, ClaimedClusters, LiveQuestion, PreflightHead, QuestionAnswers, QuestionFacts,
    QuestionNeed, ask, claimed, preflights_in_words, tried,
};
pub use self::remarks::{remarks_of, verdict_of};
pub use self::subject::{
    CheckSubject, QUEUE_PREFIX, base_commit_of_group, base_of_group, by_head, subject_of, subject_of_group,
};
pub use self::touching::{TouchFacts, TouchNeed, touches};
pub use self::tree_status::{tree_status, tree_status_without_settings};
