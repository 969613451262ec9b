//! Brings a base to the API versions of the new release, in the texts of its files ([U7a]).
//!
//! [U7a]: crate::merge::converted#u7a

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::cluster_objects::{Base, BaseFile};
use super::converted::{Converted, FileBefore, steps_to};
use super::form::form_of;
use super::lists::counterpart;
use super::nodes::text;
use super::tidying::without_tidying;
use super::views::{MergeInput, Views, Work, matched, pieces_of};
use capstan_kustomize::conversion::{
    AtHand, Conversion, ConversionNote, ConversionStep, Replay, Unconvertible, apply, in_order_of,
};
use capstan_kustomize::schema::Schemas;
use capstan_model::object::{FieldPath, Step, api_group};
use capstan_model::tree::RepoPath;
use capstan_yaml::{EditRefused, Node, YamlFile, same_meaning};

/// What keeps an object from being brought to the new release's version.
#[derive(Debug)]
pub(crate) struct ConversionObstacle {
    /// Index into the base's objects.
    pub(crate) object: usize,
    pub(crate) why: NotConverted,
}

#[derive(Debug)]
pub(crate) enum NotConverted {
    /// One of its fields. The object was converted without it.
    Field(Box<Unconvertible>),
    Text(EditRefused),
}

/// What the new release has of one of the cluster's objects, where that is another version.
#[derive(Debug)]
pub(crate) struct NewerVersion {
    version: String,
    /// What the old release says of the object in the version that it has, with its variables' values; `None` where
    /// that release is unknown or says nothing of it.
    old: Option<Node>,
    /// What the new release says of it.
    release: Node,
    /// The fields that the cluster's patches say of it. There the file's silence means nothing.
    pub(crate) patched: BTreeSet<FieldPath>,
}

/// The objects that the new release has in another version.
pub(crate) fn wanted(input: &MergeInput<'_>) -> BTreeMap<usize, NewerVersion> {
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
    let mut pieces = input.new.pieces(form_of(input.base, input.old, input.new)).iter();
    if !pieces.any(|piece| is_news(&piece.root) || piece.wraps.as_ref().is_some_and(|own| is_news(&own.root)))
    {
        return BTreeMap::new();
    }
    let (bindings, old, new) = matched(input);
    let work = Work { input, bindings: &bindings, old: old.as_ref(), new: &new };
    let version = |object: usize| {
        let pieces = pieces_of(&new, object);
        let mut versions = pieces.iter().filter_map(|piece| text(&piece.root, "apiVersion"));
        let version = versions.next()?;
        let own = own(object)?;
        // Documents in several versions are an ambiguity of the release.
        let is_one = versions.all(|other| other == version);
        let is_other = is_one && own != version && api_group(own) == api_group(version);
        is_other.then(|| {
            let of_old = work.old.map(|old| pieces_of(old, object)).unwrap_or_default();
            let Views { old, new, .. } = work.views(object, &of_old, &pieces);
            let (old, release) = (old.map(Cow::into_owned), new.into_owned());
            (object, NewerVersion { version: version.to_owned(), old, release, patched: BTreeSet::new() })
        })
    };
    objects.filter_map(version).collect()
}

/// How an object is to be brought to its version.
#[derive(Debug)]
struct PlannedConversion {
    object: usize,
    conversion: Conversion,
    /// The object as it is in the file.
    was: Node,
    /// Fields without a conversion that are the cluster's own.
    fields: Vec<Unconvertible>,
}

impl PlannedConversion {
    /// `None` where the object has no conversion.
    fn new(object: usize, was: &Node, wanted: &NewerVersion, schemas: &Schemas) -> Option<Self> {
        let (mut conversion, mut fields) = steps_to(was, &wanted.version, AtHand::Whole, schemas)?;
        fields.retain(|why| why.value.is_some() || !wanted.patched.contains(&why.field));
        wanted.patches_speak(&mut conversion);
        let mut conversion = without_tidying(was, in_order_of(was, conversion), &wanted.release);
        wanted.speaks_for_silence(was, &mut conversion, schemas);
        // An unedited field comes from the release. So does a field that the cluster lacks, if the release has it.
        let is_the_releases = |field: &FieldPath| match was.at(field) {
            Some(own) => {
                let old = wanted.old.as_ref().and_then(|old| same_field(was, old, field));
                old.is_some_and(|old| same_meaning(own, old))
            }
            None => wanted.release.at(&conversion.after(field)).is_some_and(|new| !new.is_null()),
        };
        fields.retain(|why| !is_the_releases(&why.field));
        // A note about the whole object is always kept: a person has to read it.
        let is_told = |note: &ConversionNote| note.field.is_root() || !is_the_releases(&note.field);
        let notes = conversion.notes.iter().filter(|note| is_told(note)).cloned().collect();
        conversion.notes = notes;
        Some(Self { object, conversion, was: was.clone(), fields })
    }
}

