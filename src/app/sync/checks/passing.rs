//! Errors that pass: those that somebody overrode in a proposal, and the machines that a cluster takes along whose
//! destruction was asked for.
//!
//! *Guarantee.* They pass where exactly what Capstan wrote is changed in the cluster's folder: in the pull request of the
//! wish and in any merge group that holds it, but not once a person has added something.

use capstan_model::digest::Fingerprint;
use capstan_model::finding::{Finding, rules};
use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_model::target::Target;
use capstan_plan::proposal::{Override, PlanDigest, ProposalId};
use capstan_report::override_in_words;

use super::super::outcome::{Outcome, Passing};
use super::super::trees::digest_of_changes_in;
use super::super::{Run, SyncError};
use super::judging::Comparison;
use crate::app::ports::PullRequest;
