//! The rules of campaigns. Their verdicts fall where the settings are read against the fleet (`settings`); here they have
//! their entries.

use super::judged_elsewhere::rule;

rule!(WAITS_FOR_EVER, CAMPAIGN_WAITS_FOR_EVER, "campaign-waits-for-ever");
rule!(WAVES, CAMPAIGN_WAVES, "campaign-waves");
