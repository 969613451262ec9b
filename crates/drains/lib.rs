//! Whether the machines of a rollout can be drained: where the drain stops, and which pods wait.
//!
//! [`drains`](oracle::drains) takes the objects of a workload cluster and the order of a rollout. It returns one step a
//! machine, and a verdict. It follows Cluster API 1.14 (`core/reconcilers/machine`), the eviction API and the disruption
//! controller of Kubernetes 1.36.
//!
//! # How certain a verdict is
//!
//! The rollout is simulated twice. The best case assumes everything that is possible: each evicted pod gets a node if
//! any node may fit, and unready pods become ready. If even that case stops, the rollout stops for certain. The worst
//! case assumes only what is certain: a pod gets a node if no choice of the scheduler for other pods can prevent it. If
//! even that case ends, the rollout goes through for certain. Between both, the rollout may stop.
//!
//! Both cases assume that a pod with a node becomes ready, that new machines join, and that nobody else changes the
//! cluster. Preemption, autoscalers and admission webhooks for evictions are not part of the simulation.
//!
//! # The next step
//!
//! The reconciler gathers a [`Workload`](workload::Workload) in pages before the merge: pods, nodes, volumes, budgets,
//! namespaces and controllers. It takes the [`Plan`](plan::Plan) from the predicted rollout and from the
//! MachineDrainRules of the management cluster. The preflight then shows the verdict, as the setting `preflight.drains`
//! allows.
//!
//! A room may import the rooms of this package that its line names; `tests/cli/house` reads the table.
//!
//! | room | owns | may import |
//! |---|---|---|
//! | [`selector`] | label selectors, and an index of labels | nothing |
//! | [`workload`] | what is read of a workload cluster: nodes, pods, controllers, budgets | `selector` |
//! | [`plan`] | which machines leave and come, and the rules of their drains | `selector`, `workload` |
//! | [`treatment`] | what a drain does with a pod: skip, wait, evict in an order | `plan`, `selector`, `workload` |
//! | [`budgets`] | budgets as the disruption controller counts them, and what the eviction API answers | `selector`, `workload` |
//! | [`placing`] | on which nodes a pod fits, and whether that is certain | `selector`, `workload` |
//! | [`verdict`] | steps, causes and verdicts | `budgets`, `placing`, `treatment` |
//! | [`rollout`] | one simulated rollout, in the best or the worst case | `budgets`, `placing`, `plan`, `selector`, `treatment`, `verdict`, `workload` |
//! | [`oracle`] | both cases compared | `budgets`, `plan`, `rollout`, `verdict`, `workload` |

pub mod budgets;
pub mod oracle;
pub mod placing;
pub mod plan;
mod rollout;
pub mod selector;
pub mod treatment;
pub mod verdict;
pub mod workload;
