//! Clause 9, data distribution management.
//!
//! [`crate::regions`] keeps the regions and their uses, and [`crate::matching`] finds the regions that overlap. The
//! services check their preconditions and start what follows.
//!
//! Subscriptions with regions are independent of those of clause 5, which use the default region: ending one leaves the
//! other. A federate that subscribes in both ways receives what either wants.

mod commit;
mod reach;
mod region;
mod subscription;
mod update;

use hemiola_hla::call::DistributionCall;
use hemiola_hla::data::AttributeRegions;
use hemiola_hla::{
    AttributeHandle, DimensionHandle, Exception, FederateHandle, Refusal, RegionHandle, Reply,
    Switch,
};

use super::{Answer, beyond, object};
use crate::federate::Activity;
use crate::federation::Federation;

pub(crate) use commit::Commit;
pub(crate) use reach::{
    any_subscription, attributes_in_scope, is_interaction_subscribed, is_subscribed, receives,
};
pub(crate) use region::{get_dimension_handle_set, get_range_bounds, set_range_bounds};
pub(crate) use subscription::{forget, is_used_actively, is_wanted_actively};
pub(crate) use update::{Requests, associate, request_step};

/// Dispatches a call of this clause.
pub(crate) fn call(
    federation: &mut Federation,
    me: FederateHandle,
    call: DistributionCall,
) -> Answer {
    use DistributionCall as C;
    match call {
        C::CreateRegion { dimensions } => region::create_region(federation, me, dimensions),
        C::CommitRegionModifications { regions } => {
            region::commit_region_modifications(federation, me, regions)
        }
        C::DeleteRegion { region } => region::delete_region(federation, me, region),
        C::RegisterObjectInstanceWithRegions { object_class, attributes_and_regions: pairs } => {
            update::register_with_regions(federation, me, object_class, &pairs, None)
        }
        C::RegisterObjectInstanceWithNameAndRegions {
            object_class,
            attributes_and_regions: pairs,
            object_instance_name: name,
        } => update::register_with_regions(federation, me, object_class, &pairs, Some(name)),
        C::AssociateRegionsForUpdates { object_instance, attributes_and_regions: pairs } => {
            update::associate_regions_for_updates(federation, me, object_instance, &pairs)
        }
        C::UnassociateRegionsForUpdates { object_instance, attributes_and_regions: pairs } => {
            update::unassociate_regions_for_updates(federation, me, object_instance, &pairs)
        }
        C::SubscribeObjectClassAttributesWithRegions {
            object_class,
            attributes_and_regions: pairs,
            active,
        } => {
            let activity = activity_of(active);
            subscription::subscribe(federation, me, object_class, &pairs, activity, None)
        }
        C::SubscribeObjectClassAttributesWithRegionsAndRate {
            object_class,
            attributes_and_regions: pairs,
            active,
            update_rate_designator: rate,
        } => {
            let activity = activity_of(active);
            subscription::subscribe(federation, me, object_class, &pairs, activity, Some(&rate))
        }
        C::UnsubscribeObjectClassAttributesWithRegions {
            object_class,
            attributes_and_regions: pairs,
        } => subscription::unsubscribe(federation, me, object_class, &pairs),
        C::SubscribeInteractionClassWithRegions { interaction_class, active, regions } => {
            let activity = activity_of(active);
            subscription::subscribe_interaction_class(
                federation,
                me,
                interaction_class,
                &regions,
                activity,
            )
        }
        C::UnsubscribeInteractionClassWithRegions { interaction_class, regions } => {
            subscription::unsubscribe_interaction_class(federation, me, interaction_class, &regions)
        }
        C::SendInteractionWithRegions {
            interaction_class,
            parameter_values,
            regions,
            user_supplied_tag,
        } => {
            let content = (parameter_values, user_supplied_tag);
            object::send_with_regions(federation, me, interaction_class, content, regions, None)
                .map(|_| Reply::Done)
        }
        C::SendInteractionWithRegionsAndTime {
            interaction_class,
            parameter_values,
            regions,
            user_supplied_tag,
            time,
        } => {
            let (content, time) = ((parameter_values, user_supplied_tag), Some(time));
            object::send_with_regions(federation, me, interaction_class, content, regions, time)
                .map(Reply::Retraction)
        }
        C::RequestAttributeValueUpdateWithRegions {
            object_class,
            attributes_and_regions: pairs,
            user_supplied_tag: tag,
        } => update::request_attribute_value_update_with_regions(
            federation,
            me,
            object_class,
            &pairs,
            &tag,
        ),
    }
}

