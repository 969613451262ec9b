//! The process' side: one request after the other.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use capstan_model::ids::ClusterId;
use capstan_model::source::SourceKind;
use capstan_model::tree::Tree;
use capstan_plan::upgrade::{Upgrade, Versions};
use jiff::civil::Date;

use super::super::generator::Generator;
use super::super::{JudgedBy, OpenFailed, OpenFleet, Planner};
use super::messages::{FleetRequest, Judging, OpenedFleet, PlannerRequest, Releases, Response, SentUpgrade};
use super::sent::Sent;
use super::tree_ref::TreeRef;
use super::{StoredTrees, frame};
use crate::generator::{
    Fleet, Refused, WatchRenders, campaign_candidates, create_cluster, folders_to_make, make_folder, onboard,
    plan_each_source, retire_cluster, try_folder, valued_clusters,
};

/// Answers requests until there are no more.
///
/// # Errors
/// The other side has closed the connection, or wrote something that is not a request.
pub fn serve(
    generator: &Generator,
    trees: &mut dyn StoredTrees,
    requests: &mut dyn Read,
    answers: &mut (dyn Write + Send),
) -> io::Result<()> {
    let mut requests = requests;
    let out = Out {
        answers: Mutex::new(answers),
        sent: Mutex::default(),
        too_long: Mutex::default(),
        failed: Mutex::default(),
    };
    let mut last = LastFleet::default();
    while let Some(request) = frame::read(&mut requests, frame::LONGEST_REQUEST)? {
        let request: PlannerRequest = frame::decode(&request)?;
        let end = answer(generator, trees, &mut last, &out, request).unwrap_or_else(|end| *end);
        let end = if trees.take_damage() {
            last = LastFleet::default();
            Response::Unavailable("a mirror can no longer be read".to_owned())
        } else {
            end
        };
        let forgotten = locked(&out.sent).forget();
        if !forgotten.is_empty() {
            out.say(&Response::Forgotten(forgotten));
        }
        out.end(&end);
        if let Some(error) = locked(&out.failed).take() {
            return Err(error);
        }
    }
    Ok(())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where answers go; from any thread.
struct Out<'a> {
    answers: Mutex<&'a mut (dyn Write + Send)>,
    sent: Mutex<Sent>,
    /// Why a part of the answer under way could not be said.
    too_long: Mutex<Option<String>>,
    /// What went wrong with writing first: nothing is written after it.
    failed: Mutex<Option<io::Error>>,
}

impl Out<'_> {
    /// Says a part of an answer. One that is too long is what the end will tell.
    fn say(&self, response: &Response) {
        if let Err(error) = self.try_say(response) {
            locked(&self.too_long).get_or_insert(error.to_string());
        }
    }

    /// Says the end of an answer, or that a part of it was too long.
    fn end(&self, end: &Response) {
        let too_long = locked(&self.too_long).take();
        let said = match too_long {
            Some(why) => Err(why),
            None => self.try_say(end).map_err(|error| error.to_string()),
        };
        if let Err(why) = said {
            self.say(&Response::TooLong(why));
        }
    }

    fn plan(&self, cluster: &ClusterId, kind: SourceKind, plan: Option<Result<Arc<Upgrade>, Refused>>) {
        let plan = plan.map(|plan| match plan {
            Ok(upgrade) => Ok(locked(&self.sent).send(&upgrade)),
            Err(refused) => Err(refused.to_string()),
        });
        let number = match &plan {
            Some(Ok(SentUpgrade::New(number, _))) => Some(*number),
            _ => None,
        };
        let said = |plan| Response::Planned(cluster.clone(), kind.clone(), plan);
        if let Err(error) = self.try_say(&said(plan)) {
            number.into_iter().for_each(|number| locked(&self.sent).take_back(number));
            self.say(&said(Some(Err(format!("{cluster}: the plan is too long: {error}")))));
        }
    }

    /// Writes a message unless it is too long; that it cannot be written is noted.
    fn try_say(&self, response: &Response) -> io::Result<()> {
        // The message is made outside of the lock: it is what costs.
        let frame = frame::encode(response, frame::LONGEST_RESPONSE)?;
        let mut answers = locked(&self.answers);
        // A plan is flushed with the next `Begun` or with the end. No plan is lost if the next target crashes the
        // process, and a thousand of them wake the reader half as often.
        let written = match response {
            Response::Planned(..) => answers.write_all(&frame),
            _ => frame::write(&mut *answers, &frame),
        };
        drop(answers);
        if let Err(error) = written {
            locked(&self.failed).get_or_insert(error);
        }
        Ok(())
    }
}

/// Says whose render is worked on.
struct Watch<'o, 'a> {
    out: &'o Out<'a>,
    unrendered: BTreeSet<ClusterId>,
    one_by_one: bool,
}

