//! Source and target of an upgrade in words, also where both are the same.

use capstan_model::source::SourceKind;
use capstan_plan::upgrade::{Basis, Upgrade, ValuesCourse};

use super::values;

/// ` from v1 to v2`, to follow the target's name. Where the source does not change it is never "from v1 to
/// v1": `: other values under v1`, ` to v1 as it is now`. `quoted` puts each source into words.
pub fn step_in_words(upgrade: &Upgrade, quoted: impl Fn(&str) -> String) -> String {
    let name = |source: &capstan_model::source::SourceId| quoted(&source.to_string());
    match (&upgrade.from, &upgrade.to) {
        (from, Some(to)) if values::brought(upgrade).is_some() => {
            let course = values::brought(upgrade).map(|values| values.course).unwrap_or_default();
            match (course, from) {
                (ValuesCourse::Comes, _) => format!(": new, from {}", name(to)),
                (ValuesCourse::Goes, _) => ": retired".to_owned(),
                (ValuesCourse::Changes, Some(from)) if from != to => {
                    format!(": new values, from {} to {}", name(from), name(to))
                }
                (ValuesCourse::Changes, _) => format!(": other values under {}", name(to)),
            }
        }
        (_, Some(to)) if *to.kind() == SourceKind::MIGRATION => {
            format!(": API versions, to {}", quoted(to.path()))
        }
        (Some(from), Some(to)) if from == to && upgrade.basis == Basis::Inferred => {
            format!(", recorded at {}", name(to))
        }
        (Some(from), Some(to)) if from == to => format!(" to {} as it is now", name(to)),
        (Some(from), Some(to)) => format!(" from {} to {}", name(from), name(to)),
        (None, Some(to)) => format!(" to {}", name(to)),
        (Some(from), None) => format!(" at {}", name(from)),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::tests::upgrade;
    use capstan_model::source::SourceId;
    use capstan_plan::upgrade::ValuesStep;

    #[test]
    fn an_unchanged_source_is_named_once() {
        let [one, two] = [SourceId::parse("aws/v21.0.0"), SourceId::parse("aws/v22.0.0")];
        for (from, to, basis, course, said) in [
            (&one, &two, Basis::Known, None, " from <aws/v21.0.0> to <aws/v22.0.0>"),
            (&two, &two, Basis::Known, None, " to <aws/v22.0.0> as it is now"),
            (&two, &two, Basis::Inferred, None, ", recorded at <aws/v22.0.0>"),
            (&None, &two, Basis::Unknown, None, " to <aws/v22.0.0>"),
            (&one, &None, Basis::Known, None, " at <aws/v21.0.0>"),
            (&None, &None, Basis::Unknown, None, ""),
            (&two, &two, Basis::Known, Some(ValuesCourse::Changes), ": other values under <aws/v22.0.0>"),
            (&None, &two, Basis::Known, Some(ValuesCourse::Comes), ": new, from <aws/v22.0.0>"),
            (&two, &two, Basis::Known, Some(ValuesCourse::Goes), ": retired"),
        ] {
            let values = course.map(|course| {
                Box::new(ValuesStep {
                    brought_by: SourceKind::INVENTORY,
                    course,
                    from: None,
                    to: None,
                    levels: vec![],
                    origins: vec![],
                    conflict_origins: vec![],
                })
            });
            let upgrade = Upgrade { from: from.clone(), to: to.clone(), basis, values, ..upgrade() };
            assert_eq!(step_in_words(&upgrade, |name| format!("<{name}>")), said);
        }
    }
}
