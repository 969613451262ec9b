//! The reconciler's trials: what it is about to open and render itself is opened and rendered by a process first.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use capstan_model::ids::ClusterId;
use capstan_model::tree::Tree;
use capstan_plan::settings::RepositorySettings;
use jiff::Timestamp;
use jiff::civil::Date;

use super::{FailedCall, FailureCause, MOST_EXCEEDED, ProcessPlanner};
use capstan_fleet::planner::process::{PlannerRequest, TreeRef};
use capstan_ports::{TrialFailed, TrialRenders};

/// So long after a pause has ended something is tried again.
const MOMENT: Duration = Duration::from_secs(1);

impl From<FailedCall> for TrialFailed {
    fn from(ended: FailedCall) -> Self {
        match ended.cause {
            FailureCause::Content => Self::TooLarge(ended.describe("")),
            FailureCause::Slow => {
                let left = ended.until.map(|until| until.duration_since(Timestamp::now()));
                let again_after = left.map(|left| Duration::try_from(left).unwrap_or_default() + MOMENT);
                Self::TooSlow { why: ended.describe(""), again_after }
            }
            FailureCause::Killed => Self::Killed(ended.why),
            FailureCause::Others => Self::Unavailable(ended.why),
        }
    }
}

impl TrialRenders for ProcessPlanner {
    fn open(
        &self,
        tree: &Arc<dyn Tree>,
        settings: Option<&RepositorySettings>,
        today: Date,
    ) -> Result<(), TrialFailed> {
        let tree = TreeRef::of(tree.as_ref());
        let request = match settings {
            Some(settings) => PlannerRequest::Try { tree, settings: settings.clone(), clusters: Vec::new() },
            None => PlannerRequest::open(tree, today),
        };
        self.pool.parts(&request, &mut self.budget())?;
        Ok(())
    }

    fn render(
        &self,
        tree: &Arc<dyn Tree>,
        settings: &RepositorySettings,
        clusters: &[ClusterId],
    ) -> Result<BTreeMap<ClusterId, TrialFailed>, TrialFailed> {
        let tree = TreeRef::of(tree.as_ref());
        let mut clusters = clusters.to_vec();
        let mut failed = BTreeMap::new();
        let mut deaths = 0;
        loop {
            let request = PlannerRequest::Try {
                tree: tree.clone(),
                settings: settings.clone(),
                clusters: clusters.clone(),
            };
            let Err(ended) = self.pool.parts(&request, &mut self.budget()) else { return Ok(failed) };
            if !ended.cause.is_theirs() || ended.open.is_empty() {
                return Err(ended.into());
            }
            for cluster in &ended.open {
                failed.insert(cluster.clone(), ended.clone().into());
            }
            // They are rendered in their order: those before it did no harm.
            let at = clusters.iter().position(|cluster| ended.open.contains(cluster));
            let rest = at.map_or_else(Vec::new, |at| clusters.split_off(at));
            clusters = rest.into_iter().filter(|cluster| !ended.open.contains(cluster)).collect();
            deaths += usize::from(!ended.is_known);
            if deaths > MOST_EXCEEDED {
                let why = format!(
                    "It is not rendered yet: in this run, more than {MOST_EXCEEDED} other clusters of this commit exceeded the limits. The next run gets further."
                );
                let rest =
                    clusters.into_iter().map(|cluster| (cluster, TrialFailed::Unavailable(why.clone())));
                failed.extend(rest);
                return Ok(failed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_took_too_long_is_tried_again_when_its_pause_is_over() {
        let ended = FailedCall::of(FailureCause::Slow, "Too slow.".to_owned(), BTreeSet::new());
        let hour = Duration::from_hours(1);
        let until = Some(Timestamp::now() + hour);
        let TrialFailed::TooSlow { again_after: Some(after), .. } =
            FailedCall { until, ..ended.clone() }.into()
        else {
            panic!("it took too long");
        };
        assert!(after > hour - Duration::from_mins(1) && after <= hour + MOMENT, "{after:?}");
        let never = TrialFailed::TooSlow { why: "Too slow.".to_owned(), again_after: None };
        assert_eq!(TrialFailed::from(ended), never);
    }
}
