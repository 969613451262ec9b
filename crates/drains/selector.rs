//! Label selectors of Kubernetes, and an index that finds the pods of one without reading all pods.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Labels of an object.
pub type Labels = BTreeMap<String, String>;

/// Which objects are selected, by their labels. An empty selector selects all.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Selector {
    pub match_labels: Labels,
    pub match_expressions: Vec<Expression>,
}

/// A condition on one label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Expression {
    pub key: String,
    pub operator: Operator,
    #[serde(default)]
    pub values: Vec<String>,
}

/// `Gt` and `Lt` are valid for nodes alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    Gt,
    Lt,
    /// Any other word: the API server refuses it in most kinds.
    #[serde(other)]
    Other,
}

impl Selector {
    pub fn matches(&self, labels: &Labels) -> bool {
        self.match_labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.match_expressions.iter().all(|one| one.matches(labels.get(&one.key)))
    }

    /// Whether Kubernetes accepts it as a label selector.
    pub fn is_valid(&self) -> bool {
        self.match_expressions.iter().all(|one| match one.operator {
            Operator::In | Operator::NotIn => !one.values.is_empty(),
            Operator::Exists | Operator::DoesNotExist => one.values.is_empty(),
            Operator::Gt | Operator::Lt | Operator::Other => false,
        })
    }

    /// A label that every selected object has.
    fn required(&self) -> Option<(&str, &str)> {
        let by_expression = || {
            let one = self.match_expressions.iter().find(|one| one.operator == Operator::In)?;
            let [value] = one.values.as_slice() else { return None };
            Some((one.key.as_str(), value.as_str()))
        };
        self.match_labels
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .next_back()
            .or_else(by_expression)
    }
}

impl Expression {
    /// Whether the value of its key meets it.
    pub fn matches(&self, value: Option<&String>) -> bool {
        let number = |text: &String| text.parse::<i64>().ok();
        let compared = || Some(number(value?)?.cmp(&number(self.values.first()?)?));
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt => compared().is_some_and(std::cmp::Ordering::is_gt),
            Operator::Lt => compared().is_some_and(std::cmp::Ordering::is_lt),
            Operator::Other => false,
        }
    }
}

/// Labelled objects of namespaces, by their numbers.
pub struct LabelIndex<'a> {
    labels: Vec<&'a Labels>,
    namespaces: BTreeMap<&'a str, Vec<u32>>,
    values: BTreeMap<(&'a str, &'a str, &'a str), Vec<u32>>,
}

impl<'a> LabelIndex<'a> {
    pub fn new(objects: impl Iterator<Item = (&'a str, &'a Labels)>) -> Self {
        let mut index = Self { labels: Vec::new(), namespaces: BTreeMap::new(), values: BTreeMap::new() };
        for (number, (namespace, labels)) in (0..).zip(objects) {
            index.labels.push(labels);
            index.namespaces.entry(namespace).or_default().push(number);
            for (key, value) in labels {
                index.values.entry((namespace, key, value)).or_default().push(number);
            }
        }
        index
    }

    /// The objects of a namespace that a selector selects, in order.
    pub fn select(&self, namespace: &str, selector: &Selector) -> Vec<u32> {
        let list = match selector.required() {
            Some((key, value)) => self.values.get(&(namespace, key, value)),
            None => self.namespaces.get(namespace),
        };
        let numbers = list.into_iter().flatten().copied();
        numbers
            .filter(|number| self.labels.get(index(*number)).is_some_and(|one| selector.matches(one)))
            .collect()
    }

    pub fn namespaces(&self) -> impl Iterator<Item = &'a str> {
        self.namespaces.keys().copied()
    }
}

/// A number of 32 bits as an index: no platform of Capstan has smaller ones.
pub fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// An index as a number of 32 bits. A cluster has fewer pods than that.
pub fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
