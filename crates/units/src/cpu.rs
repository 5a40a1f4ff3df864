//! A set of processors.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::parse::text_form;

/// The processors that a thread may run on, by the kernel's numbers and in its notation: `"0"`, `"0,2-3"` (cpuset(7),
/// "List format"). Never empty.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CpuSet(BTreeSet<u16>);

/// A text that is not a set of processors.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("\"{0}\" is not a set of processors from 0 to 1023, such as \"0\" or \"0,2-3\"")]
pub struct CpuSetError(String);

/// The kernel's usual `CPU_SETSIZE`.
const CPU_MAX: u16 = 1023;

impl CpuSet {
    /// Returns the set of one processor; `None` beyond 1023.
    #[must_use]
    pub fn one(cpu: u16) -> Option<Self> {
        (cpu <= CPU_MAX).then(|| Self(BTreeSet::from([cpu])))
    }

    /// Returns the set of these processors; `None` if it is empty or goes beyond 1023.
    pub fn from_cpus(cpus: impl IntoIterator<Item = u16>) -> Option<Self> {
        let cpus: BTreeSet<u16> = cpus.into_iter().collect();
        (cpus.last()? <= &CPU_MAX).then_some(Self(cpus))
    }

    /// Returns the processors in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.0.iter().copied()
    }

    /// Whether `cpu` is in the set.
    #[must_use]
    pub fn contains(&self, cpu: u16) -> bool {
        self.0.contains(&cpu)
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let mut cpus = self.iter().peekable();
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|cpu| *cpu == last + 1) {
                last = next;
            }
            if !text.is_empty() {
                text.push(',');
            }
            text += &if first == last { first.to_string() } else { format!("{first}-{last}") };
        }
        f.pad(&text)
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;
    fn from_str(text: &str) -> Result<Self, CpuSetError> {
        let wrong = || CpuSetError(text.into());
        let number = |part: &str| {
            part.trim().parse::<u16>().ok().filter(|cpu| *cpu <= CPU_MAX).ok_or_else(wrong)
        };
        let mut cpus = BTreeSet::new();
        for part in text.split(',') {
            match part.split_once('-') {
                Some((first, last)) => cpus.extend(number(first)?..=number(last)?),
                None => cpus.extend([number(part)?]),
            }
        }
        if cpus.is_empty() { Err(wrong()) } else { Ok(Self(cpus)) }
    }
}

text_form!(CpuSet, CpuSetError);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_the_kernels_notation() {
        for (text, shown) in [("0", "0"), ("0,2-3", "0,2-3"), ("3,2,0,1", "0-3"), (" 1 , 5", "1,5")]
        {
            assert_eq!(text.parse::<CpuSet>().unwrap().to_string(), shown);
        }
        for text in ["", "a", "3-2", "1024", "-1", "1,,2"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text}");
        }
    }
}
