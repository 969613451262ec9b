//! A planner of a few lines.

use std::sync::Arc;

use capstan_fleet::planner::{JudgedBy, OpenFailed, OpenFleet, PlanResults, Planner, PlannerFailed};
use capstan_model::file_change::FileChange;
use capstan_model::finding::{Finding, Place, Position, rules};
use capstan_model::ids::{ClusterId, ContentId};
use capstan_model::rest::Rest;
use capstan_model::source::{SourceContent, SourceId, SourceKind};
use capstan_model::target::Target;
use capstan_model::tree::{RepoPath, Tree};
use capstan_plan::proposal::{ProposalId, Scope};
use capstan_plan::release::ReleaseContent;
use capstan_plan::settings::{REPOSITORY_FILE, RepositorySettings, RuleIds};
use capstan_plan::upgrade::{Basis, Retarget, Upgrade};
use capstan_report::{JudgedCluster, Judgement};
use jiff::civil::Date;

/// A planner of toy files. `releases/vN/base/v` holds one line. `c/NAME/base/v` begins with the line of its release and
/// continues with its own. `c/NAME/capstan.yaml` names the release. A base that says `block` blocks; one that says
/// `error` has a finding there.
///
/// A second kind of source, `values`: `values/NAME` holds one line, which takes the place of what is the cluster's own.
pub(in super::super) struct Toy;

struct ToyFleet {
    tree: Arc<dyn Tree>,
    settings: RepositorySettings,
}

fn text(tree: &dyn Tree, path: &str) -> Option<String> {
    let entry = tree.entry(&RepoPath::parse(path).unwrap())?;
    Some(String::from_utf8(tree.read(entry).unwrap().to_vec()).unwrap())
}

fn scopes(tree: &dyn Tree) -> Vec<Scope> {
    let bases = tree.entries().iter().filter_map(|entry| {
        let name = entry.path.as_str().strip_prefix("c/")?.strip_suffix("/base/v")?;
        let path = |below: &str| RepoPath::parse(&format!("c/{name}{below}")).unwrap();
        Some(Scope {
            target: ClusterId::new(path("")).into(),
            base: path("/base"),
            overlay: path("/overlay"),
            retarget: Retarget::Refused,
        })
    });
    bases.collect()
}

impl Planner for Toy {
    fn kinds(&self) -> Vec<SourceKind> {
        vec![SourceKind::RELEASE, values()]
    }

    fn open(&self, tree: Arc<dyn Tree>, _: Date) -> Result<Box<dyn OpenFleet>, OpenFailed> {
        let file = RepoPath::parse(REPOSITORY_FILE).unwrap();
        let written = text(&*tree, REPOSITORY_FILE).unwrap_or_default();
        let settings = RepositorySettings::read(&file, &written, &RuleIds::of_catalogue())?;
        Ok(Box::new(ToyFleet { tree, settings }))
    }

    fn judge(
        &self,
        before: Arc<dyn Tree>,
        after: Arc<dyn Tree>,
        by: JudgedBy<'_>,
    ) -> Result<Vec<JudgedCluster>, PlannerFailed> {
        let findings = |tree: &dyn Tree, cluster: &ClusterId| {
            let path = format!("{cluster}/base/v");
            let lines = text(tree, &path).unwrap_or_default();
            let found = lines.lines().enumerate().filter(|(_, line)| line.contains("error"));
            found
                .map(|(index, line)| {
                    let position = Position { line: u32::try_from(index).unwrap() + 1, column: 1 };
                    Finding::new(rules::RENDER_FAILED, line)
                        .place(Place::at(RepoPath::parse(&path).unwrap(), position))
                })
                .collect()
        };
        let judge = |cluster: &ClusterId| JudgedCluster {
            cluster: cluster.clone(),
            judgement: Judgement {
                before: findings(&*before, cluster),
                after: findings(&*after, cluster),
                ..Judgement::default()
            },
            unasked: vec![],
        };
        Ok(by.clusters.iter().map(judge).collect())
    }

    fn scopes(&self, tree: Arc<dyn Tree>, _: &RepositorySettings) -> Result<Vec<Scope>, PlannerFailed> {
        Ok(scopes(&*tree))
    }
}

