//! A release's piece as one cluster sees it: variables substituted, names and references the
//! cluster's own.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::matched::Matched;
use super::nodes::{add_namespace, remove, set_text};
use super::piece::{ReleasePiece, provider_components};
use super::tidying::without_refused_empties;
use crate::substitution::{
    Bindings, Flux, Substitution, SubstitutionExtent, SubstitutionScope, expressions, expressions_of_fields,
    unescaped,
};
use crate::templates::{naming_values, references};
use capstan_model::kinds::is_template_name;
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::{Node, NodeKind};

/// How variables are substituted for an object: one that still holds some expression of the release's is
/// a template itself.
pub(crate) fn substitution(pieces: &[&ReleasePiece], cluster: &Node) -> Substitution {
    if !pieces.iter().any(|piece| piece.templated) {
        return Substitution::FULL;
    }
    let passes_over =
        crate::flux::passes_over(cluster) || pieces.iter().any(|piece| crate::flux::passes_over(&piece.root));
    let flux = if passes_over { Flux::PassesOver } else { Flux::Substitutes };
    let (mut theirs, mut own) = (BTreeSet::new(), BTreeSet::new());
    if crate::substitution::is_templated(cluster) {
        pieces.iter().for_each(|piece| expressions_of_fields(&piece.root, &mut theirs));
        if theirs.is_empty() {
            // Only scripts and the like tell then.
            pieces.iter().for_each(|piece| expressions(&piece.root, &mut theirs));
            expressions(cluster, &mut own);
        } else {
            expressions_of_fields(cluster, &mut own);
        }
        // A text that the release escapes looks like an expression in a cluster that was made from it. It does not
        // count as one, unless the cluster escapes such texts, too.
        let (mut escaped, mut kept) = (BTreeSet::new(), BTreeSet::new());
        pieces.iter().for_each(|piece| unescaped(&piece.root, &mut escaped));
        if !escaped.is_empty() {
            unescaped(cluster, &mut kept);
            own.retain(|expression| !kept.is_empty() || !escaped.contains(expression));
        }
    }
    let extent =
        if theirs.is_disjoint(&own) { SubstitutionExtent::Full } else { SubstitutionExtent::OwnOnly };
    Substitution { extent, flux }
}

