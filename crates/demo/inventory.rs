//! The tour `inventory`: clusters are described by the values in which they differ. One edit reaches several of them, and
//! the check says which before it is merged.

use capstan_forge::{Edit, MergeMethod, NewPull, PullView};

use super::PLATFORM;
use super::failure::{DemoFailure, failed};
use super::tell::{heading, indented_lines, say, say_diff, title};
use super::text::{hunks, plain, row};
use super::watch::{Watch, expect, missing};

pub(super) const REPOSITORY: &str = "acme/sites";

/// The clusters of the inventory, and those of the environments whose version is raised.
const CLUSTERS: [&str; 6] = [
    "bank/bank-dev",
    "bank/bank-prod",
    "bank/bank-staging",
    "shop/shop-dev",
    "shop/shop-prod",
    "shop/shop-staging",
];
const REACHED: [&str; 4] = ["bank/bank-dev", "bank/bank-staging", "shop/shop-dev", "shop/shop-staging"];

/// The number of the pull request that edits the inventory, as the README names it.
const EDIT: u64 = 8;

const ENVIRONMENTS: &str = include_str!("../../docs/examples/inventory/inventory/environments.yaml");
const SETTINGS: &str =
    "# Values of environments, customers and sites make the clusters.\ninventory: {path: inventory}\n";
const README: &str = "\
# Sites

Six clusters of two customers, in three environments, on two sites.
[inventory/](/acme/sites/tree/main/inventory) says in which values they differ,
[openstack/](/acme/sites/tree/main/openstack/v1.0.0) how values become manifests. Capstan made the folders of the clusters.

## Look at

1. [Pull request 8](/acme/sites/pull/8) raises a version for two environments: its check names the clusters that the edit
   reaches, by environment, customer and site.
2. [Pull requests 9 to 12](/acme/sites) followed the merge, one for each of these clusters.
3. [A cluster's manifests](/acme/sites/tree/main/shop/shop-dev/base), which Capstan wrote from the values.
4. [The clusters in Capstan](@capstan@/?repository=acme/sites): versions now and offered, and
   [one of them](@capstan@/clusters/acme/sites/shop/shop-dev) with each change and its reason.

## Try it

1. Merge [pull request 11](/acme/sites/pull/11), and look at [its cluster](@capstan@/clusters/acme/sites/shop/shop-dev) again.
2. Comment `/capstan help` on [pull request 12](/acme/sites/pull/12).
3. Clone the repository, change another value in `inventory/`, push a branch, and open a pull request: the terminal says how
   to push.
";

/// The commits that the repository begins with: a message, and the files.
/// `capstan` is the address of Capstan's pages.
pub(super) fn begins_with(capstan: &str) -> Vec<(&'static str, Vec<Edit>)> {
    let files = example![
        "inventory":
        "openstack/v1.0.0/schema.yaml",
        "openstack/v1.0.0/templates/cluster.yaml",
        "openstack/v1.0.0/templates/control-plane.yaml",
        "openstack/v1.0.0/templates/pools.yaml",
        "inventory/inventory.yaml",
        "inventory/environments.yaml",
        "inventory/customers.yaml",
        "inventory/sites.yaml",
        "inventory/clusters.yaml",
    ];
    let own = [
        Edit::write(".capstan.yaml", SETTINGS),
        Edit::write("README.md", README.replace("@capstan@", capstan)),
    ];
    vec![("The inventory", own.into_iter().chain(files).collect())]
}

/// Plays it once.
pub(super) struct InventoryTour<'a> {
    pub(super) watch: Watch<'a>,
}

