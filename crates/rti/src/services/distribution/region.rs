//! Regions: their life and their ranges (clauses 9.2 to 9.4 and 10.26 to 10.28).

use hemiola_hla::data::RangeBounds;
use hemiola_hla::{DimensionHandle, Exception, FederateHandle, Refusal, RegionHandle, Reply};

use super::{Answer, Commit, few, own_regions};
use crate::federation::Federation;
use crate::job::Task;
use crate::memory::has_room;
use crate::regions::region_len;
use crate::services::beyond;

/// Clause 9.2. The ranges of a new region are those of the whole dimensions.
pub(super) fn create_region(
    federation: &mut Federation,
    me: FederateHandle,
    mut dimensions: Vec<DimensionHandle>,
) -> Answer {
    dimensions.sort_unstable();
    dimensions.dedup();
    let mut ranges = Vec::with_capacity(dimensions.len());
    for dimension in dimensions {
        ranges.push((dimension, RangeBounds { lower: 0, upper: bound_of(federation, dimension)? }));
    }
    let limit = federation.limits.regions;
    if federation.regions.len() >= limit || !federation.regions.has_handles() {
        return Err(beyond(limit, "regions"));
    }
    has_room(federation, me, region_len(ranges.len()))?;
    let account = std::sync::Arc::clone(&federation.federate(me).account);
    Ok(Reply::Region(federation.regions.create(me, ranges, &account)))
}

/// Returns the first point beyond a dimension.
fn bound_of(federation: &Federation, dimension: DimensionHandle) -> Result<u32, Refusal> {
    match federation.model.dimension(dimension) {
        Some(definition) => Ok(definition.upper_bound.unwrap_or(u32::MAX)),
        None => Err(Exception::InvalidDimensionHandle.because(dimension.to_string())),
    }
}

/// Clause 9.3. Committing several regions is the same as committing one after the other.
pub(super) fn commit_region_modifications(
    federation: &mut Federation,
    me: FederateHandle,
    regions: Vec<RegionHandle>,
) -> Answer {
    own_regions(federation, me, regions.iter().copied())?;
    few(federation, regions.len())?;
    federation.start(me, Task::Commit(Box::new(Commit::new(regions))));
    Ok(Reply::Done)
}

/// Clause 9.4.
pub(super) fn delete_region(
    federation: &mut Federation,
    me: FederateHandle,
    region: RegionHandle,
) -> Answer {
    own_regions(federation, me, [region].into_iter())?;
    if federation.regions.get(region).is_some_and(crate::regions::Region::is_in_use) {
        return Err(Exception::RegionInUseForUpdateOrSubscription.because(region.to_string()));
    }
    federation.regions.delete(region);
    Ok(Reply::Done)
}

/// Clause 10.26.
pub(crate) fn get_dimension_handle_set(federation: &Federation, region: RegionHandle) -> Answer {
    let region = federation.regions.get(region).ok_or(Exception::InvalidRegion)?;
    Ok(Reply::Dimensions(region.ranges.iter().map(|(dimension, _)| *dimension).collect()))
}

/// Clause 10.27. A federate sees its own regions as it has set them, and those of others as they were committed.
pub(crate) fn get_range_bounds(
    federation: &Federation,
    me: FederateHandle,
    region: RegionHandle,
    dimension: DimensionHandle,
) -> Answer {
    let region = federation.regions.get(region).ok_or(Exception::InvalidRegion)?;
    let ranges = match &region.committed {
        _ if region.federate == me => &region.ranges[..],
        Some(committed) => committed,
        None => return Err(Exception::InvalidRegion.because("it was never committed")),
    };
    let range = ranges.iter().find(|(one, _)| *one == dimension);
    let (_, range) = range.ok_or(Exception::RegionDoesNotContainSpecifiedDimension)?;
    Ok(Reply::Range(*range))
}

/// Clause 10.28. The change takes effect when the region is committed.
pub(crate) fn set_range_bounds(
    federation: &mut Federation,
    me: FederateHandle,
    handle: RegionHandle,
    dimension: DimensionHandle,
    range: RangeBounds,
) -> Answer {
    own_regions(federation, me, [handle].into_iter())?;
    let region = federation.regions.get(handle).expect("just seen");
    if !region.ranges.iter().any(|(one, _)| *one == dimension) {
        return Err(Exception::RegionDoesNotContainSpecifiedDimension.into());
    }
    let bound = bound_of(federation, dimension).expect("a region has only dimensions that exist");
    let RangeBounds { lower, upper } = range;
    if lower >= upper || upper > bound {
        let details =
            format!("from {lower} up to {upper}; it must be a part, not empty, of 0 up to {bound}");
        return Err(Exception::InvalidRangeBound.because(details));
    }
    let region = federation.regions.get_mut(handle).expect("just seen");
    *region.range_mut(dimension).expect("just seen") = range;
    Ok(Reply::Done)
}