impl WatchRenders for Watch<'_, '_> {
    fn begun(&self, cluster: &ClusterId) {
        self.out.say(&Response::Begun(cluster.clone()));
    }

    fn ended(&self, cluster: &ClusterId) {
        self.out.say(&Response::Finished(cluster.clone()));
    }

    fn skips(&self, cluster: &ClusterId) -> bool {
        self.unrendered.contains(cluster)
    }

    fn one_by_one(&self) -> bool {
        self.one_by_one
    }
}

fn unavailable(why: impl ToString) -> Box<Response> {
    Box::new(Response::Unavailable(why.to_string()))
}

/// Answers a request, all but its end; either way what that is.
fn answer(
    generator: &Generator,
    trees: &mut dyn StoredTrees,
    last: &mut LastFleet,
    out: &Out<'_>,
    request: PlannerRequest,
) -> Result<Response, Box<Response>> {
    let begun = |cluster: &ClusterId| out.say(&Response::Begun(cluster.clone()));
    match request {
        PlannerRequest::Open(fleet) => {
            let fleet = last.open(generator, trees, fleet)?;
            Ok(Response::Opened(Box::new(OpenedFleet {
                settings: fleet.settings().clone(),
                scopes: OpenFleet::scopes(fleet),
                to_come: OpenFleet::scopes_to_come(fleet),
                valued: valued_clusters(fleet).into_iter().collect(),
                releases_repository: OpenFleet::releases_repository(fleet),
                missing_contents: OpenFleet::missing_contents(fleet),
            })))
        }
        PlannerRequest::Plan { fleet, only, without } => {
            let fleet = last.open(generator, trees, fleet)?;
            let wanted = |cluster: &ClusterId, kind: &SourceKind| {
                only.as_ref().is_none_or(|only| only.contains(cluster))
                    && !without.contains(&(cluster.clone(), kind.clone()))
            };
            let watch = Watch { out, unrendered: BTreeSet::new(), one_by_one: false };
            plan_each_source(fleet, wanted, &watch, |cluster, kind, plan| out.plan(cluster, kind, plan));
            Ok(Response::Done)
        }
        PlannerRequest::Create { fleet, wanted } => {
            let fleet = last.open(generator, trees, fleet)?;
            begun(&wanted.cluster);
            Ok(Response::Created(Box::new(create_cluster(fleet, &wanted))))
        }
        PlannerRequest::Retire { fleet, cluster } => {
            let fleet = last.open(generator, trees, fleet)?;
            begun(&cluster);
            Ok(Response::Retired(Box::new(retire_cluster(fleet, &cluster))))
        }
        PlannerRequest::Candidates { fleet, unrendered } => {
            let fleet = last.open(generator, trees, fleet)?;
            let watch = Watch { out, unrendered, one_by_one: true };
            Ok(Response::Candidates(campaign_candidates(fleet, &watch)))
        }
        PlannerRequest::Judge(judging) => {
            let Judging { before, after, settings, clusters, live, supplies, unrendered, today } = judging;
            let (before, after) = (opened(before, trees)?, opened(after, trees)?);
            let (settings, clusters, live) = (&settings, &clusters, &live);
            let by = JudgedBy { settings, clusters, live, supplies: &supplies, today };
            let judge = generator.judging(before, after, by, &Watch { out, unrendered, one_by_one: true });
            for cluster in clusters {
                begun(cluster);
                out.say(&Response::Judged(judge(cluster)));
            }
            Ok(Response::Done)
        }
        PlannerRequest::JudgeReleases { before, after, settings, today } => {
            let (before, after) = (opened(before, trees)?, opened(after, trees)?);
            let judged = generator.judge_releases(before, after, &settings, today);
            judged.map(|judged| Response::JudgedReleases(Box::new(judged))).map_err(unavailable)
        }
        PlannerRequest::InventoryChange { before, after, settings, today } => {
            let (before, after) = (opened(before, trees)?, opened(after, trees)?);
            let change = generator.inventory_change(before, after, &settings, today);
            change.map(|change| Response::InventoryChanged(change.map(Box::new))).map_err(unavailable)
        }
        PlannerRequest::Touched { before, after, scopes, unrendered, one_by_one } => {
            let (before, after) = (opened(before, trees)?, opened(after, trees)?);
            let watch = Watch { out, unrendered, one_by_one };
            let touched = generator.touched_each(before.as_ref(), after.as_ref(), &scopes, &watch);
            Ok(Response::Clusters(touched))
        }
        PlannerRequest::TouchedThroughClasses { before, after, settings } => {
            let (before, after) = (opened(before, trees)?, opened(after, trees)?);
            let clusters = generator.touched_through_classes(before, after, &settings);
            clusters.map(Response::Clusters).map_err(unavailable)
        }
        PlannerRequest::MadeOf { tree, clusters, unrendered } => {
            let tree = opened(tree, trees)?;
            let watch = Watch { out, unrendered, one_by_one: true };
            generator.made_of_each(tree.as_ref(), &clusters, &watch, &mut |cluster, made| {
                out.say(&Response::Made(cluster, made.into_values().collect()));
            });
            Ok(Response::Done)
        }
        PlannerRequest::Try { tree, settings, clusters } => {
            let today = Date::default();
            let fleet = Fleet::with_settings(opened(tree, trees)?, settings, true, today);
            let watch = Watch { out, unrendered: BTreeSet::new(), one_by_one: true };
            if clusters.iter().any(|cluster| fleet.layout().target(cluster.as_str()).is_none()) {
                // What all of an inventory share is read before the first of them is begun: it is not what that one takes.
                let _read = folders_to_make(&fleet).is_ok();
            }
            for cluster in &clusters {
                watch.begun(cluster);
                try_folder(&fleet, cluster);
                if fleet.layout().target(cluster.as_str()).is_none() {
                    // It is yet to be made, of an inventory.
                    let _harmless = make_folder(&fleet, cluster).is_ok();
                }
                watch.ended(cluster);
            }
            Ok(Response::Done)
        }
        PlannerRequest::Onboard { tree, today, unplanned } => {
            let watch = Watch { out, unrendered: unplanned, one_by_one: true };
            let onboarding = onboard(&opened(tree, trees)?, today, &watch);
            Ok(Response::Onboarded(onboarding.map(Box::new)))
        }
        PlannerRequest::Scopes { tree, settings } => {
            generator.scopes(opened(tree, trees)?, &settings).map(Response::Scopes).map_err(unavailable)
        }
    }
}

