//! The check `capstan`: which commits need it, the inputs of a report, and its content.

mod comparing;
#[cfg(test)]
mod comparing_tests;
mod exemptions;
mod head;
#[cfg(test)]
mod head_tests;
mod inputs;
mod judging;
mod preflights;
mod remarks;
mod subject;
#[cfg(test)]
mod tests;
mod tree_status;

pub use self::comparing::{ComparisonAnswers, ComparisonFacts, ComparisonNeed, compare};
pub use self::exemptions::{override_exemption, retirement_exemption};
pub use self::head::{CheckedHead, HeadAnswers, HeadFacts, HeadNeed, KnownPreflights, head};
pub use self::inputs::overrides_in_words;
pub use self::judging::{
    Comparison, begun, changes_settings, claimed_twice, edited_files, head_file, says_nothing, settle,
    to_judge, with_buttons,
};
pub use self::preflights::{
    Asked, Preflights, Trust, is_asked, is_same_question, live_inputs, trust, trust_in,
};
pub use self::remarks::{remarks_of, verdict_of};
pub use self::subject::{QUEUE_PREFIX, Subject, base_of_group, by_head, subject_of, subject_of_group};
pub use self::tree_status::{tree_status, tree_status_without_settings};
