//! Which of the cluster's objects a release's piece speaks of ([U2]).
//!
//! # U2
//!
//! An object is known by API group, kind, namespace and name, never by its API version or its file. A piece of
//! a release speaks of the cluster's object of its group and kind, first that fits:
//!
//! | piece | speaks of |
//! |---|---|
//! | template, bootstrap config or class that others name | the object that the cluster's owner names in the same place, in a field or by a value |
//! | with a name | the object of that name, variables bound, a suffix of rotation left out; else the one whose name is equal after the cluster's name |
//! | kind without a name | the only object of that kind; of several the one in the file of the same name |
//! | no kind | the objects of the file of the same name; of several those that have such a field |
//! | Cluster API's kind that nothing above fits | the only object of that kind, where the release too has only one of it and no other piece speaks of that |
//!
//! | else | becomes |
//! |---|---|
//! | several objects are left, or several documents of a release are one object, differ, and changed | `ambiguous-match` (error): nothing is changed for it, and the upgrade blocks |
//! | none, a whole object | an object that the cluster lacks ([U4](super::objects#u4)) |
//! | none, a fragment | `unmatched-fragment` (warning) |
//! | the release drops a kind and brings another in its place | a remove and an add, said as `kind-changed` ([`super::kinds`]) |
//! | the release changes the API version | a change of the object ([U7a](super::converted#u7a)) |
//!
//! Of objects of one name in several namespaces, the namespace tells. A new object without a namespace gets that
//! of the cluster's `Cluster`, else the one that all its objects share; one that names the namespace of the
//! release's own `Cluster` gets the cluster's. A namespace that a release adds or
//! changes is a placeholder and only said, or means another object and blocks (`namespace-changed`,
//! [`super::namespaces`]).
//!
//! [U2]: self#u2

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::cluster_objects::Base;
use super::learning::{self, Lesson};
use super::matched::{Matched, Target};
use super::piece::{Form, ReleasePiece, Shape};
use super::source::ReleaseSource;
use super::twins::part_by_namespace;
use crate::substitution::{
    Bindings, BoundValue, Substitution, SubstitutionExtent, SubstitutionScope, TextToken, budget, tokens,
};
use crate::templates::{NamingValue, base_name, naming_values, references, renamed};
use capstan_kustomize::schema::Schemas;
use capstan_model::kinds::{KindRole, role, role_of_fragment};
use capstan_model::object::{FieldPath, ObjectId};
use capstan_yaml::{Node, NodeKind};

/// Matches all pieces. Binds the cluster's name on the way, which names depend on.
pub(crate) fn match_source<'a>(
    source: &'a ReleaseSource,
    form: Form,
    base: &Base,
    bindings: &mut Bindings,
) -> Matched<'a> {
    let part_of_objects = |piece: &&ReleasePiece| !piece.patch || !base.has_kustomization();
    let pieces: Vec<&ReleasePiece> = source.pieces(form).iter().filter(part_of_objects).collect();
    let own_cluster = base.cluster();
    let release_cluster = pieces
        .iter()
        .map(|piece| in_effect(piece, base, None))
        .find(|piece| is_cluster(piece))
        .and_then(|piece| Some((piece, piece.name.as_deref()?)));
    if let (Some(own), Some((_, name))) = (own_cluster, release_cluster) {
        bindings.unify(&source.variables, name, name_of(base, own), &budget());
    }
    let scope = SubstitutionScope { own: &source.variables, bindings, substitution: Substitution::FULL };
    let renamed = release_cluster.zip(own_cluster).and_then(|((_, name), own)| {
        let name = scope.text(name);
        (name != own.name && !name.contains("${") && !own.name.contains("${"))
            .then(|| (name, own.name.clone()))
    });
    let moved = release_cluster.zip(own_cluster).and_then(|((piece, _), own)| {
        let namespace = scope.text(piece.namespace.as_deref()?);
        let own = own.namespace.clone()?;
        (namespace != own && !namespace.contains("${")).then_some((namespace, own))
    });
    let pieces: Vec<&ReleasePiece> =
        pieces.into_iter().map(|piece| in_effect(piece, base, renamed.as_ref())).collect();
    let mut matcher = Matcher {
        base,
        scope,
        pieces: &pieces,
        renamed: renamed.as_ref(),
        targets: vec![None; pieces.len()],
    };
    matcher.run();
    let mut targets: Vec<Target> =
        matcher.targets.into_iter().map(|target| target.unwrap_or(Target::Absent)).collect();
    part_by_namespace(base, scope, &pieces, moved.as_ref(), &mut targets);
    let mut names = HashMap::new();
    for (piece, target) in pieces.iter().zip(&targets) {
        if let (Some(kind), Some(name), Target::Objects(found)) = (&piece.kind, &piece.name, target)
            && let [object] = found.as_slice()
        {
            names.insert((kind.as_str(), name.as_str()), base.objects[*object].id.name.clone());
        }
    }
    let of_object = by_object(&pieces, &targets);
    Matched { source, form, pieces, targets, of_object, names, renamed, moved }
}

