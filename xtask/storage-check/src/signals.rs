//! SIGINT and SIGTERM: the first one asks the run to end at the next completion, the second ends at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// A flag that the first signal sets.
///
/// # Errors
/// The handlers could not be installed.
pub(crate) fn stop_flag() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: the first signal finds the flag unset and sets it, the second finds it set.
        flag::register_conditional_shutdown(signal, Exit::RunFailed as i32, stop.clone())?;
        flag::register(signal, stop.clone())?;
    }
    Ok(stop)
}
