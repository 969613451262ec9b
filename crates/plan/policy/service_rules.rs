//! The rules of what runs inside a cluster. Their verdicts fall where settings are read together
//! ([`crate::settings::judge_services`], [`crate::settings::judge_owners`]), where an upgrade is planned, and where a tree is
//! validated; here they have their entries.

use super::judged_elsewhere::rule;

rule!(CNI_SWITCH, CNI_SWITCH, "cni-switch");
rule!(INVALID, INVALID_SERVICES, "invalid-services");
rule!(INVALID_OWNERS, INVALID_OWNERS, "invalid-owners");
rule!(OWNERS_ADMIN, OWNERS_ADMIN, "owners-admin");
rule!(OWNERS_CHANGED, OWNERS_CHANGED, "owners-changed");
rule!(NOT_CLAIMED, SERVICES_NOT_CLAIMED, "services-not-claimed");
rule!(KUBERNETES, SERVICE_KUBERNETES, "service-kubernetes");
