//! What an upgrade is about, as a part of the page of its cluster: changes, conflicts, findings, machines, services.

use askama::Template;
use capstan_model::finding::Severity;
use capstan_model::wording::count;
use capstan_report::{DetailedConflict, DetailedRollout, DetailedService, MachinesBecome, TargetDetail};

use super::prose::{Html, prose};

#[derive(Template)]
#[template(
    ext = "html",
    source = r##"{% if !conflicts.is_empty() %}
<h3>Conflicts</h3>
<table class="cards" role="table">
  <caption>What the cluster and the {{ kind }} both changed</caption>
  <thead role="rowgroup"><tr role="row"><th role="columnheader" scope="col">Field</th><th role="columnheader" scope="col">Old</th><th role="columnheader" scope="col">Cluster</th><th role="columnheader" scope="col">New</th><th role="columnheader" scope="col">Settled</th></tr></thead>
  <tbody role="rowgroup">
    {% for one in conflicts %}
    <tr role="row">
      <th role="rowheader" scope="row"><code>{{ one.what }}</code></th>
      <td role="cell" data-label="Old"><code>{{ one.sides[0] }}</code></td>
      <td role="cell" data-label="Cluster"><code>{{ one.sides[1] }}</code></td>
      <td role="cell" data-label="New"><code>{{ one.sides[2] }}</code></td>
      <td role="cell" data-label="Settled"><span{% if one.blocks %} class="mood-bad"{% endif %}>{{ one.settled }}</span></td>
    </tr>
    {% endfor %}
  </tbody>
</table>
{% endif %}
{% if !findings.is_empty() %}
<h3>Findings</h3>
<ul>
  {% for one in findings %}<li><span class="badge mood-{{ one.mood }}">{{ one.severity }}</span> <code>{{ one.rule }}</code> {{ one.message }}{% if let Some(place) = one.place %} <span class="quiet">{{ place }}</span>{% endif %}</li>{% endfor %}
</ul>
{% endif %}
{% if more > 0 %}<p>{{ more }} more conflicts and findings are not listed here.</p>{% endif %}
{% if !rollouts.is_empty() %}
<h3>Machines that it replaces</h3>
<ul>{% for one in rollouts %}<li>{{ one.machines }} of <code>{{ one.owner }}</code></li>{% endfor %}</ul>
{% if more_rollouts > 0 %}<p>{{ more_rollouts }} more owners of machines are not listed here.</p>{% endif %}
{% endif %}
{% if !services.is_empty() %}
<h3>Services</h3>
<ul>{% for one in services %}<li>{{ one.name }} <span class="quiet">({{ one.role }})</span>: {{ one.becomes }}</li>{% endfor %}</ul>
{% if more_services > 0 %}<p>{{ more_services }} more services are not listed here.</p>{% endif %}
{% endif %}
{% if !lines.is_empty() %}
<details>
  <summary>Changes</summary>
  <pre class="diff" tabindex="0" role="region" aria-label="Changes that the {{ kind }} brings">{% for line in lines %}<span class="{{ line.0 }}">{{ line.1 }}
</span>{% endfor %}</pre>
  {% if let Some(more) = more_changes %}<p>… and {{ more }}.</p>{% endif %}
</details>
{% endif %}"##
)]
pub(super) struct UpgradeDetail<'a> {
    kind: &'a str,
    conflicts: &'a [DetailedConflict],
    findings: Vec<ShownFinding<'a>>,
    more: usize,
    rollouts: Vec<CountedRollout<'a>>,
    more_rollouts: usize,
    services: &'a [DetailedService],
    more_services: usize,
    /// Class and text.
    lines: Vec<(&'static str, &'a str)>,
    more_changes: Option<String>,
}

struct ShownFinding<'a> {
    mood: &'static str,
    severity: &'static str,
    rule: &'a str,
    message: Html,
    place: Option<&'a str>,
}

struct CountedRollout<'a> {
    machines: String,
    owner: &'a str,
}

