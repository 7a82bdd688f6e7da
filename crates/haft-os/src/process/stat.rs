//! The line in which the system describes a process.

/// `/proc/PID/stat`, taken apart. See proc(5) for the fields; their numbers there start at 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat {
    /// The name of the program, cut by the system to 15 bytes.
    pub(crate) name: String,
    /// The fields from the third on.
    fields: Vec<String>,
}

impl Stat {
    /// The line of a process: a number, `self` or `thread-self`. `None` where there is none any more.
    pub(crate) fn read(process: &str) -> Option<Self> {
        Self::parse(&std::fs::read(format!("/proc/{process}/stat")).ok()?)
    }

    /// A program's name may hold anything, also parentheses and blanks: what counts is the last one.
    fn parse(line: &[u8]) -> Option<Self> {
        let open = line.iter().position(|byte| *byte == b'(')?;
        let close = line.iter().rposition(|byte| *byte == b')')?;
        let name = String::from_utf8_lossy(line.get(open.checked_add(1)?..close)?).into_owned();
        let rest = std::str::from_utf8(line.get(close.checked_add(1)?..)?).ok()?;
        Some(Self { name, fields: rest.split_ascii_whitespace().map(str::to_owned).collect() })
    }

    /// A field by its number in proc(5), from 3.
    fn field<T: std::str::FromStr>(&self, number: usize) -> Option<T> {
        self.fields.get(number.checked_sub(3)?)?.parse().ok()
    }

    /// Whether it still runs: it may have ended and wait to be reaped. One whose first thread has ended looks the same,
    /// but has others.
    pub(crate) fn is_living(&self) -> bool {
        match self.fields.first().map(String::as_str) {
            None | Some("X" | "x") => false,
            Some("Z") => self.threads().is_some_and(|threads| threads > 1),
            Some(_) => true,
        }
    }

    /// The process that reaps it.
    pub(crate) fn parent(&self) -> Option<i32> {
        self.field(4)
    }

    /// The session it belongs to.
    pub(crate) fn session(&self) -> Option<i32> {
        self.field(6)
    }

    /// How much of the processor it has used, its reaped children too, in the system's ticks.
    pub(crate) fn used(&self) -> u64 {
        (14..=17).filter_map(|number| self.field::<u64>(number)).fold(0, u64::saturating_add)
    }

    /// How many threads it has.
    pub(crate) fn threads(&self) -> Option<u64> {
        self.field(20)
    }

    /// When it started, in the system's ticks. With the id it says which process is meant.
    pub(crate) fn started(&self) -> Option<u64> {
        self.field(22)
    }

    /// The addresses of the environment it was started with; the second is the first after it.
    pub(crate) fn environment(&self) -> Option<(usize, usize)> {
        Some((self.field(50)?, self.field(51)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_the_fields_after_it() {
        let stat = Stat::parse(b"12 (a) R 1 (b) S 7 12 9 0 -1").unwrap();
        assert_eq!(stat.name, "a) R 1 (b");
        assert_eq!((stat.parent(), stat.session()), (Some(7), Some(9)));
        assert!(stat.is_living());
        assert_eq!(stat.started(), None);
    }

    #[test]
    fn what_waits_to_be_reaped_lives_by_its_other_threads_alone() {
        for (state, threads, lives) in [("S", 1, true), ("Z", 1, false), ("Z", 0, false), ("Z", 2, true)] {
            let line = format!("12 (a) {state} 7 12 9 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 5");
            let stat = Stat::parse(line.as_bytes()).unwrap();
            assert_eq!((stat.threads(), stat.started()), (Some(threads), Some(5)));
            assert_eq!(stat.is_living(), lives, "{line}");
        }
    }

    #[test]
    fn the_own_line_is_readable() {
        let stat = Stat::read("self").unwrap();
        assert!(stat.threads().unwrap() >= 1 && stat.used() < u64::MAX);
        let (start, end) = stat.environment().unwrap();
        assert!(start <= end);
    }
}