/// The fleet that was opened last: its plans are usually asked for next.
#[derive(Default)]
struct LastFleet(Option<(Vec<u8>, Fleet)>);

impl LastFleet {
    /// That fleet, or another one if the request differs.
    fn open(
        &mut self,
        generator: &Generator,
        trees: &mut dyn StoredTrees,
        request: FleetRequest,
    ) -> Result<&Fleet, Box<Response>> {
        let asked = frame::encode(&request, frame::LONGEST_REQUEST).map_err(unavailable)?;
        let known = self.0.take().filter(|(known, _)| *known == asked);
        let known = match known {
            Some(known) => known,
            None => (asked, open(generator, trees, request)?),
        };
        Ok(&self.0.insert(known).1)
    }
}

/// A fleet with all that it was given; the end of the answer where there is none.
fn open(
    generator: &Generator,
    trees: &mut dyn StoredTrees,
    request: FleetRequest,
) -> Result<Fleet, Box<Response>> {
    let FleetRequest {
        tree,
        settings,
        today,
        releases,
        contents,
        retarget,
        asked,
        settled,
        rolled_back,
        names,
        supplies,
    } = request;
    let mut fleet =
        generator.open_fleet(opened(tree, trees)?, settings, today).map_err(|failed| match failed {
            OpenFailed::Settings(problem) => Box::new(Response::BadSettings(problem)),
            OpenFailed::Planner(failed) => unavailable(failed),
        })?;
    match releases {
        Releases::NotAsked => {}
        Releases::Refused(why) => OpenFleet::refuse_releases(&mut fleet, why),
        Releases::Given { tree, consumer } => {
            let tree = opened(tree, trees)?;
            OpenFleet::provide_releases(&mut fleet, tree, &consumer)
                .map_err(|why| Box::new(Response::ReleasesRefused(why.to_string())))?;
        }
    }
    for (id, content) in contents {
        OpenFleet::provide_content(&mut fleet, id, content.open(trees).map_err(unavailable)?);
    }
    for proposal in &retarget {
        OpenFleet::allow_retarget(&mut fleet, proposal);
    }
    for (proposal, release) in asked {
        OpenFleet::ask_for(&mut fleet, &proposal, Some(release));
    }
    for (proposal, settled) in settled {
        OpenFleet::settle(&mut fleet, &proposal, settled);
    }
    for proposal in &rolled_back {
        OpenFleet::set_versions(&mut fleet, proposal, Versions::Stay);
    }
    let names = names.into_iter().map(|(cluster, names)| (cluster, Arc::new(names))).collect();
    OpenFleet::know_names(&mut fleet, names);
    OpenFleet::provide_components(&mut fleet, supplies);
    Ok(fleet)
}

fn opened(tree: TreeRef, trees: &mut dyn StoredTrees) -> Result<Arc<dyn Tree>, Box<Response>> {
    tree.open(trees).map_err(unavailable)
}
