//! Structs of parameters.

use ancho_entities::{
    Commands, Component, IntoSystem, Local, Lookup, ParamSet, Query, Res, ResMut, Resource,
    SystemParam, Time,
};

use crate::common::{A, B, Log, say, take, world};

#[derive(SystemParam)]
struct Census<'w, 's> {
    all: Query<'w, &'static A>,
    log: ResMut<'w, Log>,
    runs: Local<'s, u32>,
    commands: Commands<'s>,
}

impl Census<'_, '_> {
    fn count(&mut self) {
        *self.runs += 1;
        self.log.0.push(format!("run {}: {}", *self.runs, self.all.count()));
        self.commands.spawn(A(0));
    }
}

#[test]
fn a_struct_of_parameters_is_a_parameter() {
    let mut world = world();
    world.add_system(|mut census: Census<'_, '_>| census.count());
    world.update(0.1);
    world.update(0.1);
    assert_eq!(take(&mut world), ["run 1: 0", "run 2: 1"]);
}

#[derive(SystemParam)]
struct Values<'w, T: Component + ancho_entities::Mutable> {
    all: Query<'w, &'static mut T>,
    time: Time,
}

#[derive(SystemParam)]
struct Both<'w, 's>(Values<'w, A>, Values<'w, B>, Census2<'w, 's>);

#[derive(SystemParam)]
struct Census2<'w, 's> {
    log: Res<'w, Log>,
    set: ParamSet<'w, 's, (ResMut<'static, Number>, Res<'static, Number>)>,
}

#[derive(Resource, Clone)]
struct Number(usize);

#[test]
fn structs_are_generic_and_nested() {
    let mut world = world();
    world.insert_resource(Number(0));
    world.spawn((A(1), B(2)));
    world.add_system(|mut both: Both<'_, '_>| {
        both.0.all.for_each(|a| a.0 += 1);
        both.1.all.for_each(|b| b.0 += 1);
        assert!(both.2.log.0.is_empty() && both.0.time == both.1.time);
        both.2.set.p0().0 += 1;
        assert!(both.2.set.p1().0 > 0);
    });
    world.update(0.1);
    assert_eq!(world.query::<(&A, &B)>().single().unwrap(), (&A(2), &B(3)));
    assert_eq!(world.resource::<Number>().0, 1);
}

#[derive(SystemParam)]
struct Reader<'w> {
    all: Query<'w, &'static A>,
    time: Time,
}

#[derive(SystemParam)]
struct Nothing;

#[derive(SystemParam)]
struct Many<'w, 's> {
    a: Local<'s, u8>,
    b: Local<'s, u8>,
    c: Local<'s, u8>,
    d: Local<'s, u8>,
    e: Local<'s, u8>,
    f: Local<'s, u8>,
    g: Local<'s, u8>,
    h: Local<'s, u8>,
    i: Local<'s, u8>,
    j: Local<'s, u8>,
    k: Local<'s, u8>,
    l: Local<'s, u8>,
    m: Local<'s, u8>,
    n: Local<'s, u8>,
    o: Local<'s, u8>,
    p: Local<'s, u8>,
    q: Local<'s, u8>,
    all: Lookup<'w, &'static A>,
}

#[test]
fn a_struct_can_have_no_fields_or_more_than_a_tuple() {
    let mut world = world();
    let entity = world.spawn(A(1));
    world.add_system(move |_: Nothing, mut many: Many<'_, '_>, mut log: ResMut<'_, Log>| {
        let Many { a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, all: _ } = &mut many;
        for local in [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] {
            **local += 1;
        }
        log.0.push(format!("{} {}", *many.q, many.all.get(entity).unwrap().0));
    });
    world.update(0.1);
    world.update(0.1);
    assert_eq!(take(&mut world), ["1 1", "2 1"]);
}

#[test]
fn a_struct_of_read_only_parameters_is_a_parameter_of_conditions() {
    let mut world = world();
    let holds = |reader: Reader<'_>| reader.all.count() > 0 && reader.time.elapsed() > 0.15;
    world.add_system(say("run").run_if(holds));
    world.spawn(A(1));
    world.update(0.1);
    assert!(take(&mut world).is_empty());
    world.update(0.1);
    assert_eq!(take(&mut world), ["run"]);
}

#[test]
fn conflicts_with_other_parameters_are_found() {
    let mut world = world();
    let error = world.try_add_system(|_: Query<'_, &A>, _: Values<'_, A>| ()).unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("A0100: system `") && message.contains("parameter 2, `Query<&mut "),
        "{message}"
    );
}
