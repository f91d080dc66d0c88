//! Output of the gallery without a terminal.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn gallery<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> Output {
    let mut gallery = Command::new(env!("CARGO_BIN_EXE_samples"));
    gallery.args(arguments).stdin(Stdio::null()).output().unwrap()
}

/// Returns the standard output of a successful run.
fn printed(arguments: &str) -> String {
    let output = gallery(arguments.split_whitespace());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the error message of a failed run.
fn told<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> String {
    let output = gallery(arguments);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn state_hash(arguments: &str) -> u64 {
    let text = printed(arguments);
    let hash = text.lines().find_map(|line| line.strip_prefix("state hash  "));
    let hash = hash.unwrap_or_else(|| panic!("there is no hash:\n{text}"));
    u64::from_str_radix(hash, 16).unwrap()
}

/// Returns the rows below a heading of a summary: milliseconds and name.
fn rows(text: &str, heading: &str) -> Vec<(f64, String)> {
    let below = text.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    let rows = below.map_while(|line| line.strip_prefix("  ")?.trim().split_once(" ms  "));
    rows.map(|(ms, name)| (ms.parse().unwrap(), name.to_owned())).collect()
}

/// Returns the number of chunk moves in a summary.
fn moves(text: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("chunks      entered or left "));
    line.and_then(|line| line.split_once(' ')?.0.parse().ok()).unwrap()
}

/// Returns the path of a file that no other test writes.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

#[test]
fn the_battle_ends_with_its_summary() {
    let text = printed("battle --frames 300 --view none --entities 2000 --workers 1");
    assert!(text.starts_with("battle: 100,000 units of two armies"), "{text}");
    // Two camps, and the field.
    assert!(text.contains("\n300 frames, 2003 entities\n"), "{text}");
    assert!(text.contains("\nframe       median ") && text.contains(" ms, p99 "), "{text}");
    assert!(moves(&text) > 0, "units fall and are replaced:\n{text}");
    let systems = rows(&text, "systems ");
    for name in ["build_grids", "fight", "apply_damage", "replace_dead_units"] {
        assert!(systems.iter().any(|(_, system)| system == name), "{name} of {systems:?}");
    }
    assert!(systems.iter().any(|(ms, _)| *ms > 0.0), "{text}");
    let threads = rows(&text, "threads ");
    assert_eq!(threads.len(), 2, "{text}");
    assert!(threads.iter().any(|(ms, _)| *ms > 0.0), "{text}");
}

#[test]
fn the_shooter_prints_the_same_hash_for_all_workers_and_another_for_another_seed() {
    let sample = "two_stick_shooter --frames 600 --view none";
    let hash = state_hash(&format!("{sample} --seed 1 --workers 0"));
    assert_eq!(hash, state_hash(&format!("{sample} --seed 1 --workers 1")));
    assert_eq!(hash, state_hash(&format!("{sample} --seed 1 --workers 2")));
    assert_ne!(hash, state_hash(&format!("{sample} --seed 2")));
    // The default seed.
    assert_eq!(state_hash(sample), state_hash(&format!("{sample} --seed 44919")));
}

#[test]
fn every_saved_world_goes_on_where_it_ended() {
    let list = printed("list");
    let names = list.lines().filter_map(|line| line.split_whitespace().next());
    let mut count = 0;
    for name in names {
        let path = file(&format!("every_{name}.ancho"));
        let path = path.display();
        let run = format!("{name} --view none");
        let first = format!("{run} --frames 20 --entities 500 --workers 1 --save {path}");
        let output = gallery(first.split_whitespace());
        if !output.status.success() {
            // Samples of jobs alone have no world.
            let told = String::from_utf8(output.stderr).unwrap();
            assert!(told.starts_with(&format!("`{name}` does not take `--entities`")), "{told}");
            continue;
        }
        let rest = state_hash(&format!("{run} --frames 20 --workers 0 --load {path}"));
        let whole = state_hash(&format!("{run} --frames 40 --entities 500 --workers 2"));
        assert_eq!(rest, whole, "{name}");
        count += 1;
    }
    assert!(count >= 10, "{count} samples with a world:\n{list}");
}

#[test]
fn a_saved_battle_goes_on_where_it_ended() {
    let (saved, copy) = (file("battle.ancho"), file("battle_copy.ancho"));
    let (saved, copy) = (saved.display(), copy.display());
    let run = "battle --entities 2000 --view none";
    let whole = state_hash(&format!("{run} --frames 60 --workers 1"));
    state_hash(&format!("{run} --frames 30 --workers 0 --save {saved}"));
    let rest = "battle --view none --frames 30";
    assert_eq!(state_hash(&format!("{rest} --load {saved} --workers 2 --save {copy}")), whole);
    let text = printed(&format!("{rest} --load {saved} --seed 7"));
    assert!(text.contains("(`--seed` is ignored: the file has the state)"), "{text}");
    assert!(text.contains(&format!("{whole:016x}")), "{text}");

    let failed = |words: &str| {
        let output = gallery(words.split_whitespace());
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    assert_eq!(
        failed(&format!("boids --load {saved}")),
        format!("The world file {saved} is of the sample `battle`, not of `boids`.\n")
    );
    assert_eq!(
        failed(&format!("battle --replay {saved}")),
        format!("The world file {saved} is not a recording; try `battle --load {saved}`.\n")
    );
    let told = failed("battle --load no.ancho");
    assert!(told.starts_with("The world file no.ancho cannot be loaded: "), "{told}");
    let told = failed("battle --save none/b.ancho --frames 1");
    assert_eq!(told, "The world file none/b.ancho cannot be written: there is no folder none.\n");

    let mut bytes = fs::read(file("battle.ancho")).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(file("battle_copy.ancho"), bytes).unwrap();
    let told = failed(&format!("battle --load {copy}"));
    assert!(told.starts_with(&format!("The world file {copy} cannot be loaded: A0")), "{told}");
}

#[test]
fn a_recorded_run_is_replayed() {
    let path = file("gravity.ancho");
    let path = path.display();
    let hash = state_hash(&format!("gravity --frames 40 --view none --seed 3 --record {path}"));
    let text = printed(&format!("gravity --view none --workers 0 --replay {path}"));
    assert!(text.contains("\n40 frames, "), "{text}");
    assert!(text.ends_with("replayed    with the recorded state hash\n"), "{text}");
    assert!(text.contains(&format!("{hash:016x}")), "{text}");
    let output = gallery(format!("gravity --view none --frames 41 --replay {path}").split(' '));
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told, "The recording has 40 frames; pass a smaller `--frames`.\n");
}

#[test]
fn what_is_shown_without_a_name_is_the_battle() {
    let options = "--frames 2 --entities 100";
    assert_eq!(state_hash(options), state_hash(&format!("battle {options}")));
    assert!(printed(options).starts_with("battle: "));
}

#[test]
fn there_are_as_many_threads_as_workers_and_the_main_one() {
    for workers in [0, 1, 3] {
        let text = printed(&format!("boids --frames 3 --entities 500 --workers {workers}"));
        let names: Vec<_> = rows(&text, "threads ").into_iter().map(|(_, name)| name).collect();
        let expected = (1..=workers).map(|worker| format!("worker {worker}"));
        let expected: Vec<_> = ["main thread".to_owned()].into_iter().chain(expected).collect();
        assert_eq!(names, expected, "{text}");
    }
}

#[test]
fn the_main_thread_is_busy_where_it_is_alone() {
    let text = printed("boids --frames 3 --entities 5000 --workers 0");
    assert!(rows(&text, "threads ")[0].0 > 0.0, "{text}");
    assert!(
        rows(&text, "systems ").iter().any(|(ms, name)| *ms > 0.0 && name == "summarise_cells")
    );
}

#[test]
fn jobs_of_systems_are_told_with_their_names() {
    let text = printed("battle --workers 0 --entities 2000 --frames 20");
    let jobs = rows(&text, "jobs ");
    assert!(jobs.iter().any(|(ms, name)| *ms > 0.0 && name == "Fight"), "{text}");
    assert!(jobs.is_sorted_by(|one, next| one.0 >= next.0), "{text}");
    let in_jobs: f64 = jobs.iter().map(|(ms, _)| ms).sum();
    let on_main_thread = rows(&text, "threads ")[0].0;
    // All jobs are listed, and each time is rounded to a thousandth of a millisecond.
    assert!((in_jobs - on_main_thread).abs() < 0.01, "{text}");
    let rotation = printed("rotation --frames 2");
    let names: Vec<_> = rows(&rotation, "jobs ").into_iter().map(|(_, name)| name).collect();
    assert!(names.iter().any(|name| name == "accelerate"), "{rotation}");
}

#[test]
fn chunks_are_counted_as_often_as_they_are_entered_or_left() {
    let after = |frames| moves(&printed(&format!("rotation --frames {frames}")));
    // Spawning the cubes, in one batch: 1. Removing the spawner moves an entity between chunks: 2. Adding the matrices
    // to cubes, sphere and spawner moves three batches: 6.
    assert_eq!(after(1), 9);
    // No further structural changes.
    assert_eq!(after(20), 9);
}

#[test]
fn there_are_as_many_entities_as_were_asked_for() {
    assert!(printed("rotation --frames 1 --entities 37").contains("\n1 frames, 39 entities\n"));
    let numbers = printed("native_counter --frames 3 --entities 500 --seed 2 --view none");
    assert!(numbers.contains("\n3 frames, 501 entities\n"), "{numbers}");
    assert!(rows(&numbers, "systems ").iter().any(|(_, name)| name == "count_with_one_number"));
}

#[test]
fn a_trace_names_the_jobs_and_a_picture_is_the_same_for_all_workers() {
    let (trace, picture) = (file("battle.json"), file("battle.svg"));
    let drawn = |workers: usize| {
        let mut arguments: Vec<OsString> = "battle --frames 20 --entities 500 --view none"
            .split(' ')
            .map(OsString::from)
            .collect();
        arguments.extend(["--workers".into(), workers.to_string().into()]);
        arguments.extend(["--trace".into(), trace.clone().into_os_string()]);
        arguments.extend(["--picture".into(), picture.clone().into_os_string()]);
        let output = gallery(arguments);
        assert!(output.status.success(), "{output:?}");
        fs::read_to_string(&picture).unwrap()
    };
    let alone = drawn(0);
    assert!(alone.starts_with("<svg ") && alone.contains("<path stroke="), "{alone}");
    assert!(alone.contains("battle   frame 20   503 entities</text>"), "{alone}");
    assert_eq!(alone, drawn(2));
    let trace = fs::read_to_string(&trace).unwrap();
    for job in ["FillGrid", "SortGrid", "Fight", "ApplyDamage", "ReplaceDead"] {
        assert!(trace.contains(&format!("\"{job}\"")), "{job} is not in the trace");
    }
}

#[test]
fn a_file_that_cannot_be_written_is_told_in_a_sentence() {
    let output = gallery(["rotation", "--frames", "1", "--picture", "/no such folder/a.svg"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(told.contains("The picture /no such folder/a.svg cannot be written: "), "{told}");
}

#[test]
fn a_view_without_a_terminal_is_told_in_a_sentence() {
    let output = gallery("rotation --view terminal".split(' '));
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(told, "There is no terminal to draw in; try `--view none`.\n");
}

#[test]
fn a_line_grows_with_the_frames() {
    let output = gallery("rotation --frames 30".split(' '));
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(told, "30 frames: 3 6 9 12 15 18 21 24 27 30\n");
}

#[test]
fn every_sample_of_the_list_runs_without_a_view() {
    let list = printed("list");
    let names: Vec<_> = list.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let expected = "rotation two_stick_shooter boids gravity galactic_conquest phyllotaxis native_counter \
                    dungeon battle";
    assert!(expected.split(' ').all(|name| names.contains(&name)), "{list}");
    assert_eq!(names[0], "battle");
    for name in names {
        state_hash(&format!("{name} --frames 2 --view none"));
    }
}

#[test]
fn help_tells_what_is_counted() {
    let help = printed("help");
    for line in [
        "  dungeon             rooms: 60 by default",
        "  two_stick_shooter   enemies that appear at a time: 1 by default",
    ] {
        assert!(help.contains(line), "{help}");
    }
}

#[test]
fn who_stops_reading_ends_the_program_without_a_word() {
    for arguments in ["list", "help", "first_job", "rotation --frames 1"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut gallery = Command::new(env!("CARGO_BIN_EXE_samples"));
        let gallery = gallery.args(arguments.split(' ')).stdin(Stdio::null()).stdout(writer);
        let output = gallery.stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn mistakes_get_a_sentence_a_list_and_status_2() {
    let told = told(["batle"]);
    assert!(told.starts_with("There is no sample `batle`; there are battle, "), "{told}");
    assert!(told.contains("--workers N") && told.contains("two_stick_shooter   "), "{told}");
}

#[test]
fn an_option_that_a_sample_does_not_know_is_a_mistake() {
    let told = told(["phyllotaxis", "--seed", "1"]);
    assert!(told.starts_with("`phyllotaxis` does not take `--seed`; its options are --frames, "));
}

#[cfg(unix)]
#[test]
fn an_argument_that_is_no_text_is_a_mistake_too() {
    use std::os::unix::ffi::OsStrExt;

    let told = told([OsStr::from_bytes(b"b\xE4ttle")]);
    assert!(told.starts_with("`b\u{FFFD}ttle` is not valid UTF-8."));
}

#[test]
fn a_sample_is_the_same_when_it_is_bisected() {
    assert_eq!(
        printed("bisect rotation --frames 3 --workers 1"),
        "rotation: equal for 3 frames, in order without workers and shuffled with 1\n"
    );
    let output = gallery(["bisect", "life"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let expected = "`life` consists of jobs alone, and has no world to compare.\n";
    assert_eq!(String::from_utf8(output.stderr).unwrap(), expected);
}
