//! Stand-in until the domain has it.
#![allow(missing_docs, clippy::allow_attributes, unreachable_pub)]
use std::collections::BTreeMap;

use capstan_domain::applying::LiveObjects;
use capstan_domain::object::{FieldPath, ObjectId};
use capstan_domain::render::RenderedObject;
use capstan_domain::rollout::observed::Verdict;

use super::resources::Phase;

pub type Changes = BTreeMap<ObjectId, Vec<FieldPath>>;
pub struct Stage {
    pub objects: Vec<ObjectId>,
}
pub struct Plan {
    pub steps: Vec<Stage>,
    pub phase: Phase,
}
pub fn plan(objects: &[RenderedObject], _c: &Changes, _l: &LiveObjects, _v: &Verdict) -> Plan {
    Plan {
        steps: vec![Stage { objects: objects.iter().map(|o| o.id.clone()).collect() }],
        phase: Phase::Done,
    }
}
