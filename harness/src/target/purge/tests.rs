//! Purges on scripted answers: under way, done, failed, not supported, power-cycled.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::*;
use crate::target::facts::SanitizeAction;

/// A controller that answers the same question with one answer after the other, the last one for ever.
#[derive(Default)]
struct Scripted {
    /// Answers to orders.
    told: RefCell<VecDeque<Result<(), NvmeError>>>,
    orders: RefCell<Vec<NvmeOrder>>,
    /// Status and progress of the sanitize log; none is no answer.
    log: RefCell<VecDeque<Option<(u16, u16)>>>,
    /// What the namespace says of its format.
    format: RefCell<VecDeque<u8>>,
    asked: RefCell<Vec<NvmeQuestion>>,
}

fn next<T: Clone>(answers: &RefCell<VecDeque<T>>) -> Option<T> {
    let mut answers = answers.borrow_mut();
    if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() }
}

impl Admin for Scripted {
    fn ask(&self, question: NvmeQuestion) -> Result<Vec<u8>, Errno> {
        self.asked.borrow_mut().push(question);
        let mut page = vec![0; 4096];
        match question {
            NvmeQuestion::Log(SANITIZE_STATUS) => {
                let (status, progress) = next(&self.log).flatten().ok_or(Errno::IO)?;
                page[..2].copy_from_slice(&progress.to_le_bytes());
                page[2..4].copy_from_slice(&status.to_le_bytes());
            }
            NvmeQuestion::Namespace(1) => page[32] = next(&self.format).ok_or(Errno::IO)?,
            // Sanitizes where it has such a log.
            NvmeQuestion::Controller => page[328] = u8::from(!self.log.borrow().is_empty()),
            other => panic!("asked {other:?}"),
        }
        Ok(page)
    }

    fn tell(&self, order: NvmeOrder) -> Result<(), NvmeError> {
        self.orders.borrow_mut().push(order);
        next(&self.told).unwrap_or(Ok(()))
    }
}

const FORMAT: PurgeCommand = PurgeCommand::Format { namespace: 1, dword_10: 0x203 };
const SANITIZE: PurgeCommand = PurgeCommand::Sanitize(SanitizeAction::BlockErase);
const DONE: Option<(u16, u16)> = Some((1, 0xffff));

fn under_way(progress: u16) -> Option<(u16, u16)> {
    Some((2, progress))
}

fn sanitizing(log: impl IntoIterator<Item = Option<(u16, u16)>>) -> Scripted {
    Scripted { log: RefCell::new(log.into_iter().collect()), ..Scripted::default() }
}

/// How it ended, and what was seen until then.
fn carried(drive: &Scripted, command: PurgeCommand) -> (Result<(), PurgeError>, Vec<Stage>) {
    let mut stages = Vec::new();
    let result = carry_out(drive, command, "purge", &mut |stage| stages.push(stage));
    (result, stages)
}

#[test]
fn a_sanitize_is_ordered_once_and_looked_at_until_it_is_done() {
    let drive = sanitizing([under_way(0), under_way(0x8000), DONE]);
    assert_eq!(carried(&drive, SANITIZE), (Ok(()), vec![Stage::Done(0), Stage::Done(500)]));
    assert_eq!(*drive.orders.borrow(), [NvmeOrder::Sanitize(0x0a)]);
    // Done without deallocation is done.
    assert_eq!(carried(&sanitizing([Some((4, 0xffff))]), SANITIZE), (Ok(()), vec![]));
}

#[test]
fn a_sanitize_that_fails_says_what_gets_the_drive_out_of_it() {
    let (result, stages) = carried(&sanitizing([under_way(0x4000), Some((3, 0x4000))]), SANITIZE);
    assert_eq!((result.as_ref().unwrap_err(), stages), (&PurgeError::SanitizeFailed, vec![Stage::Done(250)]));
    let text = result.unwrap_err().to_string();
    assert!(text.contains("exit failure mode") && text.contains("status 3"), "{text}");
}

#[test]
fn a_drive_that_resets_or_loses_power_in_between_is_waited_for() {
    let drive = sanitizing([under_way(0x4000), None, None, under_way(0x2000), DONE]);
    let (result, stages) = carried(&drive, SANITIZE);
    assert_eq!(result, Ok(()));
    assert_eq!(stages, [Stage::Done(250), Stage::Silent, Stage::Silent, Stage::Done(125)]);
}

#[test]
fn a_drive_that_never_answers_again_is_given_up_with_what_to_do() {
    let (result, stages) = carried(&sanitizing([under_way(0), None]), SANITIZE);
    assert_eq!(stages.len(), 1 + MOST_SILENT as usize);
    let text = result.unwrap_err().to_string();
    assert!(text.contains("--resume waits for its end"), "{text}");
    // That it has never been sanitized is no end of what was ordered.
    assert!(matches!(carried(&sanitizing([Some((0, 0xffff))]), SANITIZE).0, Err(PurgeError::Silent { .. })));
    assert_eq!(carried(&sanitizing([Some((7, 0))]), SANITIZE).0, Err(PurgeError::Strange { status: 7 }));
}

#[test]
fn an_order_that_is_refused_is_not_waited_for() {
    let check = |command, status, words: &str| {
        let told = VecDeque::from([Err(NvmeError::Status(status))]);
        let drive = Scripted { told: RefCell::new(told), ..Scripted::default() };
        let text = carried(&drive, command).0.unwrap_err().to_string();
        assert!(text.contains(words) && text.contains("the drive does not purge"), "{text}");
        assert!(drive.asked.borrow().is_empty());
    };
    check(FORMAT, 0x001, "it does not know the command");
    check(FORMAT, 0x10a, "it does not take this format");
    check(SANITIZE, 0x01d, "a sanitize is under way");
    check(SANITIZE, 0x015, "the drive denies it");
}

#[test]
fn a_format_is_one_command_and_the_drive_is_asked_nothing_before_its_end() {
    let drive = Scripted { format: RefCell::new([0].into()), ..Scripted::default() };
    assert_eq!(carried(&drive, FORMAT), (Ok(()), vec![]));
    assert_eq!(*drive.orders.borrow(), [NvmeOrder::Format(1, 0x203)]);
    // One that goes on after its command is waited for.
    let slow = Scripted { format: RefCell::new([0x80 | 70, 0x80].into()), ..Scripted::default() };
    assert_eq!(carried(&slow, FORMAT), (Ok(()), vec![Stage::Done(300)]));
}

#[test]
fn who_comes_later_waits_for_what_is_under_way_and_for_nothing_else() {
    let wait = |drive: &Scripted| {
        let mut stages = Vec::new();
        let result = await_on(drive, Some(1), &mut |stage| {
            stages.push(stage);
            stages.len() < 3
        });
        assert!(drive.orders.borrow().is_empty());
        (result, stages)
    };
    let formatted =
        |drive: Scripted, answers: &[u8]| Scripted { format: RefCell::new(answers.to_vec().into()), ..drive };
    assert_eq!(wait(&formatted(Scripted::default(), &[0])), (Ok(true), vec![]));
    for over in [DONE, Some((0, 0)), Some((3, 0))] {
        assert_eq!(wait(&formatted(sanitizing([over]), &[0x80])), (Ok(true), vec![]), "{over:?}");
    }
    let both = formatted(sanitizing([under_way(0x8000), DONE]), &[0x80 | 50, 0]);
    assert_eq!(wait(&both), (Ok(true), vec![Stage::Done(500), Stage::Done(500)]));
    // The user need not wait.
    assert_eq!(wait(&sanitizing([under_way(0)])), (Ok(false), vec![Stage::Done(0); 3]));
}