fn by_object<'a>(pieces: &[&'a ReleasePiece], targets: &[Target]) -> HashMap<usize, Vec<&'a ReleasePiece>> {
    let mut of_object: HashMap<usize, Vec<&ReleasePiece>> = HashMap::new();
    for (piece, target) in pieces.iter().zip(targets) {
        let Target::Objects(found) = target else { continue };
        let found: BTreeSet<&usize> = found.iter().collect();
        found.into_iter().for_each(|object| of_object.entry(*object).or_default().push(piece));
    }
    for pieces in of_object.values_mut() {
        pieces.sort_by_key(|piece| piece.shape == Shape::Partial);
    }
    of_object
}

/// The name of one of the base's objects, with its place.
fn name_of(base: &Base, id: &ObjectId) -> BoundValue {
    let object = base.objects.iter().position(|object| object.id == *id).unwrap_or_default();
    let path = FieldPath::root().key("metadata").key("name");
    let node = base.objects.get(object).and_then(|_| base.node(object).at(&path));
    let at = node.map_or(0, |node| base.offset_before(object, node.span.start));
    BoundValue { value: id.name.clone(), object, path, at }
}

fn is_cluster(piece: &ReleasePiece) -> bool {
    role_of_piece(piece) == Some(KindRole::Cluster)
}

fn is_class(piece: &ReleasePiece) -> bool {
    role_of_piece(piece) == Some(KindRole::Class)
}

fn role_of_piece(piece: &ReleasePiece) -> Option<KindRole> {
    piece.group.as_deref().zip(piece.kind.as_deref()).and_then(|(group, kind)| role(group, kind))
}

/// A ConfigMap itself where the cluster has it; else what it wraps. `renamed` are the release's own name for its
/// cluster, and the cluster's.
fn in_effect<'a>(
    piece: &'a ReleasePiece,
    base: &Base,
    renamed: Option<&(String, String)>,
) -> &'a ReleasePiece {
    let is_named = |name: &str, own: &str| {
        let after_cluster_name = |(release, cluster): &(String, String)| {
            name.strip_prefix(release.as_str()).is_some_and(|rest| own.strip_prefix(cluster) == Some(rest))
        };
        fits_pattern(name, own) || renamed.is_some_and(after_cluster_name)
    };
    let has = |piece: &ReleasePiece| {
        base.objects.iter().any(|object| {
            piece.kind.as_deref() == Some(object.id.kind.as_str())
                && piece.group.as_deref() == Some(object.id.group.as_str())
                && piece.name.as_deref().is_some_and(|name| is_named(name, &object.id.name))
        })
    };
    if let Some(wrapper) = &piece.wrapper {
        return if has(wrapper) || keeps_wrappers(base, piece) { wrapper } else { piece };
    }
    let Some(inner) = &piece.wraps else { return piece };
    let has_such = |fragment: &ReleasePiece| {
        base.objects.iter().any(|object| {
            fragment.kind.as_deref() == Some(object.id.kind.as_str())
                && fragment.group.as_deref().is_none_or(|group| group == object.id.group)
        })
    };
    if inner.shape == Shape::Partial {
        return if !has(piece) && has_such(inner) { inner } else { piece };
    }
    if !has(piece) && has(inner) { inner } else { piece }
}

