//! Every error code has a page in the program.

use std::fs;
use std::path::Path;

#[test]
fn every_page_of_the_folder_is_returned() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("errors");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if name == "README" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(ancho::explain(name), Some(text.as_str()), "{name}");
        count += 1;
    }
    assert!(count > 100, "{count} pages");
}

#[test]
fn a_code_is_one_a_and_four_digits() {
    for unknown in ["", "A", "A005", "A00500", "a0050", " A0050", "A0000", "A9999", "0050"] {
        assert_eq!(ancho::explain(unknown), None, "{unknown:?}");
    }
}
