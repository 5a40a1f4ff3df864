//! The HTTP server: it listens on loopback only and requires the random token in the address.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use hemiola_rt::sys::random::secret;

use super::assets;

/// Nothing from other hosts and nothing inline, so that text from a recording cannot become code.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A server bound to its port.
pub(crate) struct Server {
    listener: TcpListener,
    guard: Guard,
}

/// What a page may send besides GET and HEAD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sends {
    /// Nothing.
    Nothing,
    /// Texts to be judged, by POST.
    Texts,
}

/// Why the page cannot be served.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServerError {
    #[error(
        "port {port} of this machine cannot be used: {error}\nhint: leave out --port to use any free port"
    )]
    Port { port: u16, error: io::Error },
    #[error("the random token of the address cannot be created: {0}")]
    Random(io::Error),
    #[error("the page can no longer be served: {0}")]
    Serve(io::Error),
}

/// Checks requests.
#[derive(Clone)]
struct Guard {
    token: Arc<str>,
    port: u16,
    sends: Sends,
}

impl Server {
    /// Binds the port, or any free one, on 127.0.0.1.
    pub(crate) fn bind(port: Option<u16>, sends: Sends) -> Result<Self, ServerError> {
        let wanted = port.unwrap_or(0);
        let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, wanted)));
        let refused = |error| ServerError::Port { port: wanted, error };
        let listener = listener.map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        let token = token().map_err(ServerError::Random)?.into();
        Ok(Self { listener, guard: Guard { token, port, sends } })
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.guard.port, self.guard.token)
    }

    /// Serves a page and the answers to its requests, whose paths begin with `/{token}`, until the process ends.
    pub(crate) fn serve(self, page: &'static str, answers: Router) -> Result<(), ServerError> {
        let file = |Path((_, file)): Path<(String, String)>| async move { asset(&file) };
        let app = Router::new()
            .route("/{token}/", get(move || async { asset(page) }))
            .route("/{token}/{*file}", get(file))
            .merge(answers)
            .layer(middleware::from_fn_with_state(self.guard, guarded));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(ServerError::Serve)?;
        runtime.block_on(async {
            let listener =
                tokio::net::TcpListener::from_std(self.listener).map_err(ServerError::Serve)?;
            axum::serve(listener, app).await.map_err(ServerError::Serve)
        })
    }
}

/// 128 random bits from the kernel, in hexadecimal.
fn token() -> io::Result<String> {
    Ok(secret::<16>()?.iter().map(|byte| format!("{byte:02x}")).collect())
}

async fn guarded(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.refusal(&request) {
        Some((status, reason)) => (status, reason).into_response(),
        None => next.run(request).await,
    };
    let headers = response.headers_mut();
    let policy = HeaderValue::from_static(POLICY);
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(policy);
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // The address contains the token, so it must not leak to other sites.
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

impl Guard {
    /// The reason to refuse a request: its `Host` is another name (DNS rebinding), its token is wrong, or its method is
    /// not one that the page has.
    fn refusal(&self, request: &Request) -> Option<(StatusCode, &'static str)> {
        if !self.is_host(request.headers()) {
            return Some((
                StatusCode::MISDIRECTED_REQUEST,
                "this page is served only as 127.0.0.1\n",
            ));
        }
        let token =
            request.uri().path().trim_start_matches('/').split('/').next().unwrap_or_default();
        if !same(token.as_bytes(), self.token.as_bytes()) {
            let reason = "this is not the address that the command printed\n";
            return Some((StatusCode::FORBIDDEN, reason));
        }
        match *request.method() {
            Method::GET | Method::HEAD => None,
            Method::POST if self.sends == Sends::Texts => None,
            _ => Some((StatusCode::METHOD_NOT_ALLOWED, "only reading is supported\n")),
        }
    }

    fn is_host(&self, headers: &HeaderMap) -> bool {
        let host =
            headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        matches!(name, "127.0.0.1" | "localhost") && port.parse() == Ok(self.port)
    }
}

/// Compares in constant time, so that the duration does not reveal where two tokens differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

fn asset(path: &str) -> Response {
    match assets::find(path) {
        Some(asset) => ([(header::CONTENT_TYPE, asset.media_type)], asset.bytes).into_response(),
        None => (StatusCode::NOT_FOUND, "no such file\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_tokens_match_and_others_do_not() {
        assert!(same(b"abc", b"abc"));
        assert!(!same(b"abc", b"abd") && !same(b"ab", b"abc") && !same(b"", b"a"));
    }

    #[test]
    fn tokens_are_unique() {
        assert_ne!(token().unwrap(), token().unwrap());
        assert_eq!(token().unwrap().len(), 32);
    }
}
