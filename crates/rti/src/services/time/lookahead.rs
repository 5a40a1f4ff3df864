//! Changing and querying the lookahead (clauses 8.20 and 8.21).

use hemiola_hla::{EncodedInterval, Exception, FederateHandle, Reply};

use super::{Answer, decoded};
use crate::federation::Federation;

/// Clause 8.20. A longer lookahead takes effect at once. A shorter one takes effect as time advances, because promises
/// are kept.
pub(super) fn modify_lookahead(
    federation: &mut Federation,
    me: FederateHandle,
    lookahead: EncodedInterval,
) -> Answer {
    let state = &federation.federate(me).time;
    if state.known_regulation().is_none() {
        return Err(Exception::TimeRegulationIsNotEnabled.into());
    }
    if state.is_advancing() {
        return Err(Exception::InTimeAdvancingState.into());
    }
    let lookahead = decoded(federation, lookahead)?;
    federation.time_mut(me).set_lookahead(lookahead);
    federation.time_changed = true;
    Ok(Reply::Done)
}

/// Clause 8.21. Returns the actual lookahead, which exceeds the requested one until a reduction has taken full effect.
pub(super) fn query_lookahead(federation: &Federation, me: FederateHandle) -> Answer {
    let state = &federation.federate(me).time;
    let Some(regulation) = state.known_regulation() else {
        return Err(Exception::TimeRegulationIsNotEnabled.into());
    };
    let base = state.advance().map_or(state.now(), |advance| advance.until);
    let bound = state.output_bound().expect("it regulates").time();
    // If the difference of two doubles is less than the lookahead, their sum was rounded.
    let actual =
        bound.since(base).map_or(regulation.lookahead, |actual| actual.max(regulation.lookahead));
    Ok(Reply::Interval(actual.into()))
}
