//! Requests of a local session under many schedules: each is answered once, requests that meet come in order, and an
//! interrupt ends the request that it is meant for. The parties of [`World`] check the latter two.

use quorate_scheduled_session::{Told, World};
use quorate_sync::{schedules, thread};

#[test]
fn requests_are_answered_and_their_values_are_the_same_at_all_parties() {
    schedules(400, || {
        let mut world = World::new(None, None);
        let [a, b, other] = [0; 3].map(|_| world.square(None));
        let both = world.product(a, b);
        let first = world.submit(a, &[]);
        let second = world.submit(both, &[first]);
        let third = world.submit(b, &[second]);
        let fourth = world.submit(other, &[]);
        for number in [fourth, third, second, first] {
            assert_eq!(world.wait(number), Told::Well);
        }
        assert!(world.has(&[a, b, both, other]).iter().flatten().all(|&has| has));
        world.end();
    });
}

#[test]
fn a_request_that_fails_leaves_nothing_and_later_ones_compute_it_again() {
    schedules(400, || {
        let mut world = World::new(None, Some(2));
        let x2 = world.square(None);
        let x4 = world.square(Some(x2));
        let first = world.submit(x2, &[]);
        let second = world.submit(x4, &[first]);
        assert_eq!([first, second].map(|number| world.wait(number)), [Told::Badly, Told::Well]);
        assert!(world.has(&[x2, x4]).iter().flatten().all(|&has| has));
        world.end();
    });
}

#[test]
fn an_interrupt_ends_the_request_that_it_is_meant_for_and_no_other() {
    schedules(800, || {
        let mut world = World::new(None, None);
        let x2 = world.square(None);
        let [x4, late] = [0; 2].map(|_| world.square(Some(x2)));
        let first = world.submit(x2, &[]);
        let second = world.submit(x4, &[first]);
        let interrupting = thread::spawn(world.interrupts(second));
        let third = world.submit(late, &[first]);
        let told = [first, second, third].map(|number| world.wait(number));
        assert_eq!([told[0], told[2]], [Told::Well; 2]);
        let has = told[1] == Told::Well;
        assert_eq!(world.has(&[x2, x4, late]), [[true, has, true]; 2], "a request counts at all parties or at none");
        assert!(!interrupting.join().unwrap() || !has, "a request that was cancelled is not served");
        world.end();
    });
}

#[test]
fn a_late_interrupt_does_not_reach_the_next_request() {
    schedules(1000, || {
        let mut world = World::new(None, None);
        let x2 = world.square(None);
        let first = world.submit(x2, &[]);
        let interrupting = thread::spawn(world.interrupts(first));
        let second = world.submit(x2, &[first]);
        world.wait(first);
        assert_eq!(world.wait(second), Told::Well);
        interrupting.join().unwrap();
        world.end();
    });
}

#[test]
fn a_request_that_takes_too_much_memory_is_served_again() {
    schedules(400, || {
        let mut world = World::new(Some(3), None);
        let nodes = [0; 3].map(|_| world.square(None));
        let numbers = nodes.map(|node| world.submit(node, &[]));
        assert_eq!(numbers.map(|number| world.wait(number)), [Told::Well; 3]);
        world.end();
    });
}

#[test]
fn the_bell_rings_for_every_request_of_every_party() {
    schedules(400, || {
        let mut world = World::new(None, None);
        world.hear();
        let nodes = [0; 2].map(|_| world.square(None));
        let numbers = nodes.map(|node| world.submit(node, &[]));
        world.wait_for_bells(&numbers);
        for number in numbers {
            assert_eq!(world.wait(number), Told::Well);
        }
        world.end();
    });
}

#[test]
fn parties_leave_after_all_requests_whether_interrupted_or_not() {
    schedules(400, || {
        let mut world = World::new(None, None);
        let nodes = [0; 3].map(|_| world.square(None));
        let numbers = nodes.map(|node| world.submit(node, &[]));
        let interrupting = [0, 1].map(|i| thread::spawn(world.interrupts(numbers[i])));
        world.leave();
        let told = numbers.map(|number| world.wait(number));
        assert_eq!(told[2], Told::Well);
        for thread in interrupting {
            thread.join().unwrap();
        }
        world.join();
    });
}
