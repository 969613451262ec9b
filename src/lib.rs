//! Capstan upgrades fleets of Kubernetes clusters kept in Git as Cluster API objects.
//!
//! # The map
//!
//! The heart is pure and has packages of its own, each of which may name those above it:
//!
//! | package | owns |
//! |---|---|
//! | `crates/envsubst` | expressions such as `${NAME}`, as clusterctl and Flux read and compute them |
//! | `crates/model` | names, places, findings, snapshots, the table of kinds |
//! | `crates/yaml` | lossless documents: strict reading, editing behind a gate |
//! | `crates/kustomize` | rendering, schemas, conversion between API versions |
//! | `crates/inventory` | levels of values, schemas of releases, templates; where each value comes from |
//! | `crates/campaign` | how a release moves through a fleet: waves, windows, limits, what stops it |
//! | `crates/hosts` | which bare-metal hosts a tenant cluster gets, and the services in front of them |
//! | `crates/providers` | provider objects of the Cluster API operator, and what their components render to |
//! | `crates/plan` | releases, three-way merge, rules, campaigns, proposals, commands |
//! | `crates/drains` | whether the machines of a rollout can be drained: budgets, order, places for evicted pods |
//! | `crates/live` | rollouts, applying, what reconcilers and the bot say to each other |
//! | `crates/report` | bodies, checks, comments |
//! | `crates/facts` | what GitHub, Git and the records show and take, as plain values |
//! | `crates/bot-core` | what the bot decides of proposals, commands, checks, campaigns: facts in, effects or a question out |
//!
//! Round it are the use cases, which gather facts, ask the heart and perform effects; each may name those above it, and
//! the heart:
//!
//! | package | owns |
//! |---|---|
//! | `crates/ports` | what use cases need from outside, as traits: a code host, mirrors, records, clusters, clouds |
//! | `crates/budget` | what may be asked of GitHub, and when |
//! | `crates/fleet` | one snapshot of a repository: its facts, and what the heart says of them |
//! | `crates/reconciler-core` | what the reconciler does next, from facts alone: as pure as the heart |
//! | `crates/bot` | what came in; gathers the facts of `bot-core`, and performs what it decides on GitHub |
//! | `crates/reconciler` | providers, hosts and clusters of a management cluster |
//!
//! Adapters connect it to the outside world. Each may name the packages above it that it serves, and none
//! of the others here but `outbound` and `listener`:
//!
//! | package | owns |
//! |---|---|
//! | `crates/outbound` | HTTP to other services: which hosts it may reach, what an answer may cost, what its errors say |
//! | `crates/listener` | one listener of HTTP: its limits, and which requests it refuses |
//! | `crates/git` | a mirror of a repository and snapshots of its trees |
//! | `crates/github` | App authentication, GitHub's calls |
//! | `crates/database` | deliveries, jobs, proposals, campaigns, agents, audit |
//! | `crates/registries` | components of providers from registries and releases: bounded, from named hosts alone |
//! | `crates/webhooks` | questions to webhooks whether a wave is well: signed, bounded |
//! | `crates/openstack` | what a cloud has and has free, and application credentials: asked with a Secret's credential |
//! | `crates/vault` | secrets and leases of Vaults that stores name: asked with somebody's login |
//! | `crates/agent-client` | the reconciler's side of the agent API: key, tokens, archives, reports |
//! | `crates/dry-run` | GitHub and Git as they would be: reads through, writes nothing |
//! | `crates/planner-process` | planning and rendering in processes with limits: started, asked, ended |
//! | `crates/k8s` | the management cluster: objects, Capstan's own kinds, leadership, events |
//! | `crates/controllers` | the reconciler's loops: when which cluster is reconciled; probes |
//! | `crates/server` | webhook intake, agent API, pages, health, metrics |
//! | `crates/forge` | a GitHub stand-in for tests and the demo; knows nothing of the others |
//!
//! They are put together, each program with those that it needs:
//!
//! | package | owns |
//! |---|---|
//! | `crates/telemetry` | tracing and metrics |
//! | `crates/serve` | the bot as a whole: its parts started and stopped, and the process that plans for it |
//! | `crates/demo` | `make demo`: the bot on the forge with sample data; a program of its own, which needs no Kubernetes client |
//!
//! The rest is this package, the program. A room may import the rooms that its line names, and every package:
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`config`] | validated settings of the bot and the reconciler | nothing |
//! | [`state_folder`] | the reconciler's state folder: its lock, who had it before, and what the process is at | nothing |
//! | [`cli`] | arguments and the subcommands | `config` |
//!
//! `main.rs` and `wiring/` put them together: the only place that knows every package. The bot's part of that is
//! `crates/serve`, which the demo has too.
//!
//! # Where to go
//!
//! | to change | go to |
//! |---|---|
//! | what an upgrade does to a field, a list, a template | `plan/merge`, `plan/upgrade`; a case is a folder in `tests/cases` |
//! | a new source of change | `plan/upgrade/change_source.rs`, read in `fleet/generator/sources.rs`, planned in `fleet/generator/plan_cached.rs` |
//! | newer API versions without a release (`migrate`) | `plan/migration.rs` says which, `fleet/generator/migration.rs` plans; what becomes of a field, `kustomize/conversion` |
//! | a wave, its limits, and what stops a campaign | `campaign/settings.rs` says, `campaign/decision.rs` decides, `bot-core/campaigns` asks for its facts, `bot/sync/campaigns.rs` reads them |
//! | who is asked whether a wave is well | `bot-core/campaigns/release.rs` decides about which wave, `bot-core/campaigns/webhooks.rs` when, `bot/wave_webhooks.rs` which hosts may be; `webhooks` asks |
//! | what a preflight asks of a cloud | `live/cloud` judges, its rooms such as `openstack` read the objects, `reconciler/reconcile/cloud_preflight.rs` gathers, `openstack` asks |
//! | a cluster's own credentials of its cloud | `reconciler-core/credentials` decides, `reconciler/reconcile/credentials` acts, `openstack` makes them and writes what their users read |
//! | how secrets come out of Vault | `live/secrets` reads, `reconciler-core/leases` decides, `reconciler/reconcile/secrets` acts, `vault` asks; when, `controllers/secrets.rs` |
//! | what is said of drains before a merge | `drains/treatment.rs` sorts pods, `drains/budgets.rs` counts, `drains/placing` finds nodes, `drains/rollout` simulates, `drains/oracle.rs` compares |
//! | the key that a cluster's owners are given | `reconciler-core/owners` decides, `reconciler/reconcile/owners` acts |
//! | how a life is lived: facts, a step, and again | `reconciler-core/next.rs`, `reconciler/life.rs` |
//! | how soon a cluster is reconciled again | `reconciler-core/requeue.rs`, `reconciler-core/schedule.rs` |
//! | what is said of a reconciliation | `reconciler-core/conclude.rs` |
//! | how long what failed is left alone | `model/doubling.rs`; a retry within a call, `backon` |
//! | a rule and its reason | `plan/policy`, one file a rule |
//! | a slash-command | its row in `plan/verbs` (word, grammar, who may use it, button), its file in `bot-core/commands` (what it decides and answers) |
//! | a tick of the dashboard | `report/dashboard/boxes.rs` writes the box, `bot-core/dashboard/ticks.rs` makes a command of it |
//! | a field of a kind of Capstan's own | `k8s/crd` defines it, `capstan crds` prints it for `deploy/`, `reconciler-core/resources` reads it |
//! | another cloud | an adapter beside `openstack`, behind the traits of `ports/cloud.rs`, with a row in `wiring/reconciler.rs`; its objects and its words, a row in `live/cloud/table.rs` |
//! | what a pull request or a check says | `report` |
//! | what a step of the bot's run reads and may call | `bot/sync/run.rs` gives each subject its handles |
//! | when a proposal is opened, refreshed, left alone | `plan/proposal`, `plan/campaign`, `bot-core/proposals` (decide), `bot/sync` (act) |
//! | whose commands count, what each is about, when and where it is answered | `plan/command`, `bot-core/commands/hearing`, `bot-core/requests`, `bot-core/answers` |
//! | a setting | `plan/settings` (a repository's), [`config`] (the bot's), handed on in `serve/settings.rs` |
//! | what a plan may depend on, and when a kept one is reused | `fleet/generator/inputs.rs`, answered in `fleet/generator/answers.rs`; kept in `fleet/generator/reuse.rs` |
//! | what the inventory brings to a cluster | `fleet/generator/valued_plan.rs`, which asks `valued_folder.rs`, `inventory_creation.rs` or `inventory_retirement.rs` beside it |
//! | a cluster that is made from a release, or deleted | `plan/creation`, `plan/layout/new_target.rs`, `plan/retirement.rs`; `fleet/generator/creation.rs`, `fleet/generator/retirement.rs` |
//! | what becomes of the services inside a cluster | `plan/services` (decide), `fleet/generator/service_step.rs` (read); their settings, `plan/settings/services.rs` |
//! | how services come into a cluster, and their state | `live/services`, `reconciler-core/services` (decide), `reconciler/reconcile/services` (act), `k8s/workload_clusters.rs` (open) |
//! | first contact with a repository | `plan/onboarding`, `plan/first_release`, `bot-core/onboarding` (decide), `bot/sync/onboarding.rs` and `cli/init.rs` (act) |
//! | what reconcilers may read, and what their reports become | `live/agent`, `report`; `bot/agents` (the bot's side), `agent-client` (theirs) |
//! | what becomes of the providers of a set | `plan/provider_set.rs`, `providers/comparison`, `providers/rules` |
//! | what a provider object's components render to | `providers/rendering`, its steps; what differs, `docs/providers.md` |
//! | where components of providers come from | `providers/source` (at hand), `providers/origin`, `ports/components.rs`, `registries` (fetched) |
//! | who installs providers, what their status says, when they may go | `live/installing`; a set's folder, `reconciler/reconcile/provider_sets.rs` |
//! | which hosts a tenant cluster gets, and the services in front of them | `hosts` decides, `reconciler/hosts` acts, `controllers/hosts.rs` says when; before the merge, `reconciler/reconcile/hosts_preflight.rs` |
//! | the kinds of providers, as `deploy/` brings them | `k8s/crd/providers` |
//! | a subcommand or its output | [`cli`] |
//! | what the reconciler does with a cluster, and when | `live/applying`, `reconciler/reconcile`, `controllers` |
//! | what a pass over the providers does next | `live/installing/pass` decides, `reconciler/providers` acts, `controllers/providers.rs` says when |
//! | a check, a comment, a branch, a pull request, as it is written | `bot-core/effects` says what is wanted, `bot/performing` writes what differs |
//! | a call to GitHub | `ports/code_host.rs`, then `github`, and `dry-run` where it writes |
//! | which hosts Capstan calls, where a name may lead, what an answer may cost | `crates/outbound`; who may name which host, `docs/security.md` |
//! | how much is asked of GitHub, and what goes first | `budget` decides; a call's cost, `github/call.rs` |
//! | deliveries that did not arrive | `bot/intake/missed.rs` |
//! | a page for people, who sees it, its buttons, how it renews itself | `server/pages`; what it reads, `ports/pages.rs` and `database/pages`; what a run leaves for it, `bot-core/campaigns/records.rs` and `report/target_detail.rs` |
//! | what is stored | `migrations`, `database` |
//! | what users read | `README.md`, `docs` (a rule's page is compiled in); `tests/cli/docs` holds them against the programs |
//!
//! # The walk of a push
//!
//! GitHub -> `server` (signature, one transaction, 202) -> `bot/worker.rs` claims the repository's job ->
//! `bot/sync` reads GitHub and Git, plans through `fleet/generator`, asks `bot-core` what to do with each
//! proposal, and performs it: at most four writes a proposal and one check run. Events are hints: every run
//! looks at the present state, so doubled, lost and reordered ones end the same.
//!
//! # The walk of a merge
//!
//! `controllers` follows a Fleet's source and opens each new commit -> every cluster whose folder changed
//! gets its turn, the others at their interval -> `reconciler/reconcile` renders, asks the heart for boundary,
//! guards and phases, tries everything through the port of the management cluster, notes in the inventory
//! what will be there, applies what differs, prunes, judges -> the `ManagedCluster` has the result, the
//! bot hears of it.
//!
//! # The walk of a provider
//!
//! `controllers` hears that a provider object, its components or something that was applied for it changed ->
//! `reconciler/providers` reads all seven kinds and renders them, looks at what is there and asks the heart for one step ->
//! it performs that one, behind the leader's fence, and looks again, until nothing is to be done or something has to be
//! waited for; then the status of each provider object has the result.
//!
//! # The walk of a host
//!
//! `controllers` hears that a SIPCluster, a host or an object of a service changed -> `reconciler/hosts` reads again what is out
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
//! A folder's tests are in its `tests.rs`, or in `tests/` if there are several files. A file's tests are at
//! its end, in `#[cfg(test)] mod tests`, or in `<file>_tests.rs` if they are long. Tests of several rooms are
//! in the package's `tests/suite`, those of the programs in `tests/bot`, `tests/cluster` and `tests/cli`. A
//! module that is a folder begins in its `mod.rs`.
//!
//! # The rule
//!
//! Arrows run one way: `heart <- use cases <- adapters <- programs`, and adapters never import one another. Cargo holds
//! that there is no circle, `tests/cli/house` the rest: it reads the imports and the manifests.

pub mod cli;
pub mod config;
pub mod state_folder;
