//! HTTP for the operator's own settings: model endpoints and protocol servers.
//!
//! Leaves checking addresses of what a model asks for to the guarded client. No proxy from the environment,
//! no redirects, the system's certificates (`SSL_CERT_FILE` and `SSL_CERT_DIR` are honoured).

use haft_core::{BoxFuture, Failure, FailureKind, Http, HttpRequest, HttpResponse};
use reqwest::{Client, Method, redirect::Policy};
use std::{error::Error, time::Duration};
use tokio::{sync::OnceCell, time::timeout};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client made at its first use: reading the certificates takes longer than a start may.
#[derive(Debug, Default)]
pub struct OsHttp {
    client: OnceCell<Client>,
}

impl OsHttp {
    async fn client(&self) -> Result<&Client, Failure> {
        self.client
            .get_or_try_init(|| async {
                tokio::task::spawn_blocking(build).await.map_err(|error| {
                    Failure::internal("the HTTP client can't be made").diagnose(error.to_string())
                })?
            })
            .await
    }
}

impl Http for OsHttp {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, Failure>> {
        Box::pin(async move {
            let method = Method::from_bytes(request.method.as_bytes())
                .map_err(|_| Failure::invalid(format!("{} is not an HTTP method", request.method)))?;
            let mut builder = self.client().await?.request(method, request.url.as_str());
            for (name, value) in &request.headers {
                builder = builder.header(name.as_str(), value.as_str());
            }
            if !request.body.is_empty() {
                builder = builder.body(request.body);
            }
            let idle = request.idle_timeout;
            let response = timeout(idle, builder.send())
                .await
                .map_err(|_| silent("the server sent no answer", idle))?
                .map_err(failure)?;
            let headers = response
                .headers()
                .iter()
                .map(|(name, value)| {
                    (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
                })
                .collect();
            let status = response.status().as_u16();
            let body = futures::stream::unfold(Some(response), move |response| async move {
                let mut response = response?;
                match timeout(idle, response.chunk()).await {
                    Ok(Ok(Some(piece))) => Some((Ok(piece.to_vec()), Some(response))),
                    Ok(Ok(None)) => None,
                    Ok(Err(error)) => Some((Err(failure(error)), None)),
                    Err(_) => Some((Err(silent("the server's answer stopped", idle)), None)),
                }
            });
            Ok(HttpResponse { status, headers, body: Box::pin(body) })
        })
    }
}

fn build() -> Result<Client, Failure> {
    // An error means that a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        Client::builder()
            .no_proxy()
            .redirect(Policy::none())
            .referer(false)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(concat!("haft/", env!("CARGO_PKG_VERSION")))
    };
    builder()
        .build()
        // A system without certificates (a bare container) still reaches plain-HTTP endpoints; HTTPS then
        // fails by itself.
        .or_else(|_| builder().tls_certs_only(std::iter::empty()).build())
        .map_err(|error| Failure::internal("the HTTP client can't be made").diagnose(chain(&error)))
}

fn silent(what: &str, idle: Duration) -> Failure {
    Failure::new(
        FailureKind::Timeout,
        format!("{what} for {} s; try again, or raise the time limit in the settings", idle.as_secs()),
    )
}

/// Without the URL, which may carry a key.
fn failure(error: reqwest::Error) -> Failure {
    let error = error.without_url();
    let told = chain(&error);
    if error.is_builder() {
        return Failure::invalid(format!(
            "the request can't be made: {told}; correct the URL or the headers"
        ));
    }
    if error.is_timeout() {
        let text = format!("the server didn't answer in time: {told}; try again");
        return Failure::new(FailureKind::Timeout, text);
    }
    let what = if error.is_connect() { "no connection to the server" } else { "the connection broke" };
    let text = format!("{what}: {told}; check the address and that the server runs, then try again");
    Failure::new(FailureKind::Unavailable, text)
}

/// An error with its causes: reqwest's own text names only the step.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}
