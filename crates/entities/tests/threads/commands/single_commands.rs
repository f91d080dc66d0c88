//! Each command alone, recorded by a job, does what the method of the world with that name does.

use ancho_entities::EntityCommandBuffer;

use crate::commands::every_command::{CHANGE, CREATE, before, seen};

#[test]
fn each_command_recorded_by_a_job_equals_the_method_of_the_world() {
    for &(name, record, direct) in CREATE.iter().chain(CHANGE) {
        let (mut world, old) = before(1);
        let (mut expected, same) = before(0);
        direct(&mut expected, &same);
        let mut buffer = EntityCommandBuffer::new();
        let jobs = world.jobs();
        let job = jobs.schedule(&[], buffer.writer(), move |mut commands| {
            record(&mut commands, &old);
        });
        jobs.complete(job.unwrap());
        world.play(&mut buffer).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(seen(&world), seen(&expected), "{name}");
    }
}
