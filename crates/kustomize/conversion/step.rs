//! A conversion as a list of steps.

use capstan_model::object::FieldPath;
use capstan_yaml::Node;

/// What brings an object from the API version in which it stands to another one, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversion {
    /// The steps; none where the object stands in that version already.
    pub steps: Vec<ConversionStep>,
}

/// One step. Mappings that a step leaves empty go with it; those that it needs are made.
#[derive(Debug, Clone, PartialEq)]
pub enum ConversionStep {
    /// A value goes elsewhere as it is. Where both parents are one mapping, the field is renamed.
    Move {
        /// Where it stands.
        from: FieldPath,
        /// Where it goes; nothing stands there.
        to: FieldPath,
    },
    /// A value has another spelling in place.
    Replace {
        /// Where it stands.
        at: FieldPath,
        /// How it is spelled from now on.
        value: Node,
    },
    /// A value goes, since the version has no place for it and it means nothing.
    Remove {
        /// Where it stands.
        at: FieldPath,
    },
    /// A value comes.
    Add {
        /// Where it goes; nothing stands there.
        at: FieldPath,
        /// What.
        value: Node,
    },
}
