//! Messages of Capstan's commits.

use super::markdown::plain;
use super::tables;
use super::title::{records_inferred, title_from_settings};
use super::values;
use capstan_model::wording::count;
use capstan_plan::proposal::{
    PlanDigest, ReleasesOrigin, SourceState, TRAILER_PLAN, TRAILER_RELEASES, TRAILER_SOURCE,
};
use capstan_plan::settings::TitleTemplate;
use capstan_plan::upgrade::{Basis, MachineCount, Upgrade, Versions};

/// The message: what changes (as the settings' title has it, if there is one), from where, how much, and the
/// trailers that find the commit again. It is a rollback where versions do not change.
pub fn commit_message(
    upgrade: &Upgrade,
    source: &SourceState,
    plan: &PlanDigest,
    origin: Option<&ReleasesOrigin>,
    title: Option<&TitleTemplate>,
    versions: Versions,
) -> String {
    let target = plain(upgrade.target.path(), 120);
    let to = plain(&source.source().to_string(), 120);
    let kind = source.source().kind();
    let recorded = records_inferred(upgrade, source);
    let of_values = values::title(upgrade);
    let own = || match versions {
        _ if recorded => format!("Record {target} at {to}"),
        Versions::Stay => format!("Roll {target} back to {to}"),
        Versions::Move => format!("Upgrade {target} to {to}"),
    };
    let what = of_values.or_else(|| title_from_settings(title, upgrade, source)).unwrap_or_else(own);
    let by_inventory = values::commit_line(upgrade, &to);
    let from = match &upgrade.from {
        _ if by_inventory.is_some() => by_inventory.unwrap_or_default(),
        Some(_) if recorded => format!("The {kind} was not recorded; it was inferred"),
        Some(from) if upgrade.basis == Basis::Inferred => {
            format!("From {}, which was inferred", plain(&from.to_string(), 120))
        }
        Some(from) if from == source.source() => format!("The {kind} itself has changed"),
        Some(from) => format!("From {}", plain(&from.to_string(), 120)),
        None => format!("From an unknown {kind}"),
    };
    let mut message = format!("{what}\n\n{from}: {}.\n", tables::changes(upgrade),);
    if !upgrade.conflicts.is_empty() {
        message.push_str(&format!(
            "{} settled as the pull request says.\n",
            count(upgrade.conflicts.len(), "conflict was", "conflicts were")
        ));
    }
    let (replaced, lost) = (MachineCount::replaced(&upgrade.rollouts), MachineCount::lost(&upgrade.rollouts));
    for (verb, number) in [("replaces", replaced), ("deletes", lost)] {
        if !number.is_none() {
            message.push_str(&format!("It {verb} {}.\n", tables::machines(number)));
        }
    }
    message.push_str(&format!("\n{TRAILER_SOURCE}: {source}\n"));
    if let Some(origin) = origin {
        message.push_str(&format!("{TRAILER_RELEASES}: {origin}\n"));
    }
    message.push_str(&format!("{TRAILER_PLAN}: {plan}\n"));
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_model::rest::Rest;
    use capstan_model::source::SourceId;
    use capstan_model::target::Target;

    fn begin_of(from: &str, basis: Basis) -> String {
        begin_for("gauss/peu01", from, basis)
    }

    fn begin_for(target: &str, from: &str, basis: Basis) -> String {
        let message = message_for(target, from, "aws/v22.0.0", basis);
        message.split_once(": no edit.\n").unwrap().0.to_owned()
    }

    fn message_for(target: &str, from: &str, to: &str, basis: Basis) -> String {
        let upgrade = Upgrade {
            target: Target::parse(target).unwrap(),
            from: SourceId::parse(from),
            to: SourceId::parse(to),
            rest: Rest::default(),
            to_content: None,
            kubernetes: None,
            kubernetes_now: None,
            applied_changes: None,
            release_notes: None,
            basis,
            files: vec![],
            changes: vec![],
            conflicts: vec![],
            findings: vec![],
            rollouts: vec![],
            components: vec![],
            providers: vec![],
            unasked: vec![],
            services: vec![],
            values: None,
            blocked: vec![],
            notes: vec![],
        };
        let source = SourceState::new(SourceId::parse(to).unwrap(), None);
        commit_message(&upgrade, &source, &PlanDigest::of(&[]), None, None, Versions::Move)
    }

    #[test]
    fn a_folder_that_is_called_so_closes_no_issue() {
        let begin = begin_for("gauss/fixes #1 acme/x#2 GH-3 @ada", "aws/v21.0.0", Basis::Known);
        let (subject, _) = begin.split_once('\n').unwrap();
        assert_eq!(
            subject,
            "Upgrade gauss/fixes #\u{200b}1 acme/x#\u{200b}2 GH\u{200b}-3 @\u{200b}ada to aws/v22.0.0"
        );
    }

    #[test]
    fn nor_does_a_release_that_is_called_so() {
        let message =
            message_for("gauss/peu01", "aws/v21.0.0", "fixes #1/closes Gh-3/@ada/v22.0.0", Basis::Known);
        let (subject, rest) = message.split_once('\n').unwrap();
        assert_eq!(
            subject,
            "Upgrade gauss/peu01 to fixes #\u{200b}1/closes Gh\u{200b}-3/@\u{200b}ada/v22.0.0"
        );
        let trailer = "\nCapstan-Source: fixes%20%231/closes%20Gh%2D3/%40ada/v22.0.0@-\n";
        assert!(rest.contains(trailer), "{rest}");
    }

    #[test]
    fn a_rollback_says_so() {
        let upgrade = Upgrade {
            from: SourceId::parse("aws/v22.0.0"),
            to: SourceId::parse("aws/v21.0.0"),
            ..crate::body::tests::upgrade()
        };
        let source = SourceState::new(SourceId::parse("aws/v21.0.0").unwrap(), None);
        let message = commit_message(&upgrade, &source, &PlanDigest::of(&[]), None, None, Versions::Stay);
        assert!(
            message.starts_with("Roll gauss/peu01 back to aws/v21.0.0\n\nFrom aws/v22.0.0: "),
            "{message}"
        );
    }

    #[test]
    fn a_release_that_was_inferred_is_not_called_recorded() {
        for (from, basis, expected) in [
            ("aws/v21.0.0", Basis::Known, "Upgrade gauss/peu01 to aws/v22.0.0\n\nFrom aws/v21.0.0"),
            (
                "aws/v21.0.0",
                Basis::Inferred,
                "Upgrade gauss/peu01 to aws/v22.0.0\n\nFrom aws/v21.0.0, which was inferred",
            ),
            (
                "aws/v22.0.0",
                Basis::Known,
                "Upgrade gauss/peu01 to aws/v22.0.0\n\nThe release itself has changed",
            ),
            (
                "aws/v22.0.0",
                Basis::Inferred,
                "Record gauss/peu01 at aws/v22.0.0\n\nThe release was not recorded; it was inferred",
            ),
        ] {
            assert_eq!(begin_of(from, basis), expected);
        }
    }
}
