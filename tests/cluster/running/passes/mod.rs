//! Passes over the providers of a management cluster in memory.
//!
//! | file | holds |
//! |---|---|
//! | `patching` | what the API server in memory makes of a JSON Patch |
//! | `town` | two providers with their components, and what is asked of them |
//! | `timeouts` | what does not come to run in its time |
//! | `webhooks` | webhooks that answer, and such that do not |
//! | `deleting` | a provider that somebody deletes |
//! | `sources` | what providers are rendered from: Secrets, ConfigMaps, downloads |
//! | `seeing` | what is looked at again, and what is not |
//! | `killed` | a process that dies after any write |
//! | `leading` | a process that leads no more |
//! | `wrong` | provider objects whose spec is wrong, and such as wait for others |

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
