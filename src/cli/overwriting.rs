//! `--overwrite` where it has no effect: a warning says that nothing was discarded.

use capstan_fleet::generator::Planned;
use capstan_model::object::FieldPath;
use capstan_plan::upgrade::{Basis, Overwrite};

use super::progress::say;

/// What `--overwrite` could do in the plans of a command.
#[derive(Default)]
pub(super) struct Overwritten {
    /// A cluster's old release is unknown, or it cannot be planned: `--overwrite` may be meant for it.
    meant: bool,
    /// How many plans there are.
    plans: usize,
    /// Fields of the command that something changes at, above or below.
    found: Vec<FieldPath>,
}

impl Overwritten {
    /// In one plan.
    pub(super) fn by(allowed: &Overwrite, planned: &Planned) -> Self {
        let Ok(upgrade) = planned else { return Self { meant: true, plans: 1, found: Vec::new() } };
        let touches = |field: &&FieldPath| {
            upgrade
                .changes
                .iter()
                .any(|change| change.path.starts_with(field) || field.starts_with(&change.path))
        };
        let found = match allowed {
            Overwrite::Fields(fields) => fields.iter().filter(touches).cloned().collect(),
            Overwrite::Nothing | Overwrite::All => Vec::new(),
        };
        Self { meant: upgrade.basis == Basis::Unknown || upgrade.from.is_none(), plans: 1, found }
    }

    /// With another one.
    pub(super) fn add(&mut self, other: Self) {
        self.meant |= other.meant;
        self.plans += other.plans;
        self.found.extend(other.found);
    }

    /// Says what had no effect.
    pub(super) fn tell(&self, allowed: &Overwrite) {
        match allowed {
            Overwrite::Nothing => {}
            _ if self.plans == 0 => {}
            _ if !self.meant => {
                say!(
                    "warning: `--overwrite` has no effect: the old release of each of these clusters is known"
                );
            }
            Overwrite::All => {}
            Overwrite::Fields(fields) => {
                for field in fields.iter().filter(|field| !self.found.contains(field)) {
                    say!("warning: `--overwrite={field}` has no effect: nothing changes at this field");
                }
            }
        }
    }
}
