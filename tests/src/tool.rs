//! The program as a user runs it: arguments in, exit code and output out.
//!
//! `CI` and `NO_COLOR` of the machine that tests are not the program's business, and every call has a time limit.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use xshell::{Shell, cmd};

use crate::throttle::Throttle;
use crate::{folder, wait};

/// A call that takes longer is stuck.
const LIMIT: Duration = Duration::from_secs(120);

/// The program.
#[derive(Clone, Debug)]
pub struct Tool {
    binary: PathBuf,
}

/// A call in the making.
#[derive(Debug)]
pub struct Call {
    command: Command,
}

/// A call that goes on; killed when dropped.
#[derive(Debug)]
pub struct Running {
    child: Child,
    started: Instant,
    stdout: File,
    stderr: File,
}

/// A call that is over.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How.
    pub status: ExitStatus,
    /// What it said for programs and people who want the result.
    pub stdout: String,
    /// What it said besides.
    pub stderr: String,
    /// How long it took.
    pub took: Duration,
}

impl Tool {
    /// The program that cargo built for the tests; `binary` is `CARGO_BIN_EXE_xtask`.
    #[must_use]
    pub fn new(binary: &str) -> Tool {
        Tool { binary: PathBuf::from(binary) }
    }

    /// The optimised program, for what is measured: `binary` itself where the tests are optimised too,
    /// else cargo builds it, once.
    ///
    /// # Errors
    /// It does not build.
    pub fn optimised(binary: &str) -> Result<Tool> {
        static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
        if !cfg!(debug_assertions) {
            return Ok(Tool::new(binary));
        }
        let built = BUILT.get_or_init(|| build().map_err(|why| format!("{why:#}")));
        let binary = built.clone().map_err(|why| anyhow::anyhow!("building the optimised program: {why}"))?;
        Ok(Tool { binary })
    }

    /// A call in `folder`, so that what goes into the current folder goes there.
    pub fn call<A: AsRef<OsStr>>(&self, folder: &Path, arguments: impl IntoIterator<Item = A>) -> Call {
        self.called(Command::new(&self.binary), folder, arguments)
    }

    /// A call of a chore of the project, in `folder`.
    pub fn chore<A: AsRef<OsStr>>(&self, folder: &Path, arguments: impl IntoIterator<Item = A>) -> Call {
        prepared(Command::new(&self.binary), folder, arguments)
    }

    /// A call whose writes are throttled.
    pub fn throttled<A: AsRef<OsStr>>(
        &self,
        throttle: &Throttle,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Call {
        self.called(throttle.command(&self.binary), folder, arguments)
    }

    fn called<A: AsRef<OsStr>>(
        &self,
        mut command: Command,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> Call {
        command.arg("storage-check");
        prepared(command, folder, arguments)
    }

    /// A shell's view of the program, for pipes: the script has it as `"$0"`.
    #[must_use]
    pub fn script(&self, folder: &Path, script: &str) -> Call {
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(&self.binary);
        prepared(command, folder, [""; 0])
    }
}

fn prepared<A: AsRef<OsStr>>(mut command: Command, folder: &Path, arguments: impl IntoIterator<Item = A>) -> Call {
    command.args(arguments).current_dir(folder);
    command.env_remove("CI").env_remove("NO_COLOR").stdin(Stdio::null());
    Call { command }
}

fn build() -> Result<PathBuf> {
    let shell = Shell::new()?;
    shell.change_dir(folder::workspace());
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    cmd!(shell, "{cargo} build --release --locked --quiet --package xtask").quiet().run()?;
    Ok(folder::target_dir().join("release/xtask"))
}

impl Call {
    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Call {
        self.command.env(name, value);
        self
    }

    /// Starts it and goes on.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(mut self) -> Result<Running> {
        let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
        self.command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
        let child = self.command.spawn().with_context(|| format!("starting {:?}", self.command.get_program()))?;
        Ok(Running { child, started: Instant::now(), stdout, stderr })
    }

    /// Starts it and waits for its end.
    ///
    /// # Errors
    /// It does not start, or does not end in time.
    pub fn end(self) -> Result<Ended> {
        self.start()?.end()
    }
}

impl Running {
    /// Whether it is over.
    ///
    /// # Errors
    /// The system says no.
    pub fn is_over(&mut self) -> Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// The first line that it says on stdout, when it has said it.
    ///
    /// # Errors
    /// It ends before that, or says nothing in time.
    pub fn first_line(&self) -> Result<String> {
        let said = |file: &File| {
            let mut bytes = vec![0; 4096];
            // At an offset: the program writes through the same cursor.
            let n = file.read_at(&mut bytes, 0)?;
            anyhow::Ok(String::from_utf8_lossy(&bytes[..n]).into_owned())
        };
        let line = wait::until("the program's first line", Duration::from_secs(30), || {
            Ok(said(&self.stdout)?.split_once('\n').map(|(line, _)| line.to_owned()))
        });
        line.with_context(|| format!("so far it said: {}", said(&self.stderr).unwrap_or_default()))
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// It is over.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).context("no process")?;
        Ok(kill_process(pid, signal)?)
    }

    /// Ends it as `kill -9` does, and waits until it is gone.
    ///
    /// # Errors
    /// The system says no.
    pub fn kill(mut self) -> Result<Ended> {
        self.child.kill()?;
        self.end()
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// It does not end in time.
    pub fn end(mut self) -> Result<Ended> {
        let over = wait::until("the program's end", LIMIT, || Ok(self.child.try_wait()?));
        let (stdout, stderr) = (text(&mut self.stdout)?, text(&mut self.stderr)?);
        let status = over.with_context(|| format!("so far it said:\n{stdout}\n{stderr}"))?;
        Ok(Ended { status, stdout, stderr, took: self.started.elapsed() })
    }
}

fn text(file: &mut File) -> Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Drop for Running {
    fn drop(&mut self) {
        // Over already, in the good case.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// Makes sure that it ended with this code, in words and not in a panic.
    ///
    /// # Errors
    /// It did not.
    pub fn with_code(self, code: i32) -> Result<Ended> {
        if self.status.code() != Some(code) {
            bail!("expected exit code {code}, got {}; it said:\n{}", self.status, self.said());
        }
        for word in ["panicked", "internal error"] {
            ensure!(!self.stderr.contains(word), "it says {word:?}:\n{}", self.stderr);
        }
        Ok(self)
    }

    /// Makes sure that it said all of these, on either output.
    ///
    /// # Errors
    /// It did not.
    pub fn says(&self, parts: &[&str]) -> Result<()> {
        for part in parts {
            let said = self.stdout.contains(part) || self.stderr.contains(part);
            ensure!(said, "it does not say {part:?}:\n{}", self.said());
        }
        Ok(())
    }

    /// Both outputs, as much as a person reads.
    fn said(&self) -> String {
        let lines: Vec<&str> = self.stdout.lines().chain(self.stderr.lines()).collect();
        if lines.len() <= 40 {
            return lines.join("\n");
        }
        format!("{}\n[…]\n{}", lines[..20].join("\n"), lines[lines.len() - 20..].join("\n"))
    }
}
