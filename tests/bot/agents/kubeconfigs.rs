//! Keys of clusters' owners at the bot: reconcilers send them, and people who know the address fetch them. The bot
//! brings them into Git where that is wanted. It never accepts them unencrypted, or in another way than Git wants them.

use std::io::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use capstan_agent_client::BotSource;
use capstan_forge::{Edit, MergeMethod};
use capstan_live::agent::{KubeconfigFile, KubeconfigForm, RolloutReport, RolloutState};
use capstan_live::owners::{Endpoint, OwnersForm};
use capstan_model::digest::sha256;
use capstan_model::tree::RepoPath;
use capstan_plan::settings::{ClusterSettings, PublishedAt};
use capstan_ports::{AgentWork as _, Enrolment as _, KubeconfigRecords as _, RolloutRecords as _};
use capstan_reconciler::reconcile::ports::{Bot as _, OwnersFile};
use capstan_reconciler::reconcile::resources::KeyRecipient;
use reqwest::header::{ETAG, IF_NONE_MATCH};

use super::raw::Raw;
use super::{EU, client, cluster, commit, delivered, each_engine, enrolled, report};
use crate::running::sample;
use crate::running::town::{REPOSITORY, Town};

const DAY: i64 = 86_400;

const ADA: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIB/SIL13EX5ly7Fe3nnGtzIgWIx8Fe8qhaisPRJFHXhs";
const ADAS: &str = "SHA256:WbUK/Ttgi/pFrslRC0YhF0fq1Z4ZylISYR1oWWJTTdM";
/// An age key that Git does not name.
const EVE: &str = "age19dxrgt65x047tydpmfm7qy73kuj8243dfptcmj5tsjavvegu8jusxey9mx";

/// The settings of a cluster in Git: its release and `more`.
fn says(id: &str, more: &str) -> Edit {
    Edit::write(format!("{id}/capstan.yaml"), format!("release: aws/v21.0.0\n{more}"))
}

/// Ada owns it.
fn owned(id: &str, more: &str) -> Edit {
    says(id, &format!("owners:\n- {{name: ada, key: {ADA}}}\n{more}"))
}

fn encrypted(letters: &str, recipient: &dyn age::Recipient) -> Vec<u8> {
    let format = age::armor::Format::AsciiArmor;
    let armored = age::armor::ArmoredWriter::wrap_output(Vec::new(), format).unwrap();
    let encryptor = age::Encryptor::with_recipients(std::iter::once(recipient)).unwrap();
    let mut writer = encryptor.wrap_output(armored).unwrap();
    writer.write_all(letters.as_bytes()).unwrap();
    writer.finish().and_then(age::armor::ArmoredWriter::finish).unwrap()
}

/// What a reconciler sends, for Ada.
fn file(id: &str, letters: &str, publish: PublishedAt) -> OwnersFile {
    let content = encrypted(letters, &ADA.parse::<age::ssh::Recipient>().unwrap());
    OwnersFile {
        cluster: cluster(id),
        form: OwnersForm::Certificate,
        sha256: sha256(&content),
        content,
        recipients: vec![KeyRecipient { name: "ada".to_owned(), fingerprint: ADAS.to_owned(), key: None }],
        expires_at: Some(jiff::Timestamp::now() + jiff::SignedDuration::from_hours(30 * 24)),
        publish,
    }
}

fn address(town: &Town, below: &str) -> String {
    format!("{}/clusters/{REPOSITORY}/{below}", town.bot_url())
}

