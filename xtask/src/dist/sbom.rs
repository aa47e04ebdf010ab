//! The parts of the program as a CycloneDX document. No time and no random number stand in it.

use crate::licences::Tree;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use toml_edit::{Document, Item};

/// Our version, all crates in it, and the lock file with their checksums.
pub(super) fn cyclonedx(version: &str, shipped: &Tree, lock: &str) -> Result<String, String> {
    let checksums = checksums(lock)?;
    let component = |((name, version), part): (&(String, String), &crate::licences::Shipped)| {
        let purl = format!("pkg:cargo/{name}@{version}");
        let sum =
            checksums.get(&(name.clone(), version.clone())).ok_or(format!("Cargo.lock: no checksum of {name} {version}"))?;
        Ok(json!({
            "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
            "licenses": [{ "expression": part.licence.replace('/', " OR ") }],
            "hashes": [{ "alg": "SHA-256", "content": sum }],
        }))
    };
    let components = shipped.iter().map(component).collect::<Result<Vec<Value>, String>>()?;
    let document = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application", "bom-ref": "fairground", "name": "fairground", "version": version,
            "licenses": [{ "expression": "GPL-2.0-only" }],
        }},
        "components": components,
    });
    Ok(format!("{document:#}\n"))
}

/// Checksums of the lock file by name and version.
fn checksums(lock: &str) -> Result<BTreeMap<(String, String), String>, String> {
    let document: Document<String> = lock.parse().map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = document.get("package").and_then(Item::as_array_of_tables);
    let row = |package: &toml_edit::Table| {
        let text = |key: &str| package.get(key)?.as_str().map(str::to_string);
        Some(((text("name")?, text("version")?), text("checksum")?))
    };
    Ok(packages.into_iter().flatten().filter_map(row).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::licences::Shipped;

    #[test]
    fn each_part_has_its_licence_and_checksum_and_one_without_is_refused() {
        let lock = "[[package]]\nname = \"ctrlc\"\nversion = \"3.5.2\"\nchecksum = \"ab12\"\n\n[[package]]\nname = \"x\"\nversion = \"1.0.0\"\n";
        let part = |name: &str, version: &str| {
            let shipped = Shipped { licence: "MIT/Apache-2.0".to_string(), by: ["fairground_cli".to_string()].into() };
            ((name.to_string(), version.to_string()), shipped)
        };
        let made = cyclonedx("0.1.0", &[part("ctrlc", "3.5.2")].into(), lock).unwrap();
        let document: Value = serde_json::from_str(&made).unwrap();
        let found = &document["components"][0];
        assert_eq!(found["purl"], "pkg:cargo/ctrlc@3.5.2");
        assert_eq!(found["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(found["hashes"][0]["content"], "ab12");
        assert!(cyclonedx("0.1.0", &[part("x", "1.0.0")].into(), lock).is_err());
    }
}