impl<'a> Matched<'a> {
    pub(crate) fn scope<'s>(
        &'s self,
        bindings: &'s Bindings,
        substitution: Substitution,
    ) -> SubstitutionScope<'s> {
        SubstitutionScope { own: &self.source.variables, bindings, substitution }
    }

    /// The piece as it concerns an object that the cluster has.
    pub(crate) fn prepared(
        &self,
        piece: &'a ReleasePiece,
        scope: SubstitutionScope<'_>,
        own: &ObjectId,
    ) -> Cow<'a, Node> {
        let mut node = self.substituted(piece, scope);
        let set = |node: &mut Cow<'a, Node>, path: &FieldPath, text: &str| {
            let scalar = node.at(path).and_then(Node::as_scalar);
            if scalar.is_some_and(|scalar| scalar.text != text) {
                set_text(node.to_mut(), path.steps(), text);
            }
        };
        let metadata = FieldPath::root().key("metadata");
        set(&mut node, &metadata.key("name"), &own.name);
        match &own.namespace {
            Some(namespace) => set(&mut node, &metadata.key("namespace"), namespace),
            None if node.at(&metadata.key("namespace")).is_some() => {
                remove(node.to_mut(), metadata.key("namespace").steps());
            }
            None => {}
        }
        without_refused_empties(node)
    }

    /// The piece as an object that the cluster lacks.
    pub(crate) fn instantiated(
        &self,
        piece: &'a ReleasePiece,
        scope: SubstitutionScope<'_>,
        namespace: Option<&str>,
    ) -> Cow<'a, Node> {
        let mut node = self.substituted(piece, scope);
        let name = FieldPath::root().key("metadata").key("name");
        if let Some(renamed) =
            node.at(&name).and_then(Node::as_scalar).and_then(|old| self.renamed_text(&old.text))
        {
            set_text(node.to_mut(), name.steps(), &renamed);
        }
        let place = FieldPath::root().key("metadata").key("namespace");
        match node.at(&place).and_then(Node::as_scalar).map(|scalar| scalar.text.clone()) {
            Some(text) => {
                if let Some((_, own)) = self.moved.as_ref().filter(|(release, _)| *release == text) {
                    set_text(node.to_mut(), place.steps(), own);
                }
            }
            None => {
                if let Some(namespace) = namespace {
                    add_namespace(&mut node, namespace);
                }
            }
        }
        node
    }

    fn substituted(&self, piece: &'a ReleasePiece, scope: SubstitutionScope<'_>) -> Cow<'a, Node> {
        let mut node =
            if piece.templated { Cow::Owned(scope.node(&piece.root)) } else { Cow::Borrowed(&piece.root) };
        if let (Cow::Owned(node), Some(path)) = (&mut node, provider_components(&piece.root))
            && let Some(text) = piece.root.at(&path).and_then(Node::as_str)
        {
            set_text(node, path.steps(), text);
        }
        let (Some(group), Some(kind)) = (&piece.group, &piece.kind) else { return node };
        // References to matched objects follow the cluster's names for them, so that a rotated name
        // equals its base name.
        for reference in references(group, kind, &piece.root) {
            let mapped = self.names.get(&(reference.kind, reference.name)).cloned();
            let name = mapped.or_else(|| self.renamed_text(&scope.text(reference.name)));
            if let Some(name) = name
                && node
                    .at(&reference.path)
                    .and_then(Node::as_scalar)
                    .is_some_and(|scalar| scalar.text != name)
            {
                set_text(node.to_mut(), reference.path.steps(), &name);
            }
        }
        // Values that name templates likewise, but for those that could name several.
        for value in naming_values(group, kind, &piece.root) {
            let mut named = self.names.iter().filter(|((kind, name), _)| {
                let is_kind = value.kind.is_none_or(|wanted| wanted == *kind);
                is_template_name(kind) && *name == value.text && is_kind
            });
            let own = match (named.next(), named.next()) {
                (Some((_, own)), None) => own,
                _ => continue,
            };
            if node.at(&value.path).and_then(Node::as_scalar).is_some_and(|scalar| scalar.text != *own) {
                set_text(node.to_mut(), value.path.steps(), own);
            }
        }
        if self.renamed.is_some() || self.moved.is_some() {
            let mut paths = Vec::new();
            self.owner_names(&node, &FieldPath::root(), &mut paths);
            for (path, text) in paths {
                set_text(node.to_mut(), path.steps(), &text);
            }
        }
        node
    }

    /// A name that begins with the release's own cluster name, with the cluster's instead.
    pub(crate) fn renamed_text(&self, text: &str) -> Option<String> {
        let (release, own) = self.renamed.as_ref()?;
        let rest = text.strip_prefix(release.as_str())?;
        (rest.is_empty() || rest.starts_with('-')).then(|| format!("{own}{rest}"))
    }

    /// Fields that name the cluster itself or its namespace.
    fn owner_names(&self, node: &Node, path: &FieldPath, found: &mut Vec<(FieldPath, String)>) {
        let replacement = |pair: &Option<(String, String)>, text: &str| {
            pair.as_ref().filter(|(release, _)| release == text).map(|(_, own)| own.clone())
        };
        match &node.kind {
            NodeKind::Mapping(entries) => {
                for entry in entries {
                    let below = path.key(&entry.key);
                    let pair = match entry.key.as_str() {
                        "clusterName" | "cluster.x-k8s.io/cluster-name" => &self.renamed,
                        "namespace" => &self.moved,
                        _ => &None,
                    };
                    match entry.value.as_scalar().and_then(|scalar| replacement(pair, &scalar.text)) {
                        Some(text) => found.push((below, text)),
                        None => self.owner_names(&entry.value, &below, found),
                    }
                }
            }
            NodeKind::Sequence(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(at, item)| self.owner_names(item, &path.index(at), found));
            }
            NodeKind::Scalar(_) => {}
        }
    }
}
