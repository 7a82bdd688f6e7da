//! The sandbox of macOS, seatbelt: what [`super::plan`] is to Linux, as a profile for `sandbox-exec`.
//!
//! Paths come as parameters, so that none can be read as a part of the profile. In a profile the last rule that fits
//! holds: what is kept stands behind what is writable, and what is hidden behind both. Rules go by path, so that what
//! isn't there can't be made either, without placeholders. Untested: no machine of ours has run it.

#![cfg_attr(not(target_os = "macos"), allow(dead_code, reason = "made on every system, used on macOS alone"))]

use haft_core::{Allowance, Confinement, Kept, Reach};
use std::{collections::BTreeSet, fmt::Write as _, path::Path};

/// Where it starts, before it says anything of paths.
const HEAD: &str = "(version 1)
(allow default)
(deny signal)
(allow signal (target same-sandbox))
(deny process-info*)
(allow process-info* (target same-sandbox))
(deny appleevent-send)
";
/// Services that start programs outside, read what was copied, or hand out saved logins.
const SERVICES: [&str; 6] = [
    "com.apple.coreservices.launchservicesd",
    "com.apple.coreservices.appleevents",
    "com.apple.coreservices.quarantine-resolver",
    "com.apple.pasteboard.1",
    "com.apple.SecurityServer",
    "com.apple.securityd.xpc",
];
/// Devices that anything may write to.
const DEVICES: [&str; 7] =
    ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/dtracehelper"];

/// A profile and its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seatbelt {
    profile: String,
    parameters: Vec<(String, String)>,
}

impl Seatbelt {
    /// What a command may do. `port` is the proxy's, on this machine, where the network isn't closed to all or open.
    pub(crate) fn new(confinement: &Confinement, allowance: &Allowance, port: Option<u16>) -> Self {
        let mut made = Self { profile: HEAD.to_owned(), parameters: Vec::new() };
        for service in SERVICES {
            made.say(&format!("(deny mach-lookup (global-name \"{service}\"))"));
        }
        made.files(confinement, allowance);
        match (&confinement.network, port) {
            (Reach::Open, _) => {}
            (Reach::Hosts(_), Some(port)) => {
                made.say("(deny network*)");
                made.say(&format!("(allow network-outbound (remote ip \"localhost:{port}\"))"));
            }
            (Reach::Hosts(_) | Reach::Closed, _) => made.say("(deny network*)"),
        }
        made
    }

    fn files(&mut self, confinement: &Confinement, allowance: &Allowance) {
        let opened = &allowance.writable;
        self.say("(deny file-write*)");
        for device in DEVICES {
            self.say(&format!("(allow file-write* (literal \"{device}\"))"));
        }
        self.say("(allow file-write* (regex #\"^/dev/ttys[0-9]+$\"))");
        for (index, path) in confinement.writable.iter().enumerate() {
            self.rule("allow file-write*", "subpath", &format!("WRITABLE_{index}"), path);
        }
        // An approval opens what is kept where it names that or something in it, never by a folder around it.
        let is_opened = |path: &str| opened.iter().any(|open| Path::new(open).starts_with(path));
        let kept =
            confinement.kept.iter().map(|Kept { path, .. }| path.as_str()).filter(|path| !is_opened(path));
        let mut around = BTreeSet::new();
        for (index, path) in kept.enumerate() {
            self.rule("deny file-write*", "subpath", &format!("KEPT_{index}"), path);
            let root = confinement.writable.iter().find(|root| Path::new(path).starts_with(root));
            let folders = Path::new(path).ancestors().skip(1).filter_map(Path::to_str);
            around.extend(
                folders.take_while(|folder| root.is_some_and(|root| Path::new(folder).starts_with(root))),
            );
        }
        // Neither what is kept nor what it lies in is renamed away.
        for (index, path) in around.into_iter().enumerate() {
            self.rule("deny file-write-unlink", "literal", &format!("AROUND_{index}"), path);
        }
        for (index, path) in opened.iter().enumerate() {
            self.rule("allow file-write*", "subpath", &format!("OPENED_{index}"), path);
        }
        let hidden = confinement.hidden.iter().filter(|path| !is_opened(path));
        for (index, path) in hidden.enumerate() {
            self.rule("deny file-read* file-write*", "subpath", &format!("HIDDEN_{index}"), path);
        }
        for (index, path) in confinement.shown.iter().enumerate() {
            self.rule("allow file-read*", "subpath", &format!("SHOWN_{index}"), path);
        }
        // One file and nothing beside it, wherever it lies.
        for (index, path) in allowance.files.iter().enumerate() {
            self.rule("allow file-read* file-write*", "literal", &format!("FILE_{index}"), path);
        }
    }

    fn rule(&mut self, what: &str, how: &str, parameter: &str, path: &str) {
        self.say(&format!("({what} ({how} (param \"{parameter}\")))"));
        self.parameters.push((parameter.to_owned(), path.to_owned()));
    }

    fn say(&mut self, line: &str) {
        // Writing to a string can't fail.
        let _ = writeln!(self.profile, "{line}");
    }

