//! CustomResourceDefinitions compared: versions that come and go, fields that are gone or take less.
