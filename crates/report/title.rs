//! Titles of proposals, and the first lines of their commits.

use capstan_model::source::{SourceId, SourceKind};
use capstan_plan::proposal::SourceState;
use capstan_plan::settings::{TitleField, TitleTemplate};
use capstan_plan::upgrade::{Basis, Upgrade, Versions};

use super::markdown::plain;
use super::values;

/// GitHub's limit of a title, in characters.
const MOST_CHARACTERS: usize = 256;
/// The value of a field that has none.
pub(super) const UNKNOWN: &str = "unknown";

/// The title, at most 256 characters. Where versions do not change it is a rollback, which has Capstan's own
/// title: the settings' templates are for upgrades.
pub fn proposal_title(
    template: Option<&TitleTemplate>,
    upgrade: &Upgrade,
    source: &SourceState,
    versions: Versions,
) -> String {
    if let Some(title) = values::title(upgrade) {
        return cut(&title);
    }
    let template = template.filter(|_| versions == Versions::Move);
    if let Some(title) = title_from_settings(template, upgrade, source) {
        return title;
    }
    let to = source.source();
    let target = plain(upgrade.target.path(), 90);
    let to_name = plain(&to.to_string(), 70);
    match &upgrade.from {
        _ if *to.kind() == SourceKind::MIGRATION => {
            format!("Migrate {target} to API versions {}", plain(to.path(), 70))
        }
        // There was no recorded release to refresh.
        Some(_) if records_inferred(upgrade, source) => format!("Record {target} at {to_name}"),
        Some(from) if from == to => format!("Refresh {target} to {to_name} as it is now"),
        Some(from) if versions == Versions::Stay => {
            format!("Roll {target} back from {} to {to_name}", plain(&from.to_string(), 70))
        }
        Some(from) => format!("Upgrade {target} from {} to {to_name}", plain(&from.to_string(), 70)),
        None => format!("Upgrade {target} to {to_name}"),
    }
}

/// Whether the offered source is the one that was inferred for the target.
pub(super) fn records_inferred(upgrade: &Upgrade, source: &SourceState) -> bool {
    upgrade.basis == Basis::Inferred && upgrade.from.as_ref() == Some(source.source())
}

/// The title from the settings; `None` where they have none, or no release is offered, because its fields are
/// about releases. GitHub trims a title, so it is trimmed here.
pub(super) fn title_from_settings(
    template: Option<&TitleTemplate>,
    upgrade: &Upgrade,
    source: &SourceState,
) -> Option<String> {
    let release = source.source().release()?;
    if values::brought(upgrade).is_some() {
        return None;
    }
    let previous = upgrade.from.as_ref().and_then(SourceId::release);
    let or_unknown = |value: Option<&str>, most: usize| {
        plain(value.filter(|value| !value.is_empty()).unwrap_or(UNKNOWN), most)
    };
    let value = |field: TitleField| match field {
        TitleField::Cluster => plain(upgrade.target.path(), 90),
        TitleField::Release => plain(release.as_str(), 70),
        TitleField::ReleaseVersion => or_unknown(release.as_str().rsplit('/').next(), 70),
        TitleField::PreviousRelease => or_unknown(previous.as_ref().map(|previous| previous.as_str()), 70),
        TitleField::Provider => or_unknown(Some(release.provider().as_str()), 70),
        TitleField::KubernetesVersion => {
            or_unknown(upgrade.kubernetes.as_ref().map(|version| version.as_str()), 40)
        }
    };
    Some(cut(template?.fill(value).trim()))
}

pub(super) fn cut(title: &str) -> String {
    if title.chars().count() <= MOST_CHARACTERS {
        return title.to_owned();
    }
    title.chars().take(MOST_CHARACTERS - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::tests::upgrade;

    fn title(template: &str, upgrade: &Upgrade) -> String {
        let template = TitleTemplate::parse(template).unwrap();
        let source = SourceState::new(upgrade.to.clone().unwrap(), None);
        proposal_title(Some(&template), upgrade, &source, Versions::Move)
    }

    const ALL: &str = "{cluster} {previousRelease} {release} {releaseVersion} {provider} {kubernetesVersion}";

    #[test]
    fn each_field_has_a_name() {
        assert_eq!(title(ALL, &upgrade()), "gauss/peu01 aws/v21.0.0 aws/v22.0.0 v22.0.0 aws v1.22.5");
        let little = Upgrade {
            from: None,
            to: SourceId::parse("v22.0.0"),
            kubernetes: None,
            basis: Basis::Unknown,
            ..upgrade()
        };
        assert_eq!(title(ALL, &little), "gauss/peu01 unknown v22.0.0 v22.0.0 unknown unknown");
    }

    #[test]
    fn a_title_refers_to_nothing_that_a_folder_is_called_and_is_not_too_long() {
        let odd =
            Upgrade { target: capstan_model::target::Target::parse("fixes #1/@ada").unwrap(), ..upgrade() };
        assert_eq!(title(" chore: {cluster} ", &odd), "chore: fixes #\u{200b}1/@\u{200b}ada");
        let long =
            Upgrade { target: capstan_model::target::Target::parse(&"ö".repeat(200)).unwrap(), ..upgrade() };
        let cut = title("{cluster}{cluster}{cluster}", &long);
        assert_eq!((cut.chars().count(), cut.ends_with("ö…")), (256, true));
    }

    #[test]
    fn a_rollback_has_capstans_own_title() {
        let template = TitleTemplate::parse("{release}").unwrap();
        let back =
            Upgrade { from: SourceId::parse("aws/v22.0.0"), to: SourceId::parse("aws/v21.0.0"), ..upgrade() };
        let source = SourceState::new(back.to.clone().unwrap(), None);
        assert_eq!(
            proposal_title(Some(&template), &back, &source, Versions::Stay),
            "Roll gauss/peu01 back from aws/v22.0.0 to aws/v21.0.0"
        );
    }

    #[test]
    fn a_source_that_is_not_a_release_has_capstans_own_title() {
        let values = Upgrade { from: None, to: SourceId::parse("values://peu01"), ..upgrade() };
        assert_eq!(title("{release}", &values), "Upgrade gauss/peu01 to values://peu01");
    }
}