    /// What `sandbox-exec` takes before the program and its arguments.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut all = vec!["-p".to_owned(), self.profile.clone()];
        for (name, path) in &self.parameters {
            all.extend(["-D".to_owned(), format!("{name}={path}")]);
        }
        all.push("--".to_owned());
        all
    }

    /// A command that starts in it; program and arguments are still to be added.
    #[cfg(target_os = "macos")]
    pub(crate) fn command(&self) -> std::process::Command {
        // By its full path: what a command could put on the PATH would run outside.
        let mut command = std::process::Command::new("/usr/bin/sandbox-exec");
        command.args(self.arguments());
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn confinement(network: Reach) -> Confinement {
        let kept = |path: &str| Kept { path: path.to_owned(), even_absent: true };
        Confinement {
            writable: vec!["/w".to_owned(), "/private/tmp".to_owned()],
            kept: vec![kept("/w/.git/hooks"), kept("/w/.haft"), kept("/elsewhere/.git")],
            hidden: vec!["/Users/u/.ssh".to_owned()],
            network,
            ..Confinement::default()
        }
    }

    fn lines(made: &Seatbelt) -> Vec<&str> {
        made.profile.lines().collect()
    }

    fn place(made: &Seatbelt, line: &str) -> usize {
        lines(made)
            .iter()
            .position(|one| *one == line)
            .unwrap_or_else(|| panic!("{line} in {}", made.profile))
    }

    #[test]
    fn what_is_kept_stands_behind_what_is_writable_and_what_is_hidden_last() {
        let made = Seatbelt::new(&confinement(Reach::Closed), &Allowance::default(), None);
        let order = [
            "(allow default)",
            "(deny file-write*)",
            "(allow file-write* (literal \"/dev/null\"))",
            "(allow file-write* (subpath (param \"WRITABLE_1\")))",
            "(deny file-write* (subpath (param \"KEPT_0\")))",
            "(deny file-write-unlink (literal (param \"AROUND_1\")))",
            "(deny file-read* file-write* (subpath (param \"HIDDEN_0\")))",
            "(deny network*)",
        ];
        let places: Vec<usize> = order.iter().map(|line| place(&made, line)).collect();
        assert!(places.is_sorted(), "{}", made.profile);
        let of =
            |name: &str| made.parameters.iter().find(|(one, _)| one == name).map(|(_, path)| path.as_str());
        assert_eq!((of("KEPT_0"), of("KEPT_1")), (Some("/w/.git/hooks"), Some("/w/.haft")));
        // The folders of what is kept in the workspace, and nothing above it or elsewhere.
        assert_eq!((of("AROUND_0"), of("AROUND_1"), of("AROUND_2")), (Some("/w"), Some("/w/.git"), None));
    }

    #[test]
    fn an_approval_opens_what_it_names_and_not_what_lies_around_it() {
        let open = |path: &str| {
            let allowance = Allowance { writable: vec![path.to_owned()], ..Allowance::default() };
            Seatbelt::new(&confinement(Reach::Closed), &allowance, None)
        };
        let kept =
            |made: &Seatbelt| made.parameters.iter().filter(|(name, _)| name.starts_with("KEPT")).count();
        assert_eq!((kept(&open("/w/.git/hooks/x")), kept(&open("/w/.haft"))), (2, 2));
        let around = open("/opt/x");
        assert_eq!(kept(&around), 3);
        assert!(around.parameters.contains(&("OPENED_0".to_owned(), "/opt/x".to_owned())));
        let hidden = |made: &Seatbelt| made.parameters.iter().any(|(name, _)| name.starts_with("HIDDEN"));
        assert!(hidden(&around) && !hidden(&open("/Users/u/.ssh/config")));
        // A file alone lifts nothing of what it lies in.
        let files = vec!["/w/.haft/x".to_owned(), "/Users/u/.ssh/config".to_owned()];
        let shown = Confinement { shown: vec!["/Users/u/.ssh/pub".to_owned()], ..confinement(Reach::Closed) };
        let files = Seatbelt::new(&shown, &Allowance { files, ..Allowance::default() }, None);
        assert!(kept(&files) == 3 && hidden(&files));
        let order = [
            "(deny file-read* file-write* (subpath (param \"HIDDEN_0\")))",
            "(allow file-read* (subpath (param \"SHOWN_0\")))",
            "(allow file-read* file-write* (literal (param \"FILE_1\")))",
        ];
        assert!(order.map(|line| place(&files, line)).is_sorted());
    }

    #[test]
    fn the_network_is_closed_open_or_the_proxys_port_alone() {
        let hosts = || Reach::Hosts(vec!["a.example".to_owned()]);
        let made = |network, port| Seatbelt::new(&confinement(network), &Allowance::default(), port).profile;
        assert!(made(Reach::Closed, None).ends_with("(deny network*)\n"));
        assert!(
            made(hosts(), Some(4128))
                .ends_with("(deny network*)\n(allow network-outbound (remote ip \"localhost:4128\"))\n")
        );
        assert!(made(hosts(), None).ends_with("(deny network*)\n"), "without a proxy nobody is reached");
        assert!(!made(Reach::Open, None).contains("network"));
    }

    #[test]
    fn no_path_is_a_part_of_the_profile() {
        let odd = "/w/\") (allow default) (\"";
        let all = Confinement { writable: vec![odd.to_owned()], ..Confinement::default() };
        let made = Seatbelt::new(&all, &Allowance::default(), None);
        assert!(!made.profile.contains("/w/"), "{}", made.profile);
        let arguments = made.arguments();
        assert_eq!(arguments[2..], ["-D".to_owned(), format!("WRITABLE_0={odd}"), "--".to_owned()]);
        // Each bracket is closed.
        let count = |c: char| made.profile.chars().filter(|one| *one == c).count();
        assert_eq!(count('('), count(')'));
    }
}
