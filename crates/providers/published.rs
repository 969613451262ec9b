//! Components of one version with their metadata, as somebody published them, and what they are called where they are kept.

use std::fmt;

use capstan_model::digest::sha256;
use serde::{Deserialize, Serialize};

use super::gzip::UNPACKED_BYTES;
use super::refusal::Refusal;

/// Bytes that components may have.
pub const COMPONENTS_BYTES: usize = UNPACKED_BYTES;

/// Bytes that metadata may have.
pub const METADATA_BYTES: usize = 1 << 20;

/// Components of one version, before variables have values.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// As the provider object would write it: `v2.8.4`.
    pub version: String,
    /// `metadata.yaml`.
    pub metadata: String,
    pub components: String,
    /// Where they came from, for people.
    pub from: String,
}

impl Published {
    /// Reads what was fetched.
    ///
    /// # Errors
    /// More bytes than components have; what is not text.
    pub fn read(
        version: impl Into<String>,
        metadata: Vec<u8>,
        components: Vec<u8>,
        from: impl Into<String>,
    ) -> Result<Self, Refusal> {
        Ok(Self {
            version: version.into(),
            metadata: text("its metadata", metadata, METADATA_BYTES)?,
            components: text("its components", components, COMPONENTS_BYTES)?,
            from: from.into(),
        })
    }

    /// SHA-256 of the components, as `sha256sum` prints it of the published file.
    pub fn sha256(&self) -> String {
        sha256(&self.components)
    }
}

fn text(what: &str, bytes: Vec<u8>, most: usize) -> Result<String, Refusal> {
    if bytes.len() > most {
        let message =
            format!("{what} has {} bytes, more than the limit of {most}: use another source", bytes.len());
        return Err(Refusal::new(message));
    }
    String::from_utf8(bytes).map_err(|_| Refusal::new(format!("{what} is not UTF-8: use another source")))
}

impl fmt::Debug for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}, {} bytes", self.version, self.from, self.components.len())
    }
}
