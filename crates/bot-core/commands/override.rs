//! `override RULE REASON`: errors of a rule pass, as long as the same release is offered. The check of the pull request shows
//! that, so a proposal needs an open one.

use capstan_plan::proposal::Override;
use capstan_plan::verbs::Overruled;
use capstan_report::{Answer, Refusal, override_in_words, refused, shown};

use super::given::{CommandContext, NotedIn};

pub(super) fn hear(given: &mut CommandContext<'_>, overruled: &Overruled) -> Answer {
    let those = given.those();
    given.decide_each(&those, NotedIn::PullRequest, |one| {
        let target = one.target();
        let Some(upgrade) = one.upgrade() else {
            let why = "It has no plan now, so there is nothing to override.";
            return refused(target, why, Refusal::State);
        };
        let rule = Override {
            rule: overruled.rule.0.id().to_owned(),
            reason: overruled.reason.clone(),
            by: one.given.by().to_owned(),
            source: upgrade.to.as_ref().map(ToString::to_string).unwrap_or_default(),
        };
        let words =
            format!("{} It applies as long as `{}` is offered.", override_in_words(&rule), rule.source);
        one.decisions().overrule(rule);
        shown(target, &words)
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{Case, heard, town};

    #[test]
    fn it_is_of_what_is_offered_now() {
        let text = "/capstan override kubernetes-minor-skip it was tested";
        let case = town();
        let (decided, said) = heard(&case, 3, text, "gauss/peu01");
        assert_eq!(decided, "overrode kubernetes-minor-skip of aws/v22.0.0, new");
        assert!(said.ends_with("It applies as long as `aws/v22.0.0` is offered."), "{said}");
        let broken = Case { plans: Default::default(), ..case.clone() }
            .plan("gauss/peu01", Err("its base cannot be read."));
        let nothing = "!`gauss/peu01`: It has no plan now, so there is nothing to override.";
        assert_eq!(heard(&broken, 3, text, "gauss/peu01"), (String::new(), nothing.to_owned()));
        // Of one without a pull request no check says so.
        let named = "/capstan override for kiel/peu01 kubernetes-minor-skip tested";
        let (decided, said) = heard(&case, 0, named, "kiel/peu01");
        assert_eq!(decided, "");
        assert!(said.starts_with("!This pull request is not one of Capstan's open"), "{said}");
    }
}
