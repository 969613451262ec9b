//! Passes over the providers of a management cluster in memory.
//!
//! | file | holds |
//! |---|---|
//! | `patching` | what the API server in memory makes of a JSON Patch |
//! | `town` | two providers with their components, and the versions that are requested |
//! | `timeouts` | components that do not become available in time |
//! | `webhooks` | webhooks that answer, and webhooks that do not |
//! | `deleting` | a provider that somebody deletes |
//! | `sources` | what providers are rendered from: Secrets, ConfigMaps, downloads |
//! | `seeing` | what a pass reads again, and what it does not |
//! | `killed` | a process that dies after any write |
//! | `leading` | a process that no longer leads |
//! | `wrong` | provider objects whose spec is wrong, and objects that wait for others |

mod deleting;
mod killed;
mod leading;
mod patching;
mod seeing;
mod sources;
mod timeouts;
mod town;
mod webhooks;
mod wrong;

pub(super) use patching::patch;
