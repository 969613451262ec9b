//! Where a process leaves what the one that follows it should know.

/// A note that outlives the process, however that ends.
pub trait Notes: Send + Sync {
    /// What was noted last; `None` where nothing was. Blocks.
    ///
    /// # Errors
    /// It cannot be read, and why.
    fn read(&self) -> Result<Option<String>, String>;

    /// Notes this instead of what stands there. A process that dies meanwhile leaves one of both. Blocks.
    ///
    /// # Errors
    /// It cannot be written, and why.
    fn write(&self, note: &str) -> Result<(), String>;
}
