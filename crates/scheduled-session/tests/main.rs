//! Requests of a local session under many schedules: each is answered once, requests that meet never overlap, and an
//! interrupt ends the request that it is meant for. The parties of [`World`] check the latter two.

use quorate_scheduled_session::{Told, World};
use quorate_sync::{schedules, thread};

#[test]
fn requests_are_answered_and_their_values_are_the_same_at_all_parties() {
    schedules(400, || {
        let mut world = World::new(None, None);
        let [x2, other] = [0; 2].map(|_| world.product(None));
        let x4 = world.product(Some(x2));
        // The first three may compute the same nodes; the last one overtakes them.
        let numbers = [x4, x2, x4, other].map(|node| world.submit(node));
        for number in numbers {
            assert_eq!(world.wait(number), Told::Well);
        }
        assert!(world.has(&[x2, x4, other]).iter().flatten().all(|&has| has));
        world.leave();
    });
}

#[test]
fn a_request_that_fails_leaves_nothing_and_later_ones_compute_it_again() {
    schedules(400, || {
        let mut world = World::new(None, Some(1));
        let x2 = world.product(None);
        let x4 = world.product(Some(x2));
        let [first, second] = [x2, x4].map(|node| world.submit(node));
        assert_eq!([first, second].map(|number| world.wait(number)), [Told::Badly, Told::Well]);
        assert!(world.has(&[x2, x4]).iter().flatten().all(|&has| has));
        world.leave();
    });
}

#[test]
fn an_interrupt_ends_the_request_that_it_is_meant_for_and_no_other() {
    schedules(400, || {
        let mut world = World::new(None, None);
        let x2 = world.product(None);
        let x4 = world.product(Some(x2));
        let numbers = [x2, x4, x2].map(|node| world.submit(node));
        let interrupting = thread::spawn(world.interrupts(numbers[1]));
        let told = numbers.map(|number| world.wait(number));
        assert_eq!([told[0], told[2]], [Told::Well; 2]);
        let has = told[1] == Told::Well;
        assert_eq!(world.has(&[x2, x4]), [[true, has]; 2], "a request counts at all parties or at none");
        interrupting.join().unwrap();
        world.leave();
    });
}

#[test]
fn a_request_that_takes_too_much_memory_is_served_again() {
    schedules(400, || {
        let mut world = World::new(Some(2), None);
        let nodes = [0; 3].map(|_| world.product(None));
        let numbers = nodes.map(|node| world.submit(node));
        let interrupting = thread::spawn(world.interrupts(numbers[1]));
        let told = numbers.map(|number| world.wait(number));
        assert_eq!([told[0], told[2]], [Told::Well; 2]);
        interrupting.join().unwrap();
        world.leave();
    });
}

#[test]
fn the_bell_rings_for_every_request_of_every_party() {
    schedules(400, || {
        let mut world = World::new(None, None);
        world.hear();
        let nodes = [0; 2].map(|_| world.product(None));
        let numbers = nodes.map(|node| world.submit(node));
        world.wait_for_bells(&numbers);
        for number in numbers {
            assert_eq!(world.wait(number), Told::Well, "an answer is there when the bell has rung");
        }
        world.leave();
    });
}

/// Requests of several threads come in some order, and a hold keeps what a check looks at.
#[test]
fn parties_leave_after_what_was_interrupted() {
    schedules(400, || {
        let mut world = World::new(None, None);
        let nodes = [0; 2].map(|_| world.product(None));
        let numbers = nodes.map(|node| world.submit(node));
        let interrupting = numbers.map(|number| thread::spawn(world.interrupts(number)));
        numbers.into_iter().for_each(|number| {
            world.wait(number);
        });
        interrupting.into_iter().for_each(|thread| thread.join().unwrap());
        world.leave();
    });
}
