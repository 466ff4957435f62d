//! Tests that the documentation's cost tables equal those of the formulas.

#[path = "../examples/cost_tables.rs"]
mod cost_tables;

#[test]
fn cost_tables_in_the_documentation_are_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocols/rss.md");
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let (_, rest) = text.split_once("<!-- costs:begin -->").expect("a mark where the tables begin");
    let (found, _) = rest.split_once("<!-- costs:end -->").expect("a mark where the tables end");
    let expected = cost_tables::tables();
    assert!(expected.lines().count() > 30);
    assert!(
        found.trim() == expected.trim(),
        "stale cost tables: put the output of `cargo run -p quorate-rss --example cost_tables` between the marks"
    );
}
