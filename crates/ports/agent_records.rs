//! All that the bot remembers of reconcilers.

use super::{AgentWork, Enrolment, KubeconfigRecords, RolloutRecords};

/// All of it.
pub trait AgentRecords: Enrolment + AgentWork + RolloutRecords + KubeconfigRecords {}

impl<T: Enrolment + AgentWork + RolloutRecords + KubeconfigRecords> AgentRecords for T {}
