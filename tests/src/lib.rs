//! The rigs that the integration tests run on.

pub mod source;
