//! The steps from one API version to another, from whatever knows the kind.

use super::apply::{Did, apply_step};
use super::refusal::{ConversionRefusal, Refusals, Unconvertible};
use super::step::{AtHand, Conversion, ConversionNote, ConversionStep};
use super::{cluster_api, definitions, judge, older, operator, providers, tidy};
use crate::schema::{Schemas, TypeFields};
use capstan_model::kinds::is_provider;
use capstan_model::object::{FieldPath, api_group};
use capstan_yaml::Node;

/// Whether a conversion of this kind is built in, so that fields which prevent it are known by name.
pub fn is_known(kind: &str, from: &str, to: &str) -> bool {
    let group = api_group(to);
    TypeFields::of(kind, &format!("{group}/v1beta1")).is_some()
        || providers::way(group, kind, version(from), version(to)).is_some()
}

/// The steps that bring a whole `object` to `to_api_version` (`group/version`). `schemas` decide for kinds of which
/// no conversion is built in.
///
/// # Errors
/// The first of the fields that prevent it.
pub fn convert(
    object: &Node,
    to_api_version: &str,
    schemas: &Schemas,
) -> Result<Conversion, Box<Unconvertible>> {
    convert_or_all(object, to_api_version, AtHand::Whole, schemas).map_err(|(first, _)| first)
}

/// The same, and where there is no conversion also the other fields that prevent it, as far as one look at
/// the object shows them.
pub fn convert_or_all(
    object: &Node,
    to_api_version: &str,
    at_hand: AtHand,
    schemas: &Schemas,
) -> Result<Conversion, (Box<Unconvertible>, Vec<Unconvertible>)> {
    let text = |key: &str| object.text_at(key).unwrap_or_default();
    let (kind, from) = (text("kind"), text("apiVersion"));
    if from == to_api_version {
        return Ok(Conversion::default());
    }
    let of = |refusal: ConversionRefusal| {
        let ConversionRefusal { field, value, why, advice, asks } = refusal;
        let (kind, from, to) = (kind.to_owned(), from.to_owned(), to_api_version.to_owned());
        Unconvertible { kind, from, to, field, value, why, advice, asks }
    };
    steps(object, kind, (from, to_api_version), at_hand, schemas)
        .map_err(|Refusals { first, others }| (Box::new(of(*first)), others.into_iter().map(of).collect()))
}

fn steps(
    object: &Node,
    kind: &str,
    (from, to): (&str, &str),
    at_hand: AtHand,
    schemas: &Schemas,
) -> Result<Conversion, Refusals> {
    let group = api_group(from);
    if group != api_group(to) || group.is_empty() {
        return Err(ConversionRefusal::whole(
            "these are not two versions of one API group",
            "write the object again in the other group",
        )
        .into());
    }
    let mut done = ConversionSteps { object: object.clone(), steps: Vec::new(), notes: Vec::new() };
    let named = ConversionStep::Replace { at: FieldPath::root().key("apiVersion"), value: Node::string(to) };
    done.all([named]);
    if is_provider(group, kind) {
        done.all(operator::steps(object, version(from), version(to))?);
        return Ok(done.conversion());
    }
    let own = |version: &str| TypeFields::of(kind, &format!("{group}/{version}"));
    let (Some((name, beta1)), Some((_, beta2))) = (own("v1beta1"), own("v1beta2")) else {
        if let Some(data) = object.at(&kept_data()) {
            return Err(ConversionRefusal::new(
                kept_data(),
                data,
                "this annotation is the server's own note of values that another version cannot hold",
                "remove the annotation, which has no place in a file",
            )
            .into());
        }
        if let Some(way) = providers::way(group, kind, version(from), version(to)) {
            let (steps, notes) = providers::steps(&done.object, kind, &way, at_hand)?;
            done.all(steps);
            done.notes = notes;
        } else {
            done.all(definitions::same_shape(object, kind, from, to, schemas)?);
        }
        let (steps, notes) = judge::judge((object, &done.object), &done.steps, at_hand, schemas)?;
        done.all(steps);
        done.notes.extend(notes);
        return Ok(done.conversion());
    };
    let is_older = matches!(version(from), "v1alpha3" | "v1alpha4") || from == older::IPAM;
    match (version(from), version(to)) {
        ("v1beta1", "v1beta2") => {}
        (_, "v1beta1" | "v1beta2") if is_older => {
            done.all(older::steps(&done.object, kind));
            older::known(&done.object, name, beta1)?;
            if to.ends_with("v1beta1") {
                return Ok(done.conversion());
            }
        }
        ("v1beta1" | "v1beta2", "v1alpha3" | "v1alpha4" | "v1beta1") => {
            return Err(ConversionRefusal::whole(
                "a conversion to an older version needs facts that only the server knows, such as the versions of references",
                "convert the object to that version by hand, or stay at the newer one",
            )
            .into());
        }
        _ => {
            return Err(ConversionRefusal::whole(
                "no conversion between these versions is known",
                "convert the object to that version by hand",
            )
            .into());
        }
    }
    done.all(cluster_api::steps(&done.object, name, (beta1, beta2), at_hand)?);
    done.all(tidy::tidy(&done.object, name, beta2, at_hand));
    Ok(done.conversion())
}

/// Where servers keep what a version cannot hold.
fn kept_data() -> FieldPath {
    FieldPath::of_keys(["metadata", "annotations", "cluster.x-k8s.io/conversion-data"])
}

pub(super) fn version(api_version: &str) -> &str {
    api_version.split_once('/').map_or(api_version, |(_, version)| version)
}

/// Steps, and the object after them. Steps that find nothing to do are left out.
struct ConversionSteps {
    object: Node,
    steps: Vec<ConversionStep>,
    notes: Vec<ConversionNote>,
}

impl ConversionSteps {
    fn conversion(self) -> Conversion {
        Conversion { steps: self.steps, notes: self.notes }
    }

    fn all(&mut self, steps: impl IntoIterator<Item = ConversionStep>) {
        for step in steps {
            if apply_step(&mut self.object, &step) == Did::Something {
                self.steps.push(step);
            }
        }
    }
}
