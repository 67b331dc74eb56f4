//! Answers that wait for their time: a queue by due time, and the thread that empties it.
//!
//! Knows no drive: who puts an answer in says when it is due.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::fmt;
use std::num::NonZeroU64;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// An answer, ready to be sent.
type Answer = Box<dyn FnOnce() + Send>;

/// The answers that are not due yet.
#[derive(Default)]
pub(super) struct Replies {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    /// The earliest on top.
    waiting: BinaryHeap<Waiting>,
    /// How many ever came: equal times are answered in the order in which they came.
    came: u64,
    closed: bool,
}

struct Waiting {
    due: Instant,
    number: u64,
    answer: Answer,
}

/// What was answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answered {
    all: u64,
    late: u64,
    latest: Duration,
}

/// An answer this much after its time is late: the drive was slower than its model then.
const LATE: Duration = Duration::from_millis(2);

impl Replies {
    /// Sends an answer when it is due.
    pub(super) fn at(&self, due: Instant, answer: Answer) {
        let mut queue = self.lock();
        let number = queue.came;
        queue.came += 1;
        queue.waiting.push(Waiting { due, number, answer });
        drop(queue);
        self.changed.notify_one();
    }

    /// Nothing will come any more.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    /// Sends each answer at its time until the queue is closed and empty.
    pub(super) fn send_when_due(&self) -> Answered {
        // The kernel may else wake a thread 50 µs later than asked. Without it the drive is only less exact.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let mut answered = Answered::default();
        let mut queue = self.lock();
        loop {
            let now = Instant::now();
            match queue.waiting.peek().map(|next| next.due.saturating_duration_since(now)) {
                None if queue.closed => return answered,
                None => queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => {
                    let Some(next) = queue.waiting.pop() else { continue };
                    drop(queue);
                    answered.count(now.saturating_duration_since(next.due));
                    (next.answer)();
                    queue = self.lock();
                }
                Some(rest) => {
                    let woken = self.changed.wait_timeout(queue, rest);
                    queue = woken.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    /// A thread that broke left a queue that is whole: nothing in it is half done.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Answered {
    fn count(&mut self, late_by: Duration) {
        self.all += 1;
        self.late += u64::from(late_by > LATE);
        self.latest = self.latest.max(late_by);
    }
}

impl fmt::Display for Answered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} requests answered, {} more than {} ms late, the latest by {:.1} ms",
            self.all,
            self.late,
            LATE.as_millis(),
            self.latest.as_secs_f64() * 1e3
        )
    }
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> Ordering {
        // The heap's greatest is the earliest.
        (other.due, other.number).cmp(&(self.due, self.number))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Waiting {}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn answers_go_out_by_due_time_and_none_before_it() {
        let replies = Replies::default();
        let (sender, receiver) = mpsc::channel();
        let start = Instant::now();
        for (name, due_ms) in [("c", 6), ("a", 2), ("b", 4), ("a too", 2)] {
            let (sender, due) = (sender.clone(), start + Duration::from_millis(due_ms));
            replies.at(due, Box::new(move || sender.send((name, Instant::now() >= due)).expect("somebody listens")));
        }
        replies.close();
        assert_eq!(replies.send_when_due().all, 4);
        let sent: Vec<_> = receiver.try_iter().collect();
        assert_eq!(sent, [("a", true), ("a too", true), ("b", true), ("c", true)]);
    }

    #[test]
    fn an_earlier_answer_overtakes_the_one_that_is_waited_for() {
        let replies = Arc::new(Replies::default());
        let sender = std::thread::spawn({
            let replies = replies.clone();
            move || replies.send_when_due()
        });
        let (told, tells) = mpsc::channel();
        let now = Instant::now();
        replies.at(now + Duration::from_secs(3600), Box::new(|| ()));
        replies.at(now, Box::new(move || told.send(()).expect("somebody listens")));
        assert_eq!(tells.recv_timeout(Duration::from_secs(20)), Ok(()));
        assert!(!sender.is_finished(), "the other one waits still");
    }

    #[test]
    fn what_is_late_is_told() {
        let mut answered = Answered::default();
        for ms in [0, 1, 5] {
            answered.count(Duration::from_millis(ms));
        }
        assert_eq!(answered.to_string(), "3 requests answered, 1 more than 2 ms late, the latest by 5.0 ms");
    }
}
