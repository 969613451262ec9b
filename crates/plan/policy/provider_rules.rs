//! The rules of provider sets. Their verdicts fall where a set is compared ([`crate::provider_set`], with
//! `capstan_providers::compare`); here they have their entries.

use super::judged_elsewhere::rule;

rule!(API_IN_USE, PROVIDER_API_IN_USE, "provider-api-in-use");
rule!(CONTRACT, PROVIDER_CONTRACT, "provider-contract");
rule!(DIGEST_DIFFERS, PROVIDER_DIGEST_DIFFERS, "provider-digest-differs");
rule!(DOWNGRADE, PROVIDER_DOWNGRADE, "provider-downgrade");
rule!(FEATURE_GATE_UNKNOWN, PROVIDER_FEATURE_GATE_UNKNOWN, "provider-feature-gate-unknown");
rule!(GAINS_RIGHTS, PROVIDER_GAINS_RIGHTS, "provider-gains-rights");
rule!(KUBERNETES, PROVIDER_KUBERNETES, "provider-kubernetes");
rule!(MINOR_SKIP, PROVIDER_MINOR_SKIP, "provider-minor-skip");
rule!(ROLLS_MACHINES, PROVIDER_ROLLS_MACHINES, "provider-rolls-machines");
rule!(VARIABLE_UNBOUND, PROVIDER_VARIABLE_UNBOUND, "provider-variable-unbound");
rule!(VERSION_UNSET, PROVIDER_VERSION_UNSET, "provider-version-unset");
rule!(VERSIONS_APART, PROVIDER_VERSIONS_APART, "provider-versions-apart");
