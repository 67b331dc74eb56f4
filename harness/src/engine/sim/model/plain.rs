//! A medium with the same rates whatever came before.

use serde::Deserialize;

use super::Medium;
use super::setting::Setting;
use crate::units::{Bytes, Speed};

/// A plain medium as a drive's file describes it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlainSpec {
    /// Rate of writes.
    pub write: Speed,
    /// Rate of reads.
    pub read: Speed,
}

impl PlainSpec {
    pub(super) fn check(&self, _: Bytes, _: &Setting) -> Result<(), String> {
        Ok(())
    }
}

/// Two rates.
#[derive(Debug)]
pub(super) struct Plain {
    write: f64,
    read: f64,
}

impl Plain {
    pub(super) fn new(spec: &PlainSpec, _: Bytes, setting: &Setting) -> Plain {
        Plain { write: setting.ns_per_byte(spec.write), read: setting.ns_per_byte(spec.read) }
    }
}

impl Medium for Plain {
    #[inline]
    fn write(&mut self, _: u64, len: u32) -> f64 {
        f64::from(len) * self.write
    }

    #[inline]
    fn read(&mut self, _: u64, len: u32) -> f64 {
        f64::from(len) * self.read
    }

    fn discard(&mut self, _: u64, _: u64) {}

    fn idle(&mut self, _: f64) {}
}
