//! Stand-ins until the domain has them.
#![allow(missing_docs, clippy::allow_attributes)]
use super::resources::Phase;
use capstan_domain::applying::LiveObjects;
use capstan_domain::object::{FieldPath, ObjectId};
use capstan_domain::render::RenderedObject;
use std::collections::BTreeMap;
pub type Changes = BTreeMap<ObjectId, Vec<FieldPath>>;
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {}
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
pub fn judge(_o: &[RenderedObject], _l: &LiveObjects, _n: i64) -> Verdict {
    Verdict {}
}
