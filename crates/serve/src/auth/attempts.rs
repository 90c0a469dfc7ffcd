//! Counts logins that failed, by address and in all, and says when that was too often.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures are counted for this long.
const WINDOW: Duration = Duration::from_secs(60);
/// Failures of one address.
const MAX_FAILED: u32 = 5;
/// Failures of all addresses.
const MAX_FAILED_ALL: u32 = 100;
/// Addresses that are remembered.
const MAX_ADDRESSES: usize = 1024;

#[derive(Default)]
pub struct Attempts(Mutex<Counts>);

#[derive(Default)]
struct Counts {
    by_address: HashMap<IpAddr, Count>,
    all: Option<Count>,
}

#[derive(Clone, Copy)]
struct Count {
    since: Instant,
    failed: u32,
}

impl Count {
    fn is_current(&self) -> bool {
        self.since.elapsed() < WINDOW
    }

    fn one_more(count: Option<Self>) -> Self {
        match count.filter(Self::is_current) {
            Some(count) => Self {
                failed: count.failed.saturating_add(1),
                ..count
            },
            None => Self {
                since: Instant::now(),
                failed: 1,
            },
        }
    }
}

impl Attempts {
    pub fn may_try(&self, from: IpAddr) -> bool {
        let counts = self.lock();
        let below = |count: Option<&Count>, most: u32| {
            count.is_none_or(|count| !count.is_current() || count.failed < most)
        };
        below(counts.by_address.get(&house(from)), MAX_FAILED)
            && below(counts.all.as_ref(), MAX_FAILED_ALL)
    }

    pub fn failed(&self, from: IpAddr) {
        let mut counts = self.lock();
        counts.all = Some(Count::one_more(counts.all));
        if counts.by_address.len() >= MAX_ADDRESSES {
            counts.by_address.retain(|_, count| count.is_current());
        }
        let from = house(from);
        let known = counts.by_address.get(&from).copied();
        if known.is_some() || counts.by_address.len() < MAX_ADDRESSES {
            counts.by_address.insert(from, Count::one_more(known));
        }
    }

    pub fn forget(&self, from: IpAddr) {
        let mut counts = self.lock();
        let Some(count) = counts.by_address.remove(&house(from)) else {
            return;
        };
        if let Some(all) = &mut counts.all {
            all.failed = all.failed.saturating_sub(count.failed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One house has a whole network of IPv6 addresses.
fn house(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => v4.into(),
            None => Ipv6Addr::from(u128::from(v6) >> 64 << 64).into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_stopped_after_a_few_failures_and_others_are_not() {
        let attempts = Attempts::default();
        let (one, other): (IpAddr, IpAddr) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        for _ in 0..MAX_FAILED {
            assert!(attempts.may_try(one));
            attempts.failed(one);
        }
        assert!(!attempts.may_try(one) && attempts.may_try(other));
        attempts.forget(one);
        assert!(attempts.may_try(one));
        let (near, far): (IpAddr, IpAddr) =
            ("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap());
        for _ in 0..MAX_FAILED {
            attempts.failed(near);
        }
        assert!(!attempts.may_try(far));
    }
}
