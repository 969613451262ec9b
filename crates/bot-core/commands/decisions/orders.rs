//! What people say to campaigns, and what is noted of those.

use capstan_campaign::facts::Note;
use capstan_plan::verbs::{Order, OrderWhat, Verb};
use capstan_report::markdown::{code, prose};
use capstan_report::{Answer, Refusal, not_noted};

use super::super::request::{Request, RequestId};
use super::{Decided, Ground, instead_of};
use crate::facts::{Plans, proposal_for};
use jiff::Timestamp;

/// What somebody says to campaigns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenOrder {
    /// To these, by their names.
    pub campaigns: Vec<String>,
    /// What.
    pub what: OrderWhat,
    /// Who: a login.
    pub by: String,
    /// When, in UTC.
    pub at: Timestamp,
}

impl Decided {
    /// What is said to an order; it is carried out where campaigns are decided, and noted in the dashboard.
    pub(super) fn hear_order(
        &mut self,
        ground: Ground<'_>,
        key: &(RequestId, usize),
        (order, request): (&Order, &Request),
        plans: &Plans,
    ) -> Answer {
        let settings = ground.settings;
        let nothing_there = |why: &str| Answer::refused(Refusal::NothingThere, &format!("{why}\n"));
        let names: Vec<&str> = settings.campaigns.iter().map(|campaign| campaign.name.as_str()).collect();
        let campaigns: Vec<String> = match &order.of {
            None => names.iter().map(|name| (*name).to_owned()).collect(),
            Some(named) => {
                names.iter().filter(|name| *name == named).map(|name| (*name).to_owned()).collect()
            }
        };
        if names.is_empty() {
            return nothing_there("The settings of this repository have no `campaigns`.");
        }
        if campaigns.is_empty() {
            let named = code(order.of.as_deref().unwrap_or_default(), 100);
            let there: Vec<String> = names.iter().map(|name| code(name, 100)).collect();
            return nothing_there(&format!("There is no campaign {named}; there are {}.", there.join(", ")));
        }
        if let OrderWhat::Skip(cluster) = &order.what
            && !plans.contains_key(&proposal_for(ground.scopes, cluster))
        {
            let named = code(cluster.as_str(), 200);
            return nothing_there(&format!("There is no cluster {named} on the default branch."));
        }
        let stands = |note: &Note| campaigns.contains(&note.campaign) && note.memory.stopped.is_some();
        if order.what == OrderWhat::Resume && !self.notes.iter().any(stands) {
            return Answer::told("No campaign is stopped.\n");
        }
        let prefix = settings.commands.prefix.as_str();
        if let Some(why) = &self.no_dashboard {
            let written = format!("{prefix} {}", Verb::Campaign.word());
            return not_noted(&written, why, instead_of(Verb::Campaign));
        }
        let named: Vec<String> = campaigns.iter().map(|name| code(name, 100)).collect();
        let named = named.join(", ");
        let answer = match &order.what {
            OrderWhat::Stop(reason) => {
                let why = reason.as_ref().map_or_else(String::new, |why| format!(" ({})", prose(why, 600)));
                format!(
                    "Campaign {named} is stopped{why}: it opens no pull request. Rollouts that have started continue. `{prefix} campaign resume` continues the campaign.\n"
                )
            }
            OrderWhat::Resume => format!("Campaign {named} continues. Earlier failures no longer count.\n"),
            OrderWhat::Skip(cluster) => {
                format!(
                    "Campaign {named} continues without {} for the current release.\n",
                    code(cluster.as_str(), 200)
                )
            }
        };
        self.orders.push(GivenOrder {
            campaigns,
            what: order.what.clone(),
            by: request.by.clone(),
            at: request.given_at,
        });
        self.in_dashboard.insert(key.clone());
        Answer::told(answer)
    }

    /// What was noted of campaigns before.
    pub fn notes(&self) -> &[Note] {
        &self.notes
    }

    /// What is said to campaigns now.
    pub fn orders(&self) -> &[GivenOrder] {
        &self.orders
    }

    /// Why nothing can be noted in the dashboard, where that is so.
    pub fn why_no_dashboard(&self) -> Option<&str> {
        self.no_dashboard.as_deref()
    }
}
