//! Objects in the API version of the new release ([U7a]): the cluster's are converted in their text before
//! anything is merged, and both releases' views of an object follow.
//!
//! Whoever reports a place gets the one before ([`Base::position`]); paths are those of the version that
//! the object comes to.
//!
//! # U7a
//!
//! Where O, C and N stand in different versions of one kind, all are merged in N's version:
//!
//! | | |
//! |---|---|
//! | which conversions | those of Cluster API's core, kubeadm bootstrap and kubeadm control plane, built in; of other kinds, where the definitions of both versions show the same shape ([`capstan_kustomize::conversion`]) |
//! | C | converted in its text, so that comments stay with their values |
//! | O, and N's fragments | converted alongside |
//! | C in a newer version than O, which N goes on with | left as it is: nothing goes back |
//! | what holds nothing and goes in the newer version | stays where the release writes it |
//! | a field without a conversion that the cluster edited | a conflict that blocks, and `api-version-leaves-field` |
//! | kinds without conversions: a field in the shape of another version ([`super::api_versions`]) | blocks; what the cluster alone has is named and stays |
//! | patches of the overlay that name a field of the version before | the same finding; the overlay is not written ([U11](crate::policy#u11)) |
//! | a template that is only spelled otherwise | is not rotated ([U12](crate::templates#u12)) |
//!
//! Owner rules and paths of changes speak of the version that the object comes to.
//!
//! [U7a]: self#u7a

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::cluster_objects::Base;
use super::form::Form;
use super::objects::{MergeInput, matched, pieces_of};
use super::source::{Piece, text};
use super::tidying::without_tidying;
use crate::settings::FieldRule;
use capstan_kustomize::conversion::{
    Conversion, ConversionStep, Replay, Unconvertible, apply, convert_or_all, in_order_of,
};
use capstan_kustomize::schema::{Fields, Schemas};
use capstan_model::object::api_group;
use capstan_yaml::{EditRefused, Node, NodeKind, YamlFile, same_meaning};

/// How one of the base's objects came to the version in which it is merged.
#[derive(Debug)]
pub(crate) struct Converted {
    pub(crate) conversion: Conversion,
    /// The object as it stands in the file.
    pub(crate) was: Node,
}

/// What keeps an object from being brought to the new release's version.
#[derive(Debug)]
pub(crate) struct Obstacle {
    /// Index into the base's objects.
    pub(crate) object: usize,
    pub(crate) why: Why,
}

#[derive(Debug)]
pub(crate) enum Why {
    /// One of its fields. The object was converted without it.
    Field(Box<Unconvertible>),
    /// Its text.
    Text(EditRefused),
}

/// A file with objects that were converted.
#[derive(Debug)]
pub(crate) struct FileBefore {
    pub(crate) yaml: YamlFile,
    /// The texts of its documents that were converted.
    documents: BTreeMap<usize, String>,
}

/// What the new release has of one of the cluster's objects, where that is another version.
#[derive(Debug)]
pub(crate) struct Wanted {
    version: String,
    /// What the old release says of the object, and the new one.
    old: Vec<Node>,
    release: Vec<Node>,
}

/// The objects that the new release has in another version.
pub(crate) fn wanted(input: &MergeInput<'_>) -> BTreeMap<usize, Wanted> {
    let own = |object: usize| text(input.base.node(object), "apiVersion");
    let objects = 0..input.base.kustomizations.start;
    let known: BTreeSet<(&str, &str)> =
        objects.clone().filter_map(|at| Some((input.base.objects[at].id.kind.as_str(), own(at)?))).collect();
    let kinds: BTreeSet<&str> = known.iter().map(|(kind, _)| *kind).collect();
    let is_news = |root: &Node| {
        let (Some(kind), Some(version)) = (text(root, "kind"), text(root, "apiVersion")) else {
            return false;
        };
        kinds.contains(kind) && !known.contains(&(kind, version))
            || known.iter().any(|(other, own)| *other == kind && *own != version)
    };
    let mut pieces = input.new.pieces(Form::of(input.base, input.old, input.new)).iter();
    if !pieces.any(|piece| is_news(&piece.root) || piece.wraps.as_ref().is_some_and(|own| is_news(&own.root)))
    {
        return BTreeMap::new();
    }
    let (_, old, new) = matched(input);
    let version = |object: usize| {
        let pieces = pieces_of(&new, object);
        let mut versions = pieces.iter().filter_map(|piece| text(&piece.root, "apiVersion"));
        let version = versions.next()?;
        let own = own(object)?;
        // Documents in several versions are an ambiguity of the release.
        let is_one = versions.all(|other| other == version);
        let is_other = is_one && own != version && api_group(own) == api_group(version);
        let roots = |pieces: &[&Piece]| pieces.iter().map(|piece| piece.root.clone()).collect();
        let old = || old.as_ref().map(|old| roots(&pieces_of(old, object))).unwrap_or_default();
        is_other
            .then(|| (object, Wanted { version: version.to_owned(), old: old(), release: roots(&pieces) }))
    };
    objects.filter_map(version).collect()
}

