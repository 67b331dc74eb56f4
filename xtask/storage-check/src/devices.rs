//! `devices`: the drives of this host, what uses them, and whether they may be erased, as a table or as JSON.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use comfy_table::{Table, presets};
use harness::target::Drive;
use harness::target::facts::devices::{Listed, list};

use crate::arguments::{DevicesArguments, Format};
use crate::console::Console;
use crate::exit::Exit;

pub(crate) fn devices(arguments: &DevicesArguments, console: &Console) -> Exit {
    let listed = match list() {
        Ok(listed) => listed,
        Err(why) => {
            console.error(&why.to_string());
            return Exit::Usage;
        }
    };
    let text = match arguments.options.format {
        Format::Json => serde_json::to_string_pretty(&listed).unwrap_or_default(),
        Format::Text => text(&listed),
    };
    console.result(text.trim_end());
    Exit::Held
}

/// The table, then keys that are registered, and what could not be read.
fn text(listed: &[Listed]) -> String {
    if listed.is_empty() {
        return "this host shows no block device that holds anything".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header([
        "device",
        "drive",
        "size",
        "firmware",
        "link",
        "in use, or erasable",
    ]);
    for one in listed {
        table.add_row(row(one));
    }
    // The table pads its last column; a terminal and a log need no spaces there.
    let mut out = table.to_string().lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    let notes = listed.iter().flat_map(|one| {
        let registered = one.reservations.iter().filter(|reservation| !reservation.binds()).map(ToString::to_string);
        registered.chain(one.unread.iter().map(|what| format!("not read: {what}"))).map(move |note| (one, note))
    });
    for (at, (one, note)) in notes.enumerate() {
        let gap = if at == 0 { "\n\n" } else { "\n" };
        let _ = write!(out, "{gap}{}: {note}", one.path);
    }
    out
}

/// The drive's own, or those of all that it lies on, each once.
fn firmware(drive: &Drive) -> String {
    let members = drive.details.members.iter().filter_map(|member| member.firmware.as_deref());
    let all: BTreeSet<&str> = drive.firmware.as_deref().into_iter().chain(members).collect();
    all.into_iter().collect::<Vec<_>>().join(", ")
}

fn row(one: &Listed) -> [String; 6] {
    let drive = &one.drive;
    let or_blank = |text: &Option<String>| text.clone().unwrap_or_default();
    let name = drive.model.as_ref().or(drive.backing_file.as_ref()).or(drive.transport.as_ref());
    let serial = drive.serial.as_ref().map(|serial| format!(" ({serial})")).unwrap_or_default();
    let members: Vec<String> = drive.details.members.iter().map(|member| member.name.clone()).collect();
    let over = if members.is_empty() { String::new() } else { format!(" over {}", members.join(", ")) };
    let link = match (&drive.link, &drive.details.link_most) {
        (Some(link), Some(most)) if link != most => format!("{link} (of {most})"),
        (link, _) => or_blank(link),
    };
    let own = one.identity.iter().find(|identity| identity.shared_with.is_empty());
    let state = match (one.erasable, own, one.uses.as_slice()) {
        (true, Some(own), _) => format!("erasable: --erase '{}'", own.name),
        (true, None, _) => "erasable".to_owned(),
        (false, _, []) => one.why_not.join("; "),
        (false, _, uses) => uses.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
    };
    [
        one.path.clone(),
        format!("{}{serial}{over}", name.cloned().unwrap_or_default()),
        drive.size.map(|size| size.to_string()).unwrap_or_default(),
        firmware(drive),
        link,
        state,
    ]
}
