//! One of fio's runs: the job's arguments in, figures of its JSON out.

use anyhow::{Context, Result};
use serde_json::Value;
use xshell::{Shell, cmd};

/// What fio says of its only job's writes.
pub(super) struct Peer(Value);

impl Peer {
    /// Runs a job.
    pub(super) fn run(sh: &Shell, arguments: &[&str]) -> Result<Peer> {
        let json = cmd!(sh, "fio --name=peer --output-format=json {arguments...}").quiet().read()?;
        // Warnings may stand before the document.
        let start = json.find('{').context("fio printed no JSON")?;
        let document: Value = serde_json::from_str(&json[start..])?;
        Ok(Peer(document["jobs"][0].clone()))
    }

    /// Bytes a second.
    pub(super) fn bytes_per_s(&self) -> Result<f64> {
        self.number("/write/bw_bytes")
    }

    /// I/Os a second.
    pub(super) fn iops(&self) -> Result<f64> {
        self.number("/write/iops")
    }

    /// Processor time an I/O in microseconds: fio gives user and system as percent of the job's milliseconds.
    pub(super) fn cpu_us(&self) -> Result<f64> {
        let share = (self.number("/usr_cpu")? + self.number("/sys_cpu")?) / 100.0;
        Ok(share * self.number("/job_runtime")? * 1e3 / self.number("/write/total_ios")?)
    }

    fn number(&self, path: &str) -> Result<f64> {
        self.0.pointer(path).and_then(Value::as_f64).with_context(|| format!("fio's output has no {path}"))
    }
}
