//! The way from release to release, one Kubernetes minor at a time.
