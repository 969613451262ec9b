//! How single values of settings are read, with what each may be.

use std::collections::BTreeMap;
use std::fmt;

use jiff::civil::Date;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};

use capstan_model::glob::Glob;
use capstan_model::ids::{ContentId, ReleaseId};
use capstan_model::object::FieldPath;
use capstan_model::tree::{BlobId, OutsidePath, RepoPath};

/// A whole number within bounds, as YAML writes numbers: `"20"` is a string and refused.
pub(super) fn whole_number<'de, D: Deserializer<'de>, const MIN: u32, const MAX: u32>(
    deserializer: D,
) -> Result<u32, D::Error> {
    deserializer.deserialize_any(WholeNumber::<MIN, MAX>)
}

/// A whole number within bounds, or `null` for none.
pub(super) fn whole_number_or_null<'de, D: Deserializer<'de>, const MIN: u32, const MAX: u32>(
    deserializer: D,
) -> Result<Option<u32>, D::Error> {
    deserializer.deserialize_any(WholeNumberOrNull::<MIN, MAX>)
}

struct WholeNumber<const MIN: u32, const MAX: u32>;

impl<const MIN: u32, const MAX: u32> WholeNumber<MIN, MAX> {
    fn within<E: de::Error>(number: u64, expected: &dyn de::Expected) -> Result<u32, E> {
        match u32::try_from(number) {
            Ok(number) if (MIN..=MAX).contains(&number) => Ok(number),
            _ => Err(E::invalid_value(de::Unexpected::Unsigned(number), expected)),
        }
    }

    fn signed<E: de::Error>(number: i64, expected: &dyn de::Expected) -> Result<u32, E> {
        match u64::try_from(number) {
            Ok(number) => Self::within(number, expected),
            Err(_) => Err(E::invalid_value(de::Unexpected::Signed(number), expected)),
        }
    }
}

impl<const MIN: u32, const MAX: u32> Visitor<'_> for WholeNumber<MIN, MAX> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {MIN} to {MAX}")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<u32, E> {
        Self::within(number, &self)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<u32, E> {
        Self::signed(number, &self)
    }
}

struct WholeNumberOrNull<const MIN: u32, const MAX: u32>;

impl<const MIN: u32, const MAX: u32> Visitor<'_> for WholeNumberOrNull<MIN, MAX> {
    type Value = Option<u32>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number from {MIN} to {MAX}, or null")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Option<u32>, E> {
        WholeNumber::<MIN, MAX>::within(number, &self).map(Some)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Option<u32>, E> {
        WholeNumber::<MIN, MAX>::signed(number, &self).map(Some)
    }

    fn visit_unit<E: de::Error>(self) -> Result<Option<u32>, E> {
        Ok(None)
    }

    fn visit_none<E: de::Error>(self) -> Result<Option<u32>, E> {
        Ok(None)
    }
}

/// Patterns that give a right, of which one at least names somebody: who only takes out gives it to nobody.
pub(super) fn patterns_of_a_right<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Glob>, D::Error> {
    let patterns = Vec::<Glob>::deserialize(deserializer)?;
    if !patterns.is_empty() && patterns.iter().all(Glob::is_exclusion) {
        return Err(de::Error::custom(
            "it has only exclusions, so it matches nothing: begin with a match, as in `[\"*/*\", \"!gauss/*\"]`",
        ));
    }
    Ok(patterns)
}

/// One pattern that gives a right. Alone, an exclusion would give it to everybody else.
pub(super) fn pattern_of_a_right<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Glob>, D::Error> {
    let pattern = Option::<Glob>::deserialize(deserializer)?;
    match &pattern {
        Some(exclusion) if exclusion.is_exclusion() => Err(de::Error::custom(format!(
            "`{exclusion}` is an exclusion, but only matches are allowed here. Later entries win: write one entry for all, then one for `{}`",
            exclusion.as_str().trim_start_matches('!')
        ))),
        _ => Ok(pattern),
    }
}

/// A list of so many entries at most.
pub(super) fn at_most<'de, D: Deserializer<'de>, T: Deserialize<'de>, const MOST: usize>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let list = Vec::<T>::deserialize(deserializer)?;
    if list.len() > MOST {
        let has = list.len();
        return Err(de::Error::custom(format!("{has} entries exceed the limit of this list ({MOST})")));
    }
    Ok(list)
}

/// A JSON Pointer.
pub(super) fn field_path<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FieldPath, D::Error> {
    let text = String::deserialize(deserializer)?;
    match FieldPath::parse(&text) {
        Some(path) if !path.is_root() => Ok(path),
        _ => Err(de::Error::custom(format!(
            "`{text}` is not a JSON Pointer to a field, such as /spec/replicas"
        ))),
    }
}

/// A day of the calendar.
pub(super) fn calendar_date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Date>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let shaped = text.len() == 10;
    match text.parse() {
        Ok(date) if shaped => Ok(Some(date)),
        _ => Err(de::Error::custom(format!("`{text}` is not a date such as 2026-12-01"))),
    }
}

/// A release's id, whatever folder it is in now.
pub(super) fn release_id<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<ReleaseId>, D::Error> {
    let Some(text) = Option::<String>::deserialize(deserializer)? else { return Ok(None) };
    let path = RepoPath::parse(&text).map_err(de::Error::custom)?;
    let version = capstan_model::version::ReleaseVersion::parse(path.name());
    if version.is_none() {
        return Err(de::Error::custom(format!("`{text}` is not a release such as aws/v21.0.0")));
    }
    Ok(Some(ReleaseId::from_path(&text)))
}

/// The files that a release reads outside of its folder, up to the number that a record may have.
pub(super) fn release_reads<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<OutsidePath, BlobId>, D::Error> {
    let reads = Option::<BTreeMap<OutsidePath, BlobId>>::deserialize(deserializer)?.unwrap_or_default();
    if reads.len() > ContentId::MOST_READS {
        let (has, most) = (reads.len(), ContentId::MOST_READS);
        return Err(de::Error::custom(format!(
            "{has} files exceed what a release may read outside its folder ({most})"
        )));
    }
    Ok(reads)
}

/// A SHA-256 in hex digits.
pub(super) fn sha256<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if text.len() == 64 && text.bytes().all(is_hex) {
        return Ok(text);
    }
    Err(de::Error::custom(format!("`{text}` is not a SHA-256 (64 hex digits in lower case)")))
}
