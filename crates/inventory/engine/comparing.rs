//! Filters and tests that compare whole values, or split a text: the engine charges for the number of
//! comparisons, and here they pay for the size of the compared values in advance.

use std::sync::Arc;

use minijinja::value::Kwargs;
use minijinja::{Environment, Error, ErrorKind, State, Value, filters, tests};

use super::count::{self, RenderValue};

type Sorts = fn(&State<'_, '_>, Value, Kwargs) -> Result<Value, Error>;
type Compares = fn(&Value, &Value) -> bool;

/// Puts them in the place of the engine's own.
pub(super) fn add(environment: &mut Environment<'static>, given: RenderValue) {
    let sorts: [(&str, Sorts); 4] =
        [("sort", filters::sort), ("unique", filters::unique), ("min", filters::min), ("max", filters::max)];
    for (name, filter) in sorts {
        environment.add_filter(name, move |state: &State<'_, '_>, value: Value, kwargs: Kwargs| {
            pay_for_sorting(state, given, &value)?;
            filter(state, value, kwargs)
        });
    }
    environment.add_filter("dictsort", move |state: &State<'_, '_>, value: Value, kwargs: Kwargs| {
        pay_for_sorting(state, given, &value)?;
        filters::dictsort(&value, kwargs)
    });
    let groups = move |state: &State<'_, '_>, value: Value, attribute: Option<String>, kwargs: Kwargs| {
        if value.is_undefined() {
            return Err(Error::from(ErrorKind::UndefinedError));
        }
        pay_for_sorting(state, given, &value)?;
        filters::groupby(value, attribute.as_deref(), kwargs)
    };
    environment.add_filter("groupby", groups);

    let compares: [(&[&str], Compares); 7] = [
        (&["eq", "equalto", "=="], tests::is_eq),
        (&["ne", "!="], tests::is_ne),
        (&["lt", "lessthan", "<"], tests::is_lt),
        (&["le", "<="], tests::is_le),
        (&["gt", "greaterthan", ">"], tests::is_gt),
        (&["ge", ">="], tests::is_ge),
        (&["sameas"], tests::is_sameas),
    ];
    for (names, test) in compares {
        for name in names {
            environment.add_test(*name, move |state: &State<'_, '_>, left: Value, right: Value| {
                count::charge(state, given, &left)?;
                count::charge(state, given, &right)?;
                Ok::<bool, Error>(test(&left, &right))
            });
        }
    }
    environment.add_test("in", move |state: &State<'_, '_>, value: Value, other: Value| {
        count::charge(state, given, &value)?;
        count::charge(state, given, &other)?;
        tests::is_in(state, &value, &other)
    });

    environment.add_filter("lines", |state: &State<'_, '_>, text: Value| {
        pay_for_parts(state, &text)?;
        filters::lines(&text)
    });
    let split = |state: &State<'_, '_>, text: Value, at: Option<Arc<str>>, most: Option<i64>| {
        pay_for_parts(state, &text)?;
        filters::split(&text, at, most)
    };
    environment.add_filter("split", split);
}

/// Sorting and grouping look at all that an item holds as often as the logarithm of their number, which is at most that of
/// all values: not every list says how long it is.
fn pay_for_sorting(state: &State<'_, '_>, given: RenderValue, value: &Value) -> Result<(), Error> {
    count::charge_times(state, given, value, |values| u64::from(values.max(1).ilog2()) + 1)
}

/// A list of parts of a text may have one a byte.
pub(super) fn pay_for_parts(state: &State<'_, '_>, text: &Value) -> Result<(), Error> {
    state.consume_fuel(text.as_str().map_or(0, str::len) as u64 / count::VALUES_A_STEP)
}
