//! Lists ordered by last use over one set of objects, for LRU and ARC.

const NONE: u32 = u32::MAX;

/// Doubly linked lists over the objects 0, 1, …. An object is in at most one list. Every operation takes constant
/// time.
#[derive(Clone, Debug)]
pub(super) struct Lists {
    links: Vec<Link>,
    lists: Vec<List>,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    /// Towards the newest.
    newer: u32,
    /// Towards the oldest.
    older: u32,
    /// The list that contains it, or [`NONE`].
    list: u32,
}

#[derive(Clone, Copy, Debug)]
struct List {
    newest: u32,
    oldest: u32,
    len: usize,
}

impl Lists {
    pub(super) fn new(lists: usize, objects: usize) -> Self {
        assert!(objects < NONE as usize, "objects are numbered with 32 bits");
        Self {
            links: vec![Link { newer: NONE, older: NONE, list: NONE }; objects],
            lists: vec![List { newest: NONE, oldest: NONE, len: 0 }; lists],
        }
    }

    pub(super) fn len(&self, list: usize) -> usize {
        self.lists[list].len
    }

    pub(super) fn list_of(&self, object: u32) -> Option<usize> {
        let list = self.links[object as usize].list;
        (list != NONE).then_some(list as usize)
    }

    /// Makes the object the newest of `list` and removes it from any other list.
    pub(super) fn refresh(&mut self, list: usize, object: u32) {
        self.remove(object);
        let ends = &mut self.lists[list];
        let second = std::mem::replace(&mut ends.newest, object);
        ends.len += 1;
        match second {
            NONE => ends.oldest = object,
            second => self.links[second as usize].newer = object,
        }
        self.links[object as usize] = Link { newer: NONE, older: second, list: list as u32 };
    }

    /// Removes the oldest object of `list` and returns it.
    pub(super) fn take_oldest(&mut self, list: usize) -> Option<u32> {
        let oldest = self.lists[list].oldest;
        (oldest != NONE).then(|| {
            self.remove(oldest);
            oldest
        })
    }

    fn remove(&mut self, object: u32) {
        let Link { newer, older, list } = self.links[object as usize];
        if list == NONE {
            return;
        }
        let ends = &mut self.lists[list as usize];
        ends.len -= 1;
        match newer {
            NONE => ends.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        match older {
            NONE => self.lists[list as usize].oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
        self.links[object as usize].list = NONE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn lists_behave_like_queues(steps in prop::collection::vec((0u32..6, 0usize..3), 0..200)) {
            let mut lists = Lists::new(2, 6);
            let mut model = [VecDeque::new(), VecDeque::new()];
            for (object, what) in steps {
                if what == 2 {
                    let list = object as usize % 2;
                    prop_assert_eq!(lists.take_oldest(list), model[list].pop_front());
                } else {
                    lists.refresh(what, object);
                    for queue in &mut model {
                        queue.retain(|other| *other != object);
                    }
                    model[what].push_back(object);
                }
                for (list, queue) in model.iter().enumerate() {
                    prop_assert_eq!(lists.len(list), queue.len());
                    prop_assert!(queue.iter().all(|object| lists.list_of(*object) == Some(list)));
                }
            }
        }
    }
}