impl OpenFleet for ToyFleet {
    fn settings(&self) -> &RepositorySettings {
        &self.settings
    }
    fn scopes(&self) -> Vec<Scope> {
        scopes(&*self.tree)
    }
    fn missing_contents(&self) -> Vec<ContentId> {
        vec![]
    }
    fn provide_content(&mut self, _: ContentId, _: ReleaseContent) {}
    fn allow_retarget(&mut self, _: &ProposalId) {}

    fn plan_all(&self) -> Result<PlanResults, PlannerFailed> {
        let targets = scopes(&*self.tree).into_iter().map(|scope| scope.target);
        let plans = |target: Target| {
            let of_values = self.plan_values(&target).map(|upgrade| {
                let proposal = ProposalId { target: target.clone(), kind: values() };
                (proposal, Ok(Arc::new(upgrade)))
            });
            let plan = self.plan(&target).map(Arc::new);
            [(ProposalId::of_release(target), plan)].into_iter().chain(of_values)
        };
        Ok(targets.flat_map(plans).collect())
    }
}

fn values() -> SourceKind {
    SourceKind::parse("values").unwrap()
}

fn nothing(target: &Target) -> Upgrade {
    Upgrade {
        target: target.clone(),
        from: None,
        to: None,
        rest: Rest::default(),
        to_content: None,
        kubernetes: None,
        kubernetes_now: None,
        applied_changes: None,
        release_notes: None,
        basis: Basis::Known,
        files: vec![],
        changes: vec![],
        conflicts: vec![],
        findings: vec![],
        rollouts: vec![],
        components: vec![],
        providers: vec![],
        unasked: vec![],
        services: vec![],
        values: None,
        blocked: vec![],
        notes: vec![],
    }
}

impl ToyFleet {
    fn plan_values(&self, target: &Target) -> Option<Upgrade> {
        let file = format!("values/{}", target.folder().unwrap().name());
        let wanted = text(&*self.tree, &file)?;
        let base = format!("{target}/base/v");
        let before = text(&*self.tree, &base)?;
        let release = before.split_once('\n').map_or("", |(release, _)| release);
        let after = format!("{release}\n{wanted}");
        let mut upgrade = nothing(target);
        if after != before {
            let blob = &self.tree.entry(&RepoPath::parse(&file).unwrap())?.blob;
            upgrade.to = Some(SourceId::new(values(), target.folder().unwrap().name()));
            upgrade.to_content = Some(SourceContent::from(blob));
            let path = RepoPath::parse(&base).unwrap();
            upgrade.files = vec![FileChange { path, before: Some(before), after: Some(after) }];
        }
        Some(upgrade)
    }

    fn plan(&self, cluster: &Target) -> Result<Upgrade, String> {
        let releases = self.tree.entries().iter().filter_map(|entry| {
            Some(
                entry
                    .path
                    .as_str()
                    .strip_suffix("/base/v")
                    .filter(|path| path.starts_with("releases/"))?
                    .to_owned(),
            )
        });
        let newest = releases.max();
        let base = format!("{cluster}/base/v");
        let record = format!("{cluster}/capstan.yaml");
        let before = text(&*self.tree, &base).ok_or("it has no base")?;
        let recorded = text(&*self.tree, &record);
        let mut upgrade = nothing(cluster);
        let Some(newest) = newest else { return Ok(upgrade) };
        let wanted = text(&*self.tree, &format!("{newest}/base/v")).unwrap_or_default();
        let own = before.split_once('\n').map_or("", |(_, own)| own);
        let after = format!("{}\n{own}", wanted.trim_end());
        let named = format!("release: {newest}\n");
        if after == before && recorded.as_deref() == Some(&named) {
            return Ok(upgrade);
        }
        upgrade.to = SourceId::parse(&newest);
        let content = self.tree.folder_id(&RepoPath::parse(&newest).unwrap());
        upgrade.to_content = content.as_ref().map(SourceContent::from);
        if before.contains("unreadable") {
            return Err(format!("{base}:1:1: it cannot be read"));
        }
        if before.contains("block") {
            upgrade.blocked.push("It blocks.".to_owned());
            return Ok(upgrade);
        }
        let change = |path: &str, before: Option<String>, after: String| FileChange {
            path: RepoPath::parse(path).unwrap(),
            before,
            after: Some(after),
        };
        upgrade.files = vec![change(&base, Some(before), after), change(&record, recorded, named)];
        upgrade.files.retain(|file| file.before != file.after);
        Ok(upgrade)
    }
}
