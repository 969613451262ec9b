//! Which steps can be done from one reading of a text: those that do not touch one another. How many rounds
//! a conversion takes depends on how many steps a single mapping takes, not on how many items lists have.

use std::collections::HashMap;

use super::apply::apply_step;
use super::step::ConversionStep;
use capstan_model::object::{FieldPath, Step};
use capstan_yaml::{Node, emptied};

/// The steps in rounds, each of which is done on what the round before left. Steps that touch one another
/// keep their order; those of one round can be done in any.
pub(super) fn rounds(
    root: &Node,
    steps: impl IntoIterator<Item = ConversionStep>,
) -> Vec<Vec<ConversionStep>> {
    let mut now = root.clone();
    let mut places = Branch::default();
    let mut rounds: Vec<Vec<ConversionStep>> = Vec::new();
    for step in steps {
        let round = places.next_round(&scope(&now, &step));
        apply_step(&mut now, &step);
        if rounds.len() <= round {
            rounds.resize_with(round + 1, Vec::new);
        }
        rounds[round].push(step);
    }
    rounds
}

/// The value inside of which all happens that a step does: no step elsewhere can change what it finds or does.
fn scope(root: &Node, step: &ConversionStep) -> FieldPath {
    match step {
        ConversionStep::Replace { at, .. } | ConversionStep::Itemize { at, .. } => at.clone(),
        ConversionStep::Remove { at } => emptied(root, at, None).parent().unwrap_or_default(),
        ConversionStep::Add { at, .. } => home(root, at),
        ConversionStep::Move { from, to } => {
            let left = emptied(root, from, Some(to)).parent().unwrap_or_default();
            let home = home(root, to);
            let shared = left.steps().iter().zip(home.steps()).take_while(|(one, other)| one == other);
            shared.map(|(step, _)| step.clone()).collect()
        }
    }
}

/// The deepest value on the way to a field that is there already.
fn home(root: &Node, to: &FieldPath) -> FieldPath {
    let (mut node, mut depth) = (root, 0);
    for step in to.steps().iter().take(to.steps().len().saturating_sub(1)) {
        let Some(below) = node.step(step) else { break };
        (node, depth) = (below, depth + 1);
    }
    to.steps()[..depth].iter().cloned().collect()
}

/// A place of the document, and in how many rounds something happens there.
#[derive(Default)]
struct Branch {
    /// Rounds up to the last one whose step takes in the whole place.
    own: usize,
    /// Rounds up to the last one of anything here or below.
    all: usize,
    below: HashMap<Step, Self>,
}

impl Branch {
    /// The first round in which a step of that scope touches no other; from then on it is taken.
    fn next_round(&mut self, scope: &FieldPath) -> usize {
        let mut place = &*self;
        let mut round = place.own;
        for step in scope.steps() {
            let Some(below) = place.below.get(step) else { return self.take(scope, round) };
            place = below;
            round = round.max(place.own);
        }
        let round = round.max(place.all);
        self.take(scope, round)
    }

    fn take(&mut self, scope: &FieldPath, round: usize) -> usize {
        let mut place = self;
        place.all = place.all.max(round + 1);
        for step in scope.steps() {
            place = place.below.entry(step.clone()).or_default();
            place.all = place.all.max(round + 1);
        }
        place.own = round + 1;
        round
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capstan_yaml::YamlFile;

    fn path(text: &str) -> FieldPath {
        FieldPath::parse(text).unwrap()
    }

    fn moved(from: &str, to: &str) -> ConversionStep {
        ConversionStep::Move { from: path(from), to: path(to) }
    }

    #[test]
    fn items_share_a_round_and_steps_of_one_mapping_do_not() {
        let text = "v: 1\nl: [{a: 1, b: 2, c: 3}, {a: 1, b: 2, c: 3}]\nm: {p: {q: 1}}\n";
        let root = YamlFile::read(text).unwrap().documents()[0].root.clone();
        let seven = || Node::from_value(&serde_json::json!(7));
        let steps = vec![
            ConversionStep::Replace { at: path("/v"), value: seven() },
            moved("/l/0/a", "/l/0/x/a"),
            moved("/l/0/b", "/l/0/x/b"),
            moved("/l/1/a", "/l/1/x/a"),
            moved("/l/1/b", "/l/1/x/b"),
            ConversionStep::Replace { at: path("/l/1/c"), value: seven() },
            // `m` holds nothing else and goes: that happens to the document itself, and what comes next waits.
            ConversionStep::Remove { at: path("/m/p/q") },
            ConversionStep::Add { at: path("/l/0/x/s/t"), value: seven() },
        ];
        let at = |step: &ConversionStep| steps.iter().position(|other| other == step).unwrap();
        let rounds = rounds(&root, steps.clone());
        let found: Vec<Vec<usize>> = rounds.iter().map(|round| round.iter().map(at).collect()).collect();
        assert_eq!(found, [vec![0, 1, 3], vec![2, 4], vec![5], vec![6], vec![7]]);
    }
}
