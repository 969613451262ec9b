//! The process' side: one request after the other.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use capstan_model::ids::ClusterId;
use capstan_model::tree::Tree;
use capstan_plan::upgrade::Upgrade;
use jiff::civil::Date;

use super::super::generator::{Generator, JudgedBy};
use super::super::{OpenFailed, OpenFleet, Planner};
use super::messages::{FleetRequest, Judging, Opened, Releases, Request, Response};
use super::sent::Sent;
use super::{StoredTrees, frame};
use crate::app::generator::{Fleet, WatchRenders};

/// Answers requests until there are no more.
///
/// # Errors
/// Whoever asks is gone, or writes what is no request.
pub fn serve(
    generator: &Generator,
    trees: &mut dyn StoredTrees,
    requests: &mut dyn Read,
    answers: &mut (dyn Write + Send),
) -> io::Result<()> {
    let mut requests = requests;
    let out = Out { answers: Mutex::new(answers), sent: Mutex::default(), failed: Mutex::default() };
    while let Some(request) = frame::read(&mut requests)? {
        let request: Request = frame::decode(&request)?;
        let end = match answer(generator, trees, &out, request) {
            Ok(end) if trees.is_intact() => end,
            Ok(_) => Response::Unavailable("a mirror could not be read any more".to_owned()),
            Err(Unanswered::Unavailable(why)) => Response::Unavailable(why),
        };
        let forgotten = out.sent().forget();
        if !forgotten.is_empty() {
            out.say(&Response::Forgotten(forgotten));
        }
        out.say(&end);
        if let Some(error) = out.failed() {
            return Err(error);
        }
    }
    Ok(())
}

/// Where answers go; from any thread.
struct Out<'a> {
    answers: Mutex<&'a mut (dyn Write + Send)>,
    sent: Mutex<Sent>,
    /// What went wrong with writing first: nothing is written after it.
    failed: Mutex<Option<io::Error>>,
}

impl Out<'_> {
    fn sent(&self) -> std::sync::MutexGuard<'_, Sent> {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self) -> Option<io::Error> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn say(&self, response: &Response) {
        // The message is made outside of the lock: it is what costs.
        let said = frame::encode(response)
            .or_else(|error| frame::encode(&shorter(response, &error.to_string())))
            .and_then(|frame| {
                let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
                frame::write(&mut *answers, &frame)
            });
        if let Err(error) = said {
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }

    fn plan(&self, cluster: &ClusterId, plan: Result<Arc<Upgrade>, String>) {
        let plan = plan.map(|upgrade| self.sent().send(&upgrade));
        self.say(&Response::Planned(cluster.clone(), plan));
    }
}

/// What is said instead of an answer that is too long.
fn shorter(response: &Response, why: &str) -> Response {
    match response {
        Response::Planned(cluster, _) => Response::Planned(cluster.clone(), Err(why.to_owned())),
        _ => Response::Unavailable(why.to_owned()),
    }
}

/// Says whose render is worked on.
struct Watch<'o, 'a> {
    out: &'o Out<'a>,
    unrendered: BTreeSet<ClusterId>,
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
}

enum Unanswered {
    Unavailable(String),
}

impl From<String> for Unanswered {
    fn from(why: String) -> Self {
        Self::Unavailable(why)
    }
}

