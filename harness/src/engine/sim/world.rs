//! A simulated drive with its files, its contents, its faults and the clock that all engines on it share.
//!
//! Time moves only when somebody waits. A request takes effect when it is submitted; when it completes is the model's
//! word. Knows no slot and no queue: those are the engine's.

use super::contents::{Contents, UNIT, Written};
use super::faults::Faults;
use super::files::{Extent, Files};
use super::{Failure, Model, Request, look};
use crate::engine::content::Pattern;
use crate::engine::{BadBlock, MOST_BAD_BLOCKS, OpKind, Setup};
use crate::sample::telemetry::Heat;
use crate::units::Nanos;

/// The world of one run.
#[derive(Debug)]
pub(crate) struct World<M> {
    /// From the start of the run.
    now: Nanos,
    model: M,
    capacity: u64,
    files: Files,
    contents: Contents,
    faults: Faults,
    /// Bytes so far.
    written: u64,
    /// Changes with each file that is made or removed: who remembers where one lies asks again.
    epoch: u64,
}

/// One suite's files as one linear space, as an engine sees them.
#[derive(Debug)]
pub(crate) struct View {
    suite: String,
    segment_bytes: u64,
    dsync: bool,
    seed: u64,
    zeros: bool,
    open: Vec<u32>,
    /// The extent of the last request, in the linear space, and when it was looked up.
    last: Option<(Extent, u64)>,
}

/// What becomes of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Served {
    /// When it completes.
    pub(crate) at: Nanos,
    /// Bytes moved, or why not.
    pub(crate) result: Result<u32, Failure>,
    /// Blocks that are not what was expected.
    pub(crate) bad_blocks: u32,
}

impl View {
    /// The space that a phase asks for.
    pub(crate) fn new(setup: &Setup) -> View {
        View {
            suite: setup.files.clone(),
            segment_bytes: setup.segment_bytes.max(1),
            dsync: setup.dsync,
            seed: setup.content.seed,
            zeros: setup.content.pattern == Pattern::Zeros,
            open: Vec::new(),
            last: None,
        }
    }

    /// What the unit at `place` holds when the byte at `offset` of the space is written there.
    #[inline]
    fn written(&self, offset: u64, place: u64, generation: u32) -> Written {
        let zeros = self.zeros.then_some(self.segment_bytes);
        Written { shift: offset.wrapping_sub(place), seed: self.seed, generation, zeros }
    }
}

impl<M: Model> World<M> {
    /// A drive of `capacity` bytes that nobody has written to.
    pub(crate) fn new(model: M, capacity: u64, faults: Faults) -> World<M> {
        let capacity = capacity / UNIT * UNIT;
        let (files, contents) = (Files::new(capacity), Contents::new(capacity));
        World { now: Nanos(0), model, capacity, files, contents, faults, written: 0, epoch: 0 }
    }

    /// Now.
    #[inline]
    pub(crate) fn now(&self) -> Nanos {
        self.now
    }

    /// How warm the drive is.
    #[inline]
    pub(crate) fn heat(&self) -> Option<Heat> {
        self.model.heat(self.now)
    }

    /// Waits: time never goes back.
    #[inline]
    pub(crate) fn wait_until(&mut self, moment: Nanos) {
        self.now = self.now.max(moment);
    }

    /// Takes a request now; what it read wrong goes into `bad`.
    #[inline]
    pub(crate) fn serve(&mut self, view: &mut View, kind: OpKind, bad: &mut Vec<BadBlock>) -> Served {
        if !self.faults.0.is_empty() && self.faults.is_gone(self.now) {
            return Served { at: self.now, result: Err(Failure::Gone), bad_blocks: 0 };
        }
        let mut served = match kind {
            OpKind::Write { offset, len, generation } => self.write(view, offset, len, generation),
            OpKind::Read { offset, len, generation } => self.read(view, offset, len, generation, bad),
            other => self.rest(view, other),
        };
        if !self.faults.0.is_empty() {
            served.at = self.faults.held(self.now, served.at);
            if self.faults.is_gone(served.at) {
                served.result = Err(Failure::Gone);
            }
            if served.result.is_err() {
                // What was not read is not judged.
                bad.clear();
                served.bad_blocks = 0;
            }
        }
        served
    }