impl InventoryTour<'_> {
    pub(super) async fn play(&self) -> Result<(), DemoFailure> {
        title("inventory", "values become clusters, and an edit says what it reaches")?;
        say(&format!("   {}", self.watch.page()))?;
        self.make_folders().await?;
        let number = self.edit().await?;
        self.merge(number).await
    }

    /// The clusters have no folder yet.
    async fn make_folders(&self) -> Result<(), DemoFailure> {
        heading(1, "An inventory describes six clusters: Capstan proposes a folder for each")?;
        self.watch
            .until("a pull request for each cluster of the inventory", |watch| {
                Ok(watch.open_pulls()?.len() == CLUSTERS.len())
            })
            .await?;
        for pull in self.watch.open_pulls()? {
            say(&format!("   #{} {}", pull.number, pull.title))?;
            self.watch
                .forge
                .merge_pull(REPOSITORY, pull.number, PLATFORM, MergeMethod::Merge)
                .map_err(failed)?;
        }
        self.watch.until("the folders", |watch| Ok(watch.open_pulls()?.is_empty())).await?;
        let file = "shop/shop-dev/base/control-plane.yaml";
        let text = self.watch.forge.file(REPOSITORY, "main", file).map_err(failed)?.unwrap_or_default();
        expect(text.contains("version: v1.33.4"), || format!("{file} has another version: {text}"))?;
        say(&format!("   {PLATFORM} merges them. {file} begins:"))?;
        let first: Vec<&str> = text.lines().take(8).collect();
        say(&indented_lines(&first.join("\n")))
    }

    /// One edit, and what its check says.
    async fn edit(&self) -> Result<u64, DemoFailure> {
        let forge = self.watch.forge;
        let what = "Kubernetes v1.34.1 for development and staging";
        heading(2, &format!("{PLATFORM} opens a pull request: {what}"))?;
        let raised = ENVIRONMENTS.replace("kubernetes: {version: v1.33.4}", "kubernetes: {version: v1.34.1}");
        let edit = Edit::write("inventory/environments.yaml", raised);
        forge.commit(REPOSITORY, "raise-version", PLATFORM, what, &[edit]).map_err(failed)?;
        let new = NewPull {
            title: what.to_owned(),
            body: "One value in two environments.".to_owned(),
            head: "raise-version".to_owned(),
            base: "main".to_owned(),
            draft: false,
        };
        let number = forge.open_pull(REPOSITORY, PLATFORM, new).map_err(failed)?;
        expect(number == EDIT, || format!("the edit is #{number}, and the README names #{EDIT}"))?;
        self.watch
            .until("a check on the edit of the inventory", |watch| {
                let pull = watch.forge.pull(REPOSITORY, number).map_err(failed)?;
                Ok(watch.check(&pull).is_ok_and(|check| check.conclusion.is_some()))
            })
            .await?;
        let pull = forge.pull(REPOSITORY, number).map_err(failed)?;
        let diff = forge.pull_diff(REPOSITORY, number).map_err(failed)?;
        say_diff(&hunks(&diff, "environments.yaml", 24))?;
        let check = self.watch.check(&pull)?;
        say(&format!(
            "   check {}: {}",
            check.conclusion.as_deref().unwrap_or(&check.status),
            plain(&check.title)
        ))?;
        let told = format!("{}\n{}", check.summary, check.text);
        for line in told.lines().filter(|line| line.starts_with("- `")) {
            say(&format!("      {}", plain(line)))?;
        }
        expect(told.contains("4 of 6 clusters change"), || format!("the check reaches others: {told}"))?;
        say(&format!("   {}", pull.url))?;
        Ok(number)
    }

    async fn merge(&self, number: u64) -> Result<(), DemoFailure> {
        heading(3, &format!("{PLATFORM} merges #{number}: the four clusters follow"))?;
        self.watch.forge.merge_pull(REPOSITORY, number, PLATFORM, MergeMethod::Merge).map_err(failed)?;
        self.watch
            .until("a pull request for each cluster that the edit reaches", |watch| {
                let pulls = watch.open_pulls()?;
                Ok(pulls.len() == REACHED.len() && pulls.iter().all(|pull| watch.check(pull).is_ok()))
            })
            .await?;
        let pulls = self.watch.open_pulls()?;
        let is_of = |pull: &PullView, cluster: &str| pull.head_branch.ends_with(cluster);
        for cluster in REACHED {
            let pull = pulls.iter().find(|pull| is_of(pull, cluster));
            let pull = pull.ok_or_else(|| missing(&format!("{cluster} has no pull request")))?;
            let replaced = row(&pull.body, "Will be replaced").unwrap_or_else(|| "nothing".to_owned());
            say(&format!("   #{} {}\n      replaced after the merge: {replaced}", pull.number, pull.title))?;
        }
        Ok(())
    }
}
