//! The paper's examples, executed at small scale.

use hemiola_probe::workload::{ImageRetrieval, PictureCache};

use crate::setting;

#[test]
fn every_variant_of_image_retrieval_is_measured() {
    for variant in ImageRetrieval::ALL {
        let readings = variant.measure(&setting(), 2).unwrap();
        assert_eq!(readings.values.len(), 2, "{variant:?}");
        assert!(readings.values.iter().all(|nanos| *nanos > 0.0), "{readings:?}");
    }
}

#[test]
fn a_cache_of_a_tenth_of_the_pictures_hits_more_than_a_fifth_of_the_requests() {
    let readings = PictureCache::LruProcessed.measure(&setting(), 2).unwrap();
    let note = readings.notes.last().unwrap();
    let numbers: Vec<f64> = note.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [hits, misses] = numbers[..] else { panic!("{note}") };
    assert!(hits / (hits + misses) > 0.2, "{note}");
}
