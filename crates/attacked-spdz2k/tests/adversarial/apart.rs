//! Tests of a party that sends one peer other messages than the rest, both about its inputs and about its share in
//! every opening. At each peer, all messages are consistent, tags included. Only a comparison of the messages at both
//! detects it.

use quorate_adversary::{By, Twist};
use quorate_engine::testing::parties;
use quorate_engine::{Error, Opened, Phase, Result, Sharing};
use quorate_ring::{Bits, Ring, Vector};
use quorate_spdz2k::{Params, Spdz2k};

use super::outcomes::is_found;

const VALUES: [u64; 3] = [5, 70_000, 1 << 40];
const BITS: [bool; 3] = [true, false, true];
/// The check that finds it.
const ECHO: &str = "different peers";

/// The values that are input and opened.
#[derive(Clone, Copy, Debug, PartialEq)]
enum What {
    Elements,
    /// An element that its owner alone opens, as a factor.
    Known,
    Bits,
}

/// Returns every party's result if a cheater's input is revealed to all or to one party, and the cheater sends one peer
/// another value than the rest.
fn told_apart(n: usize, params: Params, [cheat, peer]: [usize; 2], what: What, to: Option<usize>) -> Vec<Result<()>> {
    let ring = Ring::of(64);
    parties(n, |mut party| {
        let me = party.me();
        let mut run = party.begin_alone().unwrap();
        let done = run.phase(Phase::Online, async |ctx| {
            let s = Spdz2k::insecure_set_up(ctx, params, None).await?;
            if me == cheat && peer != cheat {
                s.adversary().twist(Twist::Apart { peer }, By::Plus(0));
            }
            if what == What::Bits {
                let own = (me == cheat).then(|| Bits::from_bools(1, 3, &BITS));
                let x = s.input_bits(ctx, cheat, (1, 3), own.as_ref()).await?;
                let checked = s.check(ctx).await?;
                let shown = s.reveal_bits(ctx, &checked, &x, to).await?;
                let checked = s.check(ctx).await?;
                let shown = shown.map(|shown| shown.believe(&checked)).transpose()?;
                return Ok(shown.map(|shown| shown.into_inner().to_bools().into_iter().map(u64::from).collect()));
            }
            let own = (me == cheat).then(|| Vector::from_u64s(ring, &VALUES));
            let mut x = s.input(ctx, cheat, (ring, 3), own.as_ref()).await?;
            if what == What::Known {
                let one = s.public(&Vector::constant(ring, 1, 3));
                x = s.mul(ctx, &x, &one).await?;
            }
            let checked = s.check(ctx).await?;
            let shown: Option<Opened<Vector>> = s.reveal(ctx, &checked, &x, to).await?;
            let checked = s.check(ctx).await?;
            Ok(shown.map(|shown| shown.believe(&checked)).transpose()?.map(|shown| shown.into_inner().to_u64s()))
        });
        run.finish();
        let wanted = match what {
            What::Bits => BITS.map(u64::from).to_vec(),
            _ => VALUES.to_vec(),
        };
        done.map(|shown: Option<Vec<u64>>| {
            assert!(me == cheat || shown.is_none_or(|shown| shown == wanted), "a wrong result at party {me} of {n}");
        })
    })
}

#[test]
fn what_is_told_to_one_peer_otherwise_is_found_before_it_is_shown() {
    let (usual, paper) = (Params::default(), Params::default().as_in_the_paper());
    let mut cases = 0;
    for (n, [cheat, peer]) in [(3, [0, 1]), (3, [1, 0]), (3, [2, 1]), (4, [0, 3]), (4, [2, 0])] {
        for params in [usual, paper] {
            for what in [What::Elements, What::Known, What::Bits] {
                for to in [None, Some(peer), Some(cheat)] {
                    let case = format!("{what:?} of {cheat}, {peer} of {n} is told others, for {to:?}, {params:?}");
                    let ends = told_apart(n, params, [cheat, peer], what, to);
                    let echo =
                        |done: &Result<()>| matches!(done, Err(Error::Cheating { check }) if check.contains(ECHO));
                    let mut honest = ends.iter().enumerate().filter(|(me, _)| *me != cheat);
                    // The party that compares first informs the others.
                    assert!(honest.all(|(_, done)| is_found(done)) && ends.iter().any(echo), "{case}: {ends:?}");
                    cases += 1;
                }
            }
            // A party that sends the same to all is believed.
            assert!(told_apart(n, params, [cheat, cheat], What::Bits, None).iter().all(Result::is_ok));
        }
    }
    println!("{cases} cases, all found");
}
