//! A file's content as it is written out: text where it is text.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A file's content, or why it cannot be had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Content(pub(crate) Result<Arc<[u8]>, String>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Written {
    Text(String),
    Base64(String),
    Unreadable(String),
}

impl Serialize for Content {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match &self.0 {
            Ok(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Written::Text(text.to_owned()),
                Err(_) => Written::Base64(BASE64.encode(bytes)),
            },
            Err(reason) => Written::Unreadable(reason.clone()),
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(match Written::deserialize(deserializer)? {
            Written::Text(text) => Ok(text.as_bytes().into()),
            Written::Base64(text) => Ok(BASE64.decode(text).map_err(D::Error::custom)?.into()),
            Written::Unreadable(reason) => Err(reason),
        }))
    }
}
