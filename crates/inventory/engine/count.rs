//! The size of a value with everything inside: a part that occurs twice counts twice.

use capstan_yaml::Value;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State};

use super::convert::ValueRoom;

/// The function that counts its argument and gives it back. No value has such a name.
pub(crate) const WEIGH: &str = "capstan__counted";

/// The same for what is compared: it may hold more, and what was there before the render counts, too.
pub(crate) const COMPARE: &str = "capstan__compared";

/// How many values one that is bound to a name may hold.
const MOST: usize = 100_000;

/// How deep they may be nested.
const DEEPEST: usize = 100;

/// Values that were there before the render: they are bounded, and reading them is noted, so they are not looked into.
#[derive(Clone, Copy)]
pub(crate) struct RenderValue {
    /// How many values one of them holds, itself included, long texts as several; `None` for any other.
    pub(crate) weight: fn(&minijinja::Value) -> Option<usize>,
    /// It as JSON; `None` for any other.
    pub(crate) json: fn(&minijinja::Value, &mut ValueRoom) -> Option<Result<Value, Error>>,
}

/// Adds the functions to an environment.
pub(super) fn add(environment: &mut Environment<'static>, given: RenderValue) {
    let count = move |state: &State<'_, '_>, value: minijinja::Value| -> Result<minijinja::Value, Error> {
        let mut counter = Counter { given, counts_given: false, left: MOST, bytes: 0 };
        counter.through(&value, 0)?;
        state.consume_fuel((MOST - counter.left) as u64 / VALUES_A_STEP)?;
        Ok(value)
    };
    environment.add_function(WEIGH, count);
    let compare = move |state: &State<'_, '_>, value: minijinja::Value| -> Result<minijinja::Value, Error> {
        charge(state, given, &value)?;
        Ok(value)
    };
    environment.add_function(COMPARE, compare);
}

/// Charges for all that a value holds.
///
/// # Errors
/// The fuel is not enough.
pub(super) fn charge(
    state: &State<'_, '_>,
    given: RenderValue,
    value: &minijinja::Value,
) -> Result<(), Error> {
    charge_times(state, given, value, |_| 1)
}

/// The same, for a value that is read several times: once for each value in it.
///
/// # Errors
/// The fuel is not enough.
pub(super) fn charge_times(
    state: &State<'_, '_>,
    given: RenderValue,
    value: &minijinja::Value,
    times: fn(u64) -> u64,
) -> Result<(), Error> {
    let mut counter = Counter { given, counts_given: true, left: usize::MAX, bytes: 0 };
    // The walk stops where the budget does.
    let left = state.fuel_levels().map_or(u64::MAX, |(_, left)| left);
    counter.left = usize::try_from(left.saturating_mul(VALUES_A_STEP)).unwrap_or(usize::MAX);
    let all = counter.left;
    counter.through(value, 0)?;
    let values = (all - counter.left) as u64;
    state.consume_fuel((values / VALUES_A_STEP + counter.bytes / 64).saturating_mul(times(values)))
}

/// Values read for one step.
pub(super) const VALUES_A_STEP: u64 = 4;

struct Counter {
    given: RenderValue,
    /// Whether what was there before the render counts as what it holds, or as one.
    counts_given: bool,
    left: usize,
    bytes: u64,
}

impl Counter {
    fn pay(&mut self, values: usize) -> Result<(), Error> {
        self.left = self.left.checked_sub(values).ok_or_else(|| Error::from(ErrorKind::OutOfFuel))?;
        Ok(())
    }

    fn through(&mut self, value: &minijinja::Value, depth: usize) -> Result<(), Error> {
        if depth >= DEEPEST {
            return Err(Error::from(ErrorKind::OutOfFuel));
        }
        match (value.kind(), (self.given.weight)(value)) {
            (_, Some(weight)) => self.pay(if self.counts_given { weight } else { 1 }),
            (ValueKind::Seq | ValueKind::Iterable, None) => {
                self.pay(1)?;
                for item in value.try_iter()? {
                    self.through(&item, depth + 1)?;
                }
                Ok(())
            }
            (ValueKind::Map, None) => {
                self.pay(1)?;
                for key in value.try_iter()? {
                    self.through(&value.get_item(&key)?, depth + 1)?;
                }
                Ok(())
            }
            (ValueKind::String, None) => {
                self.bytes += value.as_str().map_or(0, str::len) as u64;
                self.pay(1)
            }
            _ => self.pay(1),
        }
    }
}
