//! A drive's own purge: each reason against it, what it reaches, and the neighbour that is allowed.

use super::super::facts::{Abilities, Facts, Place, SanitizeAction, Sibling, Subsystem, Use, User};
use super::device_tests::{block, own};
use super::purge::{PurgeCommand, foreseen};
use super::*;

/// The target, namespace 1, and its neighbour, namespace 2; both empty and unused.
fn subsystem() -> Subsystem {
    let mut other = block();
    other.identity = vec![own("eui.2", &[]), own("S123 456", &["nvme0n1"])];
    let facts = Facts { path: "/dev/nvme0n2".into(), drive: None, place: Place::Device(Box::new(other)) };
    let sanitizes = vec![SanitizeAction::CryptoErase, SanitizeAction::Overwrite];
    Subsystem {
        namespace: 1,
        abilities: Abilities { formats: true, formats_all: true, sanitizes, other_controllers: false },
        format: 0x203,
        siblings: vec![Sibling { namespace: 2, path: "/dev/nvme0n2".into(), facts: Some(Box::new(facts)) }],
        ..Subsystem::default()
    }
}

fn sibling(block: &mut Block) -> &mut Block {
    let sibling = &mut block.subsystem.as_mut().unwrap().siblings[0];
    match &mut sibling.facts.as_mut().unwrap().place {
        Place::Device(block) => block,
        other => panic!("{other:?}"),
    }
}

fn decided(purge: NamedPurge, change: &dyn Fn(&mut Block, &mut Consent)) -> Result<Option<ArmedPurge>, String> {
    let mut block = block();
    block.identity = vec![own("eui.1", &[]), own("S123 456", &["nvme0n2"])];
    block.subsystem = Some(Box::new(subsystem()));
    let erase = ["eui.1", "eui.2"].map(str::to_owned).to_vec();
    let mut consent = Consent { erase, purge: Some(purge), ..Consent::default() };
    change(&mut block, &mut consent);
    let facts = Facts { path: "/dev/nvme0n1".into(), drive: None, place: Place::Device(Box::new(block)) };
    let need = Need { space: Bytes(0), writes: Bytes(0) };
    guard(facts, &need, &consent).map(|armed| armed.purge().cloned()).map_err(|why| why.to_string())
}

/// Both purges are refused with these words.
fn refused(change: impl Fn(&mut Block, &mut Consent), words: &[&str]) {
    for purge in [NamedPurge::Format, NamedPurge::Sanitize] {
        let text = decided(purge, &change).expect_err("it is armed");
        let said = words.iter().all(|words| text.contains(words)) && text.starts_with("/dev/nvme0n1 ");
        assert!(said, "{words:?}: {text}");
    }
}

fn armed(purge: NamedPurge, change: impl Fn(&mut Block, &mut Consent)) -> ArmedPurge {
    decided(purge, &change).unwrap().expect("no purge is armed")
}

#[test]
fn both_reach_what_the_drive_says_and_the_best_sanitize_is_chosen() {
    let format = armed(NamedPurge::Format, |_, _| {});
    assert_eq!(format.command(), PurgeCommand::Format { namespace: 1, dword_10: 0x203 });
    assert_eq!((format.reached().len(), format.named()), (1, NamedPurge::Format));
    let sanitize = armed(NamedPurge::Sanitize, |_, _| {});
    assert_eq!(sanitize.command(), PurgeCommand::Sanitize(SanitizeAction::CryptoErase));
    assert_eq!((sanitize.reached().len(), sanitize.words().as_str()), (1, "sanitize the whole drive by crypto erase"));
    // Nothing is ordered that was not asked for.
    let discarded = |_: &mut Block, consent: &mut Consent| {
        (consent.purge, consent.erase) = (None, vec!["eui.1".to_owned()]);
    };
    assert_eq!(decided(NamedPurge::Format, &discarded), Ok(None));
}

#[test]
fn what_cannot_be_ordered_or_known_is_refused() {
    refused(|block, _| block.subsystem = None, &["is no NVMe drive", "discarding"]);
    let with = |change: fn(&mut Subsystem)| {
        move |block: &mut Block, _: &mut Consent| change(block.subsystem.as_mut().unwrap())
    };
    refused(with(|found| found.unread = Some("Identify Controller: no".to_owned())), &["Identify Controller: no"]);
    refused(with(|found| found.busy = Some("is being sanitized (3 % done)".to_owned())), &["sanitized (3 % done)"]);
    refused(with(|found| found.abilities = Abilities::default()), &["cannot", "itself"]);
    refused(with(|found| found.unseen = vec![3, 9]), &["number 3, 9", "does not show"]);
    refused(with(|found| found.foreign_controllers = true), &["another host", "--erase-shared"]);
    let alone = |block: &mut Block, consent: &mut Consent| {
        with(|found| found.foreign_controllers = true)(block, consent);
        consent.shared_storage = true;
    };
    armed(NamedPurge::Sanitize, alone);
}