    fn done(&self, result: Result<u32, Failure>) -> Served {
        Served { at: self.now, result, bad_blocks: 0 }
    }

    fn write(&mut self, view: &mut View, offset: u64, len: u32, generation: u32) -> Served {
        let mut at = self.now;
        let mut left = u64::from(len);
        let mut from = offset;
        while left > 0 {
            let (place, run) = match self.locate(view, from) {
                Ok(found) => found,
                Err(failure) => return self.done(Err(failure)),
            };
            let bytes = run.min(left);
            if !self.faults.0.is_empty() {
                if let Err(failure) = self.may_write(place, bytes) {
                    return Served { at: at.max(self.request(place, bytes, true)), ..self.done(Err(failure)) };
                }
                at = at.max(self.in_halves(place, bytes));
            } else {
                at = at.max(self.request(place, bytes, true));
            }
            self.put(view, from, place, bytes, generation);
            self.written = self.written.saturating_add(bytes);
            (from, left) = (from + bytes, left - bytes);
        }
        if view.dsync {
            at = at.max(self.model.serve(self.now, Request::Flush));
        }
        Served { at, result: Ok(len), bad_blocks: 0 }
    }

    fn may_write(&self, place: u64, bytes: u64) -> Result<(), Failure> {
        if self.faults.is_full(self.written.saturating_add(bytes)) {
            return Err(Failure::NoSpace);
        }
        if self.faults.fails_write(place, bytes) { Err(Failure::Medium) } else { Ok(()) }
    }

    /// A write that the drive may do in two parts.
    fn in_halves(&mut self, place: u64, bytes: u64) -> Nanos {
        let half = bytes / 2 / UNIT * UNIT;
        if half == 0 || !self.faults.halves(place, bytes) {
            return self.request(place, bytes, true);
        }
        let first = self.request(place, half, true);
        first.max(self.request(place + half, bytes - half, true))
    }

    #[inline]
    fn put(&mut self, view: &View, offset: u64, place: u64, bytes: u64, generation: u32) {
        if self.faults.0.is_empty() {
            return self.contents.set(place, bytes, Some(view.written(offset, place, generation)));
        }
        for (kept, from, len) in kept(&self.faults, place, bytes) {
            self.contents.set(kept, len, Some(view.written(offset + from, kept, generation)));
        }
    }

    fn read(&mut self, view: &mut View, offset: u64, len: u32, generation: u32, bad: &mut Vec<BadBlock>) -> Served {
        let mut served = self.done(Ok(len));
        let mut left = u64::from(len);
        let mut from = offset;
        while left > 0 {
            let (place, run) = match self.locate(view, from) {
                Ok(found) => found,
                Err(failure) => return self.done(Err(failure)),
            };
            let bytes = run.min(left);
            served.at = served.at.max(self.request(place, bytes, false));
            if self.faults.fails_read(place, bytes) {
                return Served { result: Err(Failure::Medium), ..served };
            }
            for (kept, skip, len) in kept(&self.faults, place, bytes) {
                served.bad_blocks += self.inspect(view, from + skip, kept, len, generation, bad);
            }
            (from, left) = (from + bytes, left - bytes);
        }
        served
    }

    /// Compares what lies at `place` with what was written to `offset` of the space.
    fn inspect(&self, view: &View, offset: u64, place: u64, len: u64, generation: u32, bad: &mut Vec<BadBlock>) -> u32 {
        let expected = view.written(offset, place, generation);
        let mut count = 0;
        self.contents.runs(place, len, |start, len, written| {
            if written == Some(expected) && self.faults.damage(start, len).is_none() {
                return;
            }
            for unit in (start..start + len).step_by(UNIT as usize) {
                let damage = self.faults.damage(unit, UNIT);
                if let Some(fault) = look::fault(unit, expected, written, damage) {
                    count += 1;
                    if bad.len() < MOST_BAD_BLOCKS {
                        bad.push(BadBlock { offset: unit.wrapping_add(expected.shift), fault });
                    }
                }
            }
        });
        count
    }

