//! The rules of what runs inside a cluster. Their verdicts fall where settings are read together
//! ([`crate::settings::judge_services`]), where an upgrade is planned, and where a tree is validated; here they have their entries.

use super::judged_elsewhere::rule;

rule!(CNI_SWITCH, CNI_SWITCH, "cni-switch");
rule!(INVALID, INVALID_SERVICES, "invalid-services");
rule!(NOT_CLAIMED, SERVICES_NOT_CLAIMED, "services-not-claimed");
rule!(KUBERNETES, SERVICE_KUBERNETES, "service-kubernetes");
