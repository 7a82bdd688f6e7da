//! The tool `packages`.

use super::{
    answer, audit, choice, ground,
    input::{Action, PackagesInput},
    manager::Manager,
    name::{Package, plain},
    outdated,
    plan::Plan,
    standing::{self, standing},
};
use crate::program::{Answer, ask};
use haft_core::{
    Command, Cx, Effects, Exposure, Failure, FailureKind, Flags, Output, Permission, Preview, RealPath, Risk,
    SessionView, Spec, Tool, Touch, shell_line,
};
use serde_json::{Value, json};
use std::time::Duration;

/// How long a manager may take.
const DEADLINE: Duration = Duration::from_secs(540);
/// Longer than what is read before and after.
const GRACE: Duration = Duration::from_secs(30);

/// Works with a project's dependencies.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PackagesTool;

impl Tool for PackagesTool {
    type Input = PackagesInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        Spec::new("packages", include_str!("prompt.md").trim_end())
            .with_input_aliases("names", &["packages", "package"])
            .with_input_aliases("dryRun", &["dry_run"])
            .with_category("shell")
            .with_capabilities(&["package.install", "net.outbound"])
            .with_exposure(Exposure::Deferred)
            .with_timeout(DEADLINE + DEADLINE + GRACE)
            .with_display("📦", "Asking the package manager")
            .long_running()
    }

    fn validate(&self, input: &PackagesInput) -> Result<(), Failure> {
        match input.manager {
            Some(manager) => Plan::of(manager, input).map(|_| ()),
            None => Ok(()),
        }
    }

    fn effects(&self, input: &PackagesInput, _: &dyn SessionView) -> Effects {
        if choice::is_open(input) {
            return Effects::Delegated;
        }
        let folder = Touch::Read(input.folder());
        let Some(manager) = input.manager.filter(|_| input.action != Action::Manager) else {
            return Effects::Only(vec![folder]);
        };
        match Plan::of(manager, input) {
            Ok(plan) => {
                let lines = plan.lines.iter().map(|words| shell_line(words.iter().map(String::as_str)));
                let commands = lines.map(|line| Touch::Command(line.into()));
                Effects::Only(commands.chain([folder]).collect())
            }
            Err(_) => Effects::Everything,
        }
    }

    fn flags(&self, input: &PackagesInput) -> Flags {
        if choice::is_open(input) || input.action == Action::Manager {
            // The calls that it makes are judged for themselves.
            return Flags {
                permission: Some(Permission::Auto),
                read_only: Some(true),
                risk: Some(Risk::Safe),
                ..Flags::default()
            };
        }
        Flags { permission: Some(Permission::Confirm), ..Flags::default() }
    }

    async fn preview(&self, input: &PackagesInput, _: &Cx) -> Result<Preview, Failure> {
        let is_building = input.build == Some(true);
        let text = if is_building { "Packages run scripts of their own." } else { "" };
        Ok(Preview { text: text.to_owned(), digest: Vec::new() })
    }

    async fn run(&self, input: PackagesInput, cx: &Cx) -> Result<Output, Failure> {
        if input.action == Action::Manager {
            return choice::look(&input, cx).await;
        }
        let Some(manager) = input.manager else { return choice::delegate(input, cx).await };
        let plan = Plan::of(manager, &input)?;
        let at = cx.path(&input.folder())?;
        refuse_own_code(manager, &at, cx).await?;
        let project = Project { cx, at, plan };
        match input.action {
            Action::Install => project.install().await,
            Action::Outdated => project.outdated().await,
            Action::Audit | Action::Manager => project.audit().await,
        }
    }
}

/// A manager whose own program or plugins a workspace chooses isn't asked here.
async fn refuse_own_code(manager: Manager, at: &RealPath, cx: &Cx) -> Result<(), Failure> {
    if manager == Manager::Yarn {
        let names = [".yarnrc.yml", ".yarnrc", "yarn.lock"].map(str::to_owned).to_vec();
        let kept = ground::read(cx, at, names).await?;
        let has = |name: &str, part: &str| {
            kept.get(name).is_some_and(|bytes| String::from_utf8_lossy(bytes).contains(part))
        };
        if kept.contains_key(".yarnrc.yml") || has("yarn.lock", "__metadata:") || has(".yarnrc", "yarn-path")
        {
            return Err(Failure::conflict(
                "this project's settings say which yarn runs and what plugins it loads, so it isn't run here; use \
                 yarn through bash",
            ));
        }
    }
    if manager == Manager::Pip && !ground::names(cx, at).await?.iter().any(|name| name == ".venv") {
        return Err(Failure::not_found(
            "the folder has no .venv, and pip installs nowhere else here; make one through bash: python3 -m venv .venv",
        ));
    }
    Ok(())
}

/// One call on a project.
struct Project<'a> {
    cx: &'a Cx,
    at: RealPath,
    plan: Plan,
}

