//! What a change means for the machines of a Cluster with a managed topology: its variables, the patches of its
//! ClusterClass, the templates that the class names, another class.
//!
//! The topology controller makes templates of its own for each group of machines: those of the class, with the class's
//! patches applied in their order, over the variables of the Cluster and of the group. If the spec of a template
//! changes, the template is rotated, and machines roll. A control plane's own fields are changed in place, and its
//! controller decides. So both sides of a change are computed as that controller would, for each group by itself, and
//! compared. What cannot be computed from Git becomes a placeholder value ([`uncomputed`](value::uncomputed)), which
//! equals itself as long as everything that it is made from does. Only if that differs is the effect unknown.
//!
//! Mirrors, of Cluster API v1.11 (paths in kubernetes-sigs/cluster-api):
//!
//! | here | there |
//! |---|---|
//! | `variables` | `internal/topology/variables/cluster_variable_defaulting.go`, `internal/controllers/topology/cluster/patches/variables/variables.go` |
//! | `go_template` | `renderValueTemplate` in `internal/controllers/topology/cluster/patches/inline/json_patch_generator.go`; a small part of Go's text/template, the rest is not computed |
//! | `go_template/semver_compare` | one of sprig's functions there (`HermeticTxtFuncMap`) |
//! | `patches` | `matchesSelector`, `patchIsEnabled`, `calculateValue` in that file; `Apply` in `patches/engine.go` |
//! | `json_patch` | RFC 6902 as `patches/engine.go` applies it, but that missing parents are made: the API server may have defaulted them |
//! | `change` | `updateDesiredState` in `patches/engine.go`, `reconcileReferencedTemplate` in `internal/controllers/topology/cluster/reconcile_state.go` |
//! | `strategies` | `computeMachineDeployment` in `exp/topology/desiredstate/desired_state.go` |

mod blueprint;
mod change;
mod go_template;
mod json_patch;
mod patches;
mod strategies;
mod value;
mod variables;

pub(super) use self::blueprint::{Blueprint, ClassSides, Find, MachineGroup, groups};
pub(super) use self::change::{
    GroupComparison, GroupOutcome, RolloutCause, changed_variables, control_plane, machine_template,
};
pub(super) use self::strategies::Strategies;
pub(super) use self::value::holds_uncomputed;
