//! A conversion as a list of steps, and of how much of an object it is.

use capstan_model::object::FieldPath;
use capstan_yaml::Node;

/// The steps that bring an object from its API version to another one, in order.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversion {
    /// The steps; none where the object has that version already.
    pub steps: Vec<ConversionStep>,
    /// What a plan must say of them: where silence or a default means another thing in the newer version.
    pub notes: Vec<ConversionNote>,
}

/// What a plan says of a field that a conversion wrote or took out.
#[derive(Debug, Clone, PartialEq)]
pub struct ConversionNote {
    /// Where the field was; where it comes, of one that was not there. The root where the note is about the object.
    pub field: FieldPath,
    /// Why, without a full stop.
    pub text: String,
}

/// One step. Mappings that a step leaves empty go with it; those that it needs are made.
#[derive(Debug, Clone, PartialEq)]
pub enum ConversionStep {
    /// A value goes elsewhere as it is. Where both parents are one mapping, the field is renamed.
    Move {
        /// Its field before.
        from: FieldPath,
        /// Its new place, which is empty.
        to: FieldPath,
    },
    /// A value has another spelling in place.
    Replace {
        /// Its field before.
        at: FieldPath,
        /// How it is spelled from now on.
        value: Node,
    },
    /// A mapping becomes a list of its entries.
    Itemize {
        /// Its field before.
        at: FieldPath,
        /// The list.
        value: Node,
        /// Which fields of an item come from an entry.
        item: ItemFields,
    },
    /// A value goes, since the version has no place for it and it means nothing.
    Remove {
        /// Its field before.
        at: FieldPath,
    },
    /// A value comes.
    Add {
        /// Its new place, which is empty.
        at: FieldPath,
        /// What.
        value: Node,
    },
}

/// Which fields of an item come from an entry of the mapping before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ItemFields {
    /// The one with the entry's key.
    pub name: &'static str,
    /// The one with its value; `None` where the value's own fields are the item's.
    pub value: Option<&'static str>,
}

impl ItemFields {
    /// Arguments of Kubernetes' programs.
    pub(super) const ARGUMENT: Self = Self { name: "name", value: Some("value") };
}

/// How much of an object is at hand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtHand {
    /// All of it: what is absent is absent in the cluster.
    Whole,
    /// All of it but for what the newer version requires, which comes from elsewhere.
    Lacking,
    /// A part, such as a patch or a release's fragment: what is absent may be elsewhere.
    Part,
}
