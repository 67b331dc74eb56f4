//! A real browser that opens a page: Chromium without a screen, and what it says, asks for and shows.
//!
//! Each visit has a profile of its own, removed with it. What Chromium asks for by itself is told from what a page asks
//! for by a visit to a page that asks for nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use xshell::{Shell, cmd};

use crate::folder;

/// How a page is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Width in CSS pixels.
    pub width: u32,
    /// Height in CSS pixels.
    pub height: u32,
    /// Whether the reader wants dark pages.
    pub dark: bool,
}

/// What a visit showed.
#[derive(Clone, Debug)]
pub struct Seen {
    /// Messages of the page's console.
    pub console: Vec<String>,
    /// Addresses that were asked for outside of files and of the page itself.
    pub requests: BTreeSet<String>,
    /// The page as it stood when it was loaded.
    pub dom: String,
    /// The screenshot, as PNG.
    pub picture: Vec<u8>,
}

impl Window {
    /// Opens a page.
    ///
    /// # Errors
    /// Chromium cannot be started, or shows nothing.
    pub fn open(self, page: &Path) -> Result<Seen> {
        let home = folder::folder()?;
        let (profile, picture, log) =
            (home.path().join("profile"), home.path().join("page.png"), home.path().join("net.json"));
        let Window { width, height, dark } = self;
        let (scheme, size) = (u8::from(!dark).to_string(), format!("{width},{height}"));
        let shell = Shell::new()?;
        shell.change_dir(home.path());
        let chromium = cmd!(
            shell,
            "chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
             --disable-component-update --disable-sync --hide-scrollbars --enable-logging=stderr
             --log-net-log={log} --net-log-capture-mode=Everything --blink-settings=preferredColorScheme={scheme}
             --user-data-dir={profile} --window-size={size} --screenshot={picture} --dump-dom {page}"
        );
        let out = chromium.quiet().output().context("chromium")?;
        let said = String::from_utf8_lossy(&out.stderr);
        let picture = fs::read(&picture).with_context(|| format!("no screenshot; chromium said:\n{said}"))?;
        ensure!(picture.starts_with(b"\x89PNG"), "the screenshot is no PNG");
        let net = fs::read_to_string(&log).context("no log of requests")?;
        Ok(Seen {
            console: said.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_owned).collect(),
            requests: requests(&net),
            dom: String::from_utf8_lossy(&out.stdout).into_owned(),
            picture,
        })
    }
}

/// Addresses in Chromium's log, without what it asks for in any case: those differ in their queries.
fn requests(net: &str) -> BTreeSet<String> {
    let urls = net.split("\"url\":\"").skip(1).filter_map(|rest| rest.split(['"', '?']).next());
    let inside = |url: &&str| ["file:", "data:", "about:", "chrome"].iter().any(|scheme| url.starts_with(scheme));
    urls.filter(|url| !inside(url)).map(str::to_owned).collect()
}
