//! Prometheus metrics over HTTP, served by a separate thread so that a collector does not occupy the RTI.

use std::net::{SocketAddr, TcpListener};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use hemiola_rtid::Stopper;
use hemiola_rtid::report::prometheus;

use super::serve::resolved;
use crate::diagnostics::Failure;

const PAGE: &str = "<!doctype html><title>Hemiola RTI</title><a href=\"/metrics\">metrics</a>\n";

/// A bound listener that does not serve yet.
pub(super) struct Listener(TcpListener);

impl Listener {
    /// Listens on the first address that the text resolves to.
    pub(super) fn bind(text: &str) -> Result<Self, Failure> {
        let addresses = resolved("--metrics", text)?;
        let address = addresses[0];
        let listener = TcpListener::bind(address)
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| {
                Failure::failed(format!(
                    "cannot serve metrics on {address}: {error}\nhint: choose another --metrics HOST:PORT"
                ))
            })?;
        Ok(Self(listener))
    }

    /// Starts a thread that serves until the process ends. Returns the address.
    pub(super) fn serve(self, stopper: Stopper) -> Result<SocketAddr, Failure> {
        let address = self.0.local_addr().map_err(Failure::failed)?;
        let routes = Router::new()
            .route("/metrics", get(metrics))
            .route("/", get(|| async { closing(Html(PAGE)) }))
            .fallback(|| async { closing((StatusCode::NOT_FOUND, "Only /metrics exists.\n")) })
            .method_not_allowed_fallback(|| async {
                closing((StatusCode::METHOD_NOT_ALLOWED, "Only GET and HEAD are supported.\n"))
            })
            .with_state(stopper);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::failed)?;
        let serve = move || {
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(self.0)?;
                axum::serve(listener, routes).await
            })
        };
        std::thread::Builder::new()
            .name("metrics".into())
            .spawn(serve)
            .map_err(|error| Failure::failed(format!("cannot start a thread: {error}")))?;
        Ok(address)
    }
}

async fn metrics(State(stopper): State<Stopper>) -> Response {
    // Blocks only this thread, for at most one turn of the RTI.
    match stopper.status() {
        Ok(report) => {
            let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
            closing((kind, prometheus(&report)))
        }
        Err(stopped) => closing((StatusCode::SERVICE_UNAVAILABLE, format!("{stopped}\n"))),
    }
}

/// Closes the connection after the response, because a collector polls only every few seconds or more.
fn closing(response: impl IntoResponse) -> Response {
    ([(header::CONNECTION, "close")], response).into_response()
}