    /// What moves no data.
    fn rest(&mut self, view: &mut View, kind: OpKind) -> Served {
        let served = match kind {
            OpKind::Flush { segment } if segment.is_none_or(|segment| view.open.contains(&segment)) => {
                Ok(self.model.serve(self.now, Request::Flush))
            }
            OpKind::Flush { .. } => Err(Failure::NotOpen),
            OpKind::Discard { from, to } => {
                view.open.retain(|open| !(from..to).contains(open));
                Ok(self.remove(view, from, to))
            }
            // What was freed was discarded at once.
            OpKind::Trim => Ok(self.now),
            OpKind::Open { segment, create } => self.open(view, segment, create),
            OpKind::Close { segment } => {
                view.open.retain(|open| *open != segment);
                view.last = None;
                Ok(self.now)
            }
            OpKind::Write { .. } | OpKind::Read { .. } => Err(Failure::Invalid),
        };
        match served {
            Ok(at) => Served { at: at.max(self.now), result: Ok(0), bad_blocks: 0 },
            Err(failure) => self.done(Err(failure)),
        }
    }

    fn open(&mut self, view: &mut View, segment: u32, create: bool) -> Result<Nanos, Failure> {
        let mut at = self.now;
        if create {
            at = self.remove(view, segment, segment.saturating_add(1));
            self.files.create(&view.suite, segment, view.segment_bytes)?;
            self.epoch += 1;
        } else if self.files.extents(&view.suite, segment).is_none() {
            return Err(Failure::NoFile);
        }
        if !view.open.contains(&segment) {
            view.open.push(segment);
        }
        Ok(at)
    }

    /// Removes files and tells the drive.
    fn remove(&mut self, view: &mut View, from: u32, to: u32) -> Nanos {
        let mut at = self.now;
        let mut freed = self.files.remove(&view.suite, from..to);
        if freed.is_empty() {
            return at;
        }
        freed.sort_by_key(|extent| extent.place);
        freed.dedup_by(|next, last| {
            let joined = last.place + last.len == next.place;
            last.len += if joined { next.len } else { 0 };
            joined
        });
        for Extent { place, len, .. } in freed {
            for (kept, _, len) in kept(&self.faults, place, len) {
                self.contents.set(kept, len, None);
            }
            at = at.max(self.model.serve(self.now, Request::Discard { offset: place, len }));
        }
        self.epoch += 1;
        at
    }

    /// The place on the drive of a byte of the space, and how many bytes from there lie side by side.
    #[inline]
    fn locate(&self, view: &mut View, offset: u64) -> Result<(u64, u64), Failure> {
        if let Some((extent, epoch)) = view.last
            && epoch == self.epoch
            && let Some(skip) = offset.checked_sub(extent.from)
            && skip < extent.len
        {
            return Ok((extent.place + skip, extent.len - skip));
        }
        self.look_up(view, offset)
    }

    #[cold]
    fn look_up(&self, view: &mut View, offset: u64) -> Result<(u64, u64), Failure> {
        let number = offset / view.segment_bytes;
        let segment = u32::try_from(number).map_err(|_| Failure::NotOpen)?;
        if !view.open.contains(&segment) {
            return Err(Failure::NotOpen);
        }
        let start = number * view.segment_bytes;
        let extents = self.files.extents(&view.suite, segment).ok_or(Failure::NoFile)?;
        let within = |extent: &&Extent| (extent.from..extent.from + extent.len).contains(&(offset - start));
        let found = extents.iter().find(within).ok_or(Failure::Invalid)?;
        let extent = Extent { from: start + found.from, ..*found };
        view.last = Some((extent, self.epoch));
        let skip = offset - extent.from;
        Ok((extent.place + skip, extent.len - skip))
    }

    #[inline]
    fn request(&mut self, place: u64, bytes: u64, write: bool) -> Nanos {
        debug_assert!(place + bytes <= self.capacity, "a file lies beyond the drive");
        let len = u32::try_from(bytes).unwrap_or(u32::MAX);
        let request = if write { Request::Write { offset: place, len } } else { Request::Read { offset: place, len } };
        self.model.serve(self.now, request).max(self.now)
    }
}

/// Where the drive really keeps a range: place, bytes from the range's start, and length of each part.
fn kept(faults: &Faults, place: u64, bytes: u64) -> impl Iterator<Item = (u64, u64, u64)> + use<'_> {
    let mut done = 0;
    std::iter::from_fn(move || {
        (done < bytes).then(|| {
            let at = place + done;
            let len = (bytes - done).min(faults.wraps_at(at) - at);
            let part = (faults.kept_at(at), done, len);
            done += len;
            part
        })
    })
}
