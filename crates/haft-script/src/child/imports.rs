//! What a module imports from outside its folder, where there is nothing: of packages only the wrappers are to be had that
//! tool authors write around their definitions.

use oxc_ast::{
    AstKind,
    ast::{
        Expression, ImportDeclaration, ImportDeclarationSpecifier, ImportExpression, Statement, StringLiteral,
    },
};
use oxc_semantic::AstNodes;

/// The wrappers. One that is the default of a package is known by its name in the module.
const WRAPPERS: [&str; 4] = ["tool", "buildTool", "defineTool", "defineExtension"];
/// What is said of a module of Node's, and of one on the network.
pub(super) const NO_NODE: &str =
    "there is no Node and no network here; use what ctx lends, or a tool.json with \"runtime\": \"node\"";
/// What begins the names of those.
const OUTSIDE: [&str; 3] = ["node:", "http:", "https:"];

/// Whether a name is that of a module of Node's, or of one on the network.
pub(super) fn is_outside(name: &str) -> bool {
    OUTSIDE.iter().any(|scheme| name.starts_with(scheme))
}

/// What is wrong with a statement that imports or hands on; nothing, where that is of a file beside the module, or of
/// wrappers alone.
pub(super) fn refusal(statement: &Statement<'_>) -> Option<String> {
    match statement {
        Statement::ImportDeclaration(import) => of(&import.source, are_wrappers(import)),
        Statement::ExportFromDeclaration(export) => {
            let is_wrapper = |name: String| WRAPPERS.contains(&name.as_str());
            of(&export.source, export.specifiers.iter().all(|one| is_wrapper(one.local.to_string())))
        }
        // Without a name it hands on what is there: of a package of types that is nothing, and nobody misses it.
        Statement::ExportAllDeclaration(export) => of(&export.source, export.exported.is_none()),
        _ => None,
    }
}

/// The first `await import(…)` that names what isn't there: where it stands, and what is wrong. One that may not be
/// reached, or whose failure the module looks after, is its own affair; so is one that is handed on without waiting for
/// it, and what isn't written out is told when it runs.
pub(super) fn late_refusal(nodes: &AstNodes<'_>) -> Option<(u32, String)> {
    nodes.iter().find_map(|node| {
        let AstKind::ImportExpression(import) = node.kind() else { return None };
        let Expression::StringLiteral(name) = &import.source else { return None };
        let text = of(name, false)?;
        let is_awaited = matches!(nodes.ancestor_kinds(node.id()).next(), Some(AstKind::AwaitExpression(_)));
        let is_sure = !nodes.ancestor_kinds(node.id()).any(|around| guards(around, import));
        (is_awaited && is_sure).then_some((import.span.start, text))
    })
}

/// Whether what stands around an import may pass it by, or takes its failure.
fn guards(around: AstKind<'_>, import: &ImportExpression<'_>) -> bool {
    match around {
        AstKind::TryStatement(tried) => {
            tried.handler.is_some() && tried.block.span.contains_inclusive(import.span)
        }
        AstKind::IfStatement(_)
        | AstKind::ConditionalExpression(_)
        | AstKind::LogicalExpression(_)
        | AstKind::SwitchStatement(_) => true,
        _ => false,
    }
}

fn of(source: &StringLiteral<'_>, are_wrappers: bool) -> Option<String> {
    let name = source.value.to_string();
    if name.starts_with('.') {
        return None;
    }
    if is_outside(&name) {
        return Some(NO_NODE.to_owned());
    }
    if name.starts_with('/') || name.starts_with("file:") {
        return Some(format!("{name} isn't in the module's folder; import a file of it, as \"./data.json\""));
    }
    (!are_wrappers).then(|| {
        format!(
            "there is no package \"{name}\" here; use what ctx lends and files of the module's folder, or a tool.json with \
             \"runtime\": \"node\""
        )
    })
}

fn are_wrappers(import: &ImportDeclaration<'_>) -> bool {
    import
        .specifiers
        .as_ref()
        .is_some_and(|all| all.iter().all(|one| imported(one).is_some_and(|name| WRAPPERS.contains(&&*name))))
}

/// What is asked of a package; none where it is all of it.
fn imported(one: &ImportDeclarationSpecifier<'_>) -> Option<String> {
    match one {
        ImportDeclarationSpecifier::ImportSpecifier(one) => Some(one.imported.to_string()),
        ImportDeclarationSpecifier::ImportDefaultSpecifier(one) => Some(one.local.name.to_string()),
        ImportDeclarationSpecifier::ImportNamespaceSpecifier(_) => None,
    }
}
