//! The template engine with its bounds: minijinja, strict undefined, no clock, no randomness, no loader.
//!
//! The engine's fuel pays for steps and for every byte and slot that a step makes, before it is made
//! (`minijinja` 3.1: <https://github.com/mitsuhiko/minijinja/blob/main/CHANGELOG.md>), so that one number bounds time
//! and memory. What Capstan adds to the engine pays from the same tank.
//!
//! Lists that hold one another more than once are bounded where they are bound to a name, see `guard`.

mod comparing;
mod convert;
mod count;
mod filters;
mod guard;
mod rows;
mod structured;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, ErrorKind, State, UndefinedBehavior};

pub(crate) use convert::{ValueRoom, height, to_json, weight};
pub(crate) use count::RenderValue;
use count::{COMPARE, WEIGH};
pub(crate) use guard::{Guarded, guard, guard_expression};
pub(crate) use rows::{ROW, too_long};
pub(crate) use structured::Structured;

/// Steps of one template: one pays for 64 bytes, so that none makes more than 128 MiB. A run that fails does not say how
/// many it took, so a template is tried with few steps first: what failed is charged with those that it was given.
pub(crate) const FUELS: [u64; 4] = [4_000, 40_000, 400_000, 2_000_000];

/// Steps of all templates of one cluster.
pub(crate) const RENDER_FUEL: u64 = 4_000_000;

/// Steps of one expression in a value, tried as [`FUELS`].
const EXPRESSION_FUELS: [u64; 4] = [200, 2_000, 20_000, 100_000];

/// Steps of all expressions in the values of one cluster.
pub(crate) const EXPRESSIONS_FUEL: u64 = 4_000_000;

/// Bytes and slots of what all expressions in the values of one cluster come to.
pub(crate) const VALUES_WEIGHT: u64 = 32 << 20;

/// Environments for expressions, each with its steps, fewest first.
pub(crate) type Engines = Vec<(u64, Environment<'static>)>;

/// How deep a template may go, as the engine counts: an include takes 10, a call of a macro 4, and what is in them 1 each.
/// As many includes as [`INCLUDES`](crate::templates::INCLUDES) fit.
const RECURSION: usize = 200;

/// Filters that Jinja has and templates of Capstan may not use, with why.
pub(crate) const REFUSED_FILTERS: &[(&str, &str)] = &[
    ("safe", "values become scalars and never need it"),
    ("escape", "values become scalars and never need it"),
    ("e", "values become scalars and never need it"),
    ("forceescape", "values become scalars and never need it"),
    ("random", "the same values must give the same objects"),
    ("pprint", "it writes no YAML: use `tojson` or `to_nice_yaml`"),
];

/// How templates are read: block tags leave neither their line's blanks nor its end (T2).
///
/// # Errors
/// Never, as these settings fit each other.
pub(crate) fn syntax() -> Result<SyntaxConfig, Error> {
    SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build()
}

/// An environment without templates.
///
/// # Errors
/// Never, see [`syntax`].
pub(crate) fn environment(fuel: u64, given: RenderValue) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_syntax(syntax()?);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(fuel));
    environment.set_recursion_limit(RECURSION);
    environment.set_debug(true);
    environment.set_unknown_method_callback(move |state, value, method, arguments| {
        charge_method(state, given, value, method, arguments)?;
        // It makes what it is asked for without asking what that costs; the filter does ask.
        if method == "format" {
            let message = "the method `format` is refused: use the filter, `'%s' | format(…)`";
            return Err(Error::new(ErrorKind::InvalidOperation, message));
        }
        minijinja_contrib::pycompat::unknown_method_callback(state, value, method, arguments)
    });
    // Captured text is marked, so that it differs from values.
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::Custom("yaml".into()));
    environment.remove_global("debug");
    for (name, _) in REFUSED_FILTERS {
        environment.remove_filter(name);
    }
    filters::add(&mut environment, given);
    count::add(&mut environment, given);
    comparing::add(&mut environment, given);
    Ok(environment)
}

/// The environments in which expressions in values are evaluated.
///
/// # Errors
/// Never, see [`syntax`].
pub(crate) fn engines(given: RenderValue) -> Result<Engines, Error> {
    EXPRESSION_FUELS.iter().map(|fuel| Ok((*fuel, environment(*fuel, given)?))).collect()
}

/// What methods of Python's cost beyond what the engine charges for: everything that their arguments hold, and of a text
/// that is stripped of characters, each of them at each of its own; and of one that is parted, a part a byte.
fn charge_method(
    state: &State<'_, '_>,
    given: RenderValue,
    value: &minijinja::Value,
    method: &str,
    arguments: &[minijinja::Value],
) -> Result<(), Error> {
    for argument in arguments {
        count::charge(state, given, argument)?;
    }
    if let ("strip" | "lstrip" | "rstrip", Some(text), [characters, ..]) = (method, value.as_str(), arguments)
    {
        let characters = characters.as_str().map_or(0, str::len);
        state.consume_fuel(text.len().saturating_mul(characters) as u64 / 64)?;
    }
    if matches!(method, "split" | "rsplit" | "splitlines") {
        comparing::pay_for_parts(state, value)?;
    }
    Ok(())
}

/// Whether a render ended for want of steps or memory.
pub(crate) fn is_limit(error: &Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(current) = cause {
        if let Some(error) = current.downcast_ref::<Error>() {
            let too_large = error.detail().is_some_and(|detail| {
                detail.contains("too large")
                    || detail.contains("recursion")
                    || detail.contains("too many items")
            });
            if error.kind() == ErrorKind::OutOfFuel || too_large {
                return true;
            }
        }
        cause = current.source();
    }
    false
}

/// The error at the bottom: of an include, say, the one in it.
pub(crate) fn deepest(error: &Error) -> &Error {
    let mut deepest = error;
    let mut cause = std::error::Error::source(error);
    while let Some(current) = cause {
        if let Some(inner) = current.downcast_ref::<Error>() {
            deepest = inner;
        }
        cause = current.source();
    }
    deepest
}

/// What went wrong, in words, without the template's text.
pub(crate) fn reason(error: &Error) -> String {
    let deepest = deepest(error);
    match (deepest.detail(), deepest.kind()) {
        (Some(detail), ErrorKind::UnknownFunction) => {
            format!("there is no function `{}`", detail.trim_end_matches(" is unknown"))
        }
        (Some(detail), _) => detail.to_owned(),
        (None, kind) => kind.to_string(),
    }
}
