//! What must come before what, without recursion: a text may contain long chains.

/// Indices in an order in which each stands after those it needs, and the first cycle found, if any. Otherwise in the
/// order of the indices. With a cycle the order is still one of all indices.
pub(super) fn order(needs: &[Vec<usize>]) -> (Vec<usize>, Option<Vec<usize>>) {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        New,
        Open,
        Done,
    }
    let (mut marks, mut sorted, mut cycle) = (vec![Mark::New; needs.len()], Vec::new(), None);
    for start in 0..needs.len() {
        // Of each open index: how many of its needs have been followed.
        let mut path = if marks[start] == Mark::New { vec![(start, 0)] } else { continue };
        marks[start] = Mark::Open;
        while let Some((at, followed)) = path.last_mut() {
            let Some(&next) = needs[*at].get(*followed) else {
                marks[*at] = Mark::Done;
                sorted.push(*at);
                path.pop();
                continue;
            };
            *followed += 1;
            match marks[next] {
                Mark::New => {
                    marks[next] = Mark::Open;
                    path.push((next, 0));
                }
                Mark::Open if cycle.is_none() => {
                    let from = path.iter().position(|(at, _)| *at == next).unwrap_or(0);
                    cycle = Some(path[from..].iter().map(|(at, _)| *at).collect());
                }
                _ => {}
            }
        }
    }
    (sorted, cycle)
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn each_stands_after_those_it_needs() {
        assert_eq!(order(&[vec![2], vec![], vec![1]]), (vec![1, 2, 0], None));
        let chain: Vec<Vec<usize>> =
            (0..100_000).map(|at| if at < 99_999 { vec![at + 1] } else { vec![] }).collect();
        assert_eq!(order(&chain).0[0], 99_999);
    }

    #[test]
    fn a_cycle_is_named_from_its_first_member() {
        assert_eq!(order(&[vec![1], vec![2], vec![1]]).1, Some(vec![1, 2]));
        assert_eq!(order(&[vec![0]]).1, Some(vec![0]));
    }
}
