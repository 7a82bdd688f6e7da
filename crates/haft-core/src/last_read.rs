//! A file that is looked at often and written seldom.

use crate::{Failure, StateFolder};
use std::sync::{Arc, Mutex, PoisonError};

/// What tells one state of a file from another without reading it. Of a file that isn't there it is the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileStamp {
    /// The device and the file's number on it.
    pub identity: (u64, u64),
    /// In bytes.
    pub len: u64,
    /// When its content was last written: seconds since 1970 and nanoseconds.
    pub modified: (i64, i64),
    /// When it was last changed in any way, in the same form.
    pub changed: (i64, i64),
}

/// The last content of one file of a state folder, read again only where it may be another one.
#[derive(Debug, Default)]
pub struct LastRead(Mutex<Option<(FileStamp, Content)>>);

/// None where there is no file.
type Content = Option<Arc<[u8]>>;

impl LastRead {
    /// The content of the file `at` now: what `read` gives, or gave when the file was as it is. None also where it can't be
    /// read, of which nothing is kept: another look may be luckier.
    pub fn bytes(
        &self,
        state: &dyn StateFolder,
        at: &str,
        read: impl FnOnce() -> Result<Option<Vec<u8>>, Failure>,
    ) -> Option<Arc<[u8]>> {
        // Before the content, so that what is written in between shows at the next look.
        let stamp = state.stamp(at);
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let (Some((known, bytes)), Some(stamp)) = (&*last, &stamp)
            && known == stamp
        {
            return bytes.clone();
        }
        let Ok(read) = read() else {
            *last = None;
            return None;
        };
        let bytes = read.map(Arc::from);
        *last = stamp.map(|stamp| (stamp, bytes.clone()));
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Change, Counter, Held, LineLog, SpillFile, StateEntry};
    use std::cell::Cell;

    /// A folder of which only the stamp of its files is asked.
    struct Stamped(Mutex<Option<FileStamp>>);

    impl Stamped {
        fn set(&self, stamp: Option<u64>) {
            *self.0.lock().unwrap() = stamp.map(|len| FileStamp { len, ..FileStamp::default() });
        }
    }

    fn unused<T>() -> Result<T, Failure> {
        Err(Failure::internal("unused"))
    }

    impl StateFolder for Stamped {
        fn path(&self, at: &str) -> String {
            at.to_owned()
        }
        fn stamp(&self, _: &str) -> Option<FileStamp> {
            self.0.lock().unwrap().clone()
        }
        fn read_tail(&self, _: &str, _: usize) -> Result<Option<Vec<u8>>, Failure> {
            unused()
        }
        fn read_from(&self, _: &str, _: u64, _: usize) -> Result<Option<Vec<u8>>, Failure> {
            unused()
        }
        fn update(&self, _: &str, _: &mut Change<'_>) -> Result<(), Failure> {
            unused()
        }
        fn open_log(&self, _: &str) -> Result<Box<dyn LineLog>, Failure> {
            unused()
        }
        fn open_counter(&self, _: &str) -> Result<Box<dyn Counter>, Failure> {
            unused()
        }
        fn open_spill(&self, _: &str) -> Result<Box<dyn SpillFile>, Failure> {
            unused()
        }
        fn list(&self, _: &str) -> Vec<StateEntry> {
            Vec::new()
        }
        fn hold(&self, _: &str) -> Result<Box<dyn Held>, Failure> {
            unused()
        }
        fn is_held(&self, _: &str) -> bool {
            false
        }
        fn remove(&self, _: &str) -> Result<(), Failure> {
            unused()
        }
    }

    #[test]
    fn a_file_is_read_again_only_where_it_may_be_another_one() {
        let (state, last, reads) = (Stamped(Mutex::new(None)), LastRead::default(), Cell::new(0_u8));
        let look = || {
            let read = || {
                reads.set(reads.get() + 1);
                Ok(Some(vec![reads.get()]))
            };
            last.bytes(&state, "f", read).unwrap()[0]
        };
        // Where nothing tells, each look reads.
        assert_eq!([look(), look()], [1, 2]);
        state.set(Some(1));
        assert_eq!([look(), look()], [3, 3]);
        state.set(Some(2));
        assert_eq!([look(), look()], [4, 4]);
        state.set(None);
        assert_eq!(look(), 5);
        // What was read while nothing told isn't kept.
        state.set(Some(2));
        assert_eq!([look(), look()], [6, 6]);
    }

    #[test]
    fn that_there_is_no_file_is_kept_too() {
        let (state, last) = (Stamped(Mutex::new(Some(FileStamp::default()))), LastRead::default());
        assert_eq!(last.bytes(&state, "f", || Ok(None)), None);
        assert_eq!(last.bytes(&state, "f", || Ok(Some(vec![1]))), None);
        state.set(Some(1));
        assert_eq!(last.bytes(&state, "f", || Ok(Some(vec![1]))).as_deref(), Some(&[1][..]));
    }

    #[test]
    fn a_file_that_could_not_be_read_is_read_at_the_next_look() {
        let (state, last) = (Stamped(Mutex::new(None)), LastRead::default());
        state.set(Some(1));
        assert_eq!(last.bytes(&state, "f", unused), None);
        assert_eq!(last.bytes(&state, "f", || Ok(Some(vec![1]))).as_deref(), Some(&[1][..]));
        state.set(Some(2));
        assert_eq!(last.bytes(&state, "f", unused), None);
        state.set(Some(1));
        assert_eq!(last.bytes(&state, "f", || Ok(None)), None, "what was known before isn't either");
    }
}