#[test]
fn each_namespace_that_is_reached_passes_the_guard_and_is_named() {
    let in_use = vec![Use { device: "nvme0n2".to_owned(), by: User::Mount { at: "/home".to_owned(), root: false } }];
    refused(move |block, _| sibling(block).uses = Some(in_use.clone()), &["/dev/nvme0n2", "mounted at /home"]);
    refused(|block, _| sibling(block).uses = None, &["/dev/nvme0n2", "may be in use"]);
    refused(|block, _| sibling(block).opened_by = vec!["fio (7)".to_owned()], &["/dev/nvme0n2", "fio (7)"]);
    refused(|block, _| sibling(block).read_only = true, &["/dev/nvme0n2", "read-only"]);
    refused(|block, _| sibling(block).contents.signatures = vec!["LUKS".to_owned()], &["LUKS", "--erase-contents"]);
    refused(|block, _| block.subsystem.as_mut().unwrap().siblings[0].facts = None, &["/dev/nvme0n2 cannot be looked"]);
    let only = |names: &'static [&'static str]| {
        move |_: &mut Block, consent: &mut Consent| {
            consent.erase = names.iter().map(|name| (*name).to_owned()).collect();
        }
    };
    refused(only(&["eui.1"]), &["/dev/nvme0n2", "would be erased as well", "--erase 'eui.2'"]);
    refused(only(&["eui.1", "S123 456"]), &["/dev/nvme0n2", "is called S123 456"]);
    refused(only(&["eui.2"]), &["is not eui.2"]);
    refused(only(&["eui.1", "eui.2", "eui.3"]), &["names eui.3 as well"]);
    let contents = |block: &mut Block, consent: &mut Consent| {
        sibling(block).contents.signatures = vec!["LUKS".to_owned()];
        consent.erase_contents = true;
    };
    armed(NamedPurge::Sanitize, contents);
}

#[test]
fn a_format_of_one_namespace_spares_the_others_and_wants_them_unused_all_the_same() {
    let one = |block: &mut Block, consent: &mut Consent| {
        block.subsystem.as_mut().unwrap().abilities.formats_all = false;
        consent.erase.pop();
    };
    let spared = |block: &mut Block, consent: &mut Consent| {
        one(block, consent);
        sibling(block).contents.signatures = vec!["LUKS".to_owned()];
        block.subsystem.as_mut().unwrap().unseen = vec![3];
    };
    assert!(armed(NamedPurge::Format, spared).reached().is_empty());
    let used = |block: &mut Block, consent: &mut Consent| {
        one(block, consent);
        sibling(block).uses = Some(vec![Use { device: "nvme0n2".to_owned(), by: User::Swap }]);
    };
    let text = decided(NamedPurge::Format, &used).unwrap_err();
    assert!(text.contains("/dev/nvme0n2") && text.contains("in use as swap"), "{text}");
    // A name more than is erased is one too many.
    let both = |block: &mut Block, _: &mut Consent| block.subsystem.as_mut().unwrap().abilities.formats_all = false;
    assert!(decided(NamedPurge::Format, &both).unwrap_err().contains("names eui.2 as well"));
}

#[test]
fn what_it_destroys_is_said_before() {
    let mut block = block();
    assert_eq!(foreseen(&block, NamedPurge::Sanitize), None);
    block.subsystem = Some(Box::new(subsystem()));
    let sanitize = "sanitize the whole drive by crypto erase; ALL of /dev/nvme0n2 (namespace 2, eui.2) as well";
    assert_eq!(foreseen(&block, NamedPurge::Sanitize).as_deref(), Some(sanitize));
    block.subsystem.as_mut().unwrap().abilities.formats_all = false;
    let format = "format namespace 1 with erasure of user data, in the LBA format that it has";
    assert_eq!(foreseen(&block, NamedPurge::Format).as_deref(), Some(format));
}

#[test]
fn what_is_no_drive_is_refused() {
    let simulated = Simulated {
        scale: 1,
        fitted: false,
        source: String::new(),
        faults: Vec::new(),
        digest: String::new(),
        capacity: Bytes(1 << 30),
    };
    let facts = Facts { path: "sim:x".into(), drive: None, place: Place::Simulated(simulated) };
    let consent = Consent { purge: Some(NamedPurge::Format), ..Consent::default() };
    let text = guard(facts, &Need { space: Bytes(0), writes: Bytes(0) }, &consent).unwrap_err().to_string();
    assert!(text.contains("--purge format is for a whole NVMe drive"), "{text}");
}
