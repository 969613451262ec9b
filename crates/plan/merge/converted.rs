//! Objects in the API version of the new release ([U7a]): the cluster's are converted in their text before
//! anything is merged ([`super::convert`]), and both releases' views of an object follow.
//!
//! Reported places are those before the conversion ([`Base::position`](super::cluster_objects::Base::position)).
//! Reported paths are those of the version that the object gets.
//!
//! # U7a
//!
//! If O, C and N are in different versions of one kind, all are merged in N's version:
//!
//! | | |
//! |---|---|
//! | which conversions | those of Cluster API's core, kubeadm bootstrap and kubeadm control plane, built in; of other kinds, where the definitions of both versions show the same shape ([`capstan_kustomize::conversion`]) |
//! | C | converted in its text, so that comments stay with their values |
//! | O, and N's fragments | converted alongside |
//! | C in a newer version than O, and N keeps O's version | left as it is: nothing is converted back |
//! | what holds nothing and goes in the newer version | stays where the release writes it |
//! | a field without a conversion that the cluster edited | a conflict that blocks, and `api-version-leaves-field` |
//! | kinds without conversions: a field in the shape of another version ([`super::api_versions`]) | blocks; what the cluster alone has is named and stays |
//! | variables that are not recorded | have their values from where the release's version has them ([U3](crate::substitution#u3)) |
//! | patches of a class | follow its templates in one step, else the same finding |
//! | patches of the base where the release brings none | follow where the object comes out the same, else the same finding |
//! | patches of the overlay | follow where its owner asks for it; else those that name a field of the version before are named ([U11](crate::policy#u11)) |
//! | a template that is only spelled otherwise | is not rotated ([U12](crate::templates#u12)) |
//!
//! Owner rules and paths of changes use the version that the object gets.
//!
//! [U7a]: self#u7a

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::nodes::text;
use crate::settings::FieldRule;
use capstan_kustomize::conversion::{
    AtHand, Conversion, ConversionStep, Unconvertible, apply, convert_or_all, in_order_of, is_known,
};
use capstan_kustomize::schema::Schemas;
use capstan_model::object::{FieldPath, Step, api_group};
use capstan_yaml::{EditRefused, Node, NodeKind, YamlFile};

/// How one of the base's objects came to the version in which it is merged.
#[derive(Debug)]
pub(crate) struct Converted {
    pub(crate) conversion: Conversion,
    /// The object as it is in the file.
    pub(crate) was: Node,
}

/// A file with objects that were converted.
#[derive(Debug)]
pub(crate) struct FileBefore {
    pub(crate) yaml: YamlFile,
    /// The texts of its documents that were converted.
    documents: BTreeMap<usize, String>,
}

impl FileBefore {
    /// A file, and the texts of those of its documents that were converted.
    pub(crate) const fn new(yaml: YamlFile, documents: BTreeMap<usize, String>) -> Self {
        Self { yaml, documents }
    }

    /// Whether an object of a document was converted, so that its text is another now.
    pub(super) fn is_other(&self, document: usize) -> bool {
        self.documents.contains_key(&document)
    }

    /// The file with its converted documents, but for these.
    pub(crate) fn after(&self, stay: &BTreeSet<usize>) -> Result<YamlFile, EditRefused> {
        let mut text = String::with_capacity(self.yaml.text().len() + 256);
        for (at, document) in self.yaml.documents().iter().enumerate() {
            match self.documents.get(&at).filter(|_| !stay.contains(&at)) {
                Some(converted) => text.push_str(converted),
                None => text.push_str(&self.yaml.text()[document.span.clone()]),
            }
        }
        match YamlFile::read(&text) {
            Ok(after) if after.documents().len() == self.yaml.documents().len() => Ok(after),
            _ => Err(EditRefused::of_whole("its documents cannot be joined again")),
        }
    }
}