impl Project<'_> {
    /// Runs one line.
    async fn run(&self, words: &[String]) -> Result<Answer, Failure> {
        let mut env = self.plan.variables();
        if self.plan.action == Action::Audit && self.plan.manager == Manager::Pip {
            // It looks at this interpreter's packages, not at its own.
            let python = format!("{}/.venv/bin/python", self.at.absolute());
            env.push(("PIPAPI_PYTHON_LOCATION".to_owned(), python));
        }
        let command = Command {
            env,
            trusted: true,
            deadline: Some(DEADLINE),
            ..Command::new(words.to_vec(), self.at.clone())
        };
        ask(self.cx, command).await
    }

    fn failed(words: &[String], answer: &Answer) -> Failure {
        let line = shell_line(words.iter().map(String::as_str));
        let text =
            format!("{line} failed: {}\nCheck the names, and that the registry answers", answer.said());
        Failure::new(FailureKind::Unavailable, text).diagnose(answer.diagnostic())
    }

    async fn install(&self) -> Result<Output, Failure> {
        let manager = self.plan.manager;
        if manager == Manager::Pip && self.plan.packages.is_empty() {
            self.check_requirements().await?;
        }
        let before = ground::kept(self.cx, &self.at, manager).await?;
        let mut said = String::new();
        let mut out = String::new();
        for words in &self.plan.lines {
            let answer = self.run(words).await?;
            if !answer.is_ok() {
                let failure = Self::failed(words, &answer);
                let changed = ground::changed(&before, &ground::kept(self.cx, &self.at, manager).await?);
                let note = if changed.is_empty() {
                    String::new()
                } else {
                    format!("; changed: {}", changed.join(", "))
                };
                return Err(Failure { text: format!("{}{note}", failure.text), ..failure });
            }
            said = answer.said();
            out = answer.text();
        }
        let after = ground::kept(self.cx, &self.at, manager).await?;
        let changed = ground::changed(&before, &after);
        if self.plan.is_dry {
            return if changed.is_empty() {
                let told = would(manager, &out).unwrap_or(said);
                Ok(Output::text(format!("Nothing was changed. {} says:\n{told}", manager.name())))
            } else {
                let text =
                    format!("the dry run changed {}; put it back, as with git restore", changed.join(", "));
                Err(Failure::internal(text))
            };
        }
        let mut lines = self.standing_now(after).await?;
        let files = if changed.is_empty() {
            "No manifest or lock file changed.".to_owned()
        } else {
            format!("Changed: {}", changed.join(", "))
        };
        lines.push(files);
        Ok(Output::text(lines.join("\n"))
            .with_metadata(json!({"manager": manager.name(), "changed": changed})))
    }

    /// What the project's files say of the packages that were asked for.
    async fn standing_now(&self, mut kept: ground::Kept) -> Result<Vec<String>, Failure> {
        let manager = self.plan.manager;
        if self.plan.packages.is_empty() {
            return Ok(vec![format!("{} installed what the project's files list.", manager.name())]);
        }
        if manager == Manager::Pip {
            return self.installed_by_pip().await;
        }
        if manager.is_of_node() {
            let names = self.plan.packages.iter().map(|package| standing::installed(&package.name)).collect();
            kept.extend(ground::read(self.cx, &self.at, names).await?);
        }
        let mut lines = Vec::new();
        for Package { name, .. } in &self.plan.packages {
            let standing = standing(manager, name, &kept);
            if !standing.is_listed {
                return Err(Failure::internal(format!(
                    "{} says that it is done, but {name} isn't in {}; look at that file",
                    manager.name(),
                    manager.files().first().copied().unwrap_or_default()
                )));
            }
            lines.push(answer::added(name, &standing));
        }
        Ok(lines)
    }

    /// pip keeps no list: what is there is asked of it.
    async fn installed_by_pip(&self) -> Result<Vec<String>, Failure> {
        let words: Vec<String> = "pip --python .venv list --format json --disable-pip-version-check"
            .split(' ')
            .map(str::to_owned)
            .collect();
        let answer = self.run(&words).await?;
        let there: Value = serde_json::from_slice(&answer.out).map_err(|_| Self::failed(&words, &answer))?;
        let version = |name: &str| {
            let entries = there.as_array().into_iter().flatten();
            let mut own = entries.filter(|entry| {
                let found = entry.get("name").and_then(Value::as_str).unwrap_or_default();
                plain(Manager::Pip, found) == plain(Manager::Pip, name)
            });
            own.find_map(|entry| entry.get("version")?.as_str().map(str::to_owned))
        };
        let mut lines = Vec::new();
        for Package { name, .. } in &self.plan.packages {
            let Some(version) = version(name) else {
                return Err(Failure::internal(format!(
                    "pip says that it is done, but {name} isn't in .venv; look with pip list"
                )));
            };
            lines.push(format!("{name}: {version}"));
        }
        lines
            .push("pip writes no list: add them to requirements.txt where the project keeps one.".to_owned());
        Ok(lines)
    }

    /// A list of requirements can hold options, paths and addresses, which run code.
    async fn check_requirements(&self) -> Result<(), Failure> {
        let kept = ground::kept(self.cx, &self.at, Manager::Pip).await?;
        let Some(list) = kept.get("requirements.txt") else {
            return Err(Failure::not_found("there is no requirements.txt; give names"));
        };
        for (number, line) in String::from_utf8_lossy(list).lines().enumerate() {
            let line = line.split(" #").next().unwrap_or_default().trim();
            let bare: String = line.chars().filter(|c| !c.is_whitespace()).collect();
            // What follows is a condition, or a hash that only narrows.
            let bare = bare.split(';').next().unwrap_or_default().split("--hash=").next().unwrap_or_default();
            let is_free = bare.is_empty() || line.starts_with('#') || line.starts_with("--hash=");
            if !is_free && Package::of(Manager::Pip, bare.trim_end_matches('\\')).is_err() {
                return Err(Failure::conflict(format!(
                    "requirements.txt line {} is no plain package ({}), and such a line can run code; use pip through \
                     bash",
                    number + 1,
                    line.chars().take(80).collect::<String>()
                )));
            }
        }
        Ok(())
    }

    async fn outdated(&self) -> Result<Output, Failure> {
        let manager = self.plan.manager;
        let words = self.plan.lines.first().cloned().unwrap_or_default();
        let answer = self.run(&words).await?;
        let aside = String::from_utf8_lossy(&answer.aside).into_owned();
        let said = answer.text();
        // Where nothing is outdated two of them say nothing, and exit with 0.
        let is_silent = said.trim().is_empty() && aside.trim().is_empty() && answer.is_ok();
        let newer = match outdated::newer(manager, &said, &aside) {
            Some(newer) => newer,
            None if is_silent && manager.is_of_node() => Vec::new(),
            None => return Err(Self::failed(&words, &answer)),
        };
        Ok(Output::text(answer::outdated(manager, &newer)).with_metadata(json!({"outdated": newer.len()})))
    }

    async fn audit(&self) -> Result<Output, Failure> {
        let manager = self.plan.manager;
        if let Some((helper, how)) = audit::helper(manager)
            && self.cx.world.processes.locate(helper).is_none()
        {
            return Err(Failure::new(
                FailureKind::Unavailable,
                format!("there is no {helper}, so nothing was audited; the user can install it with {how}"),
            ));
        }
        let words = self.plan.lines.first().cloned().unwrap_or_default();
        let answer = self.run(&words).await?;
        let source = words.iter().take(2).filter(|word| !word.starts_with('-')).cloned().collect::<Vec<_>>();
        let source = source.join(" ");
        let Some(audit) = audit::audit(manager, &answer.text()).filter(|_| answer.is_whole) else {
            let failure = Self::failed(&words, &answer);
            let text = format!("{}. Whether packages have known faults isn't known", failure.text);
            return Err(Failure { text, ..failure });
        };
        let metadata = json!({"vulnerabilities": audit.count, "packages": audit.looked_at});
        Ok(Output::text(answer::audit(&source, &audit)).with_metadata(metadata))
    }
}

