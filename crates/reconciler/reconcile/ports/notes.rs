//! Where a process leaves what the one that follows it should know.

/// A note that outlives the process, however that ends.
pub trait Notes: Send + Sync {
    /// What was noted last; `None` where nothing was. Blocks.
    ///
    /// # Errors
    /// It cannot be read, and why.
    fn read(&self) -> Result<Option<String>, String>;

    /// Replaces the note. A process that dies meanwhile leaves the old one or the new one. Blocks.
    ///
    /// # Errors
    /// It cannot be written, and why.
    fn write(&self, note: &str) -> Result<(), String>;
}
