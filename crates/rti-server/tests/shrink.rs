//! Shrinking a failing case to one from which nothing can be removed.

/// The case of a crowd: which peers take part, what they may do, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) seed: u64,
    pub(crate) turns: u32,
    /// One bit for each peer.
    pub(crate) peers: u32,
    /// One bit for each behaviour.
    pub(crate) behaviours: u32,
}

impl Case {
    /// Returns the case that the environment names, if it names a seed.
    pub(crate) fn from_environment(whole: Self) -> Option<Self> {
        let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
        Some(Self {
            seed: number("HEMIOLA_SEED")?,
            turns: number("HEMIOLA_TURNS").map_or(whole.turns, |turns| turns as u32),
            peers: number("HEMIOLA_PEERS").map_or(whole.peers, |peers| peers as u32),
            behaviours: number("HEMIOLA_BEHAVIOURS").map_or(whole.behaviours, |bits| bits as u32),
        })
    }

    /// The command that replays the case.
    pub(crate) fn command(self) -> String {
        let Self { seed, turns, peers, behaviours } = self;
        format!(
            "HEMIOLA_SEED={seed} HEMIOLA_TURNS={turns} HEMIOLA_PEERS={peers} HEMIOLA_BEHAVIOURS={behaviours} \
             cargo test -p hemiola-rti-server --test main -- crowd"
        )
    }

    /// The cases that are a step smaller: fewer turns, by powers of two; without one peer; without one behaviour.
    fn smaller(self) -> impl Iterator<Item = Self> {
        let bits = |mask: u32| (0..32).map(|bit| 1 << bit).filter(move |bit| mask & bit != 0);
        let turns = (0..32).rev().map(|power| 1 << power).filter(move |less| *less <= self.turns);
        let turns = turns.map(move |less| Self { turns: self.turns - less, ..self });
        let peers = bits(self.peers).map(move |bit| Self { peers: self.peers & !bit, ..self });
        let behaviours = bits(self.behaviours);
        let behaviours =
            behaviours.map(move |bit| Self { behaviours: self.behaviours & !bit, ..self });
        peers.chain(behaviours).chain(turns)
    }
}

/// Makes a failing case smaller as long as it fails.
pub(crate) fn shrink(mut case: Case, fails: impl Fn(Case) -> bool) -> Case {
    while let Some(smaller) = case.smaller().find(|smaller| fails(*smaller)) {
        case = smaller;
    }
    case
}

#[test]
fn a_planted_failure_shrinks_to_its_causes() {
    let whole = Case { seed: 7, turns: 400, peers: 0xFF, behaviours: 0x3FF };
    let fails = |case: Case| {
        case.turns >= 57 && case.peers & 0b1010 == 0b1010 && case.behaviours & 0b100 != 0
    };
    let expected = Case { seed: 7, turns: 57, peers: 0b1010, behaviours: 0b100 };
    assert_eq!(shrink(whole, fails), expected);
    assert!(expected.command().starts_with(
        "HEMIOLA_SEED=7 HEMIOLA_TURNS=57 HEMIOLA_PEERS=10 HEMIOLA_BEHAVIOURS=4 cargo test"
    ));
}
