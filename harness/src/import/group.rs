//! Which tracks are one series: the jobs of one run are summed, directions and runs stay apart.

use super::track::Track;
use super::{Imported, Jobs, sum};
use crate::analysis::series::Step;

/// What was read, in the order of the files.
#[derive(Debug)]
pub(super) enum Member {
    /// One job's.
    Track(Track),
    /// Complete as it is.
    Series(Imported),
}

/// The series, each at the place of its first member.
pub(super) fn together(members: Vec<Member>, jobs: Jobs) -> Vec<Imported> {
    let mut groups: Vec<Result<Vec<Track>, Imported>> = Vec::new();
    for member in members {
        match member {
            Member::Series(series) => groups.push(Err(series)),
            Member::Track(track) => {
                let same = |group: &&mut Result<Vec<Track>, Imported>| {
                    group.as_ref().is_ok_and(|tracks| tracks.iter().all(|other| belong(other, &track, jobs)))
                };
                match groups.iter_mut().find(same) {
                    Some(Ok(tracks)) => tracks.push(track),
                    _ => groups.push(Ok(vec![track])),
                }
            }
        }
    }
    groups.into_iter().flat_map(|group| group.map_or_else(|series| vec![series], summed)).collect()
}

fn belong(a: &Track, b: &Track, jobs: Jobs) -> bool {
    let family = match jobs {
        Jobs::Apart => false,
        Jobs::Sum => true,
        // What one file holds one after the other ran that way.
        Jobs::ByName => a.family == b.family && a.file != b.file && a.part.is_none() && b.part.is_none(),
    };
    family && a.kind == b.kind
}

/// The sum of tracks that belong together, or each by itself where they cannot be summed.
fn summed(tracks: Vec<Track>) -> Vec<Imported> {
    if let [track] = &tracks[..] {
        return vec![alone(track, &[])];
    }
    match sum::sum(&tracks) {
        Ok((steps, done)) => {
            let mut files: Vec<String> = Vec::new();
            for track in &tracks {
                if !files.contains(&track.file) {
                    files.push(track.file.clone());
                }
            }
            let mut warnings = done;
            for warning in tracks.iter().flat_map(|track| &track.warnings) {
                if !warnings.contains(warning) {
                    warnings.push(warning.clone());
                }
            }
            vec![Imported { files, kind: tracks[0].kind, steps, warnings, ..Imported::default() }]
        }
        Err(why) => tracks.iter().map(|track| alone(track, std::slice::from_ref(&why))).collect(),
    }
}

fn alone(track: &Track, more: &[String]) -> Imported {
    Imported {
        files: vec![track.file.clone()],
        kind: track.kind,
        part: track.part.map(|(at, of)| format!("job {at} of {of}")),
        steps: track.steps().map(|(elapsed_ns, bytes)| Step { elapsed_ns, bytes }).collect(),
        warnings: more.iter().chain(&track.warnings).cloned().collect(),
        ..Imported::default()
    }
}
