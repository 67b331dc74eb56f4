//! Commands to NVMe drives, which rustix does not have: questions, and the two orders that destroy data.
//!
//! Unsafe code. Knows no meaning of an answer; only `purge` gives orders.
#![expect(unsafe_code, reason = "NVME_IOCTL_ADMIN_CMD and NVME_IOCTL_IO_CMD have no safe binding")]

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;
use rustix::ioctl::{Opcode, opcode};

/// What an NVMe controller may be asked: nothing here changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target) enum NvmeQuestion {
    /// Identify Controller.
    Controller,
    /// Identify Namespace, of this number.
    Namespace(u32),
    /// The numbers of all namespaces of the subsystem, attached or not.
    AllocatedNamespaces,
    /// The numbers of the namespaces that are attached to this controller.
    ActiveNamespaces,
    /// The numbers of all controllers of the subsystem.
    Controllers,
    /// A log page of the whole controller.
    Log(u8),
    /// The present value of a feature, which is the answer's number.
    Feature(u8),
    /// Reservation Report of the namespace of this number: an I/O command; with host identifiers of 128 bits or of 64.
    Reservations(u32, bool),
}

/// `struct nvme_passthru_cmd` of `linux/nvme_ioctl.h`.
#[repr(C)]
#[derive(Default)]
struct NvmeCommand {
    opcode: u8,
    flags: u8,
    reserved: u16,
    namespace: u32,
    dwords_2_3: [u32; 2],
    metadata: u64,
    data: u64,
    metadata_len: u32,
    data_len: u32,
    dwords_10_15: [u32; 6],
    timeout_ms: u32,
    result: u32,
}

/// What an NVMe controller may be told that destroys data: only `purge` does, and only what the guard armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target) enum NvmeOrder {
    /// Format NVM of this namespace; the number is the command's dword 10. Ends when the format has.
    Format(u32, u32),
    /// Sanitize, of the whole subsystem; the number is the command's dword 10. Ends when the drive has begun.
    Sanitize(u32),
}

/// Why a drive did not do what it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target) enum NvmeError {
    /// The command did not get through.
    System(Errno),
    /// The drive's own status: type in bits 8 to 10, code in bits 0 to 7.
    Status(u16),
}

/// Asks an NVMe controller through its node or a namespace's; fills `page`, and gives the answer's number.
///
/// # Errors
/// `PERM` or `ACCESS` without the right to ask; `NOTTY` where it is no NVMe drive; `IO` where the drive does not know
/// the answer.
pub(in crate::target) fn nvme_ask(node: BorrowedFd<'_>, question: NvmeQuestion, page: &mut [u8]) -> Result<u32, Errno> {
    /// All namespaces, that is, the controller.
    const ALL: u32 = u32::MAX;
    let words = u32::try_from(page.len() / 4).map_err(|_| Errno::INVAL)?.saturating_sub(1);
    let (queue, opcode, namespace, dword_10, dword_11) = match question {
        NvmeQuestion::Controller => (NVME_IOCTL_ADMIN_CMD, 0x06, 0, 0x01, 0),
        NvmeQuestion::Namespace(number) => (NVME_IOCTL_ADMIN_CMD, 0x06, number, 0x00, 0),
        NvmeQuestion::AllocatedNamespaces => (NVME_IOCTL_ADMIN_CMD, 0x06, 0, 0x10, 0),
        NvmeQuestion::ActiveNamespaces => (NVME_IOCTL_ADMIN_CMD, 0x06, 0, 0x02, 0),
        NvmeQuestion::Controllers => (NVME_IOCTL_ADMIN_CMD, 0x06, 0, 0x13, 0),
        NvmeQuestion::Log(page) => (NVME_IOCTL_ADMIN_CMD, 0x02, ALL, words << 16 | u32::from(page), 0),
        NvmeQuestion::Feature(number) => (NVME_IOCTL_ADMIN_CMD, 0x0A, 0, u32::from(number), 0),
        NvmeQuestion::Reservations(number, long) => (NVME_IOCTL_IO_CMD, 0x0E, number, words, u32::from(long)),
    };
    let dwords_10_15 = [dword_10, dword_11, 0, 0, 0, 0];
    let command = NvmeCommand { opcode, namespace, dwords_10_15, timeout_ms: 5_000, ..NvmeCommand::default() };
    nvme_submit(node, queue, command, page).map_err(|why| match why {
        NvmeError::System(errno) => errno,
        // It does not know this page, or not now.
        NvmeError::Status(_) => Errno::IO,
    })
}

/// Tells an NVMe controller, through its node or a namespace's, what destroys data.
///
/// # Errors
/// As [`nvme_ask`], and the drive's own status.
pub(in crate::target) fn nvme_tell(node: BorrowedFd<'_>, order: NvmeOrder) -> Result<(), NvmeError> {
    // A command that runs out of time makes the kernel reset the controller: longer than any format lasts.
    const DAY_MS: u32 = 24 * 60 * 60 * 1000;
    let (opcode, namespace, dword_10) = match order {
        NvmeOrder::Format(namespace, how) => (0x80, namespace, how),
        NvmeOrder::Sanitize(how) => (0x84, 0, how),
    };
    let dwords_10_15 = [dword_10, 0, 0, 0, 0, 0];
    let command = NvmeCommand { opcode, namespace, dwords_10_15, timeout_ms: DAY_MS, ..NvmeCommand::default() };
    nvme_submit(node, NVME_IOCTL_ADMIN_CMD, command, &mut []).map(|_| ())
}

/// `_IOWR('N', 0x41, struct nvme_passthru_cmd)`.
const NVME_IOCTL_ADMIN_CMD: Opcode = opcode::read_write::<NvmeCommand>(b'N', 0x41);
/// `_IOWR('N', 0x43, struct nvme_passthru_cmd)`.
const NVME_IOCTL_IO_CMD: Opcode = opcode::read_write::<NvmeCommand>(b'N', 0x43);

/// Hands a command to a queue, and waits for its end; `page` takes what it answers.
fn nvme_submit(
    node: BorrowedFd<'_>,
    queue: Opcode,
    mut command: NvmeCommand,
    page: &mut [u8],
) -> Result<u32, NvmeError> {
    command.data_len = u32::try_from(page.len()).map_err(|_| NvmeError::System(Errno::INVAL))?;
    command.data = if page.is_empty() { 0 } else { page.as_mut_ptr().expose_provenance() as u64 };
    // SAFETY: the kernel reads and writes exactly one `nvme_passthru_cmd`, which is laid out as C does and lives across
    // the call, and writes at most `data_len` bytes to `data`, which is all of the borrowed `page`.
    let status = unsafe { libc::ioctl(node.as_raw_fd(), queue as _, &raw mut command) };
    match status {
        0 => Ok(command.result),
        1.. => Err(NvmeError::Status((status & 0x7ff) as u16)),
        _ => Err(NvmeError::System(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_question_has_the_kernels_layout_and_a_file_that_is_no_drive_does_not_answer() {
        assert_eq!(size_of::<NvmeCommand>(), 72);
        let file = tempfile::tempfile().unwrap();
        let mut page = [0; 512];
        assert_eq!(nvme_ask(file.as_fd(), NvmeQuestion::Log(2), &mut page), Err(Errno::NOTTY));
        assert_eq!(page, [0; 512]);
        let order = NvmeOrder::Format(1, 0x200);
        assert_eq!(nvme_tell(file.as_fd(), order), Err(NvmeError::System(Errno::NOTTY)));
    }
}
