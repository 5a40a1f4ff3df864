//! Limits of the mean of many runs.
