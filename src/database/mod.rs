//! SQLite and PostgreSQL through sqlx: deliveries, jobs, proposals, campaigns, audit.
