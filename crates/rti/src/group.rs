//! Grouping values that go into one message or callback.

/// Values grouped by key, in the order of each key's first value.
#[derive(Debug)]
pub(crate) struct Groups<K, V>(Vec<(K, Vec<V>)>);

impl<K: PartialEq, V> Groups<K, V> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn add(&mut self, key: K, value: V) {
        match self.0.iter_mut().find(|(other, _)| *other == key) {
            Some((_, values)) => values.push(value),
            None => self.0.push((key, vec![value])),
        }
    }
}

impl<K, V> IntoIterator for Groups<K, V> {
    type Item = (K, Vec<V>);
    type IntoIter = std::vec::IntoIter<(K, Vec<V>)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: PartialEq, V> FromIterator<(K, V)> for Groups<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        let mut pairs = pairs.into_iter();
        let Some((key, value)) = pairs.next() else { return Self::new() };
        // Mostly all values have the same key.
        let mut first = Vec::with_capacity(1 + pairs.size_hint().1.unwrap_or(0));
        first.push(value);
        let mut groups = Self(vec![(key, first)]);
        pairs.for_each(|(key, value)| groups.add(key, value));
        groups
    }
}