/// How an object is to be brought to its version.
#[derive(Debug)]
struct Planned {
    object: usize,
    conversion: Conversion,
    /// The object as it stands in the file.
    was: Node,
    /// Fields without a conversion that are the cluster's own.
    fields: Vec<Unconvertible>,
}

impl Planned {
    /// `None` where the object has no conversion.
    fn new(object: usize, was: &Node, wanted: &Wanted, schemas: &Schemas) -> Option<Self> {
        let (conversion, mut fields) = steps_to(was, &wanted.version, schemas)?;
        let conversion = without_tidying(was, in_order_of(was, conversion), &wanted.release);
        // What nobody edited is the release's to say anew.
        fields.retain(|why| {
            let (own, mut theirs) = (was.at(&why.field), wanted.old.iter());
            !theirs.any(|old| own.zip(old.at(&why.field)).is_some_and(|(own, old)| same_meaning(own, old)))
        });
        Some(Self { object, conversion, was: was.clone(), fields })
    }
}

impl Base {
    /// Brings objects to these versions, in the texts of their files. What has no conversion stays as it is.
    pub(crate) fn convert(&mut self, wanted: BTreeMap<usize, Wanted>, schemas: &Schemas) -> Vec<Obstacle> {
        let mut obstacles = Vec::new();
        let mut documents: BTreeMap<(usize, usize), Vec<Planned>> = BTreeMap::new();
        for (object, wanted) in wanted {
            let place = &self.objects[object];
            let planned = Planned::new(object, self.node(object), &wanted, schemas);
            documents.entry((place.file, place.document)).or_default().extend(planned);
        }
        let mut texts: BTreeMap<usize, BTreeMap<usize, String>> = BTreeMap::new();
        for ((file, document), planned) in documents.into_iter().filter(|(_, planned)| !planned.is_empty()) {
            let (text, done) = self.replayed(file, document, planned, &mut obstacles);
            if !done.is_empty() {
                texts.entry(file).or_default().insert(document, text);
            }
            for Planned { object, conversion, was, fields } in done {
                obstacles.extend(
                    fields.into_iter().map(|why| Obstacle { object, why: Why::Field(Box::new(why)) }),
                );
                self.converted.insert(object, Converted { conversion, was });
            }
        }
        for (file, documents) in texts {
            self.put_together(file, documents, &mut obstacles);
        }
        obstacles
    }

    /// A document's text with its objects converted, all at once, else those that can be; and which these are.
    fn replayed(
        &self,
        file: usize,
        document: usize,
        planned: Vec<Planned>,
        obstacles: &mut Vec<Obstacle>,
    ) -> (String, Vec<Planned>) {
        let yaml = &self.files[file].yaml;
        let mut now = match alone(&yaml.text()[yaml.documents()[document].span.clone()]) {
            Ok(own) => own,
            Err(refused) => {
                let of =
                    |planned: &Planned| Obstacle { object: planned.object, why: Why::Text(refused.clone()) };
                obstacles.extend(planned.iter().map(of));
                return (String::new(), Vec::new());
            }
        };
        let mut replay = Replay::default();
        let place = |planned: &Planned| &self.objects[planned.object].path;
        let all: Vec<_> = planned.iter().map(|planned| (place(planned), &planned.conversion)).collect();
        if let Ok(together) = replay.objects(&now, &all) {
            return (together.text().to_owned(), planned);
        }
        let mut done = Vec::new();
        for planned in planned {
            match replay.objects(&now, &[(place(&planned), &planned.conversion)]) {
                Ok(after) => {
                    now = after;
                    done.push(planned);
                }
                Err(refused) => obstacles.push(Obstacle { object: planned.object, why: Why::Text(refused) }),
            }
        }
        (now.text().to_owned(), done)
    }

    /// A file with these documents converted.
    fn put_together(
        &mut self,
        file: usize,
        documents: BTreeMap<usize, String>,
        obstacles: &mut Vec<Obstacle>,
    ) {
        let before = FileBefore { yaml: self.files[file].yaml.clone(), documents };
        if let Some(after) = before.after(&BTreeSet::new()) {
            self.files[file].yaml = after;
            self.files[file].before = Some(before);
            return;
        }
        let of_file: Vec<usize> =
            self.converted.keys().copied().filter(|at| self.objects[*at].file == file).collect();
        for object in of_file {
            self.converted.remove(&object);
            let refused = EditRefused::of_whole("its documents cannot be put together again");
            obstacles.push(Obstacle { object, why: Why::Text(refused) });
        }
    }