/// Whether the cluster has, in the file that fields without a kind would speak of, ConfigMaps and nothing else: then
/// it keeps such ConfigMaps as they are, and this is another of them.
fn keeps_wrappers(base: &Base, fields: &ReleasePiece) -> bool {
    let in_file = |at: &usize| same_file(&base.file_of(*at).below, &fields.file);
    let mut kept = (0..base.objects.len()).filter(in_file).map(|at| &base.objects[at].id).peekable();
    fields.kind.is_none()
        && kept.peek().is_some()
        && kept.all(|id| id.kind == "ConfigMap" && id.group.is_empty())
}

/// Whether a text could be this pattern with its variables filled in (none of them empty).
fn fits_pattern(pattern: &str, text: &str) -> bool {
    fits_tokens(&tokens(pattern), text)
}

fn fits_tokens(parts: &[TextToken<'_>], text: &str) -> bool {
    match parts {
        [] => text.is_empty(),
        [TextToken::Text(literal) | TextToken::Escaped(literal), rest @ ..] => {
            text.strip_prefix(literal).is_some_and(|after| fits_tokens(rest, after))
        }
        [TextToken::Variable(_) | TextToken::Malformed(_), rest @ ..] => {
            text.char_indices().map(|(at, c)| at + c.len_utf8()).any(|end| fits_tokens(rest, &text[end..]))
        }
    }
}

struct Matcher<'m> {
    base: &'m Base,
    scope: SubstitutionScope<'m>,
    pieces: &'m [&'m ReleasePiece],
    renamed: Option<&'m (String, String)>,
    targets: Vec<Option<Target>>,
}

