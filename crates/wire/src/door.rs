//! Who may stay at the door of a server. Connections are bounded, and a full door never shuts out the next one: of the peer
//! with the most connections that carry nothing, the one that has waited longest goes. No I/O.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot;

/// The connections of a server.
#[derive(Clone, Debug)]
pub struct Door(Arc<Mutex<Inside>>);

#[derive(Debug)]
struct Inside {
    most: usize,
    next: u64,
    /// By their numbers.
    guests: HashMap<u64, Place>,
}

#[derive(Debug)]
struct Place {
    peer: IpAddr,
    /// The smaller, the longer it waits.
    since: u64,
    /// Streams that it carries, each for as long as it likes.
    streams: usize,
    /// Dropped when it has to go.
    _stays: oneshot::Sender<()>,
}

/// A connection that was let in, until it is dropped.
#[derive(Debug)]
pub struct Guest {
    door: Door,
    number: u64,
    gone: oneshot::Receiver<()>,
}

/// What a connection is known by while it answers.
#[derive(Clone, Debug)]
pub struct Card {
    door: Door,
    number: u64,
}

/// A stream of a connection, until it is dropped.
#[derive(Debug)]
pub struct Carried(Card);

impl Door {
    pub fn new(most: usize) -> Self {
        Self(Arc::new(Mutex::new(Inside {
            most,
            next: 0,
            guests: HashMap::new(),
        })))
    }

    /// Lets a connection in. None where all the others carry something.
    pub fn enter(&self, peer: IpAddr) -> Option<Guest> {
        let mut inside = self.lock();
        if inside.guests.len() >= inside.most {
            let leaves = inside.leaves()?;
            inside.guests.remove(&leaves);
        }
        inside.next += 1;
        let number = inside.next;
        let (stays, gone) = oneshot::channel();
        let place = Place {
            peer: house(peer),
            since: number,
            streams: 0,
            _stays: stays,
        };
        inside.guests.insert(number, place);
        drop(inside);
        let door = self.clone();
        Some(Guest { door, number, gone })
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inside {
    /// The one that makes room.
    fn leaves(&self) -> Option<u64> {
        let waiting = || self.guests.iter().filter(|(_, place)| place.streams == 0);
        let mut peers: HashMap<IpAddr, usize> = HashMap::new();
        for (_, place) in waiting() {
            *peers.entry(place.peer).or_default() += 1;
        }
        let of_peer = |place: &Place| peers.get(&place.peer).copied().unwrap_or(0);
        let longest =
            |(_, place): &(&u64, &Place)| (of_peer(place), std::cmp::Reverse(place.since));
        let longest = waiting().max_by_key(longest);
        longest.map(|(number, _)| *number)
    }
}

impl Guest {
    pub fn card(&self) -> Card {
        Card {
            door: self.door.clone(),
            number: self.number,
        }
    }

    /// Ends when the connection has to make room for another one.
    pub async fn has_to_go(&mut self) {
        let _ = (&mut self.gone).await;
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.door.lock().guests.remove(&self.number);
    }
}

impl Card {
    /// It was answered as it asked: it waits from now on.
    pub fn renew(&self) {
        let mut inside = self.door.lock();
        inside.next += 1;
        let now = inside.next;
        if let Some(place) = inside.guests.get_mut(&self.number) {
            place.since = now;
        }
    }

    /// A stream goes over it from now on.
    #[must_use]
    pub fn carry(&self) -> Carried {
        let mut inside = self.door.lock();
        if let Some(place) = inside.guests.get_mut(&self.number) {
            place.streams += 1;
        }
        drop(inside);
        Carried(self.clone())
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        if let Some(place) = self.0.door.lock().guests.get_mut(&self.0.number) {
            place.streams = place.streams.saturating_sub(1);
        }
        self.0.renew();
    }
}

/// Who has one address of this kind has all of its network.
fn house(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => {
            let bits = u128::from(six) >> 64 << 64;
            IpAddr::V6(Ipv6Addr::from(bits))
        }
        four @ IpAddr::V4(_) => four,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(n: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, n])
    }

    fn is_in(guest: &mut Guest) -> bool {
        guest.gone.try_recv() == Err(oneshot::error::TryRecvError::Empty)
    }

    #[test]
    fn who_waited_longest_makes_room() {
        let door = Door::new(3);
        let mut all: Vec<Guest> = (0..3).map(|_| door.enter(peer(1)).unwrap()).collect();
        all[0].card().renew();
        let _next = door.enter(peer(1)).unwrap();
        let stays: Vec<bool> = all.iter_mut().map(is_in).collect();
        assert_eq!(stays, [true, false, true]);
    }

    #[test]
    fn who_has_many_makes_room_for_who_has_few() {
        let door = Door::new(4);
        let mut early = door.enter(peer(2)).unwrap();
        for n in 0..1_000_u128 {
            // One network, whatever the address.
            let six = Ipv6Addr::from((0x2001_0db8_u128 << 96) + n);
            // The connection stays, as far as the other side is concerned.
            std::mem::forget(door.enter(six.into()).unwrap());
        }
        assert!(is_in(&mut early));
    }

    #[test]
    fn what_carries_a_stream_stays_and_a_door_full_of_streams_lets_nobody_in() {
        let door = Door::new(2);
        let mut guests = [door.enter(peer(1)).unwrap(), door.enter(peer(1)).unwrap()];
        let streams = guests.each_ref().map(|guest| guest.card().carry());
        assert!(door.enter(peer(2)).is_none());
        let [first, _second] = streams;
        drop(first);
        let _next = door.enter(peer(2)).unwrap();
        assert_eq!(guests.each_mut().map(is_in), [false, true]);
        drop(guests);
        assert_eq!(door.lock().guests.len(), 1);
    }
}
