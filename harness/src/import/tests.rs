//! Claims about whole files: which series they hold, what is said of them, and what is refused.

use super::*;

fn source<'a>(name: &'a str, text: &'a str) -> Source<'a> {
    Source { name, bytes: text.as_bytes() }
}

fn import_with(files: &[(&str, &str)], options: &Options) -> (Vec<Imported>, Vec<Refusal>) {
    let sources: Vec<Source<'_>> = files.iter().map(|(name, text)| source(name, text)).collect();
    import(&sources, options)
}

/// Files are accepted; each series is (kind, part, milliseconds and bytes of its steps).
type Expected<'a> = (&'a str, Option<&'a str>, &'a [(u64, u64)]);

#[track_caller]
fn check(files: &[(&str, &str)], options: &Options, expect: &[Expected<'_>], said: &[&str]) {
    let (found, refused) = import_with(files, options);
    assert_eq!(refused, [], "{files:?}");
    let steps = |series: &Imported| -> Vec<(u64, u64)> {
        series.steps.iter().map(|step| (step.elapsed_ns.0 / 1_000_000, step.bytes.0)).collect()
    };
    let got: Vec<_> = found.iter().map(|series| (series.kind, series.part.as_deref(), steps(series))).collect();
    let want: Vec<_> = expect.iter().map(|(kind, part, steps)| (*kind, *part, steps.to_vec())).collect();
    assert_eq!(got, want, "{files:?}");
    let warnings: Vec<&str> = found.iter().flat_map(|series| &series.warnings).map(String::as_str).collect();
    assert_eq!(warnings.len(), said.len(), "{warnings:#?}");
    assert!(warnings.iter().zip(said).all(|(text, part)| text.contains(part)), "{warnings:#?} instead of {said:?}");
}

#[track_caller]
fn refused(name: &str, text: &str, line: Option<usize>, why: &str) {
    let (found, refused) = import_with(&[(name, text)], &Options::default());
    assert_eq!(found, [], "{text}");
    let fits = refused.len() == 1 && refused[0].line == line && refused[0].reason.contains(why);
    assert!(fits, "{text}: {refused:?} instead of {line:?} {why}");
}

const BW: &str = "1000, 100, 1, 0, 0\n2000, 200, 1, 0, 0\n3000, 300, 1, 0, 0\n";
const BW_STEPS: &[(u64, u64)] = &[(1000, 102_400), (1000, 204_800), (1000, 307_200)];

#[test]
fn a_bandwidth_log_is_in_kib_in_all_dialects() {
    let dialects = [
        BW.to_owned(),
        BW.replace(", 0, 0\n", ", 0\n"),
        BW.replace(", 0, 0\n", ", 4096, 0\n"),
        BW.replace(", 0, 0\n", ", 0, 12288, 0\n"),
        BW.replace(", 0, 0\n", ", 0, 12288, 0x0004\n"),
        BW.replace(", 0, 0\n", ", 0, 12288, 0, 999\n"),
        BW.replace(' ', ""),
        BW.replace('\n', "\r\n"),
    ];
    for text in dialects {
        check(&[("x_bw.1.log", &text)], &Options::default(), &[("write", None, BW_STEPS)], &[]);
    }
}

#[test]
fn jobs_of_a_run_are_summed_and_directions_are_not() {
    let read = BW.replace(", 1, 0, 0", ", 0, 0, 0");
    let files = [("x_bw.1.log", BW), ("x_bw.2.log", BW), ("x_bw.3.log", &read), ("y_bw.1.log", BW)];
    let twice: &[(u64, u64)] = &[(1000, 204_800), (1000, 409_600), (1000, 614_400)];
    let expect = [("write", None, twice), ("read", None, BW_STEPS), ("write", None, BW_STEPS)];
    check(&files, &Options::default(), &expect, &["2 jobs were summed"]);
    let apart = Options { jobs: Jobs::Apart, ..Options::default() };
    check(&files[..2], &apart, &[("write", None, BW_STEPS), ("write", None, BW_STEPS)], &[]);
    let all = Options { jobs: Jobs::Sum, ..Options::default() };
    check(&[files[0], files[3]], &all, &[("write", None, twice)], &["x_bw.1.log and 1 more"]);
}

#[test]
fn mixed_directions_are_separated() {
    let mixed = "1000, 100, 1, 0\n1000, 7, 0, 0\n2000, 200, 1, 0\n2000, 8, 0, 0\n3000, 300, 1, 0\n3000, 9, 0, 0\n";
    let reads: &[(u64, u64)] = &[(1000, 7168), (1000, 8192), (1000, 9216)];
    let expect = [("read", None, reads), ("write", None, BW_STEPS)];
    check(&[("x_bw.log", mixed)], &Options::default(), &expect, &["read and write are mixed", "mixed"]);
}

#[test]
fn two_jobs_in_one_file_are_two_series_unless_they_ran_together() {
    let two = format!("{BW}{BW}");
    let expect = [("write", Some("job 1 of 2"), BW_STEPS), ("write", Some("job 2 of 2"), BW_STEPS)];
    check(&[("x_bw.log", &two)], &Options::default(), &expect, &["x_bw.log:4: the clock restarts", "restarts"]);
    let together = Options { jobs: Jobs::Sum, ..Options::default() };
    let twice: &[(u64, u64)] = &[(1000, 204_800), (1000, 409_600), (1000, 614_400)];
    check(&[("x_bw.log", &two)], &together, &[("write", None, twice)], &["2 jobs", "restarts"]);
}

#[test]
fn an_iops_log_needs_a_block_size() {
    let iops = "1000, 10, 1, 0\n2000, 20, 1, 0\n3000, 30, 1, 0\n";
    refused("x_iops.log", iops, Some(1), "--block-size");
    let beside = [("x_iops.1.log", iops), ("x_bw.1.log", BW)];
    check(&beside, &Options::default(), &[("write", None, BW_STEPS)], &["x_iops.1.log: left out"]);
    let (_, both) = import_with(&[("x_iops.log", &format!("{iops}{iops}"))], &Options::default());
    assert!(both.len() == 2 && both[0].line == Some(4) && both[0].reason.contains("restarts"), "{both:?}");
    let steps: &[(u64, u64)] = &[(1000, 40_960), (1000, 81_920), (1000, 122_880)];
    let given = Options { block_size: Some(Bytes(4096)), ..Options::default() };
    check(&[("x_iops.log", iops)], &given, &[("write", None, steps)], &["4096 bytes each"]);
    let with = iops.replace(", 1, 0", ", 1, 4096");
    check(&[("x_iops.log", &with)], &Options::default(), &[("write", None, steps)], &[]);
    refused("x_iops.log", &with.replacen("4096", "512", 1), Some(2), "block sizes vary");
    refused("x_iops.log", "1, 1, 1, 8192\n2, 1, 1, 8192\n9, 1, 1, 8192\n", Some(1), "one row an I/O");
}

#[test]
fn a_latency_log_gives_latencies_and_no_throughput() {
    let log = "1000, 1000, 1, 0, 0\n2000, 3000, 1, 0, 0\n3000, 2000, 1, 0, 0\n";
    let (found, refused) = import_with(&[("x_clat.1.log", log)], &Options::default());
    assert_eq!(refused, []);
    let latency = found[0].latency.unwrap();
    assert_eq!((found[0].kind, found[0].steps.len(), latency.of, latency.count), ("latency", 0, "windows", 3));
    assert_eq!((latency.mean_us, latency.p50_us, latency.max_us), (2.0, 2.0, 3.0));
    let both = "1000, 1000, 5000, 1, 0, 0\n2000, 3000, 6000, 1, 0, 0\n";
    let (found, refused) = import_with(&[("x_lat.log", both)], &Options::default());
    assert_eq!((refused.len(), found[0].latency.unwrap().max_us), (0, 3.0));
}

#[test]
fn what_is_no_row_is_refused_with_its_line() {
    let name = "x_bw.log";
    refused(name, "", None, "empty");
    refused(name, "hello\n", Some(1), "begins no fio log");
    refused(name, &format!("{BW}4000, 100, 1\n"), Some(4), "3 columns");
    refused(name, &format!("{BW}4000, 1e3, 1, 0, 0\n"), Some(4), "no whole number");
    refused(name, &format!("{BW}4000, 100, 3, 0, 0\n"), Some(4), "direction");
    refused(name, &format!("{BW}4000, -1, 1, 0, 0\n"), Some(4), "no whole number");
    refused(name, &format!("{BW}4000, 99999999999999999, 1, 0, 0\n"), Some(4), "no rate of a drive");
    refused(name, &format!("{BW}99999999999999999, 1, 1, 0, 0\n"), Some(4), "too late");
    refused("x.log", BW, None, "--log");
    refused("x_clat_hist.1.log", "1, 2, 3, 4, 5, 6, 7, 8, 9\n", Some(1), "histogram");
}

#[test]
fn a_torn_last_row_is_dropped_and_said() {
    for cut in ["4", "4000, 4", "4000, 400, 1, 0", "4000, 400, 1, 0, "] {
        let torn = format!("{BW}{cut}");
        let said = ["x_bw.log:4: the last row is cut"];
        check(&[("x_bw.log", &torn)], &Options::default(), &[("write", None, BW_STEPS)], &said);
    }
}

#[test]
fn csv_headers_carry_the_units() {
    let steps: &[(u64, u64)] = &[(10_000, 10_485_760), (10_000, 20_971_520)];
    let check = |text: &str, kind: &str, steps: &[(u64, u64)], said: &[&str]| {
        check(&[("x.csv", text)], &Options::default(), &[(kind, None, steps)], said);
    };
    check("t_s,mib_s\n10,1.0\n20,2.000\n", "random-write", steps, &[]);
    check("t_ms,kib_s\n10000,1024\n20000,2048\n", "random-write", steps, &[]);
    let decimal: &[(u64, u64)] = &[(10_000, 10_000_000), (10_000, 20_000_000)];
    check("\u{feff}T_s,MB_s\r\n10,1\r\n20,2\r\n", "random-write", decimal, &[]);
    let chunks: &[(u64, u64)] = &[(1000, 79_691_776), (2000, 79_691_776)];
    check("offset_mib,mib_s\n0,76\n76,38\n", "fill", chunks, &["last chunk"]);
    check("t_s,mib_s\n10,1.0\n20,2.0\n30,7", "random-write", steps, &["may be cut"]);
    refused("x.csv", "time,rate\n1,2\n", Some(1), "no header with units");
    refused("x.csv", "t_s,mib_s\n", Some(1), "no row");
    refused("x.csv", "t_s,mib_s\n1,nan\n", Some(2), "no decimal");
    refused("x.csv", "offset_mib,mib_s\n0,76\n76,0\n", Some(3), "cannot have been written");
    refused("x.csv", "offset_mib,mib_s\n76,76\n0,5\n", Some(3), "in the order");
}

#[test]
fn sysbench_intervals_are_found_among_its_output() {
    let new = "sysbench 1.0.20\n[ 5s ] reads: 2.00 MiB/s writes: 1.00 MiB/s fsyncs: 399.00/s latency (ms,95%): 0.989\n\
               [ 10s ] reads: 0.00 MiB/s writes: 0.00 MiB/s fsyncs: 0.00/s latency (ms,95%): 0.001\nThroughput:\n";
    let (reads, writes): (&[_], &[_]) = (&[(5000, 10_485_760), (5000, 0)], &[(5000, 5_242_880), (5000, 0)]);
    let expect = [("read", None, reads), ("write", None, writes)];
    check(&[("out.txt", new)], &Options::default(), &expect, &[]);
    let old = new.replace("MiB/s", "MB/s").replace("[ 5s ]", "[   5s]");
    check(&[("out.txt", &old)], &Options::default(), &expect, &["before 1.0", "before 1.0"]);
    refused("out.txt", "sysbench 1.0.20\nThroughput:\n", None, "--report-interval");
    refused("out.txt", &new.replace("[ 10s ] reads", "[ 10s ]!reads"), Some(3), "no interval");
    refused("out.txt", &new.replace("writes: 1.00", "writes: -1.00"), Some(2), "no decimal");
}

const JSON: &str = r#"fio: a warning
{
  "fio version" : "fio-3.33",
  "jobs" : [
    { "jobname": "a", "groupid": 0, "job options": {"rw": "randwrite"},
      "read": {"io_bytes": 0, "io_kbytes": 0, "runtime": 0},
      "write": {"io_bytes": 4000, "io_kbytes": 3, "runtime": 2000,
        "clat_ns": {"N": 9, "mean": 2000.5, "max": 9000, "percentile": {"50.000000": 2000, "99.000000": 8000}}},
      "steadystate": {"ss": "iops:10%", "duration": 2, "attained": 1, "data": {"bw": [1000, 3000]}} },
    { "jobname": "b", "groupid": 1, "write": {"io_bytes": 5000, "io_kbytes": 4, "runtime": 1000} }
  ]
}
trailing words
"#;

#[test]
fn fio_json_gives_totals_and_the_window_that_fio_judged() {
    let (totals, window, other): (&[_], &[_], &[_]) = (&[(2000, 4000)], &[(1000, 1000), (1000, 3000)], &[(1000, 5000)]);
    let expect = [
        ("random-write", Some("group 0"), totals),
        ("random-write", Some("steady-state window"), window),
        ("write", Some("group 1"), other),
    ];
    let said = ["totals", "before the JSON", "calls attained", "before the JSON", "totals", "before the JSON"];
    check(&[("x.json", JSON)], &Options::default(), &expect, &said);
    let (found, _) = import_with(&[("x.json", JSON)], &Options::default());
    assert_eq!(found[0].latency.map(|latency| (latency.of, latency.p99_us)), Some(("ios", 8.0)));
}

#[test]
fn fio_json_that_is_cut_off_gives_its_whole_jobs() {
    let cut = &JSON[..JSON.find("\"b\"").unwrap()];
    let (found, refusals) = import_with(&[("x.json", cut)], &Options::default());
    assert_eq!((found.len(), refusals.len()), (2, 0));
    assert!(
        found[0].warnings.iter().any(|text| text.starts_with("x.json:10: the JSON is cut off: its first 1 jobs")),
        "{found:?}"
    );
    refused("x.json", &JSON[..JSON.find("\"write\"").unwrap()], Some(6), "cut off before its first job ends");
    refused("x.json", &JSON.replacen("4000,", "4000;", 1), Some(7), "no JSON of fio's");
    refused("x.json", "{\"other\": 1}\n", None, "not fio's");
}

#[test]
fn our_own_samples_come_back_phase_by_phase() {
    let mut text = format!("{}\n", samples::HEADER);
    for (phase, segment, ms, bytes) in
        [("fill.write", 0, 0, 5), ("fill.write", 1, 100, 6), ("random_write.50pct.write", 0, 200, 7)]
    {
        let sample = crate::sample::Sample {
            segment,
            start_ns: Nanos::from_millis(ms),
            elapsed_ns: Nanos::from_millis(100),
            bytes: Bytes(bytes),
            ..Default::default()
        };
        text = text + &samples::row(phase, &sample) + "\n";
    }
    let (fill, random): (&[_], &[_]) = (&[(100, 5), (100, 6)], &[(100, 7)]);
    let expect = [("fill", Some("fill.write"), fill), ("random-write", Some("random_write.50pct.write"), random)];
    check(&[("samples.csv", &text)], &Options::default(), &expect, &[]);
    let (found, _) = import_with(&[("samples.csv", &text)], &Options::default());
    assert_eq!(found[0].segments, [Bytes(0), Bytes(5)]);
    refused("samples.csv", "phase,interval,bytes\n", Some(1), "the header");
}
