//! Questions to SCSI devices by SG_IO, which rustix does not have: who has reserved them.
//!
//! Unsafe code. Changes nothing on any device; knows no meaning of an answer.
#![expect(unsafe_code, reason = "SG_IO has no safe binding")]

use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

/// `struct sg_io_hdr` of `scsi/sg.h`.
#[repr(C)]
struct Command {
    interface: i32,
    direction: i32,
    command_len: u8,
    sense_most: u8,
    vectors: u16,
    data_len: u32,
    data: *mut u8,
    command: *const u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    id: i32,
    user: *mut u8,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_len: u8,
    host_status: u16,
    driver_status: u16,
    left: i32,
    duration_ms: u32,
    info: u32,
}

/// PERSISTENT RESERVE IN (SPC-4, 6.15): the two questions that are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::target) enum Question {
    /// READ KEYS.
    Keys,
    /// READ RESERVATION.
    Reservation,
}

/// What a SCSI device answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::target) struct Answer {
    /// SAM's status byte.
    pub(in crate::target) status: u8,
    /// The host adapter's word, 0 where the command reached the device.
    pub(in crate::target) host_status: u16,
    /// Sense data, of no bytes where there are none.
    pub(in crate::target) sense: Vec<u8>,
}

/// Asks a SCSI device; fills `page` where the answer says that all went well. SG_IO, `scsi_generic`'s HOWTO.
///
/// # Errors
/// `PERM` or `ACCESS` without the right to ask; `NOTTY` or `INVAL` where it is no SCSI device.
pub(in crate::target) fn ask(node: BorrowedFd<'_>, question: Question, page: &mut [u8]) -> Result<Answer, Errno> {
    const SG_IO: libc::c_int = 0x2285;
    const FROM_DEVICE: i32 = -3;
    let action = match question {
        Question::Keys => 0,
        Question::Reservation => 1,
    };
    let [high, low] = u16::try_from(page.len()).map_err(|_| Errno::INVAL)?.to_be_bytes();
    let bytes = [0x5e, action, 0, 0, 0, 0, 0, high, low, 0];
    let mut sense = [0; 64];
    let mut command = Command {
        interface: i32::from(b'S'),
        direction: FROM_DEVICE,
        command_len: bytes.len() as u8,
        sense_most: sense.len() as u8,
        vectors: 0,
        data_len: u32::from(u16::from_be_bytes([high, low])),
        data: page.as_mut_ptr(),
        command: bytes.as_ptr(),
        sense: sense.as_mut_ptr(),
        timeout_ms: 5_000,
        flags: 0,
        id: 0,
        user: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        message_status: 0,
        sense_len: 0,
        host_status: 0,
        driver_status: 0,
        left: 0,
        duration_ms: 0,
        info: 0,
    };
    // SAFETY: the kernel reads and writes exactly one `sg_io_hdr`, which is laid out as C does and lives across the call;
    // it reads `command_len` bytes of `bytes`, and writes at most `data_len` bytes of the borrowed `page` and at most
    // `sense_most` bytes of `sense`: all three outlive the call.
    let done = unsafe { libc::ioctl(node.as_raw_fd(), SG_IO as _, &raw mut command) };
    if done < 0 {
        return Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO));
    }
    let sense = sense.get(..usize::from(command.sense_len)).unwrap_or_default().to_vec();
    Ok(Answer { status: command.status, host_status: command.host_status, sense })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn a_scsi_question_has_the_kernels_layout_and_a_file_that_is_no_drive_does_not_answer() {
        assert_eq!(size_of::<Command>(), 88);
        let file = tempfile::tempfile().unwrap();
        let mut page = [0; 64];
        for question in [Question::Keys, Question::Reservation] {
            let answer = ask(file.as_fd(), question, &mut page);
            assert!(matches!(answer, Err(Errno::NOTTY | Errno::INVAL)), "{answer:?}");
        }
    }
}
