//! The signals that end a program.

/// Returns at SIGTERM or Ctrl-C.
pub async fn shutdown_asked() {
    let terminate = async {
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(error) => {
                tracing::warn!(%error, "SIGTERM cannot be caught");
                std::future::pending::<()>().await;
            }
        }
    };
    tokio::select! {
        () = terminate => {}
        interrupted = tokio::signal::ctrl_c() => {
            if let Err(error) = interrupted {
                tracing::warn!(%error, "Ctrl-C cannot be caught");
                std::future::pending::<()>().await;
            }
        }
    }
}
