//! The number of a device: what the kernel calls it by, and how people write it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The number of a device, `major:minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Device {
    /// The driver's part; 0 for filesystems that no block device carries directly.
    pub major: u32,
    /// The part that the driver chose.
    pub minor: u32,
}

impl Device {
    /// From the kernel's combined number, as `st_dev` has it.
    #[must_use]
    pub fn from_raw(number: u64) -> Device {
        Device { major: rustix::fs::major(number), minor: rustix::fs::minor(number) }
    }

    /// Whether the number is a mere label, as for btrfs, overlay, tmpfs and network filesystems.
    #[must_use]
    pub fn is_anonymous(self) -> bool {
        self.major == 0
    }
}

/// `259:1`
impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for Device {
    type Err = String;
    fn from_str(text: &str) -> Result<Device, String> {
        let parsed = text
            .trim()
            .split_once(':')
            .and_then(|(major, minor)| Some(Device { major: major.parse().ok()?, minor: minor.parse().ok()? }));
        parsed.ok_or_else(|| format!("\"{text}\" is no device number; write major:minor, such as \"259:1\""))
    }
}

impl TryFrom<String> for Device {
    type Error = String;
    fn try_from(text: String) -> Result<Device, String> {
        text.parse()
    }
}

impl From<Device> for String {
    fn from(device: Device) -> String {
        device.to_string()
    }
}
