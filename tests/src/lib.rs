//! The rigs that the integration tests run on: real filesystems, throttles, and the program itself.
//!
//! Everything that a rig makes lies in folders and devices of its own and is removed when it is dropped,
//! after a panic too. Knows nothing of what the tests claim.

pub mod browser;
pub mod corpus;
pub mod dice;
pub mod dist;
pub mod folder;
pub mod ftl;
pub mod loop_device;
pub mod loop_fs;
pub mod modelled;
pub mod mutant;
pub mod profile;
pub mod rig;
pub mod run;
pub mod simulated;
pub mod source;
pub mod stored;
pub mod throttle;
pub mod tool;
pub mod variant;
pub mod vm;
pub mod wait;
