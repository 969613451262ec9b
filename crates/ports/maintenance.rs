//! Reports on a database as a whole: whether it is healthy, and what was exported or imported.

/// Something that is not as Capstan writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseFinding {
    /// What was found where, without a full stop.
    pub what: String,
    /// What a person can do, in sentences.
    pub remedy: String,
}

/// How a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseCheck {
    /// `SQLite` or `PostgreSQL`.
    pub engine: &'static str,
    /// The newest migration that made its tables; `None` where it has none.
    pub schema: Option<i64>,
    /// The newest migration that this Capstan knows.
    pub known_schema: i64,
    /// How many rows were read; `None` where the tables are of another schema.
    pub rows: Option<u64>,
    /// What is not well.
    pub findings: Vec<DatabaseFinding>,
}

/// What was taken out, or put in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transferred {
    /// Rows of all tables.
    pub rows: u64,
    /// The newest migration of the tables that they are of.
    pub schema: i64,
}
