//! Lists and texts that are refused where they are longer than they may be.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

/// Reads a text of at most `N` bytes.
pub(super) fn text<'de, D, const N: usize>(deserializer: D) -> Result<String, D::Error>
where
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    if text.len() > N {
        return Err(D::Error::invalid_length(text.len(), &"a shorter text"));
    }
    Ok(text)
}

/// Reads a SHA-256: 64 lowercase hex digits.
pub(super) fn sha256<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    let is_one = text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_one.then_some(text).ok_or_else(|| D::Error::custom("a SHA-256 is 64 lowercase hex digits"))
}

/// The same as [`text`] where there may be none.
pub(super) fn optional_text<'de, D, const N: usize>(deserializer: D) -> Result<Option<String>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = Option::<String>::deserialize(deserializer)?;
    match text {
        Some(text) if text.len() > N => Err(D::Error::invalid_length(text.len(), &"a shorter text")),
        text => Ok(text),
    }
}

/// Reads a list of at most `N` items; stops reading at the first that is too many.
pub(super) fn at_most<'de, D, T, const N: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    struct Items<T, const N: usize>(PhantomData<T>);

    impl<'de, T: Deserialize<'de>, const N: usize> Visitor<'de> for Items<T, N> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "a list of at most {N} items")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
            let mut list = Vec::new();
            while let Some(item) = items.next_element()? {
                if list.len() == N {
                    return Err(A::Error::invalid_length(N + 1, &self));
                }
                list.push(item);
            }
            Ok(list)
        }
    }

    deserializer.deserialize_seq(Items::<T, N>(PhantomData))
}

/// The same of a list that may be absent.
pub(super) fn maybe_at_most<'de, D, T, const N: usize>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    at_most::<D, T, N>(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Sent {
        #[serde(default, deserialize_with = "text::<_, 3>")]
        _name: String,
        #[serde(default, deserialize_with = "optional_text::<_, 3>")]
        _reason: Option<String>,
        #[serde(default, deserialize_with = "at_most::<_, _, 3>")]
        _files: Vec<u8>,
    }

    #[test]
    fn what_the_other_side_sends_is_read_at_each_bound_and_refused_beyond() {
        let read =
            |json: &str| serde_json::from_str::<Sent>(json).map(drop).map_err(|error| error.to_string());
        for (at, beyond, told) in [
            (r#"{"_name": "abc"}"#, r#"{"_name": "abcd"}"#, "invalid length 4, expected a shorter text"),
            (r#"{"_reason": "abc"}"#, r#"{"_reason": "abcd"}"#, "invalid length 4, expected a shorter text"),
            (
                r#"{"_files": [1, 2, 3]}"#,
                r#"{"_files": [1, 2, 3, 4]}"#,
                "invalid length 4, expected a list of at most 3 items",
            ),
        ] {
            assert_eq!(read(at), Ok(()), "{at}");
            let error = read(beyond).unwrap_err();
            assert!(error.starts_with(told), "{error}");
        }
    }
}
