//! Where it is noted what is judged, so that the next process knows what ended the one before.

/// One small text that survives the process, however it ends.
pub trait QuarantineStore: Send + Sync {
    /// What was noted last; `None` where nothing was.
    ///
    /// # Errors
    /// It cannot be read: with the file and why.
    fn read(&self) -> Result<Option<String>, String>;
    /// Notes a text instead: on disk when this returns.
    ///
    /// # Errors
    /// It cannot be written: with the file and why.
    fn write(&self, note: &str) -> Result<(), String>;
}
