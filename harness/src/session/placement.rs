//! The threads and buffers of a run on the processors of the drive's node, for as long as the run lasts.

use crate::target::Facts;
use crate::target::affinity::{Bound, allowed};
use crate::target::facts::Placement;

/// Where the calling thread is, and with it all that a run starts and allocates from it.
#[derive(Debug)]
pub(super) struct Placed {
    words: Option<String>,
    _bound: Option<Bound>,
}

impl Placed {
    /// Binds the calling thread to the drive's node until the value is dropped. Before the engines are made: their buffers
    /// lie where they are first touched.
    pub(super) fn on_the_drives_node(facts: &Facts) -> Placed {
        let placement = Placement::of(facts, &allowed());
        match Bound::by(&placement) {
            Ok(bound) => Placed { words: placement.words(), _bound: bound },
            // The run measures all the same, and says what it is worth.
            Err(why) => {
                Placed { words: Some(format!("not bound: binding to {placement} failed: {why}")), _bound: None }
            }
        }
    }

    /// What the environment says of it; none where there is no choice.
    pub(super) fn words(&self) -> Option<&str> {
        self.words.as_deref()
    }
}
