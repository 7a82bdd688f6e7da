//! Which programs `exec` may run.

/// Programs whose trade it is to start another one: with one of them on the list, the list would mean nothing.
const STARTERS: &str = "sh bash dash ash zsh ksh mksh fish csh tcsh busybox toybox env sudo doas su pkexec runuser \
    xargs parallel nohup timeout time nice ionice setsid stdbuf script watch chroot unshare nsenter setpriv flock \
    systemd-run strace ltrace gdb";

/// What an operator sets for `exec`; by default no program is allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExecSettings {
    /// Names that are looked up on the `PATH`, or absolute paths, exact.
    pub programs: Vec<String>,
}

impl ExecSettings {
    /// The entries that can never match, each with what is wrong with it.
    pub fn problems(&self) -> Vec<String> {
        self.programs.iter().filter_map(|entry| unusable(entry)).collect()
    }

    /// Why a program isn't run; none where it is.
    pub(super) fn refusal(&self, program: &str) -> Option<String> {
        if starts_others(program) {
            return Some(format!(
                "{program} starts other programs, which no list could hold, so exec never runs it; use bash"
            ));
        }
        if self.programs.iter().any(|entry| entry == program && unusable(entry).is_none()) {
            return None;
        }
        let usable: Vec<&str> =
            self.programs.iter().filter(|entry| unusable(entry).is_none()).map(String::as_str).collect();
        let there = match usable.as_slice() {
            [] => "no program is allowed yet".to_owned(),
            usable => format!("allowed are {}", usable.join(", ")),
        };
        let list: Vec<String> =
            usable.into_iter().chain([program]).map(|entry| format!("{entry:?}")).collect();
        Some(format!(
            "exec may not run {program}: {there}. Use bash, or ask the user to set this in their config.toml:\n\
             [tools.exec]\nprograms = [{}]",
            list.join(", ")
        ))
    }
}

/// What is wrong with an entry.
fn unusable(entry: &str) -> Option<String> {
    if entry.is_empty()
        || entry.starts_with('-')
        || entry.contains(|c: char| c.is_control() || c.is_whitespace())
    {
        return Some(format!("{entry:?} is no program; write its name alone, as \"make\""));
    }
    if entry.contains('/') && !entry.starts_with('/') {
        return Some(format!("\"{entry}\" is relative; write its name, or its absolute path"));
    }
    starts_others(entry)
        .then(|| format!("\"{entry}\" starts other programs, so exec never runs it; leave it to bash"))
}

fn starts_others(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    STARTERS.split_ascii_whitespace().any(|starter| starter == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(programs: &[&str]) -> ExecSettings {
        ExecSettings { programs: programs.iter().map(|entry| (*entry).to_owned()).collect() }
    }

    #[test]
    fn only_what_stands_on_the_list_runs() {
        let some = settings(&["make", "/opt/x/bin/y"]);
        assert_eq!(some.refusal("make"), None);
        assert_eq!(some.refusal("/opt/x/bin/y"), None);
        for other in ["y", "/usr/bin/make", "gmake", "MAKE"] {
            let text = some.refusal(other).unwrap();
            assert!(text.contains("allowed are make, /opt/x/bin/y"), "{text}");
        }
    }

    #[test]
    fn a_refusal_gives_the_very_lines_to_set() {
        let text = ExecSettings::default().refusal("make").unwrap();
        assert!(text.contains("no program is allowed yet"), "{text}");
        assert!(text.ends_with("\n[tools.exec]\nprograms = [\"make\"]"), "{text}");
        let text = settings(&["ls"]).refusal("make").unwrap();
        assert!(text.ends_with("programs = [\"ls\", \"make\"]"), "{text}");
    }

    #[test]
    fn what_starts_others_is_never_run() {
        let wrong = settings(&["bash", "/usr/bin/env", "", "bin/x", "make all", "-x"]);
        assert_eq!(wrong.problems().len(), 6);
        for program in ["bash", "/usr/bin/env", "sudo", "xargs"] {
            assert!(wrong.refusal(program).unwrap().contains("starts other programs"), "{program}");
        }
        assert!(settings(&["python3", "node", "cargo"]).problems().is_empty());
    }
}