async fn status(address: &str) -> u16 {
    reqwest::get(address).await.unwrap().status().as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_fetch_their_file_and_see_no_other() {
    each_engine(&["gauss/peu01"], async |mut town, url| {
        let state = tempfile::tempdir().unwrap();
        town.push("main", &[owned("gauss/peu01", "")]);
        town.settle().await;
        let agent = enrolled(&town, EU, state.path()).await;
        let bot = BotSource(Arc::clone(&agent));
        let key = address(&town, "gauss/peu01/kubeconfig.age");
        assert_eq!(status(&key).await, 404);
        let first = file("gauss/peu01", "Zmlyc3Q=", PublishedAt::Bot);
        bot.publish_key(&first).await.unwrap();
        let got = reqwest::get(&key).await.unwrap();
        assert_eq!(got.status(), 200);
        let tag = got.headers()[ETAG].to_str().unwrap().to_owned();
        assert_eq!(tag, format!("\"{}\"", first.sha256));
        assert_eq!(got.headers()["capstan-sha256"], first.sha256.as_str());
        assert_eq!(got.headers()["content-disposition"], "attachment; filename=\"kubeconfig.age\"");
        assert_eq!(got.bytes().await.unwrap(), first.content);
        let http = reqwest::Client::new();
        let again = http.get(&key).header(IF_NONE_MATCH, &tag).send().await.unwrap();
        assert_eq!((again.status().as_u16(), again.bytes().await.unwrap().len()), (304, 0));
        assert_eq!(http.delete(&key).send().await.unwrap().status(), 405);
        for other in
            ["gauss/peu01/kubeconfig", "gauss/peu02/kubeconfig.age", "kubeconfig.age", "gauss/peu01", ""]
        {
            assert_eq!(status(&address(&town, other)).await, 404, "{other}");
        }
        assert_eq!(status(&format!("{}/clusters", town.bot_url())).await, 404, "nothing is listed");

        // Publishing the same file again sends no request, even after the reconciler restarts. A newer file replaces
        // it.
        town.go_away().await;
        drop((bot, agent));
        let bot = BotSource(client(&town, EU, state.path(), None));
        bot.publish_key(&first).await.unwrap();
        let second = file("gauss/peu01", "c2Vjb25k", PublishedAt::Bot);
        assert!(bot.publish_key(&second).await.is_err(), "the bot is away");
        town.come_back().await;
        bot.publish_key(&second).await.unwrap();
        let changed = http.get(&key).header(IF_NONE_MATCH, &tag).send().await.unwrap();
        assert_eq!(changed.bytes().await.unwrap(), second.content);

        // A bot whose database was brought back from a copy has what it had then, and is sent it again after some hours.
        let own = std::fs::read_dir(state.path().join("agents")).unwrap().next().unwrap().unwrap().path();
        let believed = own.join("kubeconfigs.json");
        let kept = std::fs::read_to_string(&believed).unwrap();
        let agents = town.database().agents().await.unwrap();
        let watched = town.database().watched_repository(REPOSITORY).await.unwrap().unwrap();
        let lost = cluster("gauss/peu01");
        town.database().keep_kubeconfig(watched.repository.id, &agents[0], &lost, None).await.unwrap();
        bot.publish_key(&second).await.unwrap();
        assert_eq!(status(&key).await, 404, "it is believed to have it");
        drop(bot);
        let year = format!("\"at\":\"{}", jiff::Timestamp::now().strftime("%Y"));
        std::fs::write(&believed, kept.replace(&year, "\"at\":\"2025")).unwrap();
        let bot = BotSource(client(&town, EU, state.path(), None));
        bot.publish_key(&second).await.unwrap();
        assert_eq!(status(&key).await, 200);

        // It outlives the bot's process, and ends with what is in it.
        town.restart(Some(&url)).await;
        let key = address(&town, "gauss/peu01/kubeconfig.age");
        assert_eq!(status(&key).await, 200);
        town.pass(31 * DAY);
        assert_eq!(status(&key).await, 404);
        town.pass(-31 * DAY);
        bot.withdraw_key(&cluster("gauss/peu01")).await.unwrap();
        assert_eq!(status(&key).await, 404);
        bot.publish_key(&first).await.unwrap();
        assert_eq!(status(&key).await, 200);
        // Once Git names no owner, the bot does not serve the file, whether or not the reconciler knows that.
        town.push("main", &[says("gauss/peu01", "")]);
        town.settle().await;
        assert_eq!(status(&key).await, 404);
        assert!(bot.publish_key(&second).await.is_err(), "Git names no owner");
        town.push("main", &[owned("gauss/peu01", "")]);
        town.settle().await;
        assert_eq!(status(&key).await, 200);
        // The files of a revoked agent are deleted.
        let agents = town.database().agents().await.unwrap();
        town.database().revoke(&agents[0].id, "ada").await.unwrap();
        assert_eq!(status(&key).await, 404);
        town.done();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_taken_that_is_not_encrypted_or_not_ones_own() {
    let town = Town::new(super::SETTINGS, &["gauss/peu01"]).await;
    let oidc =
        "access: {publish: git, oidc: {issuerUrl: 'https://login.example.com', clientId: kubernetes}}\n";
    town.push("main", &[owned("gauss/peu01", oidc)]);
    town.settle().await;
    let raw = Raw::enrolled(&town).await;
    let sent = |form: &str, bytes: &[u8], sha: &str, fingerprints: &[&str]| {
        let recipient = |one: &&str| serde_json::json!({"name": "ada", "fingerprint": one});
        let recipients: Vec<_> = fingerprints.iter().map(recipient).collect();
        let said = serde_json::json!({"form": form, "sha256": sha, "place": "git", "recipients": recipients});
        serde_json::json!({"said": said, "content": STANDARD.encode(bytes)})
    };
    let post = async |id: &str, file: serde_json::Value| {
        let body = serde_json::json!({"repository": REPOSITORY, "cluster": id, "file": file});
        let token = raw.sign(&raw.claims());
        raw.post("kubeconfigs", Some(&token), body.to_string()).await
    };
    let endpoint = Endpoint {
        server: "https://10.0.0.1:6443".to_owned(),
        authority: None,
        tls_server_name: None,
        certificate: None,
    };
    let settings = ClusterSettings::read(&RepoPath::parse("c.yaml").unwrap(), oidc).unwrap();
    let login = endpoint.with_login("peu01", &settings.access.oidc.unwrap());
    let code = login.replace("\"kubectl\"", "\"sh\"");
    let token = login.replace("\"exec\": {", "\"tokenFile\": \"/etc/passwd\", \"exec\": {");
    let sealed = encrypted("key", &ADA.parse::<age::ssh::Recipient>().unwrap());
    let for_eve = encrypted("key", &EVE.parse::<age::x25519::Recipient>().unwrap());
    let script = b"-----BEGIN AGE ENCRYPTED FILE-----\nusers: []\n";
    let plain = b"{\"users\": [{\"user\": {\"client-key-data\": \"S0VZ\"}}]}";
    assert!(code != login && token != login);
    for (form, bytes, recipients) in [
        ("age", &plain[..], &[ADAS][..]),
        ("plain", &plain[..], &[]),
        ("plain", code.as_bytes(), &[]),
        ("plain", token.as_bytes(), &[]),
        ("plain", sealed.as_slice(), &[]),
        ("age", login.as_bytes(), &[ADAS]),
        ("age", &script[..], &[ADAS]),
        ("age", for_eve.as_slice(), &[EVE]),
        ("age", for_eve.as_slice(), &[ADAS]),
        ("age", sealed.as_slice(), &[]),
    ] {
        let came = post("gauss/peu01", sent(form, bytes, &sha256(bytes), recipients)).await;
        came.refuses(400, "The request is not acceptable");
    }
    let other = sent("age", &sealed, &sha256(b"other"), &[ADAS]);
    post("gauss/peu01", other).await.refuses(400, "The request is not acceptable");
    let good = sent("age", &sealed, &sha256(&sealed), &[ADAS]);
    post("euler/x", good.clone()).await.refuses(404, "There is nothing here for this agent");
    let large = vec![b'A'; 200 << 10];
    let large = sent("age", &large, &sha256(&large), &[ADAS]);
    post("gauss/peu01", large).await.refuses(400, "The request cannot be read");

    // A file that got into the database in spite of this is not served, and not brought into Git.
    let (agents, watched) = (
        town.database().agents().await.unwrap(),
        town.database().watched_repository(REPOSITORY).await.unwrap(),
    );
    let stored: KubeconfigFile =
        serde_json::from_value(sent("plain", code.as_bytes(), &sha256(code.as_bytes()), &[])).unwrap();
    let (id, of) = (watched.unwrap().repository.id, cluster("gauss/peu01"));
    town.database().keep_kubeconfig(id, &agents[0], &of, Some(&stored)).await.unwrap();
    assert_eq!(status(&address(&town, "gauss/peu01/kubeconfig")).await, 404);
    town.push("main", &[Edit::write("README.md", "new\n")]);
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 0);

    assert_eq!(post("gauss/peu01", good).await.status, 204);
    assert_eq!(status(&address(&town, "gauss/peu01/kubeconfig.age")).await, 200);
    let made = sent("plain", login.as_bytes(), &sha256(login.as_bytes()), &[]);
    assert_eq!(post("gauss/peu01", made).await.status, 204);
    assert_eq!(status(&address(&town, "gauss/peu01/kubeconfig")).await, 200);
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 1);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_check_says_where_the_key_is() {
    let town = Town::new(super::SETTINGS, &["gauss/peu01"]).await;
    town.push("main", &[owned("gauss/peu01", "")]);
    town.settle().await;
    let state = tempfile::tempdir().unwrap();
    let agent = enrolled(&town, EU, state.path()).await;
    let number = town.open("ada", "more", &[sample::machine_pool("gauss/peu01", "v1.21.4", 5)]);
    town.settle().await;
    town.forge.merge_pull(REPOSITORY, number, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    let merge = town.forge.resolve(REPOSITORY, "main").unwrap().unwrap();
    let key = file("gauss/peu01", "Zmlyc3Q=", PublishedAt::Bot);
    BotSource(Arc::clone(&agent)).publish_key(&key).await.unwrap();
    let said = serde_json::json!({"form": "age", "sha256": key.sha256, "expires_at": key.expires_at,
        "recipients": [{"name": "ada", "fingerprint": "SHA256:Wb"}]});
    let done = RolloutReport {
        kubeconfig: Some(serde_json::from_value(said).unwrap()),
        ..report("gauss/peu01", &commit(&merge), RolloutState::Done, 2)
    };
    assert_eq!(done.kubeconfig.as_ref().unwrap().form, KubeconfigForm::Age);
    agent.report(done).await.unwrap();
    delivered(&agent).await;
    town.report_rollouts().await;
    let check = town.check_named("capstan/rollout", number).unwrap();
    let link = format!("https://capstan.example/clusters/{REPOSITORY}/gauss/peu01/kubeconfig.age");
    for told in [link.as_str(), &key.sha256, "- `ada`: `SHA256:Wb`"] {
        assert!(check.summary.contains(told), "{told}: {}", check.summary);
    }

    // A newer file is reported in the same check as the rollout, once.
    assert_eq!(town.database().open_merges().await.unwrap().len(), 0);
    let say = async |key: &OwnersFile, state: RolloutState| {
        let said = serde_json::json!({"form": "age", "sha256": key.sha256, "expires_at": key.expires_at});
        let kubeconfig = Some(serde_json::from_value(said).unwrap());
        let told = report("gauss/peu01", &commit(&merge), state, 2);
        agent.report(RolloutReport { kubeconfig, ..told }).await.unwrap();
        delivered(&agent).await;
    };
    let tells = |key: &OwnersFile, earlier: &OwnersFile| {
        let again = town.check_named("capstan/rollout", number).unwrap();
        assert_eq!((again.id, &again.conclusion), (check.id, &check.conclusion), "{}", again.summary);
        let names = |key: &OwnersFile| again.summary.contains(&key.sha256);
        assert!(names(key) && !names(earlier), "{}", again.summary);
    };
    let newer = file("gauss/peu01", "bmV3ZXI=", PublishedAt::Bot);
    town.pass(20);
    for state in [RolloutState::Rolling, RolloutState::Done, RolloutState::Unknown] {
        say(&newer, state).await;
        town.report_rollouts().await;
    }
    tells(&newer, &key);
    // The same applies when machines roll again before the report: that rollout belongs to another merge.
    let newest = file("gauss/peu01", "bmV3ZXN0", PublishedAt::Bot);
    town.pass(20);
    say(&newest, RolloutState::Done).await;
    say(&newest, RolloutState::Rolling).await;
    town.report_rollouts().await;
    tells(&newest, &newer);
    assert_eq!(town.database().open_merges().await.unwrap().len(), 0);
    town.done();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubeconfig_for_git_comes_by_a_pull_request() {
    let town = Town::new(super::SETTINGS, &["gauss/peu01"]).await;
    town.push("main", &[owned("gauss/peu01", "access: {publish: git}\n")]);
    town.settle().await;
    let state = tempfile::tempdir().unwrap();
    let bot = BotSource(enrolled(&town, EU, state.path()).await);
    let first = file("gauss/peu01", "Zmlyc3Q=", PublishedAt::Git);
    bot.publish_key(&first).await.unwrap();
    town.settle().await;
    let is_it = |pull: &capstan_forge::PullView| pull.head_branch == "capstan/kubeconfig/gauss/peu01";
    let pull = town.open_pulls().into_iter().find(is_it).unwrap();
    assert_eq!(pull.title, "Key of gauss/peu01 for its owners");
    assert!(pull.body.contains(&first.sha256), "{}", pull.body);
    let there = |revision: &str| town.file(revision, "gauss/peu01/credentials/kubeconfig.age");
    assert_eq!(there(&pull.head_branch).as_bytes(), first.content);

    // A newer one comes into the same pull request; once merged there is nothing to do.
    let second = file("gauss/peu01", "c2Vjb25k", PublishedAt::Git);
    bot.publish_key(&second).await.unwrap();
    town.settle().await;
    assert_eq!(there(&pull.head_branch).as_bytes(), second.content);
    assert!(town.pull(pull.number).body.contains(&second.sha256));
    town.forge.merge_pull(REPOSITORY, pull.number, "ada", MergeMethod::Merge).unwrap();
    town.settle().await;
    assert_eq!(there("main").as_bytes(), second.content);
    assert_eq!(town.open_pulls().into_iter().filter(is_it).count(), 0);

    // After a person closes it, the same file is not offered again, but the next one is.
    let third = file("gauss/peu01", "dGhpcmQ=", PublishedAt::Git);
    bot.publish_key(&third).await.unwrap();
    town.settle().await;
    let pull = town.open_pulls().into_iter().find(is_it).unwrap();
    town.forge.close(REPOSITORY, pull.number, "ada").unwrap();
    town.settle().await;
    assert_eq!(town.open_pulls().into_iter().filter(is_it).count(), 0);
    let other = file("gauss/peu02", "b3RoZXI=", PublishedAt::Git);
    assert!(bot.publish_key(&other).await.is_err(), "of no cluster of this repository");
    town.settle().await;
    assert_eq!(town.open_pulls().len(), 0);
    town.done();
}
