//! Memory that isn't needed any more goes back to the system: what the allocator keeps, and mapped code of the start.
//!
//! A server stands idle for most of its life, and many of them may run beside each other.

#![allow(unsafe_code, reason = "the allocator and the mappings can only be told by the C library")]

use std::{fs, ptr};

/// Gives back what the allocator holds without using it, as after many calls at once. Takes less than a millisecond for a
/// few megabytes. Does nothing where the C library has no way to it.
pub fn trim() {
    // SAFETY: it takes no pointers, and may be called at any time by any thread.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Takes the program's own code and constants out of memory; what is used again is mapped again as it is used, from the
/// system's cache, which costs about a millisecond in all. Most of what is mapped after the start was only needed for it.
pub fn unmap_start() {
    let Ok(own) = fs::read_link("/proc/self/exe") else { return };
    let Ok(maps) = fs::read_to_string("/proc/self/maps") else { return };
    for line in maps.lines().filter(|line| line.ends_with(&*own.to_string_lossy())) {
        let Some((from, to)) = unwritten(line) else { continue };
        // SAFETY: the range is a mapping of this process that is private, backed by a file and was never written to, so
        // each page comes back from the file as it was.
        unsafe {
            libc::madvise(
                ptr::with_exposed_provenance_mut(from),
                to.saturating_sub(from),
                libc::MADV_DONTNEED,
            );
        }
    }
}

/// The range of a mapping that was never written to: code, or the constants at the file's beginning. What the loader
/// wrote to (addresses, made read-only after it) lies further on.
fn unwritten(line: &str) -> Option<(usize, usize)> {
    let mut words = line.split_ascii_whitespace();
    let (range, rights, offset) = (words.next()?, words.next()?, words.next()?);
    let is_first = u64::from_str_radix(offset, 16) == Ok(0);
    if rights != "r-xp" && !(rights == "r--p" && is_first) {
        return None;
    }
    let (from, to) = range.split_once('-')?;
    Some((usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_code_and_constants_are_unmapped() {
        let line = |rights: &str, offset: &str| {
            format!("5581c000-5582d000 {rights} {offset} fe:00 123   /usr/bin/haft")
        };
        assert_eq!(unwritten(&line("r-xp", "00dab000")), Some((0x5581_c000, 0x5582_d000)));
        assert_eq!(unwritten(&line("r--p", "00000000")), Some((0x5581_c000, 0x5582_d000)));
        for (rights, offset) in
            [("r--p", "02ab5000"), ("rw-p", "02c07000"), ("rw-p", "00000000"), ("rwxp", "00dab000")]
        {
            assert_eq!(unwritten(&line(rights, offset)), None, "{rights} {offset}");
        }
    }

    /// How much of files is in this process's memory.
    fn mapped_kib() -> usize {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("RssFile:")).unwrap();
        line.split_ascii_whitespace().next().unwrap().parse().unwrap()
    }

    #[test]
    fn a_program_goes_on_without_what_was_unmapped() {
        let kept: Vec<String> = (0..10_000).map(|number| format!("text {number}")).collect();
        let before = mapped_kib();
        trim();
        unmap_start();
        let after = mapped_kib();
        assert!(after < before, "{before} KiB of files were mapped, and then {after}");
        assert_eq!(kept.iter().map(String::len).sum::<usize>(), 88_890);
    }
}
