//! What one cluster's plan is given, asked of the snapshot.

use std::sync::Arc;

use capstan_model::ids::{ClusterId, ReleaseName};
use capstan_model::tree::TreeId;

use super::Fleet;
use super::answers::{StepAnswers, said_of};
use super::fleet_inputs::{ReleasesIn, read_releases};
use super::inputs::{FleetInputs, OldComponentInput, PlanInputs, StepInputs};
use super::planning::plan_step;
use super::reading::{Made, Offered, Prepared, Reading, Unplanned};
use super::refused::Refused;
use super::step_sources::StepSources;

/// How often a plan may ask for more: each time leads to files that the last ones name.
const ROUNDS: usize = 64;

/// A plan, with all that it was given.
pub(super) struct Gathered {
    pub(super) made: Made,
    pub(super) offered: Offered,
    pub(super) step: Option<StepInputs>,
    /// The cluster's folder.
    folder: Option<TreeId>,
    /// What the inventory says of it.
    said: Option<String>,
    /// The components of its old render.
    components: Vec<OldComponentInput>,
}

impl Gathered {
    /// Plans a cluster: asks, and answers what the plan asks back, until there is a plan.
    ///
    /// # Errors
    /// What cannot be read or rendered.
    pub(super) fn of(fleet: &Fleet, id: &ClusterId, asked: Option<&ReleaseName>) -> Result<Self, Refused> {
        Self::of_offered(fleet, offered(fleet, id, asked)?)
    }

    /// The same of what it is offered.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub(super) fn of_offered(fleet: &Fleet, offered: Offered) -> Result<Self, Refused> {
        let (id, tree) = (&offered.reading.cluster.id, fleet.tree().as_ref());
        let folder = tree.folder_id(id.folder());
        let said = said_of(fleet, id);
        let record = offered.reading.valued.record.iter();
        let recorded = record.flat_map(|record| record.components.iter().map(|(path, tree)| (path, tree)));
        let components = fleet.supplement().old_components(tree, recorded);
        let Some(step) = offered.step() else {
            let made = offered.nothing(fleet.conditions(), fleet);
            return Ok(Self { made, offered, step: None, folder, said, components });
        };
        let plan = |given: &_, prepared: &_| plan_step(step, fleet.conditions(), fleet, given, prepared);
        let has_variables = StepSources::of(step, fleet.conditions(), fleet)?.have_variables();
        let first = StepAnswers::first(fleet, &offered.reading, &offered.brought_by, has_variables);
        let (made, answers) = answering(fleet, id, first, plan)?;
        let made = Made { failed: made.failed || answers.failed, ..made };
        Ok(Self { made, step: Some(answers.given), offered, folder, said, components })
    }

    /// All that the plan was given.
    pub(super) fn inputs(&self, fleet: &Arc<FleetInputs>, asked: Option<&ReleaseName>) -> PlanInputs {
        PlanInputs {
            fleet: Arc::clone(fleet),
            cluster: self.offered.reading.cluster.id.clone(),
            folder: self.folder.clone(),
            asked: asked.cloned(),
            old: self.offered.old.clone(),
            brought_by: self.offered.brought_by.clone(),
            said: self.said.clone(),
            components: self.components.clone(),
            step: self.step.clone(),
        }
    }
}

/// A cluster, and what releases offer it.
///
/// # Errors
/// A file of it that cannot be read; no such release.
pub(super) fn offered(
    fleet: &Fleet,
    id: &ClusterId,
    asked: Option<&ReleaseName>,
) -> Result<Offered, Refused> {
    fleet.require_releases()?;
    let reading = Reading::of(fleet.conditions(), fleet, id)?;
    let old = fleet.supplement().old_release(&reading.standing);
    reading.offer(fleet.conditions(), fleet, old, asked)
}

/// Asks something of a step, and answers what it asks back, until there is an answer.
pub(super) fn answering<T>(
    fleet: &Fleet,
    cluster: &ClusterId,
    mut answers: StepAnswers,
    ask: impl Fn(&StepInputs, &Prepared) -> Result<T, Unplanned>,
) -> Result<(T, StepAnswers), Refused> {
    for _ in 0..ROUNDS {
        match ask(&answers.given, &answers.prepared) {
            Ok(answer) => return Ok((answer, answers)),
            Err(Unplanned::Refused(refused)) => return Err(refused),
            Err(Unplanned::Needs(needs)) => answers.add(fleet, cluster, needs),
        }
    }
    Err(Refused {
        message: format!(
            "{cluster} reads files outside of its folder that name others, more than {ROUNDS} deep: let its \
             kustomizations name what they need themselves"
        ),
        place: None,
    })
}

/// What the plans of all clusters are given.
pub(super) fn fleet_inputs(fleet: &Fleet) -> Arc<FleetInputs> {
    if let Some(known) = fleet.known() {
        return Arc::clone(known.given());
    }
    let releases = ReleasesIn {
        tree: fleet.releases_tree(),
        layout: &fleet.releases_layout(),
        elsewhere: fleet.releases_root(),
    };
    let definitions = fleet.wide().defined(fleet.tree().as_ref(), fleet.layout());
    // The catalogue is known; what reading it looks at is not.
    Arc::new(read_releases(fleet.conditions(), &releases, definitions).inputs)
}
