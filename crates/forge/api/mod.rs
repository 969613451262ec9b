//! The REST API: who may ask for what, the handlers, and the table of routes above them.

mod activity;
mod call;
mod checks;
mod git_data;
mod installations;
mod issues;
mod manifests;
mod people;
mod pulls;
mod rate_limit;
mod releases;
mod routes;
mod sidebar;
mod stacks;

pub(crate) use self::call::{
    Actor, ForgeCall, METADATA, PermissionNeed, READ_CODE, READ_PULLS, READ_TALK, Reply, WRITE_CODE,
    WRITE_PULLS, permit,
};
pub(crate) use self::rate_limit::{REQUESTS_PER_HOUR, used};
pub(crate) use self::routes::{is_api, route};
