//! The sandbox as a whole, and each layer of it as it was tried.

use super::{finding::Finding, machine::text};
use crate::app::App;
use haft_core::{Confined, Layer};
use haft_os::Sandbox;
use haft_runtime::settings::SandboxMode;

/// From this version on signals and abstract sockets to the outside are kept back.
const LANDLOCK_SCOPES: i32 = 6;

/// Each layer that was tried, and how to get the ones that don't work.
pub(super) fn sandbox(app: &App) -> Vec<Finding> {
    let make = || app.sandbox(&app.policy());
    let Some(sandbox) = make() else {
        return vec![Finding::warning(
            "sandbox",
            "switched off: commands that are allowed run with all of your rights",
            "take mode = \"off\" out of [sandbox]",
        )];
    };
    let confined = app.limits().named_in(sandbox.confined());
    let through = make().map(|sandbox| sandbox.by_bubblewrap().confined()).unwrap_or_default();
    let has = |layer: Layer| confined.layers.contains(&layer);
    vec![
        whole(app, &confined),
        namespaces(&confined),
        bubblewrap(
            has(Layer::Namespaces) && !has(Layer::Bubblewrap),
            through.layers.contains(&Layer::Bubblewrap),
        ),
        landlock(has(Layer::Landlock)),
        seccomp(has(Layer::Seccomp)),
    ]
}

/// What all of it comes to.
fn whole(app: &App, confined: &Confined) -> Finding {
    let names: Vec<&str> = confined.layers.iter().map(|layer| layer.name()).collect();
    let detail = format!("commands run in {}", names.join(", "));
    if confined.gaps.is_empty() {
        return Finding::ok("sandbox", detail);
    }
    let required = app.settings.sandbox.mode() == SandboxMode::Required;
    let what = if required { "required, so no command runs" } else { "they aren't kept from everything" };
    let text = format!("{detail}; {what}: {}", confined.gaps.join("; "));
    if required {
        Finding::fault("sandbox", text, "mend what is named below, or set mode = \"preferred\"")
    } else {
        Finding::warning("sandbox", text, "mend what is named below")
    }
}

fn namespaces(confined: &Confined) -> Finding {
    const NAME: &str = "sandbox: namespaces";
    let has = |layer: Layer| confined.layers.contains(&layer);
    if has(Layer::Bubblewrap) {
        Finding::ok(NAME, "refused to haft itself, and put up by bubblewrap")
    } else if has(Layer::Namespaces) {
        Finding::ok(NAME, "a process was started with mounts, process ids and a network of its own")
    } else {
        Finding::warning(NAME, "a process can't have mounts and a network of its own here", namespaces_fix())
    }
}

/// `is_spare` says that haft doesn't need it.
fn bubblewrap(is_spare: bool, works: bool) -> Finding {
    const NAME: &str = "sandbox: bubblewrap";
    let needed = if is_spare { "; haft doesn't need it" } else { "" };
    match Sandbox::bubblewrap() {
        Some(at) if works => {
            Finding::ok(NAME, format!("{} was tried and puts up the namespaces{needed}", at.display()))
        }
        Some(at) if is_spare => {
            Finding::ok(NAME, format!("{} was tried and can't put up the namespaces{needed}", at.display()))
        }
        None if is_spare => Finding::ok(NAME, format!("not there{needed}")),
        Some(at) => Finding::warning(
            NAME,
            format!("{} was tried and can't put up the namespaces either", at.display()),
            namespaces_fix(),
        ),
        None => Finding::warning(
            NAME,
            "there is no bwrap of root's in /usr/bin or /usr/local/bin, which may be let do what haft isn't",
            "install bubblewrap with the system's packages; on Ubuntu its AppArmor profile comes with apparmor-profiles",
        ),
    }
}

fn landlock(works: bool) -> Finding {
    const NAME: &str = "sandbox: landlock";
    let version = Sandbox::landlock_version();
    if !works {
        return Finding::warning(
            NAME,
            if version == 0 {
                "the kernel has no Landlock, or doesn't use it"
            } else {
                "its rules can't be taken on"
            },
            "use Linux 5.13 or newer, with landlock in the list of lsm= at its start (/sys/kernel/security/lsm shows it)",
        );
    }
    let less = if version < LANDLOCK_SCOPES {
        "; signals and abstract sockets to the outside only from 6 on"
    } else {
        ""
    };
    Finding::ok(NAME, format!("a process took on its rules, version {version}{less}"))
}

fn seccomp(works: bool) -> Finding {
    const NAME: &str = "sandbox: seccomp";
    if works {
        return Finding::ok(NAME, "a process was refused what it doesn't need of the kernel");
    }
    Finding::warning(
        NAME,
        "system calls can't be refused here",
        "use a kernel with CONFIG_SECCOMP_FILTER, on x86-64, aarch64 or riscv64",
    )
}

/// What most likely stands in the way.
fn namespaces_fix() -> String {
    if text("/proc/sys/user/max_user_namespaces").as_deref() == Some("0") {
        return "sudo sysctl -w user.max_user_namespaces=15000".to_owned();
    }
    if text("/proc/sys/kernel/unprivileged_userns_clone").as_deref() == Some("0") {
        return "sudo sysctl -w kernel.unprivileged_userns_clone=1".to_owned();
    }
    if text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1") {
        return "allow it for haft by an AppArmor profile (`userns,`), or sudo sysctl -w \
                kernel.apparmor_restrict_unprivileged_userns=0, or install bubblewrap with its profile"
            .to_owned();
    }
    "use Linux 5.12 or newer; in a container, let unshare and mount pass its filter".to_owned()
}
