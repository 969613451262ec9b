//! The key of a cluster's owners: they fetch it from the bot and work with kubectl, one of them leaves, and it is renewed.

use std::io::Read as _;
use std::time::{Duration, Instant};

use age::armor::ArmoredReader;
use age::x25519::Identity;
use capstan_forge::Edit;

use crate::live::sample::Sample;
use crate::live::town::{REPOSITORY, SHORT, Town};
use crate::live::waiting::{Look, holds, until};
use crate::story::{heading, plain, say};
use capstan_test_parts::plane::Plane;

/// How long the cluster's signer lets certificates be valid, beside the five minutes before they are made: two thirds of both
/// are over half a minute after they were.
pub(super) const SIGNED_FOR: &str = "3m10s";

/// The two owners, with the halves of their keys that nobody else has.
pub(super) struct Owners {
    ada: Identity,
    bob: Identity,
}

impl Owners {
    pub(super) fn new() -> Self {
        Self { ada: Identity::generate(), bob: Identity::generate() }
    }

    /// What `capstan.yaml` says of both, or of Ada alone.
    fn settings(&self, with_bob: bool) -> String {
        let both = [("ada", &self.ada), ("bob", &self.bob)];
        let rows = both.into_iter().take(if with_bob { 2 } else { 1 });
        let rows = rows.map(|(name, key)| format!("- {{name: {name}, key: {}}}\n", key.to_public()));
        format!("owners:\n{}", rows.collect::<String>())
    }
}

/// Where both work.
pub(super) struct Place<'t> {
    pub(super) town: &'t Town<'t>,
    pub(super) cluster: &'t Sample,
    pub(super) inside: &'t Plane,
}

pub(super) fn tell(place: &Place<'_>, services: &str) {
    heading(8, "Its owners get a key that they alone can open, and whoever leaves loses it at once");
    let (town, owners) = (place.town, Owners::new());
    let number = place.propose("Ada and Bob own it", services, &owners.settings(true));
    town.merge(number);
    let file = until("the key is published", SHORT, || place.fetch(None));
    let old = open(&file, &owners.bob).unwrap();
    assert_eq!(open(&file, &owners.ada).as_ref(), Some(&old));
    assert_eq!(open(&file, &Identity::generate()), None, "a stranger opens it");
    assert!(place.admits(&old), "it is not a key");
    say(&format!(
        "   #{number} names them in capstan.yaml. The cluster signs a certificate of their own, its key never leaves the\n   reconciler but encrypted to both, and the bot serves it to whoever asks:\n      curl {}\n   `age -d` gives either of them a kubeconfig with which kubectl works; a stranger's key does not open it.",
        place.address()
    ));
    let check = until("the check tells it", SHORT, || {
        let check = town.check(number, "capstan/rollout")?;
        holds(check.summary.contains("kubeconfig.age"), || check.summary.clone())?;
        Ok(check)
    });
    let told = check.summary.lines().find(|line| line.contains("kubeconfig.age")).unwrap_or_default();
    say(&format!("   check capstan/rollout: {}", plain(told)));

    let number = place.propose("Bob leaves", services, &owners.settings(false));
    say(&format!(
        "   #{number} takes Bob out. check capstan: {}",
        plain(&town.check(number, "capstan").unwrap().title)
    ));
    town.merge(number);
    let start = Instant::now();
    until("Bob is kept out", SHORT, || holds(!place.admits(&old), || "he gets in".to_owned()));
    say(&format!(
        "   {:.1} s after the merge the cluster refuses the key that Bob has.",
        start.elapsed().as_secs_f64()
    ));
    let second = until("Ada gets another one", SHORT, || place.fetch(Some(&file)));
    let new = open(&second, &owners.ada).unwrap();
    assert!(open(&second, &owners.bob).is_none() && place.admits(&new));

    say("   This cluster's signer signs for minutes only, so that you can see the key being renewed:");
    let third = until("it is renewed", Duration::from_secs(120), || place.fetch(Some(&second)));
    let renewed = open(&third, &owners.ada).unwrap();
    assert!(place.admits(&renewed) && !place.admits(&old));
    say(&format!(
        "   {:.0} s later Ada fetches the next one; Bob's is still refused.",
        start.elapsed().as_secs_f64()
    ));
}

impl Place<'_> {
    /// A pull request whose check is well.
    fn propose(&self, title: &str, services: &str, owners: &str) -> u64 {
        let settings =
            Edit::write(format!("{}/capstan.yaml", self.cluster.id()), format!("{services}{owners}"));
        let number = self.town.propose(title, &[settings]);
        self.town.wait_for_check(number, "capstan", "success", SHORT);
        number
    }

    fn address(&self) -> String {
        format!("{}/clusters/{REPOSITORY}/{}/kubeconfig.age", self.town.bot.url, self.cluster.id())
    }

    /// The file that the bot serves, where that is another one than before.
    fn fetch(&self, before: Option<&[u8]>) -> Look<Vec<u8>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let file = runtime.block_on(async {
            let answer = reqwest::get(self.address()).await?.error_for_status()?;
            answer.bytes().await
        });
        let file = file.map_err(|error| error.to_string())?.to_vec();
        holds(before != Some(file.as_slice()), || "it is the same file".to_owned())?;
        Ok(file)
    }

    /// Whether the cluster lets somebody with that kubeconfig do everything.
    fn admits(&self, kubeconfig: &str) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig").display().to_string();
        std::fs::write(&file, kubeconfig).unwrap();
        let asked = self.inside.try_kubectl(&["auth", "can-i", "*", "*", "--kubeconfig", &file], "");
        asked.is_ok_and(|said| said.trim() == "yes")
    }
}

fn open(file: &[u8], identity: &Identity) -> Option<String> {
    let decryptor = age::Decryptor::new(ArmoredReader::new(file)).ok()?;
    let mut text = String::new();
    decryptor
        .decrypt(std::iter::once(identity as &dyn age::Identity))
        .ok()?
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}
