//! The check `capstan`: which commits need it, the inputs of a report, and its content.

mod exemptions;
mod inputs;
mod judging;
mod preflights;
mod remarks;
mod subject;
#[cfg(test)]
mod tests;
mod tree_status;

pub use self::exemptions::{override_exemption, retirement_exemption};
pub use self::inputs::{gravity, inputs, inputs_of, overrides_in_words};
pub use self::judging::{
    Comparison, MOST_USERS, begun, changes_settings, claimed_twice, edited_files, head_file, note_of_users,
    says_nothing, settle, with_buttons,
};
pub use self::preflights::{
    Asked, Preflights, Trust, is_asked, is_same_question, live_inputs, trust, trust_in,
};
pub use self::remarks::{remarks_of, verdict_of};
pub use self::subject::{QUEUE_PREFIX, Subject, base_of_group, by_head, subject_of, subject_of_group};
pub use self::tree_status::{tree_status, tree_status_without_settings};
