//! Every row of the providers' tables, by example: each expected object and message was written by hand from the
//! providers' own conversions.

mod accounted;
mod clouds;
mod fuzzed;
mod hetzner;
mod k0smotron;
mod metal3;
mod openstack;
mod others;
mod proxmox;
mod rke2;
mod samples;
mod silence;
mod traps;
mod vsphere;

use crate::conversion::{AtHand, ConversionNote};
use crate::conversion::{Unconvertible, apply, convert_or_all};
use crate::schema::Schemas;
use capstan_yaml::{Node, Value, YamlFile};

/// How many objects at random are made of a kind: `CAPSTAN_OBJECTS`, else as many as the test says.
fn objects_of_a_kind(otherwise: usize) -> usize {
    std::env::var("CAPSTAN_OBJECTS").ok().and_then(|count| count.parse().ok()).unwrap_or(otherwise)
}

fn read(text: &str) -> Node {
    YamlFile::read(text).unwrap_or_else(|why| panic!("{why:?}: {text}")).documents()[0].root.clone()
}

/// A kind, its group and the versions of a case.
struct Case {
    kind: &'static str,
    group: &'static str,
    versions: (&'static str, &'static str),
}

type Converted = Result<(Value, Vec<ConversionNote>), Vec<Unconvertible>>;

impl Case {
    /// An object whose value at a place (`spec.template.spec`) is given.
    fn object(&self, place: &str, version: &str, value: &str) -> Node {
        let inner = place.rsplit('.').fold(read(value), |node, key| Node::mapping([(key, node)]));
        let text = |text: &str| Node::string(text);
        let mut object = read("{metadata: {name: x, namespace: ns}}");
        let own = Node::mapping([
            ("apiVersion", text(&format!("{}/{version}", self.group))),
            ("kind", text(self.kind)),
        ]);
        for part in [own, inner] {
            if let (capstan_yaml::NodeKind::Mapping(all), capstan_yaml::NodeKind::Mapping(more)) =
                (&mut object.kind, part.kind)
            {
                all.extend(more);
            }
        }
        object
    }

    fn convert(&self, place: &str, value: &str, at_hand: AtHand) -> Converted {
        let object = self.object(place, self.versions.0, value);
        let to = format!("{}/{}", self.group, self.versions.1);
        match convert_or_all(&object, &to, at_hand, Schemas::built_in()) {
            Ok(conversion) => {
                let mut after = object.clone();
                apply(&mut after, &conversion);
                Ok((after.value(), conversion.notes))
            }
            Err((first, others)) => Err([*first].into_iter().chain(others).collect()),
        }
    }

    /// The values before and after, below a place: written, and nothing to be said.
    #[track_caller]
    fn written(&self, place: &str, rows: &[(&str, &str)]) {
        for (before, after) in rows {
            let (value, notes) =
                self.convert(place, before, AtHand::Whole).unwrap_or_else(|why| panic!("{before}: {why:?}"));
            let wanted = self.object(place, self.versions.1, after).value();
            assert_eq!(value, wanted, "{before}");
            assert!(notes.is_empty(), "{before}: {notes:?}");
        }
    }

    /// The same, and the fields of which something is said.
    #[track_caller]
    fn said(&self, place: &str, rows: &[(&str, &str, &[&str])]) {
        for (before, after, fields) in rows {
            let (value, notes) =
                self.convert(place, before, AtHand::Whole).unwrap_or_else(|why| panic!("{before}: {why:?}"));
            let wanted = self.object(place, self.versions.1, after).value();
            assert_eq!(value, wanted, "{before}");
            let noted: Vec<String> = notes.iter().map(|note| note.field.to_string()).collect();
            assert_eq!(noted, *fields, "{before}: {notes:?}");
        }
    }

    /// The values, and the field that is refused by name.
    #[track_caller]
    fn refused(&self, place: &str, rows: &[(&str, &str)]) {
        self.stopped(place, rows, false);
    }

    /// The values, and the field of which a person is asked.
    #[track_caller]
    fn asked(&self, place: &str, rows: &[(&str, &str)]) {
        self.stopped(place, rows, true);
    }

    #[track_caller]
    fn stopped(&self, place: &str, rows: &[(&str, &str)], asks: bool) {
        for (value, field) in rows {
            let refused =
                self.convert(place, value, AtHand::Whole).err().unwrap_or_else(|| panic!("{value}"));
            let found: Vec<(String, bool)> =
                refused.iter().map(|why| (why.field.to_string(), why.asks)).collect();
            assert_eq!(found, [((*field).to_owned(), asks)], "{value}: {refused:?}");
        }
    }
}