impl NewerVersion {
    /// Where a patch says a field, nothing is written out for the file's silence.
    fn patches_speak(&self, conversion: &mut Conversion) {
        let is_said = |step: &ConversionStep| match step {
            ConversionStep::Add { at, value } => {
                leaves(at, value).iter().all(|leaf| self.patched.contains(leaf))
            }
            _ => false,
        };
        let (said, steps) = std::mem::take(&mut conversion.steps).into_iter().partition(is_said);
        conversion.steps = steps;
        let is_of = |note: &ConversionNote, step: &ConversionStep| matches!(step, ConversionStep::Add { at, .. } if *at == note.field);
        let said: Vec<ConversionStep> = said;
        conversion.notes.retain(|note| !said.iter().any(|step| is_of(note, step)));
    }

    /// If neither the cluster nor the old release sets a field, the older version's default does not count. The
    /// release's value comes then, as for any field that the cluster lacks.
    fn speaks_for_silence(&self, was: &Node, conversion: &mut Conversion, schemas: &Schemas) {
        let differs = |step: &ConversionStep| match step {
            ConversionStep::Add { at, value } => {
                self.release.at(at).is_some_and(|new| !new.is_null() && !same_meaning(new, value))
            }
            _ => false,
        };
        let Some(old) = self.old.as_ref().filter(|_| conversion.steps.iter().any(differs)) else { return };
        // Converted as a part, an object gets no defaults: the steps are for what is written in it.
        let as_part = |node| steps_to(node, &self.version, AtHand::Part, schemas);
        let (Some((written, _)), Some((of_old, _))) = (as_part(was), as_part(old)) else { return };
        let mut old = old.clone();
        apply(&mut old, &of_old);
        conversion.steps.retain(|step| {
            let ConversionStep::Add { at, .. } = step else { return true };
            !differs(step) || written.steps.contains(step) || old.at(at).is_some_and(|node| !node.is_null())
        });
    }
}

/// The fields of a value that have no others below them.
fn leaves(at: &FieldPath, value: &Node) -> Vec<FieldPath> {
    match value.as_mapping() {
        Some(entries) if !entries.is_empty() => {
            entries.iter().flat_map(|entry| leaves(&at.key(&entry.key), &entry.value)).collect()
        }
        _ => vec![at.clone()],
    }
}

/// The same field of another state of an object, whose lists may have their items in other places.
fn same_field<'n>(own: &Node, other: &'n Node, field: &FieldPath) -> Option<&'n Node> {
    let both = field.steps().iter().try_fold((own, other), |(own, other), step| {
        let there = match step {
            Step::Index(_) => counterpart(own.as_sequence()?, own.step(step)?, other.as_sequence()?)?,
            Step::Key(_) | Step::New => other.step(step)?,
        };
        Some((own.step(step)?, there))
    });
    both.map(|(_, other)| other)
}

impl Base {
    /// Brings objects to these versions, in the texts of their files. What has no conversion stays as it is.
    pub(crate) fn convert(
        &mut self,
        wanted: BTreeMap<usize, NewerVersion>,
        schemas: &Schemas,
    ) -> Vec<ConversionObstacle> {
        let mut obstacles = Vec::new();
        let mut documents: BTreeMap<(usize, usize), Vec<PlannedConversion>> = BTreeMap::new();
        for (object, wanted) in wanted {
            let place = &self.objects[object];
            let planned = PlannedConversion::new(object, self.node(object), &wanted, schemas);
            documents.entry((place.file, place.document)).or_default().extend(planned);
        }
        let mut texts: BTreeMap<usize, BTreeMap<usize, String>> = BTreeMap::new();
        for ((file, document), planned) in documents.into_iter().filter(|(_, planned)| !planned.is_empty()) {
            let (text, done) = self.replayed(file, document, planned, &mut obstacles);
            if !done.is_empty() {
                texts.entry(file).or_default().insert(document, text);
            }
            for PlannedConversion { object, conversion, was, fields } in done {
                obstacles.extend(
                    fields
                        .into_iter()
                        .map(|why| ConversionObstacle { object, why: NotConverted::Field(Box::new(why)) }),
                );
                self.converted.insert(object, Converted { conversion, was });
            }
        }
        for (file, documents) in texts {
            let Err(refused) = self.files[file].put_together(documents) else { continue };
            let objects = &self.objects;
            for (object, _) in self.converted.extract_if(.., |object, _| objects[*object].file == file) {
                obstacles.push(ConversionObstacle { object, why: NotConverted::Text(refused.clone()) });
            }
        }
        obstacles
    }

