//! Waiting for what others do: polls with a deadline, never a bare sleep.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How often a condition is looked at.
const STEP: Duration = Duration::from_millis(2);

/// Polls `look` until it gives something.
///
/// # Errors
/// It gave nothing within `limit`, or failed.
pub fn until<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let deadline = Instant::now() + limit;
    loop {
        if let Some(found) = look()? {
            return Ok(found);
        }
        if Instant::now() > deadline {
            bail!("waited {limit:?} in vain: {what}");
        }
        thread::sleep(STEP);
    }
}
