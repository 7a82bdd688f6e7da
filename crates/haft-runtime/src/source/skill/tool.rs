//! `skill`: gives the instructions of a skill. What there is stands in its description, within a budget of its own, so that
//! a model knows of a skill without having read it.

use super::Skill;
use haft_core::{AnyTool, Cx, Effects, Failure, Output, Risk, SessionView, Spec, Tool, erase};
use schemars::JsonSchema;
use serde::Deserialize;
use std::{fmt::Write, sync::Arc};

/// The tool's name.
pub const SKILL_TOOL: &str = "skill";
const SUMMARY: &str = "Gives the instructions of a skill: how one kind of task is done here.";
/// How much of each request is spent on saying which skills there are.
const LIST_MAX_BYTES: usize = 4 * 1024;
/// How many names a refusal gives.
const NAMES_MAX: usize = 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SkillInput {
    /// The skill's name
    name: String,
}

/// The tool for these skills; of two with one name the first is given.
pub fn skill_tool(skills: Vec<Skill>) -> Arc<dyn AnyTool> {
    erase(SkillTool { skills })
}

struct SkillTool {
    skills: Vec<Skill>,
}

impl Tool for SkillTool {
    type Input = SkillInput;
    type Output = Output;

    fn spec(&self) -> Spec {
        let mut spec = Spec::new(SKILL_TOOL, SUMMARY)
            .read_only()
            .with_risk(Risk::Safe)
            .concurrency_safe()
            .with_capabilities(&["fs.read"])
            .with_category("meta")
            .with_display("§", "Reading the skill");
        spec.usage_hint = Some(hint(&self.skills));
        spec
    }

    /// What it gives was read before, when it was decided that it may be given.
    fn effects(&self, _: &SkillInput, _: &dyn SessionView) -> Effects {
        Effects::none()
    }

    async fn run(&self, input: SkillInput, _: &Cx) -> Result<Output, Failure> {
        let wanted = input.name.trim();
        let found = self.skills.iter().find(|skill| skill.name == wanted);
        let skill = found.ok_or_else(|| Failure::not_found(none(&self.skills)))?;
        let Skill { name, text, folder, owner, .. } = skill;
        Ok(Output::text(format!(
            "The skill {name}, brought by {owner}. Files that it speaks of lie in {folder}; paths in it are relative to that \
             folder.\n\n{text}"
        )))
    }
}

/// What the model reads of the tool.
fn hint(skills: &[Skill]) -> String {
    let mut text = format!("{SUMMARY} Before you begin a task that one of these is for, read it:");
    let mut left_out = 0_usize;
    for skill in skills {
        let line = format!("\n- {}: {}", skill.name, skill.description);
        if text.len().saturating_add(line.len()) > LIST_MAX_BYTES {
            left_out += 1;
        } else {
            text.push_str(&line);
        }
    }
    if left_out > 0 {
        // Writing to a string can't fail.
        let _ = write!(text, "\n- and {left_out} more, which aren't listed for want of room");
    }
    text
}

/// That there is no such skill, and which there are.
fn none(skills: &[Skill]) -> String {
    let names: Vec<&str> = skills.iter().take(NAMES_MAX).map(|skill| skill.name.as_str()).collect();
    let further = skills.len().saturating_sub(NAMES_MAX);
    let more = if further > 0 { format!(", and {further} more") } else { String::new() };
    format!("there is no such skill; there are: {}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skills(count: usize) -> Vec<Skill> {
        let skill = |number: usize| Skill {
            name: format!("skill-{number}"),
            description: "d".repeat(200),
            text: "Do it.".into(),
            folder: "f".to_owned(),
            owner: "extension:x".to_owned(),
        };
        (0..count).map(skill).collect()
    }

    #[test]
    fn however_many_skills_there_are_a_request_carries_a_bounded_list() {
        let tool = skill_tool(skills(1_000));
        let prompt = tool.spec().prompt().to_owned();
        assert!(
            prompt.contains("- skill-0: ddd") && prompt.contains("more, which aren't listed"),
            "{prompt}"
        );
        assert!(prompt.len() < LIST_MAX_BYTES + 100, "{}", prompt.len());
        assert_eq!(tool.spec().description, SUMMARY);
    }

    #[test]
    fn a_refusal_names_the_skills_there_are() {
        let text = none(&skills(NAMES_MAX + 2));
        assert!(text.contains("skill-0, ") && text.ends_with("and 2 more"), "{text}");
    }
}
