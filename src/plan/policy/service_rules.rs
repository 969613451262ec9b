//! The rules of what runs inside a cluster. Their verdicts fall where settings are read together
//! ([`crate::settings::judge_services`]) and where a tree is validated; here they have their entries.

use super::judged_elsewhere::rule;

rule!(INVALID, INVALID_SERVICES, "invalid-services");
rule!(NOT_CLAIMED, SERVICES_NOT_CLAIMED, "services-not-claimed");
