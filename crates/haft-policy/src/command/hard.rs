//! What no answer, rule or mode allows: recognised after parsing, by best effort through what stays unclear.

mod download;
mod own;
mod removal;
mod values;

pub(crate) use download::is_downloader;
pub use own::OWN_SWITCHES;

use super::{
    Access, JudgedLine, PathWord, Word, git,
    operands::path_words,
    place::{Places, covers, of_word},
    read_only::{finds_all, is_among},
};
use crate::{Policy, Subject};
use haft_core::{Ground, Touch};

/// Programs that make or wipe file systems.
const DISK_PROGRAMS: &str = "mkswap wipefs blkdiscard mke2fs mkdosfs mkntfs mkexfatfs mkudffs";

/// Programs that change partitions, unless one of these words says that they only look.
const PARTITIONERS: &str = "fdisk sfdisk gdisk sgdisk cfdisk parted";
const ONLY_LOOKS: &str = "-l --list -p --print print --help --version -V -h --dump";

/// How the names of block devices begin, beneath `/dev`.
static BLOCK_DEVICES: [&str; 14] = [
    "sd", "nvme", "mmcblk", "vd", "xvd", "hd", "disk", "rdisk", "mapper/", "dm-", "md", "loop", "mem", "kmem",
];

/// Why the line may never run.
pub(crate) fn hard_denied(line: &JudgedLine, policy: &Policy) -> Option<String> {
    let places = Places { start: line.start.as_deref(), home: policy.home.as_deref() };
    let found =
        bomb(&line.text).or_else(|| touched(line, policy, &places)).or_else(|| download::piped(&line.line));
    found.or_else(|| {
        line.line.commands.iter().enumerate().find_map(|(at, simple)| {
            removal::of_places(line, at, policy, &places)
                .or_else(|| disk(simple.program()?, simple.words.get(1..)?))
                .or_else(|| git::forced_protected_push(simple, &policy.protected_branches))
                .or_else(|| own::switched_off(simple))
                .or_else(|| own::killed(line, at, policy))
        })
    })
}

/// Why a tool that says what it touches may never do so.
pub(crate) fn hard_denied_paths(subject: &Subject, policy: &Policy) -> Option<String> {
    let touches = subject.effects.touches();
    let written = touches.iter().filter_map(|touch| match touch {
        Touch::Write(path) | Touch::WriteTree(path) => Some(path),
        _ => None,
    });
    let found = written.flat_map(|path| subject.names_of(path)).find_map(|name| own_file(&name, policy));
    let secret = || {
        let mut named = touches.iter().filter_map(Touch::path).flat_map(|path| subject.names_of(path));
        named.find_map(|name| own_secret(&name, policy))
    };
    found.or_else(secret).or_else(|| opened_by_profile(subject, policy))
}

/// Why a path may not even be read: haft keeps credentials there.
fn own_secret(path: &str, policy: &Policy) -> Option<String> {
    let own = policy.own_secret(path)?;
    Some(format!("{path} is where haft keeps credentials ({own})"))
}

/// Why a tool's sandbox may not be opened as it wants: haft's own files lie there.
fn opened_by_profile(subject: &Subject, policy: &Policy) -> Option<String> {
    let profile = subject.spec.profile.as_ref()?;
    let roots = policy.work();
    let folders = profile.folders(Ground { roots: &roots, home: policy.home.as_deref() });
    folders.iter().find_map(|folder| {
        let holds = || {
            let own = policy.own_files.iter().find(|own| covers(folder, own))?;
            Some(format!("{folder} holds haft's own settings and state ({own})"))
        };
        own_file(folder, policy).or_else(|| own_secret(folder, policy)).or_else(holds)
    })
}

/// Why a path may not be written: it is one of haft's own.
fn own_file(path: &str, policy: &Policy) -> Option<String> {
    let own = policy.own_files.iter().find(|own| covers(own, path))?;
    Some(format!("{path} belongs to haft's own settings and state ({own})"))
}

