//! `chart-stays`, found while an upgrade is planned.

use super::rule::{About, PolicyRule};
use capstan_model::finding::rules;

pub(super) struct ChartStays;

static ABOUT: About = About::new(rules::CHART_STAYS, include_str!("../../../docs/rules/chart-stays.md"));

impl PolicyRule for ChartStays {
    fn about(&self) -> &'static About {
        &ABOUT
    }
}
