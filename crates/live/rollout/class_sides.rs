//! The ClusterClass of a Cluster before and after, with its templates, from any folder.

use super::by_id::{ById, find_value_in};
use super::class::{Blueprint, ClassSides, Find};
use super::cluster_change::ClusterChange;
use super::facts;
use super::pair::FieldPair;
use super::references::{class_name, target};
use capstan_model::kinds::names;
use capstan_plan::merge::AppliedBy;
use capstan_yaml::Value;

impl<'a> ClusterChange<'a> {
    /// The classes that a Cluster names, before and after, with their templates, as far as they are known.
    pub(super) fn classes<'s>(&'s self, pair: FieldPair<'s>) -> ClassSides<'s> {
        let names = [class_name(pair.before), class_name(pair.after)];
        let [Some(old), Some(new)] = names else { return ClassSides::default() };
        let homes = [self.home(0, pair.before, old), self.home(1, pair.after, new)];
        let class = |home: Option<ClassHome<'s, 'a>>, name: &str| {
            find_value_in(home?.objects, names::CLUSTER_CLASS, name)
        };
        let after = class(homes[1], new);
        // A class that keeps its live name is the same live object, with the same templates.
        let is_live = old == new && self.live.contains(&(names::CLUSTER_CLASS.to_owned(), new.to_owned()));
        let before = if is_live { after } else { class(homes[0], old) };
        let find_before: Find<'s> = match is_live {
            true => Box::new(move |reference| self.template_after(homes, reference)),
            false => Box::new(move |reference| template_in(homes[0], reference)),
        };
        let find_after: Find<'s> = Box::new(move |reference| self.template_after(homes, reference));
        let sides = [
            before.map(|class| Blueprint { cluster: pair.before, class, find: find_before }),
            after.map(|class| Blueprint { cluster: pair.after, class, find: find_after }),
        ];
        let [one, other] = &self.elsewhere;
        let unknown = [(one, pair.before, before), (other, pair.after, after)];
        let unknown = unknown.into_iter().filter(|(.., class)| class.is_none());
        let unknown = unknown.filter_map(|(side, cluster, _)| side.why_unknown(cluster));
        let unknown: Vec<&str> = unknown.collect();
        let differs = !unknown.is_empty() && old == new && !one.is_as_in(other, pair.after);
        ClassSides { sides, renamed: old != new, unknown, differs }
    }

    /// Where the class of a Cluster and its templates are found: its own render wins.
    fn home<'s>(&'s self, side: usize, cluster: &Value, class: &str) -> Option<ClassHome<'s, 'a>> {
        let own = if side == 0 { &self.before } else { &self.after };
        if find_value_in(own, names::CLUSTER_CLASS, class).is_some() {
            return Some(ClassHome { objects: own, applied: self.applied });
        }
        let objects = self.elsewhere.get(side)?.of(cluster)?;
        Some(ClassHome { objects, applied: AppliedBy::Others })
    }

    /// What a template is afterwards under its name. A live name keeps its spec; and where others apply, the API
    /// refuses an edit under the old name, but of the kinds that may be edited.
    fn template_after<'s>(
        &self,
        homes: [Option<ClassHome<'s, 'a>>; 2],
        reference: &Value,
    ) -> Option<&'s Value> {
        let after = template_in(homes[1], reference)?;
        let kind = reference.get("kind").and_then(Value::as_str).unwrap_or_default();
        let by_others = homes[1].is_some_and(|home| home.applied == AppliedBy::Others);
        let refused = by_others && !facts::TAKEN_UP_IN_PLACE.contains(&kind);
        let stays = refused || self.is_live(Some(reference));
        Some(template_in(homes[0], reference).filter(|_| stays).unwrap_or(after))
    }
}

/// Where a class and its templates are found, and who applies them.
#[derive(Clone, Copy)]
struct ClassHome<'s, 'a> {
    objects: &'s ById<'a>,
    applied: AppliedBy,
}

fn template_in<'s>(home: Option<ClassHome<'s, '_>>, reference: &Value) -> Option<&'s Value> {
    let (_, kind, name) = target(Some(reference))?;
    find_value_in(home?.objects, kind, name)
}
