//! Where the files of a simulated target lie on its drive: first fit, and gone when they are removed.
//!
//! A filesystem that costs nothing: no data of its own, no time. Knows neither stamps nor requests.

use std::collections::BTreeMap;
use std::ops::Range;

use super::Failure;

/// Part of a file, in one piece on the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Extent {
    /// First byte in the file.
    pub(super) from: u64,
    /// First byte on the drive.
    pub(super) place: u64,
    /// Bytes.
    pub(super) len: u64,
}

/// All files on one drive, by the suite that they belong to and the number of their segment.
#[derive(Debug)]
pub(super) struct Files {
    files: BTreeMap<(String, u32), Vec<Extent>>,
    /// Place and length of what is free, neighbours joined.
    free: BTreeMap<u64, u64>,
}

impl Files {
    /// An empty filesystem over `capacity` bytes.
    pub(super) fn new(capacity: u64) -> Files {
        Files { files: BTreeMap::new(), free: BTreeMap::from([(0, capacity)]) }
    }

    /// Where a file lies, if it is there.
    pub(super) fn extents(&self, suite: &str, segment: u32) -> Option<&[Extent]> {
        self.files.get(&(suite.to_owned(), segment)).map(Vec::as_slice)
    }

    /// Makes a file of `bytes` in as few pieces as there are.
    ///
    /// # Errors
    /// `NoSpace`: less is free. `Invalid`: it is there already.
    pub(super) fn create(&mut self, suite: &str, segment: u32, bytes: u64) -> Result<(), Failure> {
        let key = (suite.to_owned(), segment);
        if self.files.contains_key(&key) {
            return Err(Failure::Invalid);
        }
        if self.free.values().sum::<u64>() < bytes {
            return Err(Failure::NoSpace);
        }
        let mut extents = Vec::new();
        let (mut from, mut left) = (0, bytes);
        while left > 0 {
            // The first hole that takes all of it; where none does, the first hole.
            let fits = self.free.iter().find(|(_, len)| **len >= left).or_else(|| self.free.iter().next());
            let Some((&place, &hole)) = fits else { return Err(Failure::NoSpace) };
            let len = hole.min(left);
            self.free.remove(&place);
            if hole > len {
                self.free.insert(place + len, hole - len);
            }
            extents.push(Extent { from, place, len });
            (from, left) = (from + len, left - len);
        }
        self.files.insert(key, extents);
        Ok(())
    }

    /// Removes the files of these segments; gives where they lay.
    pub(super) fn remove(&mut self, suite: &str, segments: Range<u32>) -> Vec<Extent> {
        let (from, to) = ((suite.to_owned(), segments.start), (suite.to_owned(), segments.end.max(segments.start)));
        let keys: Vec<_> = self.files.range(from..to).map(|(key, _)| key.clone()).collect();
        let extents: Vec<Extent> = keys.iter().filter_map(|key| self.files.remove(key)).flatten().collect();
        extents.iter().for_each(|extent| self.give_back(extent.place, extent.len));
        extents
    }

    fn give_back(&mut self, mut place: u64, mut len: u64) {
        if let Some((&before, &bytes)) = self.free.range(..place).next_back()
            && before + bytes == place
        {
            self.free.remove(&before);
            (place, len) = (before, bytes + len);
        }
        if let Some(bytes) = self.free.remove(&(place + len)) {
            len += bytes;
        }
        self.free.insert(place, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_lie_side_by_side_and_their_space_comes_back() {
        let mut files = Files::new(100);
        for segment in 0..4 {
            files.create("fill", segment, 25).unwrap();
        }
        assert_eq!(files.extents("fill", 2), Some(&[Extent { from: 0, place: 50, len: 25 }][..]));
        assert_eq!(files.create("rw", 0, 1), Err(Failure::NoSpace));
        assert_eq!(files.create("fill", 0, 1), Err(Failure::Invalid));
        assert_eq!(files.remove("fill", 0..9).len(), 4);
        assert_eq!(files.extents("fill", 2), None);
        files.create("rw", 0, 100).unwrap();
        assert_eq!(files.extents("rw", 0), Some(&[Extent { from: 0, place: 0, len: 100 }][..]));
    }

    #[test]
    fn a_file_takes_the_first_hole_that_is_large_enough_or_several() {
        let mut files = Files::new(100);
        for segment in 0..4 {
            files.create("fill", segment, 25).unwrap();
        }
        files.remove("fill", 1..2);
        files.remove("fill", 3..4);
        files.create("rw", 0, 20).unwrap();
        assert_eq!(files.extents("rw", 0), Some(&[Extent { from: 0, place: 25, len: 20 }][..]));
        files.create("rw", 1, 30).unwrap();
        let parts = [Extent { from: 0, place: 45, len: 5 }, Extent { from: 5, place: 75, len: 25 }];
        assert_eq!(files.extents("rw", 1), Some(&parts[..]));
    }
}
