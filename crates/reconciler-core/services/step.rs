//! What comes next of one service, in one look at its cluster.

use capstan_live::services::Problem;

use crate::next::{Basis, Next};

/// Everything that is decided on. What is `None` is not known yet, and asked for where it matters.
#[derive(Debug, Clone, Default)]
pub struct ServiceStepFacts {
    /// Whether a folder brings it; else objects of base do.
    pub is_of_folder: bool,
    /// Why the cluster's API cannot be asked.
    pub unreached: Option<Problem>,
    /// Which service it waits for.
    pub held: Option<Problem>,
    /// Why what differs of it is not applied while machines roll.
    pub unchanged: Option<Problem>,
    /// Whether anything of it was applied before.
    pub was_there: bool,
    /// Whether it was ready at the last look.
    pub was_ready: bool,
    /// Whether its role promises something of the cluster.
    pub promises: bool,
    /// Whether its settings have checks.
    pub has_checks: bool,
    /// What is rendered, and what is there of it; or why that is not known.
    pub look: Option<Result<ServiceLook, Problem>>,
    /// What could not be applied of what differs.
    pub applied: Option<Vec<Problem>>,
    /// What it brings no more, and could not be taken away.
    pub pruned: Option<Vec<Problem>>,
    /// Objects that are not well.
    pub objects: Option<Vec<Problem>>,
    /// What its role promises and is not so.
    pub role: Option<Vec<Problem>>,
    /// What its checks say.
    pub checks: Option<Vec<Problem>>,
}

/// What is rendered of a service, beside what is there.
#[derive(Debug, Clone, Default)]
pub struct ServiceLook {
    /// Objects that another service brings, too; or that base does not bring.
    pub wrong: Vec<Problem>,
    /// Whether anything is there that Capstan has applied and that is not remembered.
    pub is_unremembered: bool,
    /// What is refused, or applied by others.
    pub hindrances: Vec<Problem>,
    /// The network of pods that is there, and that it would take the place of.
    pub network: Option<Problem>,
    /// Whether applying it would change anything.
    pub differs: bool,
    /// Whether an object of it is not there.
    pub is_absent: bool,
}

/// What is done next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceStep {
    /// It is rendered, and its objects are read.
    Look,
    /// What is there, and was applied, is remembered.
    Remember,
    /// What differs is written down, and applied.
    Apply,
    /// What it brings no more is taken away.
    Prune,
    /// Its objects are judged.
    JudgeObjects,
    /// What its role promises is checked.
    JudgeRole,
    /// Its checks are evaluated.
    JudgeChecks,
}

/// Why it is not ready; empty where it is.
type Problems = Vec<Problem>;

impl Basis for ServiceStepFacts {
    type Step = ServiceStep;
    type Rest = Problems;

    fn next(&self) -> Next<ServiceStep, Problems> {
        let brought = if self.is_of_folder { self.of_folder() } else { self.of_base() };
        match brought {
            Next::Rest(problems) if problems.is_empty() => self.promised(),
            next => next,
        }
    }
}

impl ServiceStepFacts {
    /// Whether its objects are there and well, which a folder brings.
    fn of_folder(&self) -> Next<ServiceStep, Problems> {
        let look = match (&self.look, &self.unreached, &self.held) {
            (None, Some(problem), _) => return only(problem),
            (None, None, Some(problem)) if !self.was_there => return only(problem),
            (None, None, _) => return Next::Step(ServiceStep::Look),
            (Some(Err(problem)), ..) => return only(problem),
            (Some(Ok(look)), ..) => look,
        };
        if look.wrong.is_empty() && look.is_unremembered {
            return Next::Step(ServiceStep::Remember);
        }
        let mut problems: Problems = look.wrong.iter().chain(&look.hindrances).cloned().collect();
        if problems.is_empty() {
            problems.extend(look.network.clone());
        }
        if !problems.is_empty() {
            return Next::Rest(problems);
        }
        match (&self.applied, self.held.as_ref().or(self.unchanged.as_ref())) {
            (Some(failed), _) => problems.extend(failed.iter().cloned()),
            (None, _) if !look.differs => {}
            (None, Some(waits)) => return only(waits),
            (None, None) => return Next::Step(ServiceStep::Apply),
        }
        if problems.is_empty() {
            match &self.pruned {
                Some(left) => problems.extend(left.iter().cloned()),
                None => return Next::Step(ServiceStep::Prune),
            }
        }
        self.with_objects(problems)
    }

    /// Whether its objects are there and well, which base brings.
    fn of_base(&self) -> Next<ServiceStep, Problems> {
        let look = match &self.look {
            None => return Next::Step(ServiceStep::Look),
            Some(Err(problem)) => return only(problem),
            Some(Ok(look)) => look,
        };
        if let Some(problem) = self.held.as_ref().filter(|_| look.is_absent) {
            return only(problem);
        }
        if let Some(problem) = look.network.as_ref().filter(|_| look.wrong.is_empty()) {
            return only(problem);
        }
        match self.with_objects(look.wrong.clone()) {
            Next::Rest(problems) if problems.is_empty() && !self.was_ready => {
                Next::Rest(self.held.iter().cloned().collect())
            }
            next => next,
        }
    }

    /// Adds what its objects say. A refused object is not reported again because it is missing.
    fn with_objects(&self, mut problems: Problems) -> Next<ServiceStep, Problems> {
        match &self.objects {
            // A cluster that does not answer is not asked again in the same look.
            None if self.is_of_folder && self.unreached.is_some() => {}
            None => return Next::Step(ServiceStep::JudgeObjects),
            Some(found) => {
                let is_told = |found: &&Problem| {
                    found.object.is_some() && problems.iter().any(|problem| problem.object == found.object)
                };
                let new: Problems =
                    found.iter().filter(|found| !self.is_of_folder || !is_told(found)).cloned().collect();
                problems.extend(new);
            }
        }
        Next::Rest(problems)
    }

    /// Whether the cluster has what it promises, once its objects are well.
    fn promised(&self) -> Next<ServiceStep, Problems> {
        let mut problems = Problems::new();
        if self.promises && !self.was_ready {
            match &self.role {
                Some(unmet) => problems.extend(unmet.iter().cloned()),
                None => return Next::Step(ServiceStep::JudgeRole),
            }
        }
        if problems.is_empty() && self.has_checks {
            match (&self.unreached, &self.checks) {
                (Some(problem), _) => return only(problem),
                (None, Some(failed)) => problems.extend(failed.iter().cloned()),
                (None, None) => return Next::Step(ServiceStep::JudgeChecks),
            }
        }
        Next::Rest(problems)
    }
}

fn only(problem: &Problem) -> Next<ServiceStep, Problems> {
    Next::Rest(vec![problem.clone()])
}
