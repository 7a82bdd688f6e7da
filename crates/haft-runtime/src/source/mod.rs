//! Where tools come from: sources that bring tools from outside the binary and keep the catalogue in step.
//!
//! Each source sets bad tools aside with a problem that names file and line; none can take another down.

pub mod command;
mod extension;
mod registered;
mod skill;

pub use extension::{ExtensionManifest, hooks_of_file, parse_extension};
pub use registered::{Found, Registered, Synced};
pub use skill::{SKILL_FILE, SKILL_TOOL, Skill, SkillText, parse_skill, skill_tool};
