//! Who may be an agent, and whose tokens are believed.

use std::time::{Duration, Instant};

use capstan_agent_client::BotSource;
use capstan_bot::agents::{Invitee, invite};
use capstan_live::agent::{AgentId, ReportId, RolloutReport, RolloutState};
use capstan_plan::settings::{ManagementClusterUid, RepositoryName};
use capstan_ports::{Enrolment as _, Retention as _};
use capstan_reconciler::reconcile::ports::Bot as _;
use capstan_test_support::PATIENCE;
use futures_util::future::join_all;

use super::raw::Raw;
use super::{EU, SETTINGS, US, client, commit, each_engine, enrolled, report};
use crate::running::town::{REPOSITORY, Town};

const UNKNOWN: &str = "Unknown agent";
const WORK: &str = "work?repository=acme/gitops";

#[tokio::test(flavor = "multi_thread")]
async fn a_join_code_makes_one_agent_of_one_management_cluster_within_the_hour() {
    each_engine(&["gauss/peu01"], async |town, _| {
        let code = town.invite(EU).await;
        let (mut first, mut second) = (Raw::new(&town), Raw::new(&town));
        first.enrol(&code, US).await.refuses(401, UNKNOWN);
        assert_eq!(first.enrol(&code, EU).await.status, 201);
        let agent = first.enrolment.clone().unwrap();
        second.enrol(&code, EU).await.refuses(401, UNKNOWN);
        assert_eq!(first.enrol(&code, EU).await.status, 201, "whoever lost the answer asks again");
        assert_eq!(first.enrolment, Some(agent.clone()));
        assert_eq!(agent.audience, agent.bot_public_key.audience());

        let stored = town.database().agents().await.unwrap();
        assert_eq!(stored.len(), 1);
        assert_eq!((stored[0].id.clone(), stored[0].management_cluster.as_str()), (agent.agent, EU));

        let late = town.invite(EU).await;
        town.pass(3_600);
        second.enrol(&late, EU).await.refuses(401, UNKNOWN);
        second.enrol("capstan-join-aaaaaaaaaaaaaaaaaaaaaaaaaa", EU).await.refuses(401, UNKNOWN);
        second.enrol("no code at all", EU).await.refuses(401, UNKNOWN);
        town.done();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_reconciler_of_a_management_cluster_is_asked_for_by_name() {
    each_engine(&["gauss/peu01"], async |town, _| {
        let invite_one = async |name: Option<&str>| {
            let invitee = Invitee {
                management_cluster: ManagementClusterUid::parse(EU).unwrap(),
                name: name.map(str::to_owned),
                invited_by: "ada@bot".to_owned(),
            };
            invite(town.database(), &*town.bot_clock(), invitee).await
        };
        // Two codes were made before the first was used.
        let first = invite_one(None).await.unwrap().code;
        let second = invite_one(None).await.unwrap().code;
        let (mut agent, mut other) = (Raw::new(&town), Raw::new(&town));
        assert_eq!(agent.enrol(first.expose(), EU).await.status, 201);
        other.enrol(second.expose(), EU).await.refuses(401, UNKNOWN);
        let id = agent.enrolment.as_ref().unwrap().agent.clone();
        let refused = invite_one(None).await.unwrap_err().to_string();
        assert!(
            refused.contains(&format!("`capstan agents revoke {id}`")) && refused.contains("--name"),
            "{refused}"
        );

        let beside = invite_one(Some("standby")).await.unwrap().code;
        assert_eq!(other.enrol(beside.expose(), EU).await.status, 201);
        assert!(invite_one(Some("standby")).await.unwrap_err().to_string().contains("already has this name"));

        // The audit trail and the records have each enrolled agent and the person who invited it.
        let agents = town.database().agents().await.unwrap();
        let seen: Vec<_> =
            agents.iter().map(|agent| (agent.name.as_str(), agent.invited_by.as_str())).collect();
        assert_eq!(seen, [("mc", "ada@bot"), ("standby", "ada@bot")]);
        let counts = town.database().row_counts().await.unwrap();
        assert!(counts.contains(&("audit", 2)), "{counts:?}");
        // Once the first is gone, a code without a name will do.
        for agent in agents {
            assert!(town.database().revoke(&agent.id, "ada@bot").await.unwrap());
        }
        let again = invite_one(None).await.unwrap().code;
        assert_eq!(Raw::new(&town).enrol(again.expose(), EU).await.status, 201);
    })
    .await;
}

/// What the reconciler makes an event of.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_enrols_says_so_once() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let bot = BotSource(enrolled(&town, EU, state.path()).await);
    let stored = town.database().agents().await.unwrap().remove(0);
    let new = bot.newly_enrolled().unwrap();
    assert_eq!((new.agent, new.key), (stored.id.to_string(), stored.public_key.fingerprint()));
    assert!(new.bot.starts_with(&town.bot_url()), "{}", new.bot);
    assert_eq!(bot.newly_enrolled(), None);
    // After a restart it is an agent already.
    let again = BotSource(client(&town, EU, state.path(), None));
    again.0.work(None, Duration::ZERO).await.unwrap();
    assert_eq!(again.newly_enrolled(), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_join_codes_never_lock_honest_ones_out() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let code = town.invite(EU).await;
    let mut stranger = Raw::new(&town);
    let mut waits = 0;
    for _ in 0..100 {
        let came = stranger.enrol("capstan-join-aaaaaaaaaaaaaaaaaaaaaaaaaa", EU).await;
        waits += usize::from(came.status == 429);
    }
    assert!(waits > 0, "whoever guesses is told to wait");
    assert_eq!(Raw::new(&town).enrol(&code, EU).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_report_of_the_future_is_refused_for_good() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let agent = Raw::enrolled(&town).await;
    let tip = commit(&town.forge.resolve(REPOSITORY, "main").unwrap().unwrap());
    let at = |ahead: u64| {
        let now = std::time::SystemTime::now() + Duration::from_secs(ahead);
        ReportId::parse(&ulid::Ulid::from_datetime(now).to_string()).unwrap()
    };
    let reports = [at(60), at(600)].map(|id| RolloutReport {
        id,
        repository: RepositoryName::parse(REPOSITORY).unwrap(),
        ..report("gauss/peu01", &tip, RolloutState::Rolling, 1)
    });
    let body = serde_json::json!({"reports": reports}).to_string();
    let token = agent.token();
    let came = agent.post("reports", Some(&token), body).await;
    let answer: serde_json::Value = serde_json::from_str(&came.body).unwrap();
    assert_eq!(answer, serde_json::json!({"taken": [reports[0].id], "refused": [reports[1].id]}));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_believed_once_within_its_time_and_for_its_bot_alone() {
    each_engine(&["gauss/peu01"], async |town, _| {
        let agent = Raw::enrolled(&town).await;
        let token = agent.token();
        assert_eq!(agent.get(WORK, Some(&token)).await.status, 200);
        agent.get(WORK, Some(&token)).await.refuses(401, UNKNOWN);

        let with = |change: &dyn Fn(&mut capstan_live::agent::Claims)| {
            let mut claims = agent.claims();
            change(&mut claims);
            agent.sign(&claims)
        };
        let other = Raw::enrolled(&town).await;
        let other_id = other.enrolment.as_ref().unwrap().agent.to_string();
        let unsigned = {
            let signed = agent.token();
            let claims = signed.split('.').nth(1).unwrap();
            // {"typ":"JWT","alg":"none"}
            format!("eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0.{claims}.")
        };
        let of_another_key = {
            let stranger = Raw { enrolment: agent.enrolment.clone(), ..Raw::new(&town) };
            stranger.token()
        };
        let tokens = [
            with(&|claims| (claims.iat, claims.exp) = (claims.iat - 200, claims.iat - 61)),
            with(&|claims| (claims.iat, claims.exp) = (claims.iat + 120, claims.iat + 180)),
            with(&|claims| claims.exp = claims.iat + 301),
            with(&|claims| claims.aud = "capstan-bot:another".to_owned()),
            with(&|claims| claims.iss = other_id.clone()),
            with(&|claims| claims.jti = String::new()),
            of_another_key,
            unsigned,
            agent.token().replace('.', "x"),
            "x".repeat(10_000),
            String::new(),
        ];
        for token in tokens {
            agent.get(WORK, Some(&token)).await.refuses(401, UNKNOWN);
        }
        agent.get(WORK, None).await.refuses(401, UNKNOWN);
        assert_eq!(agent.get(WORK, Some(&agent.token())).await.status, 200, "and the agent is still welcome");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_agent_gets_nothing_more_even_from_calls_under_way() {
    each_engine(&["gauss/peu01"], async |town, _| {
        let agent = Raw::enrolled(&town).await;
        let id: AgentId = agent.enrolment.as_ref().unwrap().agent.clone();
        let tip = town.forge.resolve("acme/gitops", "main").unwrap().unwrap();
        let poll = format!("{WORK}&after={tip}&wait_seconds=50");
        let token = agent.token();
        let (polled, ()) = tokio::join!(agent.get(&poll, Some(&token)), async {
            // Long enough that the poll usually waits; where it does not, it is refused at the door.
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert!(town.database().revoke(&id, "ada@town").await.unwrap());
        });
        polled.refuses(401, UNKNOWN);
        agent.get(WORK, Some(&agent.token())).await.refuses(401, UNKNOWN);
        assert!(!town.database().revoke(&id, "ada@town").await.unwrap(), "once is enough");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_client_says_so_and_enrols_again_with_a_new_code() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let client = enrolled(&town, EU, state.path()).await;
    let id = town.database().agents().await.unwrap()[0].id.clone();
    town.database().revoke(&id, "ada@town").await.unwrap();
    let refused = client.work(None, Duration::ZERO).await.unwrap_err().to_string();
    assert!(refused.contains("is revoked or unknown there") && refused.contains(id.as_str()), "{refused}");
    drop(client);

    let code = town.invite(EU).await;
    let again = super::client(&town, EU, state.path(), Some(&code));
    assert!(again.work(None, Duration::ZERO).await.unwrap().commit.is_some());
    assert_eq!(town.database().agents().await.unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn key_and_enrolment_are_their_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let state = tempfile::tempdir().unwrap();
    let _client = enrolled(&town, EU, state.path()).await;
    let mut modes = Vec::new();
    let mut folders = vec![state.path().join("agents")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
            modes.push((entry.file_name().to_string_lossy().into_owned(), mode));
            if entry.path().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    for name in ["key", "enrolment.json"] {
        let mode = modes.iter().find(|(found, _)| found == name).unwrap().1;
        assert_eq!(mode, 0o600, "{name}");
    }
    assert!(modes.iter().all(|(_, mode)| mode & 0o077 == 0), "{modes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_large_or_unreadable_is_refused_without_a_word_of_it() {
    let town = Town::new(SETTINGS, &["gauss/peu01"]).await;
    let mut agent = Raw::enrolled(&town).await;
    let too_large = |came: Option<super::raw::Came>| {
        came.iter().for_each(|came| came.refuses(413, "The body is too large"));
    };
    too_large(agent.post_too_much("enrol", None, 4_097).await);
    let padded = |text: &str, bytes: usize| format!("{text}{}", " ".repeat(bytes - text.len()));
    let whole = agent.post("enrol", None, padded("{\"join_code\": 7}", 4_096)).await;
    whole.refuses(400, "The request cannot be read");
    let code = "capstan-join-aaaaaaaaaaaaaaaaaaaaaaaaaa";
    let came = agent.post("enrol", None, format!("{{\"join_code\": [\"{code}\"]}}")).await;
    came.refuses(400, "The request cannot be read");
    assert!(!came.body.contains("aaaa"));
    let token = agent.token();
    too_large(agent.post_too_much("reports", Some(&token), 2_097_153).await);
    let token = agent.token();
    let whole = agent.post("reports", Some(&token), padded("{\"reports\": []}", 2_097_152)).await;
    assert!(whole.status < 300, "{} {}", whole.status, whole.body);
    let token = agent.token();
    agent.post("reports", Some(&token), "{").await.refuses(400, "The request cannot be read");
    let many = serde_json::json!({"reports": vec![serde_json::json!({}); 65]}).to_string();
    let token = agent.token();
    agent.post("reports", Some(&token), many).await.refuses(400, "The request cannot be read");
    // Without a token the bot does not read the body.
    agent.post("reports", None, "{").await.refuses(401, UNKNOWN);
    let token = agent.token();
    agent.get("nothing", Some(&token)).await.refuses(404, "There is nothing here");
    // More than the bot takes of one agent.
    let haste = async {
        // Ten at once, so that a slow machine asks faster than it is let, too.
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let asked = (0..10).map(async |_| agent.get(WORK, Some(&agent.token())).await);
            for came in join_all(asked).await {
                if came.status == 429 {
                    came.refuses(429, "Too many requests: try again later");
                    return true;
                }
            }
        }
        false
    };
    assert!(haste.await, "whoever asks without a pause is told to wait");
    assert_eq!(agent.enrol(&town.invite(EU).await, EU).await.status, 201);
}
