//! Texts of a proposal that comes from the inventory: changed values, a new cluster, a deleted cluster.

use capstan_plan::upgrade::{Basis, Upgrade, ValuesCourse, ValuesStep};

use super::markdown::{code, plain};
use super::tables;

/// The part of the inventory in an upgrade that comes from it.
pub(super) fn brought(upgrade: &Upgrade) -> Option<&ValuesStep> {
    let by_inventory = upgrade.brought_by() == capstan_model::source::SourceKind::INVENTORY;
    upgrade.values.as_deref().filter(|_| by_inventory)
}

/// The title, and the first line of the commit.
pub(super) fn title(upgrade: &Upgrade) -> Option<String> {
    let target = plain(upgrade.target.path(), 120);
    Some(match brought(upgrade)?.course {
        ValuesCourse::Changes if upgrade.changes.is_empty() && upgrade.conflicts.is_empty() => {
            format!("Record the values of {target} from the inventory")
        }
        ValuesCourse::Changes => format!("Update {target} from the inventory"),
        ValuesCourse::Comes => format!("Create {target} from the inventory"),
        ValuesCourse::Goes => format!("Retire {target}: its definition says so"),
    })
}

/// The second paragraph of the commit, up to how much changes.
pub(super) fn commit_line(upgrade: &Upgrade, source: &str) -> Option<String> {
    let values = brought(upgrade)?;
    Some(match values.course {
        ValuesCourse::Changes => format!("Other values under {source}{}", levels(values)),
        ValuesCourse::Comes => format!("A new definition, made from {source}{}", levels(values)),
        ValuesCourse::Goes => "Its definition says `retire: true`".to_owned(),
    })
}

/// ` (Environment prod, Site fra1)`
fn levels(values: &ValuesStep) -> String {
    if values.levels.is_empty() {
        return String::new();
    }
    let named: Vec<String> = values.levels.iter().map(|(kind, name)| format!("{kind} {name}")).collect();
    format!(" ({})", plain(&named.join(", "), 300))
}

/// The first sentences of the body.
pub(super) fn summary(upgrade: &Upgrade, source: &str) -> Option<String> {
    let values = brought(upgrade)?;
    let (target, source) = (code(upgrade.target.path(), 200), code(source, 200));
    let mut text = match values.course {
        ValuesCourse::Changes => format!(
            "The values of {target} in the inventory have changed since its base was made. This pull request applies them to {source}, the release that it has. It does not change the release.\n\n"
        ),
        ValuesCourse::Comes => format!(
            "The inventory defines {target}, which has no folder yet. This pull request makes the folder from {source}. After the merge it is a cluster like all others.\n\n"
        ),
        ValuesCourse::Goes => format!(
            "The definition of {target} says `retire: true`. This pull request adds the tombstone. After the merge the whole cluster is deleted, with its machines. Remove its folder and definition when it is gone.\n\n"
        ),
    };
    match upgrade.basis {
        Basis::Known => {}
        Basis::Inferred => text.push_str(
            "> The values that this cluster's base was made from are not recorded. Everything in the inventory is already in it, and this pull request records that.\n\n",
        ),
        Basis::Unknown if values.course == ValuesCourse::Changes => text.push_str(
            "> The values that this cluster's base was made from are **not known**, so Capstan cannot tell which fields are edits. It adds what is missing and keeps what is there. Only versions and images change. All differences are listed below. Look at each change before you take it out of draft.\n\n",
        ),
        Basis::Unknown => {}
    }
    if !values.levels.is_empty() {
        let named = values.levels.iter().map(|(kind, name)| code(&format!("{kind} {name}"), 120));
        text.push_str(&format!("It belongs to {}.\n\n", named.collect::<Vec<_>>().join(", ")));
    }
    Some(text)
}

/// What a pull request does for its cluster, as the predicate of a sentence: `offers aws/v22.0.0`. `source` is as it is
/// shown there.
pub fn offer_in_words(upgrade: Option<&Upgrade>, source: &str) -> String {
    match upgrade.and_then(brought).map(|values| values.course) {
        None => format!("offers {source}"),
        Some(ValuesCourse::Changes) => "brings other values".to_owned(),
        Some(ValuesCourse::Comes) => format!("makes the cluster from {source}"),
        Some(ValuesCourse::Goes) => "retires the cluster".to_owned(),
    }
}

/// How to decline it, as an item of a list.
pub(super) fn how_to_decline(upgrade: &Upgrade) -> Option<&'static str> {
    Some(match brought(upgrade)?.course {
        ValuesCourse::Changes => {
            "Close this pull request to decline this change: Capstan does not offer it again until the inventory changes for this cluster."
        }
        ValuesCourse::Comes => {
            "Close this pull request to decline the cluster as it is: Capstan offers it again when the inventory changes for it."
        }
        ValuesCourse::Goes => {
            "Close this pull request to keep the cluster, and remove `retire: true` from its definition."
        }
    })
}

/// What is said of the values that an edit comes from: `: Environment prod in ...`; empty where it comes from none.
pub(super) fn origin(upgrade: &Upgrade, at: usize) -> String {
    let origins = brought(upgrade).and_then(|values| values.origins.get(at));
    origins
        .filter(|origins| !origins.is_empty())
        .map_or_else(String::new, |origins| format!(": {}", tables::places(origins)))
}
