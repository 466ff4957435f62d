//! Input by an outside client, at a party: its shares from the packet that it received. The source and the wire format
//! are those of [`client`](crate::client).

use quorate_crypto::Seed;
use quorate_ring::{Ring, Vector};

use crate::client::{
    ClientError, HEADER_BYTES, MAGIC, MOST_ACCEPTED, NUMBER_BYTES, SEED_BYTES, expand, packet_bytes, special,
};
use crate::setup::Rss;
use crate::share::Shared;

impl Rss {
    /// Returns this party's shares of a client's input of the agreed shape. No communication.
    ///
    /// # Errors
    /// A [`ClientError`] for a packet that is malformed, is not for this party or of this shape, or was used before.
    pub fn accept(&self, packet: &[u8], (ring, len): (Ring, usize)) -> Result<Shared<Vector>, ClientError> {
        let maps = &self.maps;
        let Some((header, body)) = packet.split_at_checked(HEADER_BYTES) else { return Err(ClientError::NotAPacket) };
        if header[..4] != MAGIC[..] || header[7] != 0 {
            return Err(ClientError::NotAPacket);
        }
        let (parties, party, bits) = (usize::from(header[4]), usize::from(header[5]), u32::from(header[6]));
        if (parties, party) != (maps.parties, maps.me) {
            return Err(ClientError::NotForUs { party, parties });
        }
        let found = header[8..16].iter().rev().fold(0u64, |sum, &byte| sum << 8 | u64::from(byte));
        if (bits, found) != (ring.bits(), len as u64) {
            return Err(ClientError::Shape { len: found, bits });
        }
        let expected = packet_bytes(parties, party, ring, len)?;
        if packet.len() != expected {
            return Err(ClientError::Length { expected, found: packet.len() });
        }
        let mut number = [0; NUMBER_BYTES];
        number.copy_from_slice(&header[16..]);
        self.accepted.lock().check(&number, MOST_ACCEPTED)?;
        let special = maps.index(special(parties));
        let seeds = maps.held.len() - usize::from(special.is_some());
        let (seeds, rest) = body.split_at(seeds * SEED_BYTES);
        let mut seeds = seeds.as_chunks::<SEED_BYTES>().0.iter();
        let mut shares = Vec::with_capacity(maps.held.len());
        for own in 0..maps.held.len() {
            let seed = if special == Some(own) { None } else { seeds.next() };
            let share = match seed {
                Some(seed) => expand(&Seed::from_bytes(*seed), &number, (ring, len)).clone(),
                None => Vector::unpack(ring, len, rest).map_err(|_| ClientError::NotAPacket)?,
            };
            shares.push(share);
        }
        self.accepted.lock().add(number, MOST_ACCEPTED)?;
        Ok(Shared::new((ring, len), shares))
    }
}
