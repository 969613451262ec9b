//! From the engine's values to JSON, bounded.

use capstan_yaml::Value;
use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind};
use serde_json::{Map, Number};

use super::structured::Structured;

/// How many values, and bytes of texts, one value may hold.
const MOST: usize = 4 << 20;

/// How deep they may be nested.
const DEPTH: usize = 200;

/// How much a value may still hold, and how deep it is already.
#[derive(Debug)]
pub(crate) struct ValueRoom {
    left: usize,
    depth: usize,
}

impl ValueRoom {
    /// Makes room for so many values or bytes.
    ///
    /// # Errors
    /// There is none left.
    pub(crate) fn pay(&mut self, cost: usize) -> Result<(), Error> {
        self.left = self.left.checked_sub(cost).ok_or_else(|| Error::from(ErrorKind::OutOfFuel))?;
        Ok(())
    }

    /// Whether something so deep fits here.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn fits(&self, height: usize) -> Result<(), Error> {
        if self.depth + height > DEPTH { Err(Error::from(ErrorKind::OutOfFuel)) } else { Ok(()) }
    }

    /// One level deeper.
    ///
    /// # Errors
    /// It is too deep, or what is done there fails.
    pub(crate) fn inside<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        self.fits(1)?;
        self.depth += 1;
        let done = work(self);
        self.depth -= 1;
        done
    }
}

/// Says a value that is not the engine's own; `None` of one that is.
type Raw<'r> = &'r dyn Fn(&minijinja::Value, &mut ValueRoom) -> Option<Result<Value, Error>>;

/// A value of the engine as JSON. `raw` is asked first: it knows the values that are not the engine's own.
///
/// # Errors
/// It is undefined or an error itself, holds something that JSON has no word for, or is too large.
pub(crate) fn to_json(value: &minijinja::Value, raw: Raw<'_>) -> Result<Value, Error> {
    converted(value, raw, &mut ValueRoom { left: MOST, depth: 0 })
}

fn converted(value: &minijinja::Value, raw: Raw<'_>, room: &mut ValueRoom) -> Result<Value, Error> {
    room.pay(1)?;
    if let Some(known) = raw(value, room) {
        return known;
    }
    if let Some(structured) = value.downcast_object_ref::<Structured>() {
        room.pay(usize::try_from(weight(&structured.value)).unwrap_or(usize::MAX))?;
        room.fits(height(&structured.value))?;
        return Ok(structured.value.clone());
    }
    let no_value = |what: &str| {
        Err(Error::new(ErrorKind::InvalidOperation, format!("{what} is not a value that YAML can express")))
    };
    match value.kind() {
        ValueKind::Undefined => Err(Error::from(ErrorKind::UndefinedError)),
        ValueKind::None => Ok(Value::Null),
        ValueKind::Bool => Ok(Value::Bool(value.is_true())),
        ValueKind::Number => number(value),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            room.pay(text.len())?;
            Ok(Value::String(text.to_owned()))
        }
        ValueKind::Seq | ValueKind::Iterable => room.inside(|room| {
            let mut items = Vec::new();
            for item in value.try_iter()? {
                items.push(converted(&item, raw, room)?);
            }
            Ok(Value::Array(items))
        }),
        ValueKind::Map => room.inside(|room| {
            let mut fields = Map::new();
            for key in value.try_iter()? {
                let below = value.get_item(&key)?;
                let name = match key.as_str() {
                    Some(text) => text.to_owned(),
                    None => key.to_string(),
                };
                room.pay(name.len())?;
                fields.insert(name, converted(&below, raw, room)?);
            }
            Ok(Value::Object(fields))
        }),
        ValueKind::Invalid => match value.try_iter() {
            Err(error) => Err(error),
            Ok(_) => no_value("an error"),
        },
        ValueKind::Bytes => no_value("a list of bytes"),
        _ => no_value("a function or an object"),
    }
}

/// Bytes and slots.
pub(crate) fn weight(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64 + 8,
        Value::Array(items) => 8 + items.iter().map(weight).sum::<u64>(),
        Value::Object(fields) => {
            8 + fields.iter().map(|(key, value)| key.len() as u64 + weight(value)).sum::<u64>()
        }
        _ => 8,
    }
}

/// How deep a value is nested; a scalar is not.
pub(crate) fn height(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(height).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(height).max().unwrap_or_default(),
        _ => 0,
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
