//! Capstan upgrades fleets of Kubernetes clusters kept in Git as Cluster API objects.
//!
//! # The map
//!
//! The heart is pure and lies in packages of its own, each of which may name those above it:
//!
//! | package | owns |
//! |---|---|
//! | `src/envsubst` | expressions such as `${NAME}`, as clusterctl and Flux read and compute them |
//! | `src/model` | names, places, findings, snapshots, the table of kinds |
//! | `src/yaml` | lossless documents: strict reading, editing behind a gate |
//! | `src/kustomize` | rendering, schemas, conversion between API versions |
//! | `src/inventory` | levels of values, schemas of releases, templates; where each value comes from |
//! | `src/campaign` | how a release moves through a fleet: waves, windows, limits, what stops it |
//! | `src/hosts` | which bare-metal hosts a tenant cluster gets, and what stands before them |
//! | `src/providers` | provider objects of the Cluster API operator, and what their components render to |
//! | `src/plan` | releases, three-way merge, rules, campaigns, proposals, commands |
//! | `src/live` | rollouts, applying, what reconcilers and the bot say to each other |
//! | `src/report` | bodies, checks, comments |
//!
//! Round it stands this package, the shell. A room may import the rooms that its line names, and the heart:
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`bounded_json`] | JSON that others wrote: bounded in levels and values | nothing |
//! | [`config`] | validated settings of the bot and the reconciler | nothing |
//! | [`telemetry`] | tracing and metrics | nothing |
//! | [`listener`] | one listener of HTTP: its limits, and which requests it refuses | nothing |
//! | [`app`] | use cases: gather facts, ask the heart, perform effects | nothing |
//! | [`git`] | a mirror of a repository and snapshots of its trees | `app` |
//! | [`github`] | App authentication, GitHub's calls | `app` |
//! | [`database`] | deliveries, jobs, proposals, campaigns, agents, audit | `app` |
//! | [`components`] | components of providers from registries and releases: bounded, from named hosts alone | `app` |
//! | [`wave_webhooks`] | questions to webhooks whether a wave is well: signed, bounded | `app` |
//! | [`openstack`] | what a cloud has and has free, and application credentials: asked with a Secret's credential, bounded, from named hosts alone | `app`, `bounded_json` |
//! | [`vault`] | secrets and leases of Vaults that stores name: asked with somebody's login, bounded | `app`, `bounded_json` |
//! | [`agent_client`] | the reconciler's side of the agent API: key, tokens, archives, reports | `app` |
//! | [`dry_run`] | GitHub and Git as they would be: reads through, writes nothing | `app` |
//! | [`planner_process`] | planning and rendering in processes with limits: started, asked, ended | `app` |
//! | [`state_folder`] | the reconciler's state folder: its lock, who had it before, and what the process is at | `app` |
//! | [`k8s`] | the management cluster: objects, Capstan's own kinds, leadership, events | `app`, `bounded_json` |
//! | [`controllers`] | the reconciler's loops: when which cluster is reconciled; probes | `app`, `listener` |
//! | [`server`] | webhook intake, agent API, pages, health, metrics | `app`, `config`, `listener` |
//! | [`cli`] | arguments and the subcommands | `app`, `config` |
//!
//! `main.rs` and `wiring/` put them together: the only place that knows every room.
//!
//! Beside it lie two packages that know nothing of it: `src/outbound`, HTTP to others, bounded, to where it may lead; and
//! `src/forge`, a GitHub stand-in for tests and the demo.
//!
//! # Where to go
//!
//! | to change | go to |
//! |---|---|
//! | what an upgrade does to a field, a list, a template | `plan/merge`, `plan/upgrade`; a case is a folder in `tests/cases` |
//! | a new source of change | `plan/upgrade/change_source.rs`, read in `app/generator/sources.rs`, planned by `app/planner` |
//! | a wave, its limits, and what stops a campaign | `campaign/settings.rs` says, `campaign/decision.rs` decides, `app/sync/campaigns` acts |
//! | who is asked whether a wave is well | `app/wave_webhooks.rs` decides whom and when, [`wave_webhooks`] asks |
//! | what a preflight asks of a cloud | `live/cloud` reads and judges, `app/reconcile/cloud_preflight.rs` gathers, [`openstack`] asks |
//! | a cluster's own credentials of its cloud | `live/credentials` decides, `app/reconcile/credentials` acts, [`openstack`] makes them |
//! | how secrets come out of Vault | `live/secrets` decides, `app/reconcile/secrets` acts, [`vault`] asks; when, `controllers/secrets.rs` |
//! | a rule and its reason | `plan/policy`, one file a rule |
//! | what a pull request or a check says | `report` |
//! | when a proposal is opened, refreshed, left alone | `plan/proposal`, `plan/campaign` (decide), `app/sync` (act) |
//! | a setting | `plan/settings` (a repository's), [`config`] (the bot's) |
//! | what becomes of the services inside a cluster | `plan/services` (decide), `app/generator/service_step.rs` (read); their settings, `plan/settings/services.rs` |
//! | how services come into a cluster, and how they stand | `live/services` (decide), `app/reconcile/services` (act), `k8s/workload_clusters.rs` (open) |
//! | first contact with a repository | `plan/onboarding`, `plan/first_release` (decide), `app/sync/onboarding.rs` and `cli/init.rs` (act) |
//! | what reconcilers may read, and what their reports become | `live/agent`, `report`; [`app::agents`] (the bot's side), [`agent_client`] (theirs) |
//! | what becomes of the providers of a set | `plan/provider_set.rs`, `providers/comparison`, `providers/rules` |
//! | what a provider object's components render to | `providers/rendering`, its steps; what differs, `docs/providers.md` |
//! | where components of providers come from | `providers/source` (at hand), `providers/origin`, `app/ports/components.rs`, [`components`] (fetched) |
//! | who installs providers, what their status says, when they may go | `live/installing`; a set's folder, `app/reconcile/provider_sets.rs` |
//! | which hosts a tenant cluster gets, and what stands before them | `hosts` decides, [`app::hosts`] acts, `controllers/hosts.rs` says when; before the merge, `app/reconcile/hosts_preflight.rs` |
//! | the kinds of providers, as `deploy/` brings them | `k8s/crd/providers` |
//! | a subcommand or its output | [`cli`] |
//! | what the reconciler does with a cluster, and when | `live/applying`, [`app::reconcile`], [`controllers`] |
//! | what a pass over the providers does next | `live/installing/pass` decides, [`app::providers`] acts, `controllers/providers.rs` says when |
//! | a call to GitHub | `app/ports/code_host.rs`, then [`github`], and [`dry_run`] where it writes |
//! | whom Capstan calls, where a name may lead, what an answer may cost | `src/outbound`; who may name which host, `docs/security.md` |
//! | how much is asked of GitHub, and what goes first | `app/budget` decides; a call's cost, `github/call.rs` |
//! | deliveries that did not arrive | `app/intake/missed.rs` |
//! | a page for people, who sees it, its buttons | `server/pages`; what it reads, `app/ports/pages.rs` and `database/pages.rs` |
//! | what is stored | `migrations`, [`database`] |
//! | what users read | `README.md`, `docs` (a rule's page is compiled in); `tests/suite/docs` holds them against the programs |
//!
//! # The walk of a push
//!
//! GitHub -> [`server`] (signature, one transaction, 202) -> [`app::worker`] claims the repository's job ->
//! [`app::sync`] reads GitHub and Git, plans through [`app::generator`], asks the heart what to do with each
//! proposal, and performs it: at most four writes a proposal and one check run. Events are hints: every run
//! looks at the present state, so doubled, lost and reordered ones end the same.
//!
//! # The walk of a merge
//!
//! [`controllers`] follows a Fleet's source and opens each new commit -> every cluster whose folder changed
//! gets its turn, the others at their interval -> [`app::reconcile`] renders, asks the heart for boundary,
//! guards and phases, tries everything through the port of the management cluster, notes in the inventory
//! what will be there, applies what differs, prunes, judges -> the `ManagedCluster` says how it stands, the
//! bot hears of it.
//!
//! # The walk of a provider
//!
//! [`controllers`] hears that a provider object, its components or something that was applied for it changed ->
//! [`app::providers`] reads all seven kinds and renders them, looks at what is there and asks the heart for one step ->
//! it performs that one, behind the leader's fence, and looks again, until nothing is to be done or something has to be
//! waited for; then each provider object says how it stands.
//!
//! # The walk of a host
//!
//! [`controllers`] hears that a SIPCluster, a host or an object of a service changed -> [`app::hosts`] reads again what is out
//! of date and, one SIPCluster after the other, asks the heart for the next writes -> it performs them, as the service account
//! of the tenant's namespace, until there is none: finalizer, choice, services, labels, status.
//!
//! # Words
//!
//! | word | meaning |
//! |---|---|
//! | release | a folder `<provider>/<version>/` with `base/` or a `release.yaml`: a tested set of versions and settings |
//! | cluster | a folder with `base/` (the platform team's) and perhaps `overlay/` (the customer's); its id is its path |
//! | source | what brings change: a release, or something of another kind; old objects, new objects, an id |
//! | provider set | a folder with `base/` that holds the provider objects of a management cluster: those of the Cluster API operator |
//! | target | what receives it: a cluster or a provider set; its id is its path |
//! | object | a Kubernetes object, known by API group, kind, namespace and name |
//! | fragment | a document of a release that holds fields of an object, and no whole one |
//! | upgrade | one target from one source state to another: edits, changes, conflicts, findings, rollouts |
//! | change | a field or an object that an upgrade sets, adds or removes, with its reason |
//! | conflict | what both cluster and release changed since the old release |
//! | step group | versions, images and references to templates, which move together or not at all |
//! | finding | a rule's verdict: rule id, severity, message, place |
//! | to block | of an upgrade: nothing is written, and the reason is said |
//! | template | a machine or bootstrap template of Cluster API, which is not edited but rotated: a new object with a new name |
//! | rollout | machines that will be replaced, and later how far that is |
//! | proposal | the pull request that carries an upgrade |
//! | group | clusters that share a pull request, by the beginning of their ids |
//! | campaign | one source state offered to many clusters of a repository |
//! | track | how far a cluster follows newer releases |
//! | management cluster | where Cluster API and the reconciler run, known by the UID of its `kube-system` namespace |
//! | agent | a reconciler that enrolled with the bot |
//! | preflight | the question what a live cluster would say to a change, asked before the merge |
//! | tombstone | an entry under `delete` in a cluster's `capstan.yaml`, without which most live objects are not deleted |
//!
//! The rules of an upgrade, U1 to U16, are listed in [`capstan_plan`].
//!
//! # Where tests stand
//!
//! A folder's tests stand in its `tests.rs`, or in `tests/` where they are several; a file's at its end, in
//! `#[cfg(test)] mod tests`, or beside it in `<file>_tests.rs` where they are long. Tests of several rooms or of a
//! program stand in the package's `tests/suite`. A module that is a folder begins in its `mod.rs`.
//!
//! # The rule
//!
//! Arrows run one way: `heart <- app <- {git, github, database, k8s, state_folder}`, `{server, controllers, cli}` call `app`,
//! adapters never import one another. `tests/suite/house` reads the imports and fails when one
//! breaks it.

pub mod agent_client;
pub mod app;
pub mod bounded_json;
pub mod cli;
pub mod components;
pub mod config;
pub mod controllers;
pub mod database;
pub mod dry_run;
pub mod git;
pub mod github;
pub mod k8s;
pub mod listener;
pub mod openstack;
pub mod planner_process;
pub mod server;
pub mod state_folder;
pub mod telemetry;
pub mod vault;
pub mod wave_webhooks;
