//! The kernel's log since a run began: resets and timeouts of the drives that it names.
//!
//! Source: Linux `Documentation/ABI/testing/dev-kmsg`; messages of `drivers/nvme/host/pci.c` and `core.c`,
//! `drivers/ata/libata-eh.c`, `drivers/scsi/scsi_error.c`, `drivers/block/virtio_blk.c`. Messages are no promise of
//! the kernel's: one that is worded anew is missed, never taken for another drive's.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use super::Counts;

/// What a line may tell of, and words that tell it.
const INCIDENTS: [(&str, &[&str]); 2] = [
    (
        "resets",
        &[
            "resetting controller",
            "reset controller",
            "will reset",
            "hard resetting link",
            "soft resetting link",
            "device reset",
            "bus reset",
        ],
    ),
    (
        "timeouts",
        &["timeout", "timed out", "timing out", "i/o error, dev", "frozen", "controller is down", "failed command"],
    ),
];

/// The log.
const LOG: &str = "/dev/kmsg";

/// The log from where it stood.
#[derive(Debug)]
pub(super) struct KernelLog {
    file: File,
    names: Vec<String>,
    counts: Counts,
}

impl KernelLog {
    /// From its end on.
    ///
    /// # Errors
    /// This process may not read it: that needs root or `kernel.dmesg_restrict=0`.
    pub(super) fn open(names: Vec<String>) -> io::Result<KernelLog> {
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut file = File::options().read(true).custom_flags(flags).open(LOG)?;
        file.seek(SeekFrom::End(0))?;
        let counts = INCIDENTS.iter().map(|(name, _)| ((*name).to_owned(), 0)).collect();
        Ok(KernelLog { file, names, counts })
    }

    /// That it could not be opened, in words.
    pub(super) fn unread(why: &io::Error) -> String {
        let way_out = match why.kind() {
            io::ErrorKind::PermissionDenied => " (run as root, or allow it: sysctl kernel.dmesg_restrict=0)",
            _ => "",
        };
        format!("resets and timeouts in the kernel's log: {LOG}: {why}{way_out}")
    }

    /// How often each has happened since the log was opened.
    pub(super) fn counts(&mut self) -> Counts {
        // A read gives one record; one that is overwritten meanwhile an error, and the next read goes on.
        let mut record = [0; 8192];
        for _ in 0..10_000 {
            match self.file.read(&mut record) {
                Ok(0) => break,
                Ok(len) => {
                    if let Some(incident) = incident(&String::from_utf8_lossy(&record[..len]), &self.names) {
                        *self.counts.entry(incident.to_owned()).or_insert(0) += 1;
                    }
                }
                Err(why) if why.raw_os_error() == Some(libc::EPIPE) => {}
                Err(_) => break,
            }
        }
        self.counts.clone()
    }
}

/// What a record tells of one of the drives `names`. `3,1234,5678,-;nvme nvme0: I/O 5 QID 1 timeout, aborting`, then
/// lines with the device.
fn incident(record: &str, names: &[String]) -> Option<&'static str> {
    let (head, text) = record.split_once(';')?;
    // Only the kernel's own messages: anybody may write others into its log.
    let facility = head.split(',').next()?.parse::<u32>().ok()? >> 3;
    let text = text.lines().next()?.to_lowercase();
    let mut words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == ':' || c == '-'));
    let named =
        words.any(|word| names.iter().any(|name| word.trim_end_matches(':').split('.').next() == Some(name.as_str())));
    let tells = |(_, signs): &&(&str, &[&str])| signs.iter().any(|sign| text.contains(sign));
    INCIDENTS.iter().find(tells).map(|(name, _)| *name).filter(|_| facility == 0 && named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        let names = ["nvme0", "nvme0n1", "ata3", "sda", "2:0:0:0"].map(str::to_owned);
        assert_eq!(incident(&format!("3,812,5678,-;{text}\n SUBSYSTEM=pci\n"), &names), expect, "{text}");
    }

    #[test]
    fn resets_and_timeouts_of_our_drives_are_counted_and_all_else_is_not() {
        check("nvme nvme0: I/O tag 5 (1005) QID 1 timeout, aborting", Some("timeouts"));
        check("nvme nvme0: controller is down; will reset: CSTS=0x3", Some("resets"));
        check("ata3.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen", Some("timeouts"));
        check("ata3: hard resetting link", Some("resets"));
        check("blk_update_request: I/O error, dev sda, sector 5 op 0x1", Some("timeouts"));
        check("sd 2:0:0:0: [sda] tag#5 timing out command, waited 180s", Some("timeouts"));
        check("nvme nvme1: I/O 5 QID 1 timeout, aborting", None);
        check("ata30: hard resetting link", None);
        check("nvme nvme0: 8/0/0 default/read/poll queues", None);
    }

    #[test]
    fn what_users_write_into_the_log_is_not_believed() {
        let names = ["nvme0".to_owned()];
        assert_eq!(incident("12,1,1,-;nvme nvme0: timeout", &names), None);
        assert_eq!(incident("no record", &names), None);
    }
}
