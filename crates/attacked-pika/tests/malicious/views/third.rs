//! What P2 sees: coins, and results that it is to know. Inputs of P0 and P1 with the same result look alike to it.

use std::collections::{BTreeMap, BTreeSet};

use quorate_engine::Sharing;
use quorate_gadgets::Gadgets;
use quorate_ring::{Ring, Vector};
use quorate_spdz2k::{Kind, Params};

use super::script::Script;
use super::{World, noise, observe};

const K: u32 = 2;
const DEALER: usize = 2;

/// All inputs of Z_4, with a product and a comparison: what P2 receives is a function of what is revealed to it.
#[test]
fn a_dealer_sees_results_and_nothing_else() {
    let (params, ring) = (Params::insecure(3, 1), Ring::of(K));
    let digits = quorate_pika::malicious::digits::Digits::new(params, K, ring).unwrap();
    let of_inputs = [0, 1].map(|owner| (Kind::Mask { owner, bits: K }, 1));
    let inside = [(Kind::Triple { bits: K }, 1), (digits.kind(), 1), (Kind::Link, 1)];
    let check = (Kind::Random { bits: 1 }, 3);
    for (told, of_result) in [(None, vec![]), (Some(DEALER), vec![(Kind::Mask { owner: DEALER, bits: K }, 1)])] {
        let kinds = of_inputs.iter().chain(&inside).chain([&check]).chain(&of_result).chain([&check]);
        let scripts: Vec<Script> = kinds.map(|(kind, len)| Script::of(params, kind, *len)).collect();
        let drawn = |seed: usize| {
            let layouts = scripts.iter().flat_map(|script| &script.draws[seed]).enumerate();
            layouts.map(|(i, &layout)| (layout, noise(layout, (seed << 16 | i) as u64))).collect()
        };
        let world = World { params, draws: [0, 1, 2].map(drawn), keys: [[3; 32], [4; 32]], coins: 1 };
        let all = 1 << (2 * K);
        let seen = observe(&vec![world; all], DEALER, async |s, ctx, number| {
            let inputs = [number as u64 & 3, number as u64 >> K];
            let own = |owner: usize| (ctx.me() == owner).then(|| Vector::from_u64s(ring, &[inputs[owner]]));
            let x = s.input(ctx, 0, (ring, 1), own(0).as_ref()).await?;
            let y = s.input(ctx, 1, (ring, 1), own(1).as_ref()).await?;
            let product = s.mul(ctx, &x, &y).await?;
            s.msb(ctx, &product).await?;
            let checked = s.check(ctx).await?;
            let shown = s.reveal(ctx, &checked, &product, told).await?;
            let checked = s.check(ctx).await?;
            Ok(shown.map(|shown| shown.believe(&checked).unwrap().into_inner().to_u64s()))
        });
        let mut views = BTreeMap::new();
        for (number, seen) in seen.into_iter().enumerate() {
            let product = ((number as u64 & 3) * (number as u64 >> K)) & 3;
            assert_eq!(seen.result, Some(vec![product]));
            let heard: Vec<(usize, Vec<u8>)> = seen.heard.into_iter().map(|m| (m.from, m.bytes)).collect();
            assert!(heard.len() > 15, "{} messages", heard.len());
            let before = views.entry(product).or_insert_with(|| heard.clone());
            assert_eq!(*before, heard, "{number}: P2 tells inputs apart that give {product}");
        }
        let different: BTreeSet<_> = views.values().collect();
        assert_eq!((views.len(), different.len()), (4, 4), "the test sees what P2 is told");
    }
}
