//! The door to an NVMe controller's admin queue: a trait, so that in tests scripted answers can stand behind it.
//!
//! Knows no command's meaning: `facts::nvme` reads answers, `purge` gives orders.

use std::os::fd::AsFd;

use rustix::io::Errno;

use super::ioctl::nvme::{NvmeError, NvmeOrder, NvmeQuestion, nvme_ask, nvme_tell};

/// Bytes of an Identify page and of a log page.
const IDENTIFY: usize = 4096;
const LOG: usize = 512;

/// Who answers admin commands: the node of a controller or of a namespace.
pub(super) trait Admin {
    /// Asks; changes nothing.
    fn ask(&self, question: NvmeQuestion) -> Result<Vec<u8>, Errno>;

    /// Orders what destroys data, and waits for the command's end.
    fn tell(&self, order: NvmeOrder) -> Result<(), NvmeError>;
}

impl<T: AsFd> Admin for T {
    fn ask(&self, question: NvmeQuestion) -> Result<Vec<u8>, Errno> {
        let mut page = vec![0; if matches!(question, NvmeQuestion::Log(_)) { LOG } else { IDENTIFY }];
        nvme_ask(self.as_fd(), question, &mut page).map(|_| page)
    }

    fn tell(&self, order: NvmeOrder) -> Result<(), NvmeError> {
        nvme_tell(self.as_fd(), order)
    }
}
