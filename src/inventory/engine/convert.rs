//! From the engine's values to JSON, bounded.

use capstan_yaml::Value;
use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind};
use serde_json::{Map, Number};

use super::structured::Structured;

/// How many values, and bytes of texts, one value may hold.
const MOST: usize = 4 << 20;

/// How deep they may be nested.
const DEPTH: usize = 100;

/// A value of the engine as JSON. `raw` is asked first: it knows the values that are not the engine's own.
///
/// # Errors
/// It is undefined or an error itself, holds something that JSON has no word for, or is too large.
pub(crate) fn to_json(
    value: &minijinja::Value,
    raw: &dyn Fn(&minijinja::Value) -> Option<Result<Value, Error>>,
) -> Result<Value, Error> {
    Converter { left: MOST, raw }.value(value, 0)
}

struct Converter<'c> {
    left: usize,
    raw: &'c dyn Fn(&minijinja::Value) -> Option<Result<Value, Error>>,
}

impl Converter<'_> {
    fn pay(&mut self, cost: usize) -> Result<(), Error> {
        self.left = self.left.checked_sub(cost).ok_or_else(|| Error::from(ErrorKind::OutOfFuel))?;
        Ok(())
    }

    fn value(&mut self, value: &minijinja::Value, depth: usize) -> Result<Value, Error> {
        self.pay(1)?;
        if depth > DEPTH {
            return Err(Error::from(ErrorKind::OutOfFuel));
        }
        if let Some(known) = (self.raw)(value) {
            return known;
        }
        if let Some(structured) = value.downcast_object_ref::<Structured>() {
            return Ok(structured.value.clone());
        }
        let no_value = |what: &str| {
            Err(Error::new(ErrorKind::InvalidOperation, format!("{what} is no value that YAML could hold")))
        };
        match value.kind() {
            ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
            ValueKind::None => Ok(Value::Null),
            ValueKind::Bool => Ok(Value::Bool(value.is_true())),
            ValueKind::Number => number(value),
            ValueKind::String => {
                let text = value.as_str().unwrap_or_default();
                self.pay(text.len())?;
                Ok(Value::String(text.to_owned()))
            }
            ValueKind::Seq | ValueKind::Iterable => {
                let mut items = Vec::new();
                for item in value.try_iter()? {
                    items.push(self.value(&item, depth + 1)?);
                }
                Ok(Value::Array(items))
            }
            ValueKind::Map => {
                let mut fields = Map::new();
                for key in value.try_iter()? {
                    let below = value.get_item(&key)?;
                    let name = match key.as_str() {
                        Some(text) => text.to_owned(),
                        None => key.to_string(),
                    };
                    self.pay(name.len())?;
                    fields.insert(name, self.value(&below, depth + 1)?);
                }
                Ok(Value::Object(fields))
            }
            ValueKind::Invalid => match value.try_iter() {
                Err(error) => Err(error),
                Ok(_) => no_value("an error"),
            },
            ValueKind::Bytes => no_value("a list of bytes"),
            _ => no_value("a function or an object"),
        }
    }
}

fn number(value: &minijinja::Value) -> Result<Value, Error> {
    if value.is_integer() {
        if let Ok(number) = i64::try_from(value.clone()) {
            return Ok(Value::Number(number.into()));
        }
        if let Ok(number) = u64::try_from(value.clone()) {
            return Ok(Value::Number(number.into()));
        }
        return Err(Error::new(ErrorKind::InvalidOperation, "a number of more than 64 bits"));
    }
    let number = f64::try_from(value.clone())?;
    // As Kubernetes reads it: a float without a fraction is a whole number.
    #[expect(clippy::cast_possible_truncation, reason = "an integer of at most 53 bits")]
    if number.fract() == 0.0 && number.abs() < 9_007_199_254_740_992.0 {
        return Ok(Value::Number((number as i64).into()));
    }
    Number::from_f64(number)
        .map(Value::Number)
        .ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "infinity or NaN, which JSON has no word for"))
}