impl Matcher<'_> {
    fn run(&mut self) {
        let (templates, owners): (Vec<usize>, Vec<usize>) =
            (0..self.pieces.len()).partition(|at| goes_by_owner(self.pieces[*at]));
        for at in &owners {
            self.targets[*at] = self.by_name(*at);
        }
        // Also an owner that the release calls otherwise now leads to its templates.
        for at in &owners {
            if self.targets[*at].is_none() {
                self.targets[*at] = Some(self.sole(*at));
            }
        }
        // Templates after their owners, which may themselves be templates: a class, its control plane's, the machines'
        // that this names, their data.
        for _ in 0..4 {
            for at in &templates {
                if self.targets[*at].is_none() {
                    self.targets[*at] = self.by_owner(*at);
                }
            }
        }
        for at in &templates {
            if self.targets[*at].is_none() {
                self.targets[*at] = self.by_name(*at);
            }
        }
        for at in &templates {
            if self.targets[*at].is_none() {
                self.targets[*at] = Some(self.sole(*at));
            }
        }
    }

    /// The objects of the piece's group and kind.
    fn candidates(&self, piece: &ReleasePiece) -> Vec<usize> {
        (0..self.base.objects.len())
            .filter(|at| {
                let id = &self.base.objects[*at].id;
                piece.kind.as_ref() == Some(&id.kind)
                    && piece.group.as_ref().is_none_or(|group| *group == id.group)
            })
            .collect()
    }

    /// `None` where the name decides nothing.
    fn by_name(&self, at: usize) -> Option<Target> {
        let piece = self.pieces[at];
        if piece.kind.is_none() {
            return Some(self.by_file(piece));
        }
        let candidates = self.candidates(piece);
        let Some(name) = &piece.name else {
            return Some(match candidates.as_slice() {
                [] => Target::Absent,
                [_] => Target::Objects(candidates),
                _ => self.narrowed(piece, candidates),
            });
        };
        let bound = self.scope.text(name);
        let is_exact = |at: &usize| self.reads_alike(name, &bound, &self.base.objects[*at].id.name);
        let exact: Vec<usize> = candidates.iter().copied().filter(is_exact).collect();
        let fits = if exact.is_empty() {
            candidates.into_iter().filter(|at| self.fits(&bound, *at)).collect()
        } else {
            exact
        };
        match fits.as_slice() {
            [] => None,
            [_] => Some(Target::Objects(fits)),
            _ => Some(self.by_namespace(piece, fits)),
        }
    }

    /// Whether a release's text, as written and with its variables bound, is the cluster's: also where
    /// that is still a template.
    fn reads_alike(&self, release: &str, bound: &str, cluster: &str) -> bool {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        bound == cluster
            || (cluster.contains('$') && {
                let substitution =
                    Substitution { extent: SubstitutionExtent::OwnOnly, ..self.scope.substitution };
                SubstitutionScope { substitution, ..self.scope }.text(release) == cluster
                    || SubstitutionScope { own: &NONE, ..self.scope }.text(cluster) == bound
            })
    }

    fn fits(&self, bound: &str, object: usize) -> bool {
        let own = &self.base.objects[object].id.name;
        let base = match self.base.spec_as_named(object) {
            Some(spec) if own.rsplit_once('-').is_some_and(|(_, end)| end.len() == 8) => {
                base_name(own, &spec.value()).to_owned()
            }
            _ => own.clone(),
        };
        let after_cluster_name = |(release, cluster): &(String, String)| {
            let rest = bound.strip_prefix(release.as_str());
            rest.is_some() && rest == base.strip_prefix(cluster.as_str())
        };
        bound == base
            || (bound.contains("${") && fits_pattern(bound, &base))
            || self.renamed.is_some_and(after_cluster_name)
    }

    fn by_namespace(&self, piece: &ReleasePiece, fits: Vec<usize>) -> Target {
        let Some(namespace) = &piece.namespace else { return Target::Ambiguous(fits) };
        let bound = self.scope.text(namespace);
        let same = |at: &usize| {
            let own = self.base.objects[*at].id.namespace.as_deref();
            own.is_some_and(|own| self.reads_alike(namespace, &bound, own))
        };
        let narrowed: Vec<usize> = fits.iter().copied().filter(same).collect();
        if narrowed.len() == 1 { Target::Objects(narrowed) } else { Target::Ambiguous(fits) }
    }

    /// A kind without a name, of which there are several: the one in the file of the same name.
    fn narrowed(&self, piece: &ReleasePiece, candidates: Vec<usize>) -> Target {
        let in_file: Vec<usize> = candidates
            .iter()
            .copied()
            .filter(|at| same_file(&self.base.file_of(*at).below, &piece.file))
            .collect();
        if in_file.len() == 1 { Target::Objects(in_file) } else { Target::Ambiguous(candidates) }
    }

    /// Fields alone: the objects of the file of the same name; of several those that have such fields.
    fn by_file(&self, piece: &ReleasePiece) -> Target {
        let objects = 0..self.base.objects.len();
        let in_file: Vec<usize> =
            objects.filter(|at| same_file(&self.base.file_of(*at).below, &piece.file)).collect();
        match in_file.as_slice() {
            [] => Target::Absent,
            [_] => Target::Objects(in_file),
            _ => {
                let having: Vec<usize> = in_file
                    .iter()
                    .copied()
                    .filter(|at| shares_a_field(&piece.root, self.base.node(*at)))
                    .collect();
                if having.is_empty() { Target::Ambiguous(in_file) } else { Target::Objects(having) }
            }
        }
    }

    /// The object that the cluster's owner names where the release's owner names this piece.
    fn by_owner(&self, at: usize) -> Option<Target> {
        let piece = self.pieces[at];
        let (kind, name) = (piece.kind.as_deref()?, piece.name.as_deref()?);
        let mut found: Vec<usize> = Vec::new();
        for (owner, target) in self.pieces.iter().zip(&self.targets) {
            let Some(Target::Objects(objects)) = target else { continue };
            let (Some(group), Some(owner_kind)) = (&owner.group, &owner.kind) else { continue };
            let named: Vec<_> = references(group, owner_kind, &owner.root)
                .into_iter()
                .filter(|reference| reference.kind == kind && reference.name == name)
                .collect();
            for object in self.named_by_value(piece, owner, objects) {
                if !found.contains(&object) {
                    found.push(object);
                }
            }
            if named.is_empty() {
                continue;
            }
            for object in objects {
                let own = references(group, owner_kind, self.base.node(*object));
                for reference in &named {
                    // v1beta1 and v1beta2 name the same thing at different paths: the order is the same.
                    let mine = own.iter().find(|mine| mine.path == reference.path).or_else(|| {
                        let mut same_kind = own.iter().filter(|mine| mine.kind == kind);
                        let first = same_kind.next();
                        first.filter(|_| same_kind.next().is_none())
                    });
                    let Some(mine) = mine.filter(|mine| mine.kind == kind) else { continue };
                    let is_named = |at: &usize| self.base.objects[*at].id.name == mine.name;
                    let mut named: Vec<usize> = self.candidates(piece).into_iter().filter(is_named).collect();
                    // An owner names what is in its own namespace.
                    let namespace = |at: usize| &self.base.objects[at].id.namespace;
                    if named.len() > 1 && named.iter().any(|at| namespace(*at) == namespace(*object)) {
                        named.retain(|at| namespace(*at) == namespace(*object));
                    }
                    named.retain(|at| !found.contains(at));
                    found.extend(named);
                }
            }
        }
        match found.as_slice() {
            [] => None,
            // A Cluster with a class of its own does not change what the release's class is.
            [object] if is_class(piece) && !self.fits(&self.scope.text(name), *object) => {
                let is_own = !self.is_anothers(at, *object);
                self.by_name(at).or(is_own.then_some(Target::Objects(found)))
            }
            [object] => (!self.is_anothers(at, *object)).then_some(Target::Objects(found)),
            _ => {
                let bound = self.scope.text(name);
                let fitting: Vec<usize> = found.iter().copied().filter(|at| self.fits(&bound, *at)).collect();
                Some(if fitting.len() == 1 { Target::Objects(fitting) } else { Target::Ambiguous(found) })
            }
        }
    }

    /// The objects that values of the cluster's owner name where a value of the release's owner names this piece, or
    /// that are called so and named anywhere.
    fn named_by_value(&self, piece: &ReleasePiece, owner: &ReleasePiece, objects: &[usize]) -> Vec<usize> {
        let (Some(group), Some(kind), Some(name)) = (&owner.group, &owner.kind, &piece.name) else {
            return Vec::new();
        };
        let names_it = |value: &NamingValue<'_>| {
            value.kind.is_none_or(|kind| piece.kind.as_deref() == Some(kind))
                && renamed(value.text, name, "x").is_some()
        };
        let values: Vec<_> = naming_values(group, kind, &owner.root).into_iter().filter(names_it).collect();
        if values.is_empty() {
            return Vec::new();
        }
        let (bound, candidates) = (self.scope.text(name), self.candidates(piece));
        let own = objects.iter().flat_map(|object| naming_values(group, kind, self.base.node(*object)));
        let own: Vec<_> = own.collect();
        let is_named = |at: &usize| {
            let is_place = |path: &FieldPath| values.iter().any(|value| value.path == *path);
            own.iter().any(|mine| {
                mine.means(&self.base.objects[*at].id) && (is_place(&mine.path) || self.fits(&bound, *at))
            })
        };
        candidates.into_iter().filter(is_named).collect()
    }

    /// Whether an object bears the name of another piece and not this one's: a release that brings a
    /// second template and lets the owner name it does not rename the first.
    fn is_anothers(&self, at: usize, object: usize) -> bool {
        let names_it = |piece: &ReleasePiece| {
            piece.name.as_deref().is_some_and(|name| self.fits(&self.scope.text(name), object))
        };
        let (own, rest) = (self.pieces[at], self.pieces.iter().enumerate());
        let rivals = rest.filter(|(other, piece)| {
            *other != at && piece.kind == own.kind && piece.group == own.group && piece.shape == Shape::Whole
        });
        !names_it(own) && rivals.map(|(_, piece)| piece).any(|piece| names_it(piece))
    }

    /// The only piece of its kind speaks of the only object of its kind, whatever the names. Only for
    /// Cluster API's own kinds: a ConfigMap is not another because there is one of each.
    fn sole(&self, at: usize) -> Target {
        let piece = self.pieces[at];
        let own_kind = piece
            .group
            .as_deref()
            .is_none_or(|group| group == "cluster.x-k8s.io" || group.ends_with(".cluster.x-k8s.io"));
        let candidates = self.candidates(piece);
        let rivals =
            self.pieces.iter().filter(|other| other.kind == piece.kind && other.group == piece.group).count();
        let taken = |object: &usize| {
            self.targets
                .iter()
                .flatten()
                .any(|target| matches!(target, Target::Objects(found) if found.contains(object)))
        };
        match candidates.as_slice() {
            [object] if own_kind && rivals == 1 && !taken(object) => Target::Objects(candidates),
            _ if piece.shape == Shape::Partial && candidates.len() > 1 => Target::Ambiguous(candidates),
            _ => Target::Absent,
        }
    }
}

