//! Tests of the entry of clients' values, in families whose parties may cheat.

use quorate_engine::Error;
use quorate_graph::Dtype;

use super::start::LocalOptions;
use super::*;
use crate::options::Options;

const FAMILIES: [(Protocol, usize); 3] = [(Protocol::Spdz2k, 2), (Protocol::Spdz2k, 3), (Protocol::PikaMalicious, 3)];
const HOLDERS: usize = 2;
const WORD: Dtype = Dtype::Uint { bits: 104 };
const COIN_BITS: u32 = 41;

fn session(protocol: Protocol, parties: usize) -> Session {
    let options = Options::default();
    Session::local(LocalOptions { protocol, parties, network: None, insecure_seed: None, check: false, options })
        .unwrap()
}

fn input(session: &mut Session, owner: usize, shape: &[usize], dtype: Dtype, values: Vec<u64>) -> NodeId {
    let parties = session.parties();
    let at = Source::new("entry.py", 1);
    let id = session.build(at, |mut b| b.input(owner, parties, shape, dtype, None)).unwrap();
    let data =
        if dtype == Dtype::Bit { Data::Bools(values.iter().map(|&x| x == 1).collect()) } else { Data::Uints(values) };
    session.provide(id, owner, &data).unwrap();
    id
}

fn build(session: &mut Session, add: impl FnOnce(Builder<'_>) -> Result<NodeId, BuildError>) -> NodeId {
    session.build(Source::new("entry.py", 2), add).unwrap()
}

fn shown(session: &mut Session, id: NodeId) -> Result<Data, SessionError> {
    session.run(&[(id, None)])?.finish().map(|mut shown| shown.remove(0).unwrap())
}

/// Computes a value without showing anything of it.
fn compute(session: &mut Session, id: NodeId) -> Result<(), SessionError> {
    let flat = session.with_graph(|graph| graph.node(id).elements()).unwrap();
    let flat = build(session, |mut b| b.reshape(id, &[flat as i64]));
    let none = build(session, |mut b| b.gather(flat, vec![], &[0]));
    shown(session, none).map(drop)
}

#[test]
fn combinations_are_by_coins_of_the_seeds() {
    for (protocol, parties) in FAMILIES {
        let own: Vec<Vec<u64>> = (0..HOLDERS as u64).map(|j| (0..8).map(|i| u64::MAX - 5 * i - j).collect()).collect();
        let inputs = |session: &mut Session| {
            let all = own.iter().enumerate();
            let held: Vec<NodeId> = all.map(|(j, own)| input(session, j, &[2, 4], WORD, own.clone())).collect();
            let seed = |j| input(session, j, &[8], Dtype::Uint { bits: 32 }, vec![7 + j as u64; 8]);
            (held, (0..HOLDERS).map(seed).collect::<Vec<NodeId>>())
        };
        let mut early = session(protocol, parties);
        let (held, seeds) = inputs(&mut early);
        let all = build(&mut early, |mut b| b.combined(&held, &seeds, 1, COIN_BITS));
        let error = shown(&mut early, all).err().unwrap().to_string();
        assert!(error.contains("input in a run that counts before"), "{protocol:?}: {error}");
        let mut session = session(protocol, parties);
        let (held, seeds) = inputs(&mut session);
        held.iter().chain(&seeds).for_each(|&id| compute(&mut session, id).unwrap());
        let all = build(&mut session, |mut b| b.combined(&held, &seeds, 1, COIN_BITS));
        let Data::Wide(ref found) = shown(&mut session, all).unwrap() else { panic!("{protocol:?}") };
        let (coins, sums) = found.split_at(3);
        assert!(coins.iter().all(|&coin| coin > 0 && coin < 1 << COIN_BITS), "{protocol:?}: {coins:?}");
        let wanted = own.iter().flat_map(|own| {
            own.chunks(4).map(|place| {
                let products = place.iter().zip(coins).map(|(&x, &coin)| u128::from(x) * coin as u128);
                (products.fold(u128::from(place[3]), u128::wrapping_add) % (1 << 104)) as i128
            })
        });
        assert_eq!(sums, wanted.collect::<Vec<_>>(), "{protocol:?}");
    }
}

/// One party that states another list ends the run, before anything of it is shown.
#[test]
fn rows_count_if_all_parties_say_so() {
    for (protocol, parties) in FAMILIES {
        for lies in [false, true] {
            let mut session = session(protocol, parties);
            let x = input(&mut session, 0, &[2, 2], WORD, vec![1, 2, 3, 4]);
            let stated: Vec<NodeId> = (0..HOLDERS as u64)
                .map(|j| input(&mut session, j as usize, &[2], Dtype::Bit, vec![u64::from(lies) * j, 1]))
                .collect();
            let counted = build(&mut session, |mut b| b.counted(x, &stated));
            match shown(&mut session, counted) {
                Ok(found) => assert!(!lies && found == Data::Wide(vec![0, 0, 3, 4]), "{protocol:?}"),
                Err(SessionError::Engine(Error::Cheating { check })) => {
                    assert!(lies && check == "which places of a campaign count", "{protocol:?}: {check}");
                }
                Err(error) => panic!("{protocol:?}: {error}"),
            }
        }
    }
}