    /// Gives documents of a file that has no objects of the base other texts.
    pub(crate) fn rewrite(
        &mut self,
        path: &RepoPath,
        documents: BTreeMap<usize, String>,
    ) -> Result<(), EditRefused> {
        let is_it = |file: &&mut BaseFile| file.path == *path && file.before.is_none();
        self.files.iter_mut().find(is_it).map_or(Ok(()), |file| file.put_together(documents))
    }

    /// A document's text with its objects converted, all at once, else those that can be; and which these are.
    fn replayed(
        &self,
        file: usize,
        document: usize,
        planned: Vec<PlannedConversion>,
        obstacles: &mut Vec<ConversionObstacle>,
    ) -> (String, Vec<PlannedConversion>) {
        let yaml = &self.files[file].yaml;
        let mut now = match alone(&yaml.text()[yaml.documents()[document].span.clone()]) {
            Ok(own) => own,
            Err(refused) => {
                let of = |planned: &PlannedConversion| ConversionObstacle {
                    object: planned.object,
                    why: NotConverted::Text(refused.clone()),
                };
                obstacles.extend(planned.iter().map(of));
                return (String::new(), Vec::new());
            }
        };
        let mut replay = Replay::default();
        let place = |planned: &PlannedConversion| &self.objects[planned.object].path;
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
                Err(refused) => obstacles
                    .push(ConversionObstacle { object: planned.object, why: NotConverted::Text(refused) }),
            }
        }
        (now.text().to_owned(), done)
    }
}

impl BaseFile {
    /// Gives these documents other texts.
    fn put_together(&mut self, documents: BTreeMap<usize, String>) -> Result<(), EditRefused> {
        let before = FileBefore::new(self.yaml.clone(), documents);
        self.yaml = before.after(&BTreeSet::new())?;
        self.before = Some(before);
        Ok(())
    }
}

/// A document's text as a file.
pub(crate) fn alone(text: &str) -> Result<YamlFile, EditRefused> {
    match YamlFile::read(text) {
        Ok(file) if file.documents().len() == 1 => Ok(file),
        _ => Err(EditRefused::of_whole("the document cannot be read without the others of its file")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Node {
        YamlFile::read(text).unwrap().documents()[0].root.clone()
    }

    #[test]
    fn items_of_lists_are_compared_with_those_of_their_names_or_their_likes() {
        for (own, other, field, expected) in [
            (
                "{l: [{name: b, v: 1}, {name: a, v: 2}]}",
                "{l: [{name: a, v: 3}, {name: b, v: 4}]}",
                "/l/0/v",
                Some(4),
            ),
            ("{l: [{name: b, v: 1}, {name: a, v: 2}]}", "{l: [{name: a, v: 3}]}", "/l/0/v", None),
            ("{l: [{v: 1}, {v: 2}]}", "{l: [{v: 2}]}", "/l/1/v", Some(2)),
            // Another item of the same place is another item.
            ("{l: [{v: 1, w: 1}]}", "{l: [{v: 1, w: 2}]}", "/l/0/v", None),
            ("{l: {v: 1}}", "{l: {v: 5}}", "/l/v", Some(5)),
        ] {
            let (own, other, field) = (read(own), read(other), FieldPath::parse(field).unwrap());
            let found = same_field(&own, &other, &field).and_then(|node| node.value().as_i64());
            assert_eq!(found, expected, "{field}");
        }
    }

    #[test]
    fn what_the_newer_version_needs_is_looked_for_where_the_release_has_it() {
        let was = read(
            "{apiVersion: infrastructure.cluster.x-k8s.io/v1alpha7, kind: OpenStackCluster, metadata: {name: c}, spec: {cloudName: c, identityRef: {kind: Secret, name: n}, bastion: {enabled: true, instance: {image: i}}}}",
        );
        let needed = |flavor: &str| {
            let release = format!(
                "{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: OpenStackCluster, metadata: {{name: c}}, spec: {{bastion: {{spec: {{{flavor}image: {{filter: {{name: i}}}}}}}}}}}}"
            );
            let version = "infrastructure.cluster.x-k8s.io/v1beta2".to_owned();
            let wanted = NewerVersion {
                version,
                old: Some(was.clone()),
                release: read(&release),
                patched: BTreeSet::new(),
            };
            let planned = PlannedConversion::new(0, &was, &wanted, Schemas::built_in()).unwrap();
            planned.fields.iter().map(|why| why.field.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(needed(""), ["/spec/bastion/instance/flavor"]);
        assert_eq!(needed("flavor: {id: f}, "), [""; 0]);
    }
}