impl Converted {
    /// The owner rules, and the same rules for the fields' paths after the conversion.
    pub(crate) fn owners(&self, rules: &[FieldRule]) -> Vec<FieldRule> {
        let mut all = Vec::with_capacity(rules.len());
        for rule in rules {
            let path = self.conversion.after(&rule.path);
            all.extend((path != rule.path).then(|| FieldRule { path, ..rule.clone() }));
            all.push(rule.clone());
        }
        all
    }
}

/// A release's view of an object, in the version in which the cluster's is merged. What a fragment leaves
/// out it has of the cluster; a field without a conversion is as if the release did not have it.
pub(crate) fn in_version_of<'n>(
    side: Cow<'n, Node>,
    cluster: &Node,
    before: Option<&str>,
    schemas: &Schemas,
) -> Cow<'n, Node> {
    let (Some(wanted), Some(kind)) = (text(cluster, "apiVersion"), text(cluster, "kind")) else {
        return side;
    };
    let Some(own) = text(&side, "apiVersion").or(before) else { return side };
    if own == wanted || api_group(own) != api_group(wanted) {
        return side;
    }
    let lent: Vec<(&str, &str)> = [("apiVersion", own), ("kind", kind)]
        .into_iter()
        .filter(|(key, _)| text(&side, key).is_none())
        .collect();
    let mut whole = side.clone().into_owned();
    if let NodeKind::Mapping(entries) = &mut whole.kind {
        let lent = Node::mapping(lent.iter().map(|(key, value)| (*key, Node::string(*value))));
        entries.extend(lent.as_mapping().into_iter().flatten().cloned());
    }
    let Some((conversion, _)) = steps_to(&whole, wanted, AtHand::Part, schemas) else { return side };
    let conversion = in_order_of(&whole, conversion);
    apply(&mut whole, &conversion);
    if let NodeKind::Mapping(entries) = &mut whole.kind {
        entries.retain(|entry| !lent.iter().any(|(key, _)| entry.key == *key));
    }
    Cow::Owned(whole)
}

/// How often an object's conversion is tried again without the fields that have no conversion. One attempt finds
/// all of them, except those that others hide.
const LOOKS: usize = 20;

/// The steps to a version, without the fields that have no conversion; `None` where the object has none.
pub(crate) fn steps_to(
    object: &Node,
    version: &str,
    mut at_hand: AtHand,
    schemas: &Schemas,
) -> Option<(Conversion, Vec<Unconvertible>)> {
    let (mut now, mut steps, mut fields) = (Cow::Borrowed(object), Vec::new(), Vec::new());
    for _ in 0..LOOKS {
        let (first, others) = match convert_or_all(&now, version, at_hand, schemas) {
            Ok(conversion) if conversion.steps.is_empty() => return None,
            Ok(conversion) => {
                steps.extend(conversion.steps);
                return Some((Conversion { steps, notes: conversion.notes }, fields));
            }
            Err(refused) => refused,
        };
        let less = if at_hand == AtHand::Whole { AtHand::Lacking } else { AtHand::Part };
        // Of other kinds definitions say no more than whether two versions are alike.
        if !is_known(&first.kind, &first.from, version) || first.field.is_root() {
            return None;
        }
        for why in [*first].into_iter().chain(others) {
            if why.value.is_none() {
                // A field that the newer version needs: the next look goes without.
                at_hand = less;
                fields.push(why);
                continue;
            }
            let at = removable(&why.field);
            if now.at(&at).is_some() {
                let without = ConversionStep::Remove { at };
                apply(now.to_mut(), &Conversion { steps: vec![without.clone()], ..Conversion::default() });
                steps.push(without);
            } else if at == why.field {
                // It went with another field.
                continue;
            }
            fields.push(why);
        }
    }
    None
}

/// The field that goes with one: no step removes an item of a list, so the list goes.
fn removable(field: &FieldPath) -> FieldPath {
    let mut at = field.clone();
    while let (Some(Step::Index(_)), Some(list)) = (at.steps().last(), at.parent()) {
        at = list;
    }
    at
}
