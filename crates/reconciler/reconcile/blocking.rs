//! Work that keeps a processor busy, beside the threads on which everybody else waits.

use std::panic::resume_unwind;

use tokio::task::JoinError;

/// Does it where it holds up nobody. Its panic is the caller's.
pub(super) async fn where_blocking_is_allowed<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    match tokio::task::spawn_blocking(work).await.map_err(JoinError::try_into_panic) {
        Ok(done) => done,
        Err(Ok(panic)) => resume_unwind(panic),
        // Cancelled: this happens to a blocking task only before it begins, when the runtime ends. The caller then
        // never resumes.
        Err(Err(_)) => std::future::pending().await,
    }
}
