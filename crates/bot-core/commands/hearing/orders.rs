//! An order to a campaign, given on Capstan's page. The audit trail has its answer, which ends it.

use capstan_facts::{AuditEntry, PageOrder};
use capstan_plan::command::Right;
use capstan_plan::settings::CommandSettings;
use capstan_plan::verbs::Verb;
use jiff::{SignedDuration, Timestamp};

use crate::effects::Effect;
use crate::proposals::DecisionStep;
use crate::requests::{CommandAuthor, Request, RequestOrigin, hearing_of};

/// How long an order is valid. After a longer wait, because runs failed, it was given in another situation.
const HOLDS: SignedDuration = SignedDuration::from_hours(1);

/// What decides about orders.
#[derive(Clone, Copy)]
pub struct OrderFacts<'a> {
    /// The repository's id.
    pub repository: u64,
    /// Whose commands count.
    pub settings: &'a CommandSettings,
    /// When the run began.
    pub began: Timestamp,
    /// The number of the dashboard issue, which records what is ordered.
    pub dashboard: Option<u64>,
}

/// The request of an order, or what ends it. Asks for the right of the person who gave it.
pub fn order(
    of: OrderFacts<'_>,
    order: &PageOrder,
    right: Option<Right>,
) -> DecisionStep<Result<Box<Request>, [Effect; 2]>, ()> {
    let ends = |action, why| DecisionStep::Decided(Err(ends(of.repository, order, action, why)));
    if of.began.duration_since(order.at) > HOLDS {
        return ends("command-overtaken", "it waited for too long: give it again");
    }
    let Ok(command) = Verb::Campaign.with(&order.given) else {
        let why = "this version of Capstan cannot read it: give it again";
        return ends("command-not-possible", why);
    };
    let Some(right) = right else { return DecisionStep::Ask(()) };
    let (origin, number) = (RequestOrigin::Page(order.clone()), of.dashboard.unwrap_or_default());
    let given = CommandAuthor { by: &order.by, at: order.at, right, hearing: hearing_of(right, of.settings) };
    DecisionStep::Decided(Ok(Box::new(Request::new(origin, number, None, given, vec![Ok(command)]))))
}

/// What ends an order that is not carried out.
pub fn refuse_order(repository: u64, order: &PageOrder, why: &str) -> [Effect; 2] {
    ends(repository, order, "command-not-possible", why)
}

fn ends(repository: u64, order: &PageOrder, action: &'static str, why: &str) -> [Effect; 2] {
    let word = Verb::Campaign.word();
    let detail = format!("{word} {}, {} on Capstan's page: {why}", order.given, order.id);
    let audited = AuditEntry::by(repository, &order.by, action, detail);
    [Effect::Audit(audited), Effect::OrderAnswered(order.id.clone())]
}

/// The orders among requests: those that nothing has ended yet.
pub fn orders_of(requests: &[Request]) -> impl Iterator<Item = &PageOrder> {
    requests.iter().filter_map(|request| match &request.origin {
        RequestOrigin::Page(order) => Some(order),
        RequestOrigin::Comment(_) | RequestOrigin::Tick { .. } | RequestOrigin::Button(_) => None,
    })
}