impl<'a> UpgradeDetail<'a> {
    /// `kind` is the kind of source, `repository` the address of the repository.
    pub(super) fn of(detail: &'a TargetDetail, kind: &'a str, repository: &str) -> Self {
        let TargetDetail { diff, conflicts, services, more_changes, .. } = detail;
        let findings = detail.findings.iter().map(|finding| {
            let (mood, severity) = match finding.severity {
                Severity::Error => ("bad", "error"),
                Severity::Warning => ("waits", "warning"),
            };
            let message = prose(&finding.message, Some(repository));
            ShownFinding { mood, severity, rule: &finding.rule, message, place: finding.place.as_deref() }
        });
        Self {
            kind,
            conflicts,
            findings: findings.collect(),
            more: detail.more,
            rollouts: detail.rollouts.iter().map(rollout).collect(),
            more_rollouts: detail.more_rollouts,
            services,
            more_services: detail.more_services,
            lines: diff.lines().map(|line| (class_of(line), line)).collect(),
            more_changes: (*more_changes > 0).then(|| count(*more_changes, "more change", "more changes")),
        }
    }
}

fn rollout(rollout: &DetailedRollout) -> CountedRollout<'_> {
    let DetailedRollout { owner, machines, becomes } = rollout;
    let machines = machines.map_or_else(
        || "an unknown number of machines".to_owned(),
        |machines| count(usize::try_from(machines).unwrap_or(usize::MAX), "machine", "machines"),
    );
    let machines = match becomes {
        MachinesBecome::Deleted => format!("{machines}, deleted with it,"),
        MachinesBecome::Replaced => machines,
    };
    CountedRollout { machines, owner }
}

/// How a line of a diff is coloured, by its sign.
fn class_of(line: &str) -> &'static str {
    match line.as_bytes().first() {
        Some(b'+') => "comes",
        Some(b'-') => "goes",
        Some(b'@') => "where",
        _ => "note",
    }
}

#[cfg(test)]
mod tests {
    use capstan_report::DetailedFinding;

    use super::*;

    #[test]
    fn an_upgrade_is_shown_and_nothing_of_it_is_unescaped() {
        let detail = TargetDetail {
            diff: "# base/<b>.yaml\n@@ line 7, Cluster c /spec/x @@\n-<script>\n+b\n".to_owned(),
            more_changes: 2,
            conflicts: vec![DetailedConflict {
                what: "Cluster <i>c /spec/replicas".to_owned(),
                sides: ["2".to_owned(), "<5>".to_owned(), "absent".to_owned()],
                settled: "It blocks the upgrade.".to_owned(),
                blocks: true,
            }],
            findings: vec![DetailedFinding {
                rule: "kubernetes-minor-skip".to_owned(),
                severity: Severity::Error,
                message: "`v1.16.8` to <u> skips minors".to_owned(),
                place: Some("base/a.yaml:9:3".to_owned()),
            }],
            more: 0,
            rollouts: vec![DetailedRollout {
                owner: "MachinePool p".to_owned(),
                machines: Some(5),
                becomes: MachinesBecome::Replaced,
            }],
            more_rollouts: 0,
            services: vec![DetailedService {
                name: "cilium".to_owned(),
                role: "cni".to_owned(),
                becomes: "1.15 → 1.16".to_owned(),
            }],
            more_services: 2,
        };
        let html = UpgradeDetail::of(&detail, "release", "https://github.com/a/b").render().unwrap();
        for expected in [
            "<code>Cluster &#60;i&#62;c /spec/replicas</code>",
            "<code>&#60;5&#62;</code>",
            "<span class=\"mood-bad\">It blocks the upgrade.</span>",
            "<span class=\"badge mood-bad\">error</span> <code>kubernetes-minor-skip</code> <code>v1.16.8</code> to &lt;u&gt; skips minors <span class=\"quiet\">base/a.yaml:9:3</span>",
            "<li>5 machines of <code>MachinePool p</code></li>",
            "<li>cilium <span class=\"quiet\">(cni)</span>: 1.15 → 1.16</li>",
            "<p>2 more services are not listed here.</p>",
            "<span class=\"note\"># base/&#60;b&#62;.yaml\n</span><span class=\"where\">@@ line 7, Cluster c /spec/x @@\n</span><span class=\"goes\">-&#60;script&#62;\n</span><span class=\"comes\">+b\n</span>",
            "<p>… and 2 more changes.</p>",
        ] {
            assert!(html.contains(expected), "{expected} is missing in {html}");
        }
        let nothing = TargetDetail::default();
        let html = UpgradeDetail::of(&nothing, "release", "https://github.com/a/b").render().unwrap();
        assert_eq!(html.trim(), "");
    }
}
