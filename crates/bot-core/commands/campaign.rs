//! `campaign`: campaigns stop, go on, or go on without a cluster. It is carried out where campaigns are decided.

use capstan_campaign::facts::Note;
use capstan_plan::verbs::{Order, OrderWhat};
use capstan_report::markdown::{code, prose};
use capstan_report::{Answer, Refusal};

use super::given::CommandContext;
use super::pause::INSTEAD;
use crate::facts::proposal_for;
use crate::requests::GivenOrder;

pub(super) fn hear(given: &mut CommandContext<'_>, order: &Order) -> Answer {
    let settings = given.ground.settings;
    let nothing_there = |why: &str| Answer::refused(Refusal::NothingThere, &format!("{why}\n"));
    let names: Vec<&str> = settings.campaigns.iter().map(|campaign| campaign.name.as_str()).collect();
    let campaigns: Vec<String> = match &order.of {
        None => names.iter().map(|name| (*name).to_owned()).collect(),
        Some(named) => names.iter().filter(|name| *name == named).map(|name| (*name).to_owned()).collect(),
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
        && !given.plans.contains_key(&proposal_for(given.ground.scopes, cluster))
    {
        let named = code(cluster.as_str(), 200);
        return nothing_there(&format!("There is no cluster {named} on the default branch."));
    }
    let stands = |note: &Note| campaigns.contains(&note.campaign) && note.memory.stopped.is_some();
    if order.what == OrderWhat::Resume && !given.decided.notes().iter().any(stands) {
        return Answer::info("No campaign is stopped.\n");
    }
    if let Err(answer) = given.note_in_dashboard(INSTEAD) {
        return answer;
    }
    let prefix = given.prefix();
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
    given.decided.order(GivenOrder {
        campaigns,
        what: order.what.clone(),
        by: given.by().to_owned(),
        at: given.request.given_at,
    });
    Answer::info(answer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::Request;
    use crate::testing::{Case, campaigns, comment, now, said_at_once, town};
    use capstan_campaign::facts::{Memory, Stop};
    use capstan_report::DashboardRecord;
    use jiff::SignedDuration;

    #[test]
    fn an_order_is_to_campaigns_of_the_settings_and_is_noted_in_the_dashboard() {
        let case = town().settings(|settings| settings.campaigns = campaigns());
        for (text, orders, answer) in [
            (
                "/capstan campaign stop",
                1,
                "#Campaign `prod`, `test` is stopped: it opens no pull request. Rollouts that have started continue. `/capstan campaign resume` continues the campaign.",
            ),
            (
                "/capstan campaign stop of prod",
                1,
                "#Campaign `prod` is stopped: it opens no pull request. Rollouts that have started continue. `/capstan campaign resume` continues the campaign.",
            ),
            (
                "/capstan campaign stop of nobody",
                0,
                "!There is no campaign `nobody`; there are `prod`, `test`.",
            ),
            ("/capstan campaign resume", 0, "No campaign is stopped."),
            (
                "/capstan campaign skip kiel/peu01",
                1,
                "#Campaign `prod`, `test` continues without `kiel/peu01` for the current release.",
            ),
            (
                "/capstan campaign skip kiel/peu09",
                0,
                "!There is no cluster `kiel/peu09` on the default branch.",
            ),
        ] {
            let request = comment(1, "ada", None, text);
            case.heard(std::slice::from_ref(&request), |planned| {
                assert_eq!(planned.decided.orders().len(), orders, "{text}");
                assert_eq!(said_at_once(planned.decided, &request), answer, "{text}");
            });
        }
        let request = comment(1, "ada", None, "/capstan campaign stop");
        town().heard(std::slice::from_ref(&request), |planned| {
            assert_eq!(
                said_at_once(planned.decided, &request),
                "!The settings of this repository have no `campaigns`."
            );
        });
        let stop = Stop { at: now(), why: "`eve` stopped it.".to_owned(), by_person: true };
        let memory = Memory { stopped: Some(stop), ..Memory::default() };
        let note = Note { campaign: "prod".to_owned(), memory, ..Note::default() };
        let record = DashboardRecord { campaigns: vec![note], ..DashboardRecord::default() };
        let stopped = Case { record, ..case };
        // Of two the later one holds, in whatever order they were found.
        let earlier = comment(1, "ada", None, "/capstan campaign resume");
        let later = Request {
            given_at: earlier.given_at + SignedDuration::from_secs(60),
            ..comment(2, "eve", None, "/capstan campaign stop")
        };
        for both in [[earlier.clone(), later.clone()], [later, earlier]] {
            stopped.heard(&both, |planned| {
                let by: Vec<&str> = planned.decided.orders().iter().map(|order| order.by.as_str()).collect();
                assert_eq!(by, ["ada", "eve"]);
            });
        }
        for (text, orders) in [("/capstan campaign resume", 1), ("/capstan campaign resume of test", 0)] {
            stopped.heard(&[comment(1, "ada", None, text)], |planned| {
                assert_eq!(planned.decided.orders().len(), orders, "{text}");
            });
        }
    }
}
