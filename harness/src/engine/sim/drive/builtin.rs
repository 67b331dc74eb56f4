//! The drives that come with the program.

/// Name and text of each.
pub(super) const DRIVES: [(&str, &str); 10] = [
    ("fusion-1tb", include_str!("../../../../drives/fusion-1tb.toml")),
    ("fusionio-320-mlc", include_str!("../../../../drives/fusionio-320-mlc.toml")),
    ("intel-320", include_str!("../../../../drives/intel-320.toml")),
    ("consumer-tlc", include_str!("../../../../drives/consumer-tlc.toml")),
    ("qlc-two-cliffs", include_str!("../../../../drives/qlc-two-cliffs.toml")),
    ("dc-nvme-960", include_str!("../../../../drives/dc-nvme-960.toml")),
    ("hdd-zones", include_str!("../../../../drives/hdd-zones.toml")),
    ("smr", include_str!("../../../../drives/smr.toml")),
    ("cloud-burst", include_str!("../../../../drives/cloud-burst.toml")),
    ("never-steady", include_str!("../../../../drives/never-steady.toml")),
];

/// The text of a built-in drive.
pub(super) fn text(name: &str) -> Option<&'static str> {
    DRIVES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
