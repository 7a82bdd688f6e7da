//! What would let a call run that isn't allowed. Pure.
//!
//! Nothing is guessed: each rule, root and mode that is named was tried, by judging the call once more with
//! it. Keeps the invariant "what is advised would be enough".

use crate::{Action, Mode, Policy, Rule, RuleOrigin, Subject, Verdict, judge::weigh, rule::rule_choices};
use haft_core::{Why, shell_word};
use std::sync::Arc;

/// The settlers that ask; every other gate that does is a guard, which no rule beats.
const ASKING_SETTLERS: [&str; 2] = ["mode", "default"];
/// The modes that may let more run, the strictest first.
const MODES: [Mode; 5] = [Mode::Default, Mode::AcceptEdits, Mode::Auto, Mode::Yolo, Mode::Full];
/// A line of more commands gets no rule for each of them.
const COMMANDS_MAX: usize = 12;
/// How many folders outside are named.
const FOLDERS_MAX: usize = 4;

/// Whether a settler's word, and not a guard's, is the reason.
pub(crate) fn is_settled(why: &Why) -> bool {
    ASKING_SETTLERS.contains(&why.gate.as_ref())
}

/// What would let the call run, one sentence each: first the guards that no rule beats and what would change
/// them, then rules, narrowest first, folders, and the strictest mode. Empty where it runs.
pub fn why_not(subject: &Subject, policies: &[Arc<Policy>]) -> Vec<String> {
    let whys = match weigh(subject, policies).verdict {
        Verdict::Allow(_) => return Vec::new(),
        Verdict::Ask(whys) => whys,
        Verdict::Deny(why) => vec![why],
    };
    let mut said: Vec<String> = Vec::new();
    for sentence in whys.iter().filter(|why| !is_settled(why)).map(|why| unbeaten(why, subject)) {
        if !said.contains(&sentence) {
            said.push(sentence);
        }
    }
    let trial = Trial { subject, policies };
    said.extend(trial.rules());
    said.extend(trial.folders());
    said.extend(trial.mode());
    said
}

/// The guard that stands in the way, and what would change it.
fn unbeaten(why: &Why, subject: &Subject) -> String {
    let place = why.source.as_ref().map(|source| format!(" at {source}")).unwrap_or_default();
    if let Some(rule) = &why.rule {
        return format!("no allow rule beats the rule \"{rule}\"{place}: change that one to let it run");
    }
    let (gate, tool) = (why.gate.as_ref(), &subject.tool);
    let change = match gate {
        "hard-deny" => {
            return "nothing beats the guard \"hard-deny\", no rule, mode or person: do it another way"
                .to_owned();
        }
        "disabled" => format!("{tool} has to be enabled for this session"),
        "plan" => "plan mode has to be left".to_owned(),
        "outside" => {
            "its folder has to be named under extra of [roots], or a person has to answer".to_owned()
        }
        "protected" | "destructive" => "a person has to answer, each time".to_owned(),
        "taint" => {
            "a person has to answer, and may do so for the session; a new session starts without these marks"
                .to_owned()
        }
        "hook" => format!("the hook{place} has to let it pass, or its matcher has to leave {tool} out"),
        "first-use" => format!("let {tool} run once, or pin it with `haft permissions pin {tool}`"),
        _ => "the input has to be another one, or a person has to answer".to_owned(),
    };
    format!("no allow rule beats what the guard \"{gate}\" says: {change}")
}

/// One call, to be judged under other policies.
struct Trial<'a> {
    subject: &'a Subject,
    policies: &'a [Arc<Policy>],
}