/// What pip would install, by its report.
fn would(manager: Manager, out: &str) -> Option<String> {
    if manager != Manager::Pip {
        return None;
    }
    let report: Value = serde_json::from_str(out).ok()?;
    let one = |entry: &Value| {
        let metadata = entry.get("metadata")?;
        Some(format!("{} {}", metadata.get("name")?.as_str()?, metadata.get("version")?.as_str()?))
    };
    let found: Vec<String> = report.get("install")?.as_array()?.iter().filter_map(one).collect();
    Some(if found.is_empty() { "all of it is there already".to_owned() } else { found.join("\n") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::NoSession;
    use haft_core::PathArg;

    fn effects(value: Value) -> Effects {
        PackagesTool.effects(&serde_json::from_value(value).unwrap(), &NoSession)
    }

    #[test]
    fn a_named_manager_states_its_lines() {
        let stated = effects(json!({"action": "install", "manager": "cargo", "names": ["itoa"], "cwd": "a"}));
        assert_eq!(
            stated,
            Effects::Only(vec![
                Touch::Command("cargo add itoa".into()),
                Touch::Command("cargo fetch".into()),
                Touch::Read(PathArg::from("a")),
            ])
        );
    }

    #[test]
    fn without_one_the_folder_is_looked_at_by_a_call_of_its_own() {
        assert_eq!(effects(json!({"action": "install", "names": ["a"]})), Effects::Delegated);
        let look = effects(json!({"action": "manager"}));
        assert_eq!(look, Effects::Only(vec![Touch::Read(PathArg::from("."))]));
    }

    #[test]
    fn a_report_of_pip_is_read() {
        let report = r#"{"install": [{"metadata": {"name": "six", "version": "1.17.0"}}]}"#;
        assert_eq!(would(Manager::Pip, report).unwrap(), "six 1.17.0");
        assert_eq!(would(Manager::Npm, report), None);
    }
}
