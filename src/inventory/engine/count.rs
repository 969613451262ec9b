//! How much a value holds, in all that stands in it: what stands there twice counts twice.

use capstan_yaml::Value;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State};

/// The function that counts its argument and gives it back. No value has such a name.
pub(crate) const WEIGH: &str = "capstan__counted";

/// How many values one that is bound to a name may hold.
const MOST: usize = 100_000;

/// Values that were there before the render: they are bounded, and reading them is noted, so they are not looked into.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    /// Whether a value is one, or stands in one.
    pub(crate) is: fn(&minijinja::Value) -> bool,
    /// It as JSON; `None` for any other.
    pub(crate) json: fn(&minijinja::Value) -> Option<Result<Value, Error>>,
}

/// Adds the function to an environment.
pub(super) fn add(environment: &mut Environment<'static>, given: Given) {
    let count = move |state: &State<'_, '_>, value: minijinja::Value| -> Result<minijinja::Value, Error> {
        let mut left = MOST;
        through(&value, given, &mut left, 0)?;
        state.consume_fuel(((MOST - left) / 4) as u64)?;
        Ok(value)
    };
    environment.add_function(WEIGH, count);
}

fn through(value: &minijinja::Value, given: Given, left: &mut usize, depth: usize) -> Result<(), Error> {
    const DEEPEST: usize = 100;
    *left =
        left.checked_sub(1).filter(|_| depth < DEEPEST).ok_or_else(|| Error::from(ErrorKind::OutOfFuel))?;
    match value.kind() {
        ValueKind::Seq | ValueKind::Iterable if !(given.is)(value) => {
            for item in value.try_iter()? {
                through(&item, given, left, depth + 1)?;
            }
        }
        ValueKind::Map if !(given.is)(value) => {
            for key in value.try_iter()? {
                through(&value.get_item(&key)?, given, left, depth + 1)?;
            }
        }
        _ => {}
    }
    Ok(())
}
