//! The command line on real disks: what a user does and what may go wrong, each as a claim.
//!
//! One file a subject. The tests write only into folders and devices that they made.

mod analyze;
mod around;
mod browser;
mod cliff;
mod corruption;
mod drive;
mod embed;
mod export;
mod fair;
mod gate;
mod github;
mod guard;
mod kill;
mod levels;
mod machine;
mod nvme;
mod output;
mod purge;
mod quick;
mod raw;
mod reframe;
mod refusals;
mod rw_kill;
mod score;
mod served;
mod signals;
mod sim;
mod space;
mod verdict;

use std::path::Path;
use std::process::ExitCode;

use storage_check_tests::rig;
use storage_check_tests::tool::Tool;

fn main() -> ExitCode {
    let subjects = [
        quick::trials(),
        refusals::trials(),
        raw::trials(),
        output::trials(),
        kill::trials(),
        corruption::trials(),
        cliff::trials(),
        space::trials(),
        signals::trials(),
        sim::trials(),
        drive::trials(),
        fair::trials(),
        verdict::trials(),
        gate::trials(),
        guard::trials(),
        around::trials(),
        browser::trials(),
        analyze::trials(),
        levels::trials(),
        machine::trials(),
        purge::trials(),
        nvme::trials(),
        rw_kill::trials(),
        score::trials(),
        served::trials(),
        export::trials(),
        github::trials(),
        reframe::trials(),
        embed::trials(),
    ];
    rig::main(subjects.into_iter().flatten().collect())
}

/// The program as the tests were built.
fn plain() -> Tool {
    Tool::new(env!("CARGO_BIN_EXE_xtask"))
}

/// The program as it is shipped.
fn optimised() -> anyhow::Result<Tool> {
    Tool::optimised(env!("CARGO_BIN_EXE_xtask"))
}

/// The arguments of a run, as text: all paths of the tests are UTF-8.
fn run_arguments(target: &Path, profile: &Path, out: &Path) -> Vec<String> {
    let text = |path: &Path| path.display().to_string();
    ["run", "--target", &text(target), "--profile", &text(profile), "--out", &text(out)].map(str::to_owned).to_vec()
}
