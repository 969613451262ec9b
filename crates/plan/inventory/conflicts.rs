//! What a conflict with the inventory says: where the inventory's value is.

use std::fmt::Write as _;

use crate::upgrade::{Upgrade, ValueOrigin};

/// Has the sentences that block name the inventory, and file and line of its value. The merge knows neither.
pub fn name_inventory(upgrade: &mut Upgrade) {
    let Upgrade { conflicts, blocked, values, .. } = upgrade;
    let origins = values.as_ref().map(|values| values.conflict_origins.as_slice()).unwrap_or_default();
    for (at, conflict) in conflicts.iter().enumerate() {
        let about = format!("{} {}: ", conflict.object, conflict.path);
        let Some(places) = origins.get(at).and_then(|origins| places(origins)) else { continue };
        for sentence in blocked.iter_mut().filter(|sentence| sentence.starts_with(&about)) {
            let _infallible = write!(sentence, " The inventory's value is in {places}.");
        }
    }
}

/// `inventory/prod.yaml:9:16 (Environment prod)`
fn places(origins: &[ValueOrigin]) -> Option<String> {
    let one = |origin: &ValueOrigin| match origin.level.as_str() {
        "default" => format!("{} (the default)", origin.place),
        level => format!("{} ({level} {})", origin.place, origin.name),
    };
    let all: Vec<String> = origins.iter().map(one).collect();
    (!all.is_empty()).then(|| capstan_model::wording::list(&all))
}