impl Trial<'_> {
    /// Whether it would run if each policy of the chain were changed so.
    fn runs(&self, change: impl Fn(&mut Policy)) -> bool {
        let changed: Vec<Arc<Policy>> = self
            .policies
            .iter()
            .map(|policy| {
                let mut policy = Policy::clone(policy);
                change(&mut policy);
                Arc::new(policy)
            })
            .collect();
        matches!(weigh(self.subject, &changed).verdict, Verdict::Allow(_))
    }

    fn runs_with(&self, rules: &[String]) -> bool {
        self.runs(|policy| allow(policy, rules))
    }

    /// Rules that would do, narrowest first; for a line of several commands those of all its commands.
    fn rules(&self) -> Vec<String> {
        let mut said = Vec::new();
        let mut choices = self.choices();
        let tool = self.subject.tool.to_string();
        if choices.is_empty() {
            if let Some(together) = self.together() {
                said.push(if let [only] = together.as_slice() {
                    sentence(only)
                } else {
                    let listed: Vec<String> = together.iter().map(|rule| format!("\"{rule}\"")).collect();
                    format!("the rules {} under allow would together let it run", listed.join(", "))
                });
            }
            choices.push(tool);
        }
        let enough = choices.iter().filter(|rule| self.runs_with(std::slice::from_ref(*rule)));
        said.extend(enough.map(|rule| sentence(rule)));
        said.dedup();
        said
    }

    fn choices(&self) -> Vec<String> {
        self.policies.first().map(|own| rule_choices(self.subject, &own.workspace)).unwrap_or_default()
    }

    /// The fewest rules of single commands and written files that let a whole line run.
    fn together(&self) -> Option<Vec<String>> {
        let tool = &self.subject.tool;
        let mut rules: Vec<String> = Vec::new();
        for line in &self.subject.lines {
            if line.line.commands.len() > COMMANDS_MAX {
                return None;
            }
            for argv in line.line.commands.iter().filter_map(crate::Simple::argv) {
                let words: Vec<String> = argv.iter().map(|word| shell_word(word)).collect();
                if !words.is_empty() {
                    rules.push(format!("{tool}({})", words.join(" ")));
                }
            }
            let plain = |path: &String| {
                path.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-'))
            };
            let paths =
                line.written().filter_map(|path| Some(path.path.as_ref()?.real.absolute())).filter(plain);
            rules.extend(paths.map(|path| format!("edit(/{path})")));
        }
        rules.dedup();
        if rules.is_empty() || !self.runs_with(&rules) {
            return None;
        }
        for rule in rules.clone() {
            let without: Vec<String> = rules.iter().filter(|other| **other != rule).cloned().collect();
            if !without.is_empty() && self.runs_with(&without) {
                rules = without;
            }
        }
        Some(rules)
    }

    /// Folders outside that would have to count as inside.
    fn folders(&self) -> Option<String> {
        let own = self.policies.first()?;
        let mut folders: Vec<String> = Vec::new();
        for path in self.subject.path_uses().into_iter().filter_map(|used| used.real) {
            let shown = path.absolute();
            let folder = shown.rsplit_once('/').map(|(folder, _)| folder.to_owned()).unwrap_or_default();
            if own.is_inside(&path) || folders.contains(&folder) {
                continue;
            }
            // All of the system is no folder to be let in.
            if folder.is_empty() || folders.len() == FOLDERS_MAX {
                return None;
            }
            folders.push(folder);
        }
        if folders.is_empty() {
            return None;
        }
        let listed: Vec<String> = folders.iter().map(|folder| format!("\"{folder}\"")).collect();
        let setting = format!("extra = [{}] under [roots]", listed.join(", "));
        if self.runs(|policy| policy.roots.extend(folders.iter().cloned())) {
            return Some(format!("{setting} would let it run"));
        }
        let rule = self.choices().into_iter().find(|rule| {
            self.runs(|policy| {
                policy.roots.extend(folders.iter().cloned());
                allow(policy, std::slice::from_ref(rule));
            })
        })?;
        Some(format!("{setting} and the rule \"{rule}\" under allow would together let it run"))
    }

    /// The strictest mode in which it would run as things are.
    fn mode(&self) -> Option<String> {
        let is_other = |mode: &Mode| self.policies.iter().any(|policy| policy.mode != *mode);
        let mode = MODES.into_iter().filter(is_other).find(|mode| self.runs(|policy| policy.mode = *mode))?;
        Some(format!("the mode {mode} would let it run (--mode {mode})"))
    }
}

fn sentence(rule: &str) -> String {
    format!("the rule \"{rule}\" under allow would let it run")
}

