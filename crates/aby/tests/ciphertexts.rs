//! Products with triples from homomorphic encryption: right, at the cost that the crate `he` states.

use crate::common::{noise, open};
use quorate_aby::Aby;
use quorate_engine::testing::parties;
use quorate_engine::{Ctx, Error, Misuse, Phase, Result, Sharing, dry};
use quorate_he::{He, Level, Options, Scheme, cost};
use quorate_ring::{Ring, Vector};

const LEN: usize = 150;

async fn product(aby: &Aby, ctx: &Ctx, ring: Ring) -> Result<Vec<u64>> {
    let operand = |seed| match ctx.is_dry() {
        true => Vector::shape(ring, LEN),
        false => Vector::from_u64s(ring, &noise(seed, LEN)),
    };
    let (x, y) = (aby.public(&operand(1)), aby.public(&operand(2)));
    let product = aby.mul(ctx, &x, &y).await?;
    if ctx.is_dry() { Ok(Vec::new()) } else { open(aby, ctx, &product).await }
}

#[test]
fn products_take_triples_from_ciphertexts() {
    for (scheme, k) in [(Scheme::Paillier, 64), (Scheme::Dgk, 13)] {
        let (options, ring) = (Options { scheme, level: Level::insecure(512, 40) }, Ring::of(k));
        let stated = cost::triples(options, ring, LEN);
        let products = parties(2, |mut party| {
            let me = party.me();
            let mut run = party.begin_alone().unwrap();
            let setup = async |ctx: &Ctx| {
                let mut aby = Aby::setup(ctx).await?;
                aby.take_triples_from(He::setup(ctx, 1 - me, options).await?)?;
                Ok(aby)
            };
            let aby = run.phase(Phase::Offline, setup).unwrap();
            run.finish();
            let mut run = party.begin_alone().unwrap();
            let made = run.phase(Phase::Online, async |ctx| product(&aby, ctx, ring).await).unwrap();
            let costs = run.finish();
            assert_eq!((costs.offline.rounds, costs.offline.bytes()), (stated.rounds, stated.bytes[me]));
            let mut twin = Aby::dry(2, me).unwrap();
            twin.take_triples_from(He::dry(1 - me, options)).unwrap();
            let (_, priced) = dry::run(me, 2, Phase::Online, async |ctx| product(&twin, ctx, ring).await).unwrap();
            assert_eq!(priced.offline, costs.offline);
            made
        });
        let expected: Vec<u64> =
            noise(1, LEN).into_iter().zip(noise(2, LEN)).map(|(x, y)| x.wrapping_mul(y) & ring.mask() as u64).collect();
        assert!(products.into_iter().all(|product| product == expected), "{scheme:?}");
    }
}

#[test]
fn keys_shared_with_another_peer_are_refused() {
    let refused = Aby::dry(2, 0).unwrap().take_triples_from(He::dry(0, Options::DGK)).unwrap_err();
    assert!(matches!(refused, Error::Misuse { what: Misuse::NoSuchParty { party: 0, .. } }), "{refused}");
}
