//! Distributes free hosts over reservations.
//!
//! Hosts are counted by their sort: two of one sort can be kept for the same quotas. Kept is as much as possible, for older quotas first
//! (a greatest matching, by augmenting paths).

use std::collections::VecDeque;

/// Free hosts of each sort that are kept for each quota.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    /// By quota, then by sort.
    of: Vec<Vec<usize>>,
    /// By sort: hosts that are kept for no quota.
    spare: Vec<usize>,
}

impl Kept {
    /// Keeps as many hosts for each quota as `demands` has for it, or fewer where there are no more. `sorts`: true for each quota that
    /// hosts of the sort can be kept for. `left`: hosts by sort.
    pub fn new(demands: &[usize], sorts: &[Vec<bool>], left: &[usize]) -> Self {
        let mut kept = Self {
            of: vec![vec![0; sorts.len()]; demands.len()],
            spare: left.to_vec(),
        };
        for (quota, demand) in demands.iter().enumerate() {
            let mut missing = *demand;
            for (sort, _) in usable(sorts, quota) {
                let some = missing.min(kept.spare[sort]);
                kept.spare[sort] -= some;
                kept.of[quota][sort] += some;
                missing -= some;
            }
            while missing > 0 && kept.keep_one(quota, sorts) {
                missing -= 1;
            }
        }
        kept
    }

    /// Keeps one more host for `quota`; others may get another host for theirs. False: there is none.
    fn keep_one(&mut self, quota: usize, sorts: &[Vec<bool>]) -> bool {
        // By quota: the one that takes over one of its hosts, and the sort of that.
        let mut giver_to: Vec<Option<(usize, usize)>> = vec![None; self.of.len()];
        let mut is_seen = vec![false; self.of.len()];
        is_seen[quota] = true;
        let mut queue = VecDeque::from([quota]);
        while let Some(one) = queue.pop_front() {
            for (sort, _) in usable(sorts, one) {
                if self.spare[sort] > 0 {
                    self.spare[sort] -= 1;
                    self.of[one][sort] += 1;
                    self.pass_on(one, &giver_to);
                    return true;
                }
                for (other, is_seen) in is_seen.iter_mut().enumerate() {
                    if !*is_seen && self.of[other][sort] > 0 {
                        *is_seen = true;
                        giver_to[other] = Some((one, sort));
                        queue.push_back(other);
                    }
                }
            }
        }
        false
    }

    /// Passes hosts on, from a quota that got one more to the one at the end of the chain.
    fn pass_on(&mut self, mut giver: usize, giver_to: &[Option<(usize, usize)>]) {
        while let Some((taker, sort)) = giver_to[giver] {
            self.of[giver][sort] -= 1;
            self.of[taker][sort] += 1;
            giver = taker;
        }
    }

    /// Number of hosts that are kept for a quota.
    pub fn number(&self, quota: usize) -> usize {
        self.of[quota].iter().sum()
    }

    /// The same with one host less for `quota`; `None`: none is kept for it.
    pub fn with_one_less(&self, quota: usize) -> Option<Self> {
        let sort = self.of[quota].iter().position(|number| *number > 0)?;
        let mut less = self.clone();
        less.of[quota][sort] -= 1;
        less.spare[sort] += 1;
        Some(less)
    }

    /// By sort: true if one of its hosts can be taken, and as many as now are kept for each quota all the same.
    pub fn dispensable(&self, sorts: &[Vec<bool>]) -> Vec<bool> {
        let mut can: Vec<bool> = self.spare.iter().map(|number| *number > 0).collect();
        let mut found: Vec<usize> = (0..can.len()).filter(|sort| can[*sort]).collect();
        while let Some(sort) = found.pop() {
            let takers = self
                .of
                .iter()
                .enumerate()
                .filter(|(quota, _)| sorts[sort][*quota]);
            for (_, kept) in takers {
                for (other, number) in kept.iter().enumerate() {
                    if *number > 0 && !can[other] {
                        can[other] = true;
                        found.push(other);
                    }
                }
            }
        }
        can
    }
}

/// The sorts that can be kept for `quota`.
fn usable(sorts: &[Vec<bool>], quota: usize) -> impl Iterator<Item = (usize, &Vec<bool>)> {
    sorts.iter().enumerate().filter(move |(_, of)| of[quota])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(kept: &Kept) -> Vec<usize> {
        (0..kept.of.len()).map(|quota| kept.number(quota)).collect()
    }

    #[test]
    fn as_much_as_possible_is_kept_and_older_quotas_come_first() {
        // The first can have both sorts, the second the first sort alone.
        let sorts = [vec![true, true], vec![true, false]];
        assert_eq!(numbers(&Kept::new(&[1, 1], &sorts, &[1, 1])), [1, 1]);
        assert_eq!(numbers(&Kept::new(&[2, 1], &sorts, &[1, 1])), [2, 0]);
        assert_eq!(numbers(&Kept::new(&[1, 5], &sorts, &[2, 0])), [1, 1]);
        assert_eq!(numbers(&Kept::new(&[3], &[], &[])), [0]);
        let of_both = [vec![true, false], vec![true, true]];
        let kept = Kept::new(&[1, 1], &of_both, &[1, 1]);
        assert_eq!(numbers(&kept), [1, 1]);
        assert_eq!(kept.spare, [0, 0]);
    }

    #[test]
    fn a_host_is_dispensable_where_another_one_can_be_kept_in_its_place() {
        let sorts = [vec![true, true], vec![true, false]];
        // Two of the first sort and one of the second; one is kept for each quota.
        let kept = Kept::new(&[1, 1], &sorts, &[2, 1]);
        assert_eq!(kept.dispensable(&sorts), [true, true]);
        // One of each: none can be spared.
        let kept = Kept::new(&[1, 1], &sorts, &[1, 1]);
        assert_eq!(kept.dispensable(&sorts), [false, false]);
        let less = kept.with_one_less(1).unwrap();
        assert_eq!(numbers(&less), [1, 0]);
        assert_eq!(less.dispensable(&sorts), [true, true]);
        // The second quota cannot have the sort that is left.
        let kept = Kept::new(&[0, 1], &sorts, &[1, 1]);
        assert_eq!(kept.dispensable(&sorts), [false, true]);
        assert_eq!(kept.with_one_less(0), None);
    }
}
