//! Label selectors as objects hold them: `matchLabels` and `matchExpressions`.

use std::collections::BTreeMap;

use super::fields::FieldReader;
use super::refusal::Refusal;

/// What labels must be; one without any part means everything, as in Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ProviderSelector {
    labels: BTreeMap<String, String>,
    expressions: Vec<SelectorRequirement>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SelectorRequirement {
    key: String,
    operator: SelectorOperator,
    values: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SelectorOperator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

/// The fields of a selector.
pub(crate) const FIELDS: &[&str] = &["matchLabels", "matchExpressions"];

pub(crate) const EXPRESSION_FIELDS: &[&str] = &["key", "operator", "values"];

impl ProviderSelector {
    /// What labels must be, expressions aside.
    pub(crate) fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.labels.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Labels with these values.
    pub(crate) fn of(labels: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let labels = labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Self { labels, expressions: Vec::new() }
    }

    /// Reads a selector.
    pub(crate) fn read(fields: &FieldReader<'_>) -> Result<Self, Refusal> {
        let labels = fields.text_map("matchLabels")?.unwrap_or_default();
        let mut expressions = Vec::new();
        for (at, item) in fields.items("matchExpressions")?.unwrap_or_default().iter().enumerate() {
            let path = format!("{}[{at}]", fields.path_of("matchExpressions"));
            let item = FieldReader::of(item, path, EXPRESSION_FIELDS)?;
            let operator = match item.wanted_text("operator")?.as_str() {
                "In" => SelectorOperator::In,
                "NotIn" => SelectorOperator::NotIn,
                "Exists" => SelectorOperator::Exists,
                "DoesNotExist" => SelectorOperator::DoesNotExist,
                _ => {
                    return Err(item.refuse("operator", "must be `In`, `NotIn`, `Exists` or `DoesNotExist`"));
                }
            };
            let values = item.texts("values")?.unwrap_or_default();
            if matches!(operator, SelectorOperator::In | SelectorOperator::NotIn) == values.is_empty() {
                return Err(item.refuse(
                    "values",
                    "needs values for `In` and `NotIn`, and no values for the others: correct it",
                ));
            }
            expressions.push(SelectorRequirement { key: item.wanted_text("key")?, operator, values });
        }
        Ok(Self { labels, expressions })
    }

    /// Whether labels meet it.
    pub(crate) fn meets<'v>(&self, label: impl Fn(&str) -> Option<&'v str>) -> bool {
        self.labels.iter().all(|(key, value)| label(key) == Some(value))
            && self.expressions.iter().all(|SelectorRequirement { key, operator, values }| {
                let is_among = |value: &str| values.iter().any(|wanted| wanted == value);
                match operator {
                    SelectorOperator::In => label(key).is_some_and(is_among),
                    SelectorOperator::NotIn => !label(key).is_some_and(is_among),
                    SelectorOperator::Exists => label(key).is_some(),
                    SelectorOperator::DoesNotExist => label(key).is_none(),
                }
            })
    }
}

impl std::fmt::Display for ProviderSelector {
    /// As `kubectl -l` takes it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let labels = self.labels.iter().map(|(key, value)| format!("{key}={value}"));
        let expressions =
            self.expressions.iter().map(|SelectorRequirement { key, operator, values }| match operator {
                SelectorOperator::In => format!("{key} in ({})", values.join(", ")),
                SelectorOperator::NotIn => format!("{key} notin ({})", values.join(", ")),
                SelectorOperator::Exists => key.clone(),
                SelectorOperator::DoesNotExist => format!("!{key}"),
            });
        f.write_str(&labels.chain(expressions).collect::<Vec<_>>().join(","))
    }
}
