//! The profiles that come with the program.

use super::profile::{Profile, ProfileError};

/// Name and text of each built-in profile, the default one first.
pub const PROFILES: [(&str, &str); 6] = [
    ("quick", include_str!("../../profiles/quick.toml")),
    ("ci", include_str!("../../profiles/ci.toml")),
    ("acceptance", include_str!("../../profiles/acceptance.toml")),
    ("fill-volume", include_str!("../../profiles/fill-volume.toml")),
    ("space-throughput", include_str!("../../profiles/space-throughput.toml")),
    ("snia-wsat", include_str!("../../profiles/snia-wsat.toml")),
];

/// The text of a built-in profile.
#[must_use]
pub fn text(name: &str) -> Option<&'static str> {
    PROFILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// A built-in profile.
///
/// # Errors
/// Lists the names there are.
pub fn profile(name: &str) -> Result<Profile, ProfileError> {
    match text(name) {
        Some(text) => Profile::parse(text),
        None => {
            let names: Vec<&str> = PROFILES.iter().map(|(name, _)| *name).collect();
            let nearest = names
                .iter()
                .copied()
                .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
            let hint = nearest.filter(|near| strsim::jaro_winkler(near, name) > 0.8);
            let hint = hint.map_or(String::new(), |near| format!("did you mean {near:?}? "));
            Err(ProfileError::unknown(format!(
                "no built-in profile and no file is named {name:?}: {hint}built in are {}",
                names.join(", ")
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_profile_is_valid_and_bears_its_name() {
        for (name, text) in PROFILES {
            let profile = Profile::parse(text).unwrap_or_else(|why| panic!("{name}: {why}"));
            assert_eq!(profile.name, name);
            assert!(!profile.description.is_empty(), "{name} says what it is for");
        }
    }

    /// A fingerprint that changes orphans every baseline made with it. When this test fails, either the change
    /// was not meant to alter what is measured, or the profile's `version` is to be raised as well.
    #[test]
    fn fingerprints_are_golden() {
        let golden = PROFILES.map(|(name, _)| format!("{name} {}", profile(name).unwrap().fingerprint()));
        assert_eq!(
            golden,
            [
                "quick 2dddf8e25e556c98",
                "ci b2d41feb50f80e3e",
                "acceptance fd453d9cb2dc094a",
                "fill-volume f5b243b774d05301",
                "space-throughput 730b88907ff71772",
                "snia-wsat 3a0355f628aa290f",
            ]
        );
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let why = profile("quik").unwrap_err().to_string();
        assert!(why.contains("did you mean \"quick\"") && why.contains("snia-wsat"), "{why}");
    }
}
