//! Bounds of a value: lengths, numbers, patterns.

use capstan_yaml::Value;
use regex::Regex;

/// Bounds; `None` where there is none.
#[derive(Debug, Clone, Default)]
pub struct ValueBounds {
    /// `minimum`, and whether the value must be above it.
    pub minimum: Option<(f64, BoundInclusion)>,
    /// `maximum`, and whether the value must be below it.
    pub maximum: Option<(f64, BoundInclusion)>,
    /// `minLength`, `minItems` or `minProperties`.
    pub fewest: Option<u64>,
    /// `maxLength`, `maxItems` or `maxProperties`.
    pub most: Option<u64>,
    pub pattern: Option<Regex>,
}

/// Whether a bound itself is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundInclusion {
    /// It is.
    Inclusive,
    /// It is not.
    Exclusive,
}

impl ValueBounds {
    /// What a value breaks, as the end of a sentence that begins with the value's name; of lists and mappings
    /// their number of entries alone.
    pub fn broken_by(&self, value: &Value) -> Option<String> {
        match value {
            Value::Number(number) => self.number(number.as_f64()?),
            Value::String(text) => {
                let length = text.chars().count() as u64;
                self.size(length, "characters").or_else(|| {
                    let pattern = self.pattern.as_ref().filter(|pattern| !pattern.is_match(text))?;
                    Some(format!("does not match the pattern `{pattern}`"))
                })
            }
            Value::Array(items) => self.size(items.len() as u64, "items"),
            Value::Object(fields) => self.size(fields.len() as u64, "values"),
            Value::Null | Value::Bool(_) => None,
        }
    }

    fn number(&self, number: f64) -> Option<String> {
        let (low, high) = (self.minimum, self.maximum);
        let below = low.is_some_and(|(least, bound)| match bound {
            BoundInclusion::Inclusive => number < least,
            BoundInclusion::Exclusive => number <= least,
        });
        let above = high.is_some_and(|(most, bound)| match bound {
            BoundInclusion::Inclusive => number > most,
            BoundInclusion::Exclusive => number >= most,
        });
        let word = |(value, bound): (f64, BoundInclusion), or: &str, than: &str| match bound {
            BoundInclusion::Inclusive => format!("must be {value} or {or}, and is {number}"),
            BoundInclusion::Exclusive => format!("must be {than} than {value}, and is {number}"),
        };
        match (below, above) {
            (true, _) => low.map(|low| word(low, "more", "more")),
            (_, true) => high.map(|high| word(high, "less", "less")),
            _ => None,
        }
    }

    fn size(&self, size: u64, of: &str) -> Option<String> {
        match (self.fewest.filter(|fewest| size < *fewest), self.most.filter(|most| size > *most)) {
            (Some(fewest), _) => Some(format!("must have {fewest} {of} or more, and has {size}")),
            (_, Some(most)) => Some(format!("must have {most} {of} or fewer, and has {size}")),
            _ => None,
        }
    }
}