fn allow(policy: &mut Policy, rules: &[String]) {
    let workspace = policy.workspace.absolute();
    let at = RuleOrigin { source: None, folder: workspace.clone(), workspace, home: policy.home.clone() };
    policy.rules.extend(rules.iter().filter_map(|text| Rule::parse(Action::Allow, text, &at).ok()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Action::{Allow, Ask, Deny},
        Pin,
        sample::{bash, foreign, policy, reading, writing},
    };
    use haft_core::{Effects, Risk};

    fn said(subject: &Subject, mode: Mode, rules: &[(Action, &str)]) -> Vec<String> {
        why_not(subject, &[Arc::new(policy(mode, rules))])
    }

    #[test]
    fn rules_come_narrowest_first_and_then_the_strictest_mode() {
        let said = said(&writing("/w/src/a.rs"), Mode::Default, &[]);
        let expected = [
            "the rule \"edit(./src/a.rs)\" under allow would let it run",
            "the rule \"edit(./src/**)\" under allow would let it run",
            "the rule \"edit\" under allow would let it run",
            "the mode accept-edits would let it run (--mode accept-edits)",
        ];
        assert_eq!(said, expected);
    }

    #[test]
    fn what_runs_needs_nothing() {
        assert!(said(&reading("/w/a"), Mode::Default, &[]).is_empty());
        assert!(said(&bash("ls"), Mode::Headless, &[(Allow, "bash")]).is_empty());
    }

    #[test]
    fn a_rule_that_denies_or_asks_is_named_and_no_allow_rule_with_it() {
        for (action, mode) in [(Deny, None), (Ask, Some("the mode full"))] {
            let said = said(&bash("ls"), Mode::Default, &[(action, "bash(ls *)"), (Allow, "bash")]);
            assert!(said[0].contains("beats the rule \"bash(ls *)\" at /conf/rules:1"), "{said:?}");
            assert!(said.iter().all(|text| !text.contains("under allow would")), "{said:?}");
            assert_eq!(said.len(), if mode.is_some() { 2 } else { 1 }, "{said:?}");
            assert!(mode.is_none_or(|mode| said[1].starts_with(mode)), "{said:?}");
        }
    }

    #[test]
    fn a_path_outside_names_its_folder() {
        let said = said(&writing("/o/sub/a"), Mode::Default, &[]);
        assert!(said[0].contains("\"outside\"") && said[0].contains("[roots]"), "{said:?}");
        assert!(said[1].starts_with("extra = [\"/o/sub\"] under [roots] and the rule \"edit"), "{said:?}");
        assert!(said[2].starts_with("the mode yolo"), "{said:?}");
        let reads = why_not(&reading("/o/a"), &[Arc::new(policy(Mode::Default, &[]))]);
        assert_eq!(reads[1], "extra = [\"/o\"] under [roots] would let it run");
    }

    #[test]
    fn each_guard_says_what_would_change_it() {
        let mut destructive = writing("/w/a");
        destructive.risk = Risk::Destructive;
        let mut new = foreign("x", Effects::none());
        new.pin = Pin::New;
        let cases = [
            (destructive, Mode::Default, "\"destructive\" says: a person has to answer"),
            (new, Mode::Default, "haft permissions pin x"),
            (writing("/w/a"), Mode::Plan, "plan mode has to be left"),
        ];
        for (subject, mode, part) in cases {
            let said = said(&subject, mode, &[]);
            assert!(said[0].contains(part), "{said:?}");
        }
    }

    #[test]
    fn a_line_of_several_commands_names_the_rules_that_it_lacks() {
        let said = said(&bash("make a && ls && make b"), Mode::Default, &[]);
        let together = "the rules \"bash(make a)\", \"bash(make b)\" under allow would together let it run";
        assert_eq!(said[..2], [together, "the rule \"bash\" under allow would let it run"]);
    }

    #[test]
    fn a_chain_needs_it_in_every_policy() {
        let chain = [Arc::new(policy(Mode::Yolo, &[])), Arc::new(policy(Mode::Default, &[]))];
        let said = why_not(&bash("cargo build"), &chain);
        assert_eq!(said[0], "the rule \"bash(cargo build)\" under allow would let it run");
        assert!(why_not(&bash("ls"), &[]).is_empty());
    }
}
