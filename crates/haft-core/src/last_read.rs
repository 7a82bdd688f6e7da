//! A file that is looked at often and written seldom.

use crate::Failure;
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
    /// The content of the file that has this stamp: what `read` gives, or gave when the stamp was the same. It has to be
    /// taken before, so that what is written in between shows at the next look; without one, it is read each time. None
    /// also where it can't be read, of which nothing is kept: another look may be luckier.
    pub fn bytes(
        &self,
        stamp: Option<FileStamp>,
        read: impl FnOnce() -> Result<Option<Vec<u8>>, Failure>,
    ) -> Option<Arc<[u8]>> {
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
    use std::cell::Cell;

    /// The stamp of a file of so many bytes.
    #[expect(clippy::unnecessary_wraps, reason = "as it is given where a file tells one")]
    fn stamp(len: u64) -> Option<FileStamp> {
        Some(FileStamp { len, ..FileStamp::default() })
    }

    fn unreadable() -> Result<Option<Vec<u8>>, Failure> {
        Err(Failure::internal("it can't be read now"))
    }

    #[test]
    fn a_file_is_read_again_only_where_it_may_be_another_one() {
        let (last, reads) = (LastRead::default(), Cell::new(0_u8));
        let look = |stamp| {
            let read = || {
                reads.set(reads.get() + 1);
                Ok(Some(vec![reads.get()]))
            };
            last.bytes(stamp, read).unwrap()[0]
        };
        // Where nothing tells, each look reads.
        assert_eq!([look(None), look(None)], [1, 2]);
        assert_eq!([look(stamp(1)), look(stamp(1))], [3, 3]);
        assert_eq!([look(stamp(2)), look(stamp(2))], [4, 4]);
        assert_eq!(look(None), 5);
        // What was read while nothing told isn't kept.
        assert_eq!([look(stamp(2)), look(stamp(2))], [6, 6]);
    }

    #[test]
    fn that_there_is_no_file_is_kept_too() {
        let (last, none) = (LastRead::default(), Some(FileStamp::default()));
        assert_eq!(last.bytes(none.clone(), || Ok(None)), None);
        assert_eq!(last.bytes(none, || Ok(Some(vec![1]))), None);
        assert_eq!(last.bytes(stamp(1), || Ok(Some(vec![1]))).as_deref(), Some(&[1][..]));
    }

    #[test]
    fn a_file_that_could_not_be_read_is_read_at_the_next_look() {
        let last = LastRead::default();
        assert_eq!(last.bytes(stamp(1), unreadable), None);
        assert_eq!(last.bytes(stamp(1), || Ok(Some(vec![1]))).as_deref(), Some(&[1][..]));
        assert_eq!(last.bytes(stamp(2), unreadable), None);
        assert_eq!(last.bytes(stamp(1), || Ok(None)), None, "what was known before isn't either");
    }
}
