//! Divides the descriptors that a process may open among its listeners.

/// More connections than this do not help a listener: each costs 17 kB or more, and idle ones make room for new ones.
const MOST: u64 = 16_384;

/// Fewer descriptors than this are too few for a service with many hosts.
const FEW: u64 = 4096;

/// Connections that each listener may have at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budgets {
    /// The listener of REST, which agents poll.
    pub api: usize,
    /// The listener that machines boot from; anyone who reaches it may use it.
    pub boot: usize,
    /// The built-in Kubernetes API.
    pub kubernetes: usize,
    /// Health and metrics, where they have a listener of their own.
    pub status: usize,
    /// The process may open fewer files than a service with many hosts needs.
    pub are_few: bool,
}

impl Budgets {
    /// Divides so many descriptors. A fifth, at most 1,024, is kept for the database, images and everything else.
    pub fn of(descriptors: u64) -> Self {
        let rest = descriptors.saturating_sub((descriptors / 5).clamp(16, 1024));
        let share = |percent: u64| usize::try_from((rest * percent / 100).clamp(1, MOST)).unwrap_or(1);
        Self {
            api: share(40),
            boot: share(40),
            kubernetes: share(15),
            status: share(5),
            are_few: descriptors < FEW,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_budgets_together_leave_descriptors_for_the_rest() {
        for descriptors in [64, 256, 1024, 4096, 20_000] {
            let budgets = Budgets::of(descriptors);
            let all = budgets.api + budgets.boot + budgets.kubernetes + budgets.status;
            assert!(all as u64 + 16 <= descriptors, "{descriptors}: {budgets:?}");
            assert_eq!(budgets.are_few, descriptors < 4096);
        }
        assert_eq!(Budgets::of(1024).api, 328);
        assert_eq!(Budgets::of(1 << 20).api, 16_384);
    }
}
