//! What all rules together say of a cluster.

use super::catalogue::catalogue;
use super::evidence::Evidence;
use super::facts::{Occasion, PolicyFacts};
use super::overlay_loses_target::lost;
use capstan_kustomize::render::RenderedFolder;
use capstan_model::finding::{Finding, Severities};

/// What the rules say of one cluster before and after, ordered by file, line (none last) and path.
/// Findings of the merge are not among them.
pub fn judge(facts: &PolicyFacts<'_>, severities: &Severities) -> Vec<Finding> {
    let evidence = Evidence::of(facts);
    let mut verdicts = Vec::new();
    for rule in catalogue().iter().filter(|rule| severities.of(rule.about().entry).is_some()) {
        rule.compare(&evidence, &mut verdicts);
        let mut found = Vec::new();
        rule.inspect(&evidence.after, &mut found);
        if facts.occasion == Occasion::Upgrade && !found.is_empty() {
            let mut already = Vec::new();
            rule.inspect(&evidence.before, &mut already);
            found.retain(|new| !already.iter().any(|old| evidence.is_same(old, new)));
        }
        verdicts.extend(found.into_iter().map(|verdict| evidence.in_words_of_the_occasion(verdict)));
    }
    let mut findings: Vec<Finding> =
        verdicts.into_iter().filter_map(|verdict| severities.judged(verdict)).collect();
    sort(&mut findings);
    findings
}

/// The patches of a render that were applied to nothing, where nobody wants to know more.
pub fn lost_patches(rendered: &RenderedFolder, severities: &Severities) -> Vec<Finding> {
    let verdicts = lost(&rendered.patches, &rendered.patches, &|_| None);
    let mut findings: Vec<Finding> =
        verdicts.into_iter().filter_map(|verdict| severities.judged(verdict)).collect();
    sort(&mut findings);
    findings
}

/// Orders findings by file, line (none last) and path, as reports show them.
pub fn sort(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let key =
            |f: &Finding| (f.file().is_none(), f.file().cloned(), f.line().is_none(), f.line(), f.column());
        key(a).cmp(&key(b)).then_with(|| a.path.cmp(&b.path)).then_with(|| a.rule.cmp(b.rule))
    });
}
