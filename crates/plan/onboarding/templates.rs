//! Templates that make clusters once they are filled in: those of Helm charts, and manifests with a variable for a
//! name. Capstan upgrades manifests. So it reports where the templates are, and how to make a cluster's manifests
//! from them.

use super::appliers::Appliers;
use super::survey::{Survey, What, Whole};
use super::units::Units;
use capstan_model::finding::{FileError, Place, rules};
use capstan_model::tree::RepoPath;

/// At most this many of each are reported.
const MOST_REPORTED: usize = 20;

/// The reports about templates.
#[derive(Debug, Default)]
pub(super) struct Templates {
    /// Charts that Flux or Argo CD apply from here: their clusters exist, but no file has the manifests.
    pub(super) applied: Vec<FileError>,
    /// Those that neither of them applies from here.
    pub(super) offered: Vec<FileError>,
}

impl Templates {
    pub(super) fn of(survey: &Survey, units: &Units, appliers: &Appliers<'_>) -> Self {
        let mut templates = Self::default();
        for (chart, template) in survey.charts.iter().take(MOST_REPORTED) {
            let told = of_chart(chart, template);
            // An object that applies all of a folder above a chart may mean anything in it, so it counts, too.
            if appliers.of_folder(chart).is_empty() {
                templates.offered.push(told);
            } else {
                templates.applied.push(told);
            }
        }
        // Where there are clusters, a template beside them is what they were made of.
        if units.folders.is_empty() && units.left.is_empty() {
            let unfilled = survey
                .seen
                .iter()
                .filter(|seen| seen.what == What::Cluster && seen.whole == Whole::Templated);
            templates.offered.extend(unfilled.take(MOST_REPORTED).map(|seen| of_variables(&seen.place)));
        }
        templates
    }
}

fn of_chart(chart: &RepoPath, template: &RepoPath) -> FileError {
    let of = if chart.is_root() { ".".to_owned() } else { chart.to_string() };
    let message = format!(
        "this is a template of a Helm chart that makes clusters. Capstan upgrades manifests, not templates. Render each cluster into its own folder (`mkdir -p clusters/NAME && helm template NAME {of} > clusters/NAME/cluster.yaml`, with its values), and apply that instead"
    );
    FileError::new(rules::CLUSTER_OUTSIDE, Place::whole(template.clone()), message)
}

fn of_variables(place: &Place) -> FileError {
    let message = format!(
        "this is a template of a cluster: its name is a variable without a value in this repository. Generate each cluster into its own folder (`mkdir -p clusters/NAME && clusterctl generate cluster NAME --from {} > clusters/NAME/cluster.yaml`)",
        place.file()
    );
    FileError::new(rules::CLUSTER_OUTSIDE, place.clone(), message)
}
