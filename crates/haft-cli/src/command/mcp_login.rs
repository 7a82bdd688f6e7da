//! `haft mcp login`: a page that the user opens, and tokens in return.

use super::{Interrupts, block_on};
use crate::{
    app::{App, mcp::Listed},
    print,
    status::Status,
    terminal::{clean, good},
    trouble::Trouble,
};
use haft_core::{BoxFuture, Cancel, Failure, FailureKind, WebUrl};
use haft_mcp::client::{LoggedIn, LoginPage};
use haft_os::Loopback;
use serde_json::json;
use std::time::Duration;
use tokio::time::timeout;

/// How long the user has for it.
const LOGIN_TIME: Duration = Duration::from_secs(10 * 60);

/// Where the answer comes back.
struct Page(Loopback);

impl LoginPage for Page {
    fn redirect(&self) -> String {
        self.0.address()
    }

    fn visit<'a>(
        &'a self,
        address: &'a WebUrl,
        is_own: &'a (dyn Fn(&str) -> bool + Sync),
        cancel: &'a Cancel,
    ) -> BoxFuture<'a, Result<String, Failure>> {
        print::note(&format!("Log in at {}, on this page:\n\n{address}\n", address.authority()));
        Box::pin(async move {
            tokio::select! {
                answer = timeout(LOGIN_TIME, self.0.answer(is_own)) => answer.unwrap_or_else(|_| {
                    let text = "nobody came back from the page in 10 minutes; run it again";
                    Err(Failure::new(FailureKind::Timeout, text))
                }),
                () = cancel.fired() => Err(Failure::cancelled()),
            }
        })
    }
}

/// Logs in.
///
/// # Errors
/// The server wants none, or anybody refuses.
pub(super) fn login(app: &App, server: &Listed, again: bool, json: bool) -> anyhow::Result<Status> {
    let name = &server.name;
    let (Some(oauth), Some(config)) = (&server.oauth, &server.config) else {
        let what = format!("there is nothing to log in to at the server \"{name}\"");
        let fix =
            "only a server over HTTP has logins, and only where its settings bring no Authorization header";
        return Err(Trouble::usage(what, fix).into());
    };
    let logged_in = block_on(async {
        let mut interrupts = Interrupts::listen()?;
        let cancel = Cancel::new();
        let login = async {
            // What it says when it is asked without a login leads to who gives tokens for it.
            let clients = app.alone(config.clone());
            let looked = clients.look(name, &cancel).await;
            clients.close().await;
            let is_wanted = oauth.is_wanted().await?;
            match looked {
                Ok(_) if !again && !is_wanted => return Ok(None),
                Err(failure) if !is_wanted => return Err(failure),
                _ => {}
            }
            let page = Page(Loopback::open(server.setting.login.port).await?);
            oauth.login(&page, &cancel).await.map(Some)
        };
        tokio::select! {
            logged_in = login => Ok(logged_in?),
            () = interrupts.next() => {
                Err(Trouble { what: "the login was given up".to_owned(), fix: None, status: Status::Cancelled }.into())
            }
        }
    })?;
    tell(name, logged_in.as_ref(), json)?;
    Ok(Status::Completed)
}

fn tell(name: &str, logged_in: Option<&LoggedIn>, json: bool) -> anyhow::Result<()> {
    if json {
        return print::json(&json!({"name": name, "login": logged_in}));
    }
    let Some(logged_in) = logged_in else {
        print::line(&clean(&format!("{name} wants no login, or has one that works; --again logs in anew")));
        return Ok(());
    };
    let scope = logged_in.scope.as_deref().map(|scope| format!(", for {scope}")).unwrap_or_default();
    let renewed = match (logged_in.is_renewed, logged_in.seconds) {
        (true, _) => ", renewed by itself".to_owned(),
        (false, Some(seconds)) => format!(", for {}", print::time(seconds.saturating_mul(1_000))),
        (false, None) => String::new(),
    };
    print::line(&format!(
        "{} {}",
        good("logged in"),
        clean(&format!("to {name} by {}{scope}{renewed}", logged_in.issuer))
    ));
    Ok(())
}

/// Forgets a login.
///
/// # Errors
/// It can't be taken out of what is stored.
pub(super) fn logout(server: &Listed, json: bool) -> anyhow::Result<Status> {
    let was_there = match &server.oauth {
        Some(oauth) => block_on(async { Ok(oauth.logout().await?) })?,
        None => false,
    };
    if json {
        print::json(&json!({"name": server.name, "loggedOut": was_there}))?;
    } else if was_there {
        print::line(&clean(&format!(
            "the tokens of {} are forgotten here; the server may know them still",
            server.name
        )));
    } else {
        print::line(&clean(&format!("there were no tokens of {}", server.name)));
    }
    Ok(Status::Completed)
}
