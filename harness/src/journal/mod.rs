//! The journal: the measurement itself, append-only, one JSON line a record.
//!
//! First line: the schema number and the program. Then records, each an object with its `kind`. Integers and
//! strings only, because a float changes on a round trip through JSON. A torn last line is cut; a newer
//! schema is refused; adding a field does not raise the number.
//!
//! A report is a function of what stands here and a baseline.

pub mod file;
pub mod record;
pub mod replay;
