//! Logging in to servers over HTTP: OAuth 2.1 with PKCE, as the protocol wants it.
//!
//! What a server says leads to who may give tokens for it, and only there: metadata has to be about the very server, the
//! issuer has to be who it says it is, answers have to come from it, and a token goes to the one server that it was given
//! for. Leaves where tokens are stored, who sends, and how a person gets to a page to its host.

mod challenge;
mod discovery;
mod grant;
mod oauth;
mod register;
mod store;
mod transfer;

pub use oauth::{LoggedIn, LoginPage, OAuth, OAuthSetup, OwnClient};