/// Files that are never written: block devices and haft's own; and those that are never read.
fn touched(line: &JudgedLine, policy: &Policy, places: &Places<'_>) -> Option<String> {
    let judge = |word: &PathWord, name: &str| {
        if let Some(found) = own_secret(name, policy) {
            return Some(found);
        }
        if !matches!(word.access, Access::Write | Access::WriteTree) {
            return None;
        }
        if let Some(device) = name.strip_prefix("/dev/").filter(|device| is_block_device(device)) {
            return Some(format!("/dev/{device} is a block device"));
        }
        let covered = || {
            let simple = line.line.commands.get(word.command?)?;
            // A pattern names something in its folder, not the folder.
            let is_meant = |other: &Word| !matches!(other, Word::Glob { .. }) && of_word(other) == word.text;
            let removes = match simple.program()? {
                "rm" | "mv" => simple.words.iter().any(is_meant),
                "find" => finds_all(simple.words.get(1..)?),
                _ => false,
            };
            let own = policy.own_files.iter().find(|own| removes && covers(name, own))?;
            let is_tree = word.access == Access::WriteTree;
            is_tree.then(|| format!("{name} holds haft's own settings and state ({own})"))
        };
        own_file(name, policy).or_else(covered)
    };
    let resolved = line.paths.iter().find_map(|found| {
        let path = found.path.as_ref()?;
        let names = [path.written.clone(), path.real.absolute()];
        names.iter().find_map(|name| judge(&found.word, name))
    });
    resolved.or_else(|| {
        path_words(&line.line).iter().filter(|word| !word.text.is_empty()).find_map(|word| {
            let name = places.absolute(&word.text, &word.cwd)?;
            judge(word, &name)
        })
    })
}

fn is_block_device(name: &str) -> bool {
    BLOCK_DEVICES.iter().any(|start| {
        let is_whole = matches!(*start, "mapper/" | "mem" | "kmem" | "disk" | "rdisk");
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| is_whole || rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    })
}

/// Making file systems and partitions.
fn disk(program: &str, words: &[Word]) -> Option<String> {
    let only_looks = words.iter().any(|word| is_among(ONLY_LOOKS, word.text()));
    let makes =
        program.starts_with("mkfs") || program.starts_with("newfs") || is_among(DISK_PROGRAMS, program);
    let is_help = words.len() == 1 && only_looks;
    if makes && !is_help {
        return Some(format!("{program} makes or wipes a file system"));
    }
    (is_among(PARTITIONERS, program) && !only_looks).then(|| format!("{program} changes partitions"))
}

