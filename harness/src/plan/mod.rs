//! What to do: a profile (what the user wants) and a plan (what that means on this capacity).
//!
//! Pure: knows no file, no clock and no drive.

pub mod builtin;
pub mod offsets;
pub mod phase;
pub mod profile;