fn answer(
    generator: &Generator,
    trees: &mut dyn StoredTrees,
    out: &Out<'_>,
    request: Request,
) -> Result<Response, Unanswered> {
    let begun = |cluster: &ClusterId| out.say(&Response::Begun(cluster.clone()));
    match request {
        Request::Open(fleet) => Ok(match open(generator, trees, fleet)? {
            Ok(fleet) => Response::Opened(Box::new(Opened {
                settings: fleet.settings().clone(),
                scopes: OpenFleet::scopes(&fleet),
                releases_repository: OpenFleet::releases_repository(&fleet),
                missing_contents: OpenFleet::missing_contents(&fleet),
            })),
            Err(end) => *end,
        }),
        Request::Plan { fleet, only, without } => match open(generator, trees, fleet)? {
            Ok(fleet) => {
                let wanted = |cluster: &ClusterId| {
                    !without.contains(cluster) && only.as_ref().is_none_or(|only| only.contains(cluster))
                };
                fleet.plan_each_cached(wanted, begun, |cluster, plan| {
                    out.plan(cluster, plan.map_err(|refused| refused.to_string()));
                });
                Ok(Response::Done)
            }
            Err(end) => Ok(*end),
        },
        Request::Judge(Judging { before, after, settings, clusters, live, today, unrendered }) => {
            let (before, after) = (before.open(trees)?, after.open(trees)?);
            let by = JudgedBy { settings: &settings, clusters: &clusters, live: &live, today };
            let judge = generator.judging(before, after, by, &Watch { out, unrendered });
            for cluster in &clusters {
                begun(cluster);
                out.say(&Response::Judged(judge(cluster)));
            }
            Ok(Response::Done)
        }
        Request::Touched { before, after, scopes, unrendered } => {
            let (before, after) = (before.open(trees)?, after.open(trees)?);
            let watch = Watch { out, unrendered };
            let touched = generator.touched_each(before.as_ref(), after.as_ref(), &scopes, &watch);
            Ok(Response::Clusters(touched))
        }
        Request::TouchedThroughClasses { before, after, settings } => {
            let (before, after) = (before.open(trees)?, after.open(trees)?);
            let clusters = generator.touched_through_classes(before, after, &settings);
            Ok(clusters.map_or_else(|failed| Response::Unavailable(failed.to_string()), Response::Clusters))
        }
        Request::MadeOf { tree, clusters } => {
            let made =
                generator.made_of(tree.open(trees)?, &clusters).map_err(|failed| failed.to_string())?;
            let entries = made.into_iter().map(|made| made.into_values().collect());
            Ok(Response::MadeOf(entries.collect()))
        }
        Request::Scopes { tree, settings } => {
            let scopes = generator.scopes(tree.open(trees)?, &settings);
            Ok(scopes.map_or_else(|failed| Response::Unavailable(failed.to_string()), Response::Scopes))
        }
    }
}

/// A fleet with all that it was given; the end of the answer where there is none.
fn open(
    generator: &Generator,
    trees: &mut dyn StoredTrees,
    request: FleetRequest,
) -> Result<Result<Fleet, Box<Response>>, Unanswered> {
    let FleetRequest { tree, today, releases, contents, retarget, names } = request;
    let tree: Arc<dyn Tree> = tree.open(trees)?;
    let mut fleet = match open_settings(generator, tree, today) {
        Ok(fleet) => fleet,
        Err(end) => return Ok(Err(end)),
    };
    match releases {
        Releases::NotAsked => {}
        Releases::Refused(why) => OpenFleet::refuse_releases(&mut fleet, why),
        Releases::Given { tree, consumer } => {
            let tree = tree.open(trees)?;
            if let Err(why) = OpenFleet::provide_releases(&mut fleet, tree, &consumer) {
                return Ok(Err(Box::new(Response::ReleasesRefused(why.to_string()))));
            }
        }
    }
    for (id, content) in contents {
        OpenFleet::provide_content(&mut fleet, id, content.open(trees)?);
    }
    for proposal in &retarget {
        OpenFleet::allow_retarget(&mut fleet, proposal);
    }
    let names = names.into_iter().map(|(cluster, names)| (cluster, Arc::new(names))).collect();
    OpenFleet::know_names(&mut fleet, names);
    Ok(Ok(fleet))
}

fn open_settings(generator: &Generator, tree: Arc<dyn Tree>, today: Date) -> Result<Fleet, Box<Response>> {
    generator.open_fleet(tree, today).map_err(|failed| {
        Box::new(match failed {
            OpenFailed::Settings(problem) => Response::BadSettings(problem),
            OpenFailed::Planner(failed) => Response::Unavailable(failed.to_string()),
        })
    })
}
