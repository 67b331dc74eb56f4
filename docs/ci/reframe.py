"""storage-check as a check of ReFrame (reframe-hpc 4): red where the drive became worse, or where nothing is known.

    reframe -c reframe.py -r -S storage_check.target=/scratch -S storage_check.profile=ci

The baselines lie beside this file, in baselines/. Every figure goes into ReFrame's performance log under its id.
"""

import json
import os

import reframe as rfm
import reframe.utility.sanity as sn


@rfm.simple_test
class storage_check(rfm.RunOnlyRegressionTest):
    descr = 'the drive is as good as its baseline'
    valid_systems = ['*']
    valid_prog_environs = ['*']
    sourcesdir = None
    executable = 'storage-check'
    # The program locks the drive, and whoever shares it would be measured too.
    num_tasks = 1
    exclusive_access = True

    target = variable(str, value='.')
    profile = variable(str, value='ci')
    baselines = variable(str, value='')

    @run_before('run')
    def ask_for_one_report(self):
        baselines = self.baselines or os.path.join(self.prefix, 'baselines')
        self.executable_opts = [
            'run', '--target', f"'{self.target}'", '--profile', f"'{self.profile}'",
            '--baselines', f"'{baselines}'", '--format', 'json',
        ]
        self.keep_files = ['storage-check-runs']

    def report(self):
        """The report, as `storage-check run --format json` prints it."""
        with open(os.path.join(self.stagedir, self.stdout.evaluate())) as out:
            return json.load(out)

    @sanity_function
    def is_not_worse(self):
        try:
            report = self.report()
        except ValueError:
            return sn.assert_true(False, msg='there is no report: see the error output of the job')
        return sn.assert_in(report['verdict'], ['held', 'improved'], msg=report['headline'])

    @run_before('performance')
    def log_figures(self):
        measured = [metric for metric in self.report()['metrics'] if metric['value'] is not None]
        self.perf_variables = {
            metric['id']: sn.make_performance_function(sn.defer(metric['value']), metric['unit'] or 'count')
            for metric in measured
        }
