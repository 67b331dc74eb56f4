//! What samples mean.
pub mod metric;
