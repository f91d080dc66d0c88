//! Jobs that enable and disable components, and jobs that read enabled state.

use ancho_entities::{
    Absent, Buffer, BufferElement, EnabledMut, EnabledRef, Entity, IgnoreEnabled, Managed,
    ManagedComponent, Or, Present, With, Without, World,
};

use crate::jobs::common::*;

fn two() -> (Checked, [Entity; 2]) {
    let mut world = world_with(3);
    let on = world.spawn((A(1), X(1), Y));
    let off = world.spawn((A(2), X(2), Y));
    world.set_component_enabled::<X>(off, false).unwrap();
    (world, [on, off])
}

type Question = (&'static str, fn(&World, [Entity; 2]) -> usize);

/// Calls that depend on whether `X` is enabled. After the job, only that of the second entity is.
const QUESTIONS: [Question; 12] = [
    ("count", |world, _| world.query::<(&A, &X)>().count()),
    ("count With", |world, _| world.query_filtered::<&A, With<X>>().count()),
    ("count Without", |world, _| world.query_filtered::<&A, Without<X>>().count()),
    ("count Or", |world, _| world.query_filtered::<&A, Or<(With<X>, With<B>)>>().count()),
    ("to_entities", |world, [_, off]| {
        assert_eq!(world.query::<&X>().to_entities(), [off]);
        1
    }),
    ("is_empty", |world, _| usize::from(!world.query::<&X>().is_empty())),
    ("matches", |world, [_, off]| usize::from(world.query::<&X>().matches(off))),
    ("iter", |world, _| world.query::<&X>().iter().inspect(|x| assert_eq!(x.0, 2)).count()),
    ("iter of others", |world, _| world.query_filtered::<&A, With<X>>().iter().count()),
    ("iter of what may be there", |world, _| {
        world.query::<(&A, Option<&X>)>().iter().filter(|(_, x)| x.is_some()).count()
    }),
    ("query get", |world, [on, off]| {
        assert!(world.query::<&X>().get(on).is_none());
        usize::from(world.query::<&X>().get(off).is_some())
    }),
    ("is_component_enabled", |world, [on, off]| {
        assert_eq!(world.is_component_enabled::<X>(on), Ok(false));
        usize::from(world.is_component_enabled::<X>(off).unwrap())
    }),
];

/// Schedules a job that toggles all `X`, at a gate.
fn switch(world: &mut World, gate: &Gate) {
    let stand = gate.stand();
    let job = world.query_mut::<EnabledMut<X>>().schedule(move |mut on| {
        stand();
        let is_on = on.get();
        on.set(!is_on);
    });
    let _ = job;
    gate.await_job(world);
}

#[test]
fn reading_enabled_bits_waits_for_jobs_that_write_them() {
    for (name, ask) in QUESTIONS {
        let (mut world, entities) = two();
        let gate = Gate::default();
        switch(&mut world, &gate);
        assert_eq!(gate.after(name, || ask(&world, entities)), 1, "{name}");
    }
}

#[test]
fn access_without_enabled_bits_does_not_wait() {
    let (mut world, [on, _]) = two();
    let gate = Gate::default();
    switch(&mut world, &gate);
    gate.beside("A", || assert_eq!(world.query::<&A>().iter().count(), 2));
    gate.beside("get", || assert_eq!(world.get::<A>(on), Ok(&A(1))));
    gate.beside("get_mut", || world.get_mut::<A>(on).unwrap().0 = 3);
    gate.beside("Y", || assert_eq!(world.query::<&Y>().count(), 2));
    gate.beside("Present", || assert_eq!(world.query_filtered::<&A, Present<X>>().count(), 2));
    gate.beside("Absent", || assert_eq!(world.query_filtered::<&A, Absent<X>>().count(), 0));
    gate.beside("ignore_enabled", || {
        assert_eq!(world.query_filtered::<&X, IgnoreEnabled>().count(), 2);
    });
    gate.beside("count_unfiltered", || assert_eq!(world.query::<&X>().count_unfiltered(), 2));
    let job = world.query_filtered_mut::<&mut A, With<Y>>().schedule(|a| a.0 = 5);
    gate.beside("a job", || world.jobs().complete(job));
}

#[test]
fn jobs_that_read_enabled_bits_run_after_jobs_that_write_them() {
    let (mut world, [on, off]) = two();
    let gate = Gate::default();
    switch(&mut world, &gate);
    let _ = world.query_filtered_mut::<&mut A, With<X>>().schedule_parallel(|a| a.0 = 10);
    let last = world.query_filtered_mut::<&mut A, Without<X>>().schedule(|a| a.0 = 20);
    world.jobs().flush();
    a_while();
    assert!(gate.is_occupied());
    gate.open();
    world.jobs().complete(last);
    assert_eq!(world.get::<A>(on), Ok(&A(20)), "it is off when the jobs run");
    assert_eq!(world.get::<A>(off), Ok(&A(10)));
}

#[test]
fn writing_enabled_bits_waits_for_jobs_that_read_them() {
    for asks in ["With", "Without", "data", "Option"] {
        let (mut world, [on, off]) = two();
        let gate = Gate::default();
        let _ = match asks {
            "With" => stand_at!(gate, world.query_filtered::<&A, With<X>>().job()),
            "Without" => stand_at!(gate, world.query_filtered::<&A, Without<X>>().job()),
            "data" => stand_at!(gate, world.query::<&X>().job()),
            _ => stand_at!(gate, world.query::<(&A, Option<&X>)>().job()),
        };
        gate.await_job(&world);
        let was_left = gate.was_left_asker();
        let job = world.query_mut::<EnabledMut<X>>().schedule(move |mut switch| {
            assert!(was_left());
            switch.set(true);
        });
        gate.after(asks, || {
            world.set_component_enabled::<X>(on, false).unwrap();
        });
        world.jobs().complete(job);
        assert_eq!(world.query::<&X>().to_entities(), [off], "{asks}");
    }
}

#[test]
fn enableable_tags_have_fences() {
    let (mut world, _) = two();
    let gate = Gate::default();
    let stand = gate.stand();
    let job = world.query_mut::<EnabledMut<Y>>().schedule(move |mut on| {
        stand();
        on.set(false);
    });
    let _ = job;
    gate.await_job(&world);
    gate.beside("X", || assert_eq!(world.query::<&X>().count(), 1));
    gate.after("Y", || assert_eq!(world.query::<&Y>().iter().count(), 0));
}

#[test]
fn enabled_bits_written_by_all_threads_are_correct() {
    for (workers, rows) in [(0, 64), (2, 100), (4, 300)] {
        let mut world = world_of(workers, rows);
        let all: Vec<_> = world.spawn_batch((0..3000).map(|at| (A(at), X(at)))).collect();
        for pass in 2..6 {
            let mut query = world.query_mut::<(&A, &X, EnabledMut<X>)>();
            let _ = query.schedule_parallel(move |(a, x, mut on)| {
                assert_eq!(a.0, x.0);
                on.set(a.0 % pass != 0);
            });
            let mut query = world.query_filtered_mut::<&mut A, Without<X>>();
            let _ = query.schedule_parallel(|a| a.0 |= 1 << 20);
        }
        for (at, &entity) in (0..).zip(&all) {
            let is_on = (2..6).all(|pass| at % pass != 0_u32);
            assert_eq!(world.is_component_enabled::<X>(entity), Ok(is_on));
            assert_eq!(world.get::<A>(entity).unwrap().0 >> 20, u32::from(!is_on));
        }
        assert!(world.jobs().take_failures().is_empty());
    }
}

#[test]
fn jobs_use_the_bits_of_buffers_and_managed_components() {
    #[derive(BufferElement, Clone, Copy)]
    #[buffer(enableable)]
    struct Shot(u32);

    #[derive(ManagedComponent, Clone)]
    #[managed(enableable)]
    struct Brain(u32);

    let mut world = world_with(3);
    for number in 0..1000 {
        let brain = Managed::new(Brain(number));
        world.spawn((A(number), Buffer::from([Shot(number)]), brain));
    }
    type Bits =
        (&'static A, EnabledMut<'static, Buffer<Shot>>, EnabledMut<'static, Managed<Brain>>);
    world.query_mut::<Bits>().job().schedule_parallel(|(a, mut shots, mut brain)| {
        shots.set(a.0 % 2 == 0);
        brain.set(a.0 % 5 == 0);
    });
    assert_eq!(world.query::<&Buffer<Shot>>().count(), 500);
    assert_eq!(world.query::<&Managed<Brain>>().count(), 200);
    type Read = (&'static mut A, EnabledRef<'static, Buffer<Shot>>);
    world.query_mut::<Read>().job().schedule_parallel(|(a, shots)| a.0 = u32::from(shots.get()));
    assert_eq!(world.query::<&A>().iter().map(|a| a.0).sum::<u32>(), 500);
}