const fn activity_of(active: bool) -> Activity {
    if active { Activity::Active } else { Activity::Passive }
}

/// Checks that these regions exist and that the federate created them.
fn own_regions(
    federation: &Federation,
    me: FederateHandle,
    regions: impl Iterator<Item = RegionHandle> + Clone,
) -> Result<(), Refusal> {
    for region in regions.clone() {
        if federation.regions.get(region).is_none() {
            return Err(Exception::InvalidRegion.because(region.to_string()));
        }
    }
    let of_other =
        |one: &RegionHandle| federation.regions.get(*one).is_some_and(|r| r.federate != me);
    match regions.into_iter().find(of_other) {
        Some(one) => Err(Exception::RegionNotCreatedByThisFederate.because(one.to_string())),
        None => Ok(()),
    }
}

/// Checks that these regions exist, that the federate created them, and that the class has their dimensions. With the
/// switch `allowRelaxedDDM`, they may have others.
pub(super) fn usable_regions(
    federation: &Federation,
    me: FederateHandle,
    regions: impl Iterator<Item = RegionHandle> + Clone,
    available: &[DimensionHandle],
) -> Result<(), Refusal> {
    own_regions(federation, me, regions.clone())?;
    if federation.is_on(Switch::AllowRelaxedDDM) {
        return Ok(());
    }
    for handle in regions {
        let region = federation.regions.get(handle).expect("just seen");
        let mut dimensions = region.ranges.iter().map(|(dimension, _)| *dimension);
        if let Some(other) = dimensions.find(|one| !available.contains(one)) {
            let name = federation.model.dimension(other).map_or("?", |one| &one.name);
            let details = format!("region {handle} has dimension {name}, which the class lacks");
            return Err(Exception::InvalidRegionContext.because(details));
        }
    }
    Ok(())
}

/// Checks that a call does not have too many pairs.
fn few_pairs(federation: &Federation, pairs: &[AttributeRegions]) -> Result<(), Refusal> {
    few(federation, pairs.iter().map(|one| one.attributes.len() * one.regions.len()).sum())
}

/// Checks that a call does not have too many regions.
fn few(federation: &Federation, count: usize) -> Result<(), Refusal> {
    let limit = federation.limits.regions_of_call;
    if count > limit {
        return Err(beyond(limit, "regions in one call, each counted for each attribute"));
    }
    Ok(())
}

/// The attributes of these pairs, and their regions.
fn attributes_of(pairs: &[AttributeRegions]) -> Vec<AttributeHandle> {
    pairs.iter().flat_map(|pair| pair.attributes.iter().copied()).collect()
}

fn regions_of(pairs: &[AttributeRegions]) -> impl Iterator<Item = RegionHandle> + Clone + '_ {
    pairs.iter().flat_map(|pair| pair.regions.iter().copied())
}

/// Each attribute of these pairs with each region of its pair.
fn each(
    pairs: &[AttributeRegions],
) -> impl Iterator<Item = (AttributeHandle, RegionHandle)> + Clone + '_ {
    pairs.iter().flat_map(|AttributeRegions { attributes, regions }| {
        attributes.iter().flat_map(|one| regions.iter().map(|region| (*one, *region)))
    })
}