/// Templates, bootstrap configs and classes: their names change with every rotation, their owners' do not.
fn goes_by_owner(piece: &ReleasePiece) -> bool {
    piece.name.is_some()
        && piece.kind.as_deref().is_some_and(|kind| {
            matches!(
                role_of_fragment(piece.group.as_deref(), kind),
                Some(
                    KindRole::Template | KindRole::DataTemplate | KindRole::BootstrapConfig | KindRole::Class
                )
            )
        })
}

fn same_file(one: &str, other: &str) -> bool {
    let bare = |path: &str| {
        path.strip_suffix(".yaml").or_else(|| path.strip_suffix(".yml")).unwrap_or(path).to_owned()
    };
    bare(one) == bare(other)
}

/// Whether some leaf of the fragment exists in the object.
fn shares_a_field(fragment: &Node, object: &Node) -> bool {
    match (&fragment.kind, &object.kind) {
        (NodeKind::Mapping(entries), NodeKind::Mapping(_)) => entries
            .iter()
            .any(|entry| object.get(&entry.key).is_some_and(|below| shares_a_field(&entry.value, below))),
        _ => true,
    }
}

/// Matches all pieces of the release that the cluster comes from, and learns from what they matched what the
/// variables are: names that could not be bound before may be then.
pub(crate) fn match_and_learn<'a>(
    source: &'a ReleaseSource,
    form: Form,
    base: &Base,
    schemas: &Schemas,
    bindings: &mut Bindings,
) -> Matched<'a> {
    let matched = match_source(source, form, base, bindings);
    bind(&matched, base, schemas, bindings);
    let is_templated = source.pieces(form).iter().any(|piece| piece.templated);
    if is_templated { match_source(source, form, base, bindings) } else { matched }
}

/// Variables of both sources, bound by what they matched.
pub(crate) fn bind(matched: &Matched<'_>, base: &Base, schemas: &Schemas, bindings: &mut Bindings) {
    let budget = budget();
    for (piece, target) in matched.pieces.iter().zip(&matched.targets) {
        if let (true, Target::Objects(objects)) = (piece.templated, target) {
            for object in objects {
                let lesson =
                    Lesson { own: &matched.source.variables, base, object: *object, budget: &budget };
                learning::learn(bindings, lesson, &piece.root, schemas);
            }
        }
    }
}
