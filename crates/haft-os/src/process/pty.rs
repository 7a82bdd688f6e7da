//! A terminal for a command that asks for one.
//!
//! haft holds the end that a person's terminal program would hold; the command gets the other one for all three
//! streams. Making it the terminal that `/dev/tty` means is left to [`super::supervisor`], in the new session.

use haft_core::TerminalSize;
use rustix::{
    fs::{OFlags, fcntl_getfl, fcntl_setfl},
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcsetwinsize},
};
use std::{io, os::fd::OwnedFd};

/// Both ends of a terminal.
pub(super) struct Pty {
    /// haft's end, which doesn't block.
    pub(super) ours: OwnedFd,
    /// The command's.
    pub(super) theirs: OwnedFd,
}

impl Pty {
    /// Opens one.
    ///
    /// # Errors
    /// Whatever the system says: it has no more terminals, or no more files can be opened.
    pub(super) fn open(size: TerminalSize) -> io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        // By its handle, since its name may mean another one where haft itself runs in a container.
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        tcsetwinsize(&ours, Winsize { ws_row: size.rows, ws_col: size.columns, ws_xpixel: 0, ws_ypixel: 0 })?;
        fcntl_setfl(&ours, fcntl_getfl(&ours)? | OFlags::NONBLOCK)?;
        Ok(Self { ours, theirs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::termios::{isatty, tcgetwinsize};

    #[test]
    fn the_commands_end_is_a_terminal_of_the_size_that_was_asked_for() {
        let pty = Pty::open(TerminalSize { columns: 77, rows: 11 }).unwrap();
        assert!(isatty(&pty.theirs));
        let size = tcgetwinsize(&pty.theirs).unwrap();
        assert_eq!((size.ws_col, size.ws_row), (77, 11));
    }
}