/// A function, or a script, that starts itself twice.
fn bomb(text: &str) -> Option<String> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    let why = || Some("a command that starts itself over and over is a fork bomb".to_owned());
    if ["$0|$0&", "$0&$0&", "forkwhilefork", "os.fork()whileTrue", "whileTrue:os.fork()"]
        .iter()
        .any(|bomb| compact.contains(bomb))
    {
        return why();
    }
    let starts = compact.match_indices("(){").map(|(at, _)| at).take(64);
    for at in starts {
        let before = compact.get(..at).unwrap_or_default();
        let name =
            before.rsplit([';', '|', '&', '(', ')', '{', '}', '`', '"', '\'']).next().unwrap_or_default();
        let body = compact.get(at..).unwrap_or_default();
        let names = [Some(name), name.strip_prefix("function")];
        for name in names.into_iter().flatten().filter(|name| !name.is_empty()) {
            let forms = [format!("{name}|{name}&"), format!("{name}&{name}"), format!("{name}|&{name}&")];
            let opens = ['{', ';', '&', '|', '('];
            let is_bomb =
                forms.iter().any(|form| opens.iter().any(|open| body.contains(&format!("{open}{form}"))));
            if is_bomb {
                return why();
            }
        }
    }
    let named = compact.split("function").skip(1).take(64).filter_map(|rest| rest.split_once('{'));
    for (name, body) in named {
        let name = name.trim_end_matches("()");
        if !name.is_empty() && body.starts_with(&format!("{name}|{name}&")) {
            return why();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Mode,
        command::typed::typed,
        sample::{judged_line, policy, reading, writing},
    };

    fn own_policy() -> Policy {
        let mut policy = policy(Mode::Full, &[]);
        policy.home = Some("/home/u".to_owned());
        policy.own_files = vec!["/home/u/.config/haft".to_owned(), "/w/.haft/config.toml".to_owned()];
        policy.own_files.push("/w/.haft/config.local.toml".to_owned());
        policy.own_secrets = vec!["/home/u/.local/state/haft/vault".to_owned()];
        policy.own_process = Some(4242);
        policy
    }

    /// The same for lines of which the real reader has to make something.
    pub(super) fn check_read(denied: &[&str], others: &[&str]) {
        let policy = own_policy();
        for text in denied {
            assert!(hard_denied(&judged_line(text), &policy).is_some(), "{text:?} isn't denied");
        }
        for text in others {
            assert_eq!(hard_denied(&judged_line(text), &policy), None, "{text:?}");
        }
    }

    pub(super) fn check(denied: &[&str], others: &[&str]) {
        let policy = own_policy();
        for text in denied {
            assert!(hard_denied(&typed(text), &policy).is_some(), "{text:?} isn't denied");
        }
        for text in others {
            assert_eq!(hard_denied(&typed(text), &policy), None, "{text:?}");
        }
    }

    #[test]
    fn no_sandbox_is_opened_for_hafts_own_files() {
        let denied = |folder: &str| {
            let mut subject = crate::sample::foreign("x", haft_core::Effects::Everything);
            let profile =
                haft_core::Profile { writable: vec![folder.to_owned()], ..haft_core::Profile::default() };
            subject.spec = std::sync::Arc::new((*subject.spec).clone().with_profile(profile));
            hard_denied_paths(&subject, &own_policy())
        };
        for folder in ["~/.config", "~/.config/haft/tools", "/home", ".haft"] {
            assert!(denied(folder).is_some_and(|why| why.contains("haft's own settings")), "{folder}");
        }
        for folder in ["~/.cache/x", "out", "/home/u/.config/haft2"] {
            assert_eq!(denied(folder), None, "{folder}");
        }
    }

    #[test]
    fn block_devices_and_file_systems_are_left_alone() {
        check(
            &[
                "dd if=x of=/dev/sda",
                "dd if=x of=/dev/nvme0n1 bs=1M",
                "cat x > /dev/sda1",
                "echo x > /dev/../dev/vda",
                "tee /dev/mmcblk0",
                "cp x /dev/disk/by-id/y",
                "mkfs.ext4 x",
                "mke2fs /dev/sda",
                "mkdosfs x",
                "mkfs -t ext4 /dev/sda",
                "sudo mkfs /dev/sdb",
                "mkswap x",
                "wipefs -a /dev/sda",
                "fdisk /dev/sda",
                "truncate -s 0 /dev/sda",
            ],
            &[
                "dd if=/dev/zero of=x",
                "cat x > /dev/null",
                "fdisk -l",
                "mkfs --help",
                "ls /dev/sda",
                "echo mkfs",
                "tee x",
            ],
        );
    }

    #[test]
    fn fork_bombs_are_seen_in_the_text() {
        check(
            &[
                ":(){ :|:& };:",
                ":(){:|:&};:",
                "bomb() { bomb | bomb & }; bomb",
                "function f() { f|f& };f",
                "function f { f | f & }; f",
                "f(){ f& f& };f",
                "a=1; x () {\n x | x &\n}\nx",
            ],
            &["f() { echo x; }", "f(){ ls | cat; }; f", "f() { g | f2 & }; f", "ls & ls &"],
        );
    }

    #[test]
    fn protected_branches_are_not_rewritten() {
        check(
            &["git push -f origin main", "sudo git push origin +main"],
            &["git push -f origin x", "git push"],
        );
    }

    #[test]
    fn own_credentials_are_not_even_read() {
        check(
            &[
                "cat ~/.local/state/haft/vault/secrets.vault",
                "cp -r /home/u/.local/state/haft/vault x",
                "base64 < ~/.local/state/haft/vault/1a.key",
                "cd /home/u/.local/state/haft && cat vault/secrets.vault",
            ],
            &["cat ~/.local/state/haft/other", "ls ~/.local/state/haft"],
        );
    }

    #[test]
    fn own_files_are_not_changed() {
        check(
            &[
                "echo x > ~/.config/haft/trust.toml",
                "rm -rf ~/.config/haft",
                "rm -rf ~/.config",
                "mv ~/.config/haft x",
                "cp x .haft/config.toml",
                "sed -i s/a/b/ .haft/config.toml",
                "tee -a /w/src/../.haft/config.toml",
                "cd .haft && tee config.toml",
                "rm -rf .haft",
                "mv .haft x",
                "sed -i.bak s/a/b/ .haft/config.toml",
                "> .haft/config.toml",
                "cp x .haft/config.local.toml",
            ],
            &["cat ~/.config/haft/x", "cp x .haft/other", "git checkout .", "mkdir -p .haft/tools"],
        );
        let policy = own_policy();
        for subject in
            [reading("/home/u/.local/state/haft/vault/x.key"), writing("/home/u/.local/state/haft/vault")]
        {
            assert!(hard_denied_paths(&subject, &policy).is_some(), "{:?}", subject.effects);
        }
        assert_eq!(hard_denied_paths(&reading("/home/u/.local/state/haft/log"), &policy), None);
        assert!(hard_denied_paths(&writing("/home/u/.config/haft/x"), &policy).is_some());
        assert!(hard_denied_paths(&writing("/w/.haft/config.toml"), &policy).is_some());
        // A walk over the whole workspace is asked, not refused.
        let whole = haft_core::RealPath::new("/w", "");
        let sweep =
            crate::sample::subject("replace", haft_core::Effects::Only(vec![Touch::WriteTree(whole)]));
        assert_eq!(hard_denied_paths(&sweep, &policy), None);
        assert_eq!(hard_denied_paths(&writing("/w/a"), &policy), None);
    }
}
