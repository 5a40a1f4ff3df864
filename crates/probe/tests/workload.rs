//! The paper's examples run for real at small scale.

use hemiola_probe::workload::{ImageRetrieval, PictureCache};

use crate::setting;

#[test]
fn images_reach_the_screen_in_every_way() {
    for way in ImageRetrieval::ALL {
        let readings = way.measure(&setting(), 2).unwrap();
        assert_eq!(readings.values.len(), 2, "{way:?}");
        assert!(readings.values.iter().all(|nanos| *nanos > 0.0), "{readings:?}");
    }
}

#[test]
fn a_cache_of_a_tenth_of_the_pictures_hits_far_more_often_than_a_tenth_of_the_requests() {
    let readings = PictureCache::LruProcessed.measure(&setting(), 2).unwrap();
    let note = readings.notes.last().unwrap();
    let numbers: Vec<f64> = note.split(' ').filter_map(|word| word.parse().ok()).collect();
    let [hits, misses] = numbers[..] else { panic!("{note}") };
    assert!(hits / (hits + misses) > 0.2, "{note}");
}
