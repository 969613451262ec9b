//! `explain RULE`: what a rule finds, and why.

use capstan_plan::policy;
use capstan_plan::verbs::Rule;
use capstan_report::{Answer, rule_answer};

use super::answering::Answering;

pub(super) fn answer(asked: &Answering<'_>, Rule(rule): &Rule) -> Answer {
    let rule = policy::rule(rule.id());
    rule.map_or_else(Answer::default, |rule| rule_answer(rule.about(), &asked.planned.settings.severities()))
}