    /// A file as it stands in the repository.
    pub(crate) fn text_before(&self, file: usize) -> &YamlFile {
        let file = &self.files[file];
        file.before.as_ref().map_or(&file.yaml, |before| &before.yaml)
    }

    /// A file to edit, in which these objects stay in the version that they have: none but those alone in
    /// their documents can.
    pub(crate) fn to_edit(&self, file: usize, left: &BTreeSet<usize>) -> YamlFile {
        let own = &self.files[file];
        let stay: BTreeSet<usize> = left
            .iter()
            .map(|object| &self.objects[*object])
            .filter(|place| place.file == file && place.path.is_root())
            .map(|place| place.document)
            .collect();
        let again = own.before.as_ref().filter(|_| !stay.is_empty()).and_then(|before| before.after(&stay));
        again.unwrap_or_else(|| own.yaml.clone())
    }

    /// The spec that an object had when it got its name.
    pub(crate) fn spec_as_named(&self, object: usize) -> Option<&Node> {
        let was = self.converted.get(&object).map(|converted| &converted.was);
        was.unwrap_or_else(|| self.node(object)).get("spec")
    }

    /// The API version that an object has in the repository.
    pub(crate) fn version_before(&self, object: usize) -> Option<&str> {
        let was = self.converted.get(&object).map(|converted| &converted.was);
        text(was.unwrap_or_else(|| self.node(object)), "apiVersion")
    }
}

impl FileBefore {
    /// Whether an object of a document was converted, so that its text is another now.
    pub(super) fn is_other(&self, document: usize) -> bool {
        self.documents.contains_key(&document)
    }

    /// The file with its converted documents, but for these.
    fn after(&self, stay: &BTreeSet<usize>) -> Option<YamlFile> {
        let mut text = String::with_capacity(self.yaml.text().len() + 256);
        for (at, document) in self.yaml.documents().iter().enumerate() {
            match self.documents.get(&at).filter(|_| !stay.contains(&at)) {
                Some(converted) => text.push_str(converted),
                None => text.push_str(self.yaml.text().get(document.span.clone())?),
            }
        }
        let after = YamlFile::read(&text).ok()?;
        (after.documents().len() == self.yaml.documents().len()).then_some(after)
    }
}

impl Converted {
    /// The owner rules, also for where the fields that they speak of stand now.
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
    let Some((conversion, _)) = steps_to(&whole, wanted, schemas) else { return side };
    let conversion = in_order_of(&whole, conversion);
    apply(&mut whole, &conversion);
    if let NodeKind::Mapping(entries) = &mut whole.kind {
        entries.retain(|entry| !lent.iter().any(|(key, _)| entry.key == *key));
    }
    Cow::Owned(whole)
}

/// How often an object is looked at again without the fields that stood in the way. One look shows all but
/// those that others hid.
const LOOKS: usize = 20;

/// The steps to a version, without the fields that have no conversion; `None` where the object has none.
pub(crate) fn steps_to(
    object: &Node,
    version: &str,
    schemas: &Schemas,
) -> Option<(Conversion, Vec<Unconvertible>)> {
    let (mut now, mut steps, mut fields) = (Cow::Borrowed(object), Vec::new(), Vec::new());
    for _ in 0..LOOKS {
        let (first, others) = match convert_or_all(&now, version, schemas) {
            Ok(conversion) if conversion.steps.is_empty() => return None,
            Ok(conversion) => {
                steps.extend(conversion.steps);
                return Some((Conversion { steps }, fields));
            }
            Err(refused) => refused,
        };
        // Of other kinds definitions say no more than whether two versions are alike.
        let is_own = Fields::of(&first.kind, &format!("{}/v1beta1", api_group(version))).is_some();
        if !is_own || first.field.is_root() || now.at(&first.field).is_none() {
            return None;
        }
        for why in [*first].into_iter().chain(others) {
            let without = ConversionStep::Remove { at: why.field.clone() };
            if now.at(&why.field).is_none() {
                // It went with another field.
                continue;
            }
            apply(now.to_mut(), &Conversion { steps: vec![without.clone()] });
            if now.at(&why.field).is_some() {
                return None;
            }
            steps.push(without);
            fields.push(why);
        }
    }
    None
}

/// A document's text as a file.
fn alone(text: &str) -> Result<YamlFile, EditRefused> {
    match YamlFile::read(text) {
        Ok(file) if file.documents().len() == 1 => Ok(file),
        _ => Err(EditRefused::of_whole("the document cannot be read without the others of its file")),
    }
}
