//! What can be wrong with a rule.

/// Why a text is no rule, and what would be one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// Nothing stands there.
    #[error("the rule is empty")]
    Empty,
    /// The part before the parenthesis names no tool.
    #[error("\"{0}\" is no tool name; use letters, numbers, _, - and * as in `mcp__github__*`")]
    Name(String),
    /// The closing parenthesis is missing.
    #[error("\"{0}\" has no closing parenthesis at its end")]
    Unclosed(String),
    /// Nothing between the parentheses, or after the colon.
    #[error("\"{0}\" says nothing about what it covers; leave the parentheses out to cover the whole tool")]
    NoSpec(String),
    /// A quotation doesn't end.
    #[error("\"{0}\" has an unbalanced quote")]
    Quote(String),
    /// The path is no pattern.
    #[error("\"{path}\" is no path pattern: {reason}")]
    Path {
        /// As it was written.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// An unknown risk.
    #[error("\"{0}\" is no risk; use safe, standard or destructive")]
    Risk(String),
    /// No value is given for a parameter.
    #[error("\"{0}\" gives no value; write it as `param.key=value`")]
    Param(String),
}
