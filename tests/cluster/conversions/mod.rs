//! The heart's conversions against Cluster API's own: the webhooks of the running managers get the same
//! objects as a `ConversionReview`, and must give the same.
//!
//! The test calls the webhooks directly. If it wrote v1beta1 and read v1beta2, the API server and the defaulting
//! webhooks would also fill in values, which does not belong to a conversion. Before a conversion the API server prunes
//! fields that v1beta1 does not know; the test prunes them before both conversions.
//!
//! *Left out of the comparison*: `status` and `metadata.creationTimestamp` (not a file's to say; the
//! webhooks write them), an empty mapping against none (Go writes either, by how the mapping was made), and
//! how a time is written (the webhooks write UTC), and the type of a strategy, which v1beta2 requires and the webhooks
//! leave out. The annotation `cluster.x-k8s.io/conversion-data` is in no
//! object here: one that has it is refused.

#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a panic is how a test fails, and numbers and skips are said aloud"
)]

mod compare;
mod generate;
mod limits;
mod webhooks;

use std::collections::BTreeMap;

use capstan_kustomize::conversion::{self, Conversion};
use capstan_kustomize::schema::Schemas;
use capstan_test_support::random;
use capstan_yaml::{Node, YamlFile};
use serde_json::Value;

use capstan_test_parts::plane::{Parts, Plane};
use compare::{compare, fill, prune};
use webhooks::{Kind, Webhooks};

/// How many objects are made up.
const GENERATED: usize = 300;

/// How objects came out.
#[derive(Debug, Default)]
struct Tally {
    equal: usize,
    /// Refused, by what was said; and whether the webhook refused too.
    refused: BTreeMap<(String, bool), usize>,
    /// Differences, and what the webhook alone refuses.
    wrong: Vec<String>,
}

/// Converts an object, if it has a conversion; else why not.
fn convert(object: &Value, to: &str) -> Result<Value, String> {
    let mut node = Node::from_value(object);
    let converted: Conversion = conversion::convert(&node, to, Schemas::built_in()).map_err(|refused| {
        format!("{} {}: {}", refused.kind, webhooks::without_indexes(&refused.field.to_string()), refused.why)
    })?;
    conversion::apply(&mut node, &converted);
    Ok(node.value())
}

impl Tally {
    /// `object` may hold variables, which the webhook cannot read: it gets values in their place.
    fn judge(&mut self, webhooks: &Webhooks, kind: &Kind, object: &Value) {
        let to = format!("{}/v1beta2", kind.group);
        let filled = fill(object, &kind.older);
        let theirs = webhooks.convert(kind, &filled, &to);
        match (convert(object, &to), theirs) {
            (Ok(ours), Ok(theirs)) => match compare(&fill(&ours, &kind.newer), &theirs) {
                differences if differences.is_empty() => self.equal += 1,
                differences => {
                    self.wrong.push(format!("{}\n  {}\n  of {object}", kind.name, differences.join("\n  ")));
                }
            },
            (Err(why), theirs) => *self.refused.entry((why, theirs.is_err())).or_default() += 1,
            (Ok(_), Err(said)) => {
                self.wrong.push(format!("{}: the webhook says: {said}\n  of {object}", kind.name))
            }
        }
    }

    fn refused(&self) -> usize {
        self.refused.values().sum()
    }

    fn print(&self, what: &str) {
        println!(
            "{what}: {} equal, {} refused by name, {} wrong",
            self.equal,
            self.refused(),
            self.wrong.len()
        );
        for ((why, both), count) in &self.refused {
            println!("  refused {count} times{}: {why}", if *both { ", as the webhook does" } else { "" });
        }
    }
}

#[test]
fn objects_are_converted_and_refused_as_by_cluster_apis_own_webhooks_and_definitions() {
    let Some(plane) = Plane::start(Parts::Everything) else { return };
    let webhooks = Webhooks::of(&plane);
    let kinds: Vec<&Kind> = webhooks.kinds().collect();
    assert!(kinds.len() >= 15, "only {} kinds are converted by webhooks", kinds.len());

    let seed = random::seed();
    println!("seed {seed} (CAPSTAN_SEED chooses another)");
    let mut random = random::Random::new(seed);
    let mut generated = Tally::default();
    for turn in 0..GENERATED {
        let kind = kinds[turn % kinds.len()];
        generated.judge(&webhooks, kind, &generate::object(&mut random, kind));
    }
    generated.print("made up");

    let mut real = Tally::default();
    for object in real_objects() {
        if let Some(kind) = webhooks.kind_of(&object) {
            real.judge(&webhooks, kind, &prune(&object, &kind.older));
        }
    }
    real.print("real");

    let wrong: Vec<&String> = generated.wrong.iter().chain(&real.wrong).collect();
    let shown: Vec<&str> = wrong.iter().take(10).map(|text| text.as_str()).collect();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), shown.join("\n"));
    assert!(generated.refused() <= GENERATED / 10, "{} of what was made up is refused", generated.refused());
    if capstan_test_support::shared_data::folder().is_some() {
        assert!(real.equal >= 150, "only {} real objects", real.equal);
        assert!(real.refused() <= 5, "{} real objects are refused", real.refused());
    }

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(limits::are_those_of_the_api_server(&plane, &webhooks, &mut random));
}

/// Every object of Cluster API's in v1beta1 that the real manifests hold; none where they are not at hand.
fn real_objects() -> Vec<Value> {
    let files = capstan_test_support::shared_data::files("manifests").unwrap_or_default();
    let texts = files.into_iter().filter(|(path, _)| path.ends_with(".yaml") || path.ends_with(".yml"));
    let read = texts.filter_map(|(_, bytes)| YamlFile::read_bytes(&bytes).ok());
    read.flat_map(|file| file.documents().iter().map(|document| document.root.value()).collect::<Vec<_>>())
        .filter(|object| object["spec"].is_object() && object["metadata"]["name"].is_string())
        .collect()
}
