/** Flags and formats of commands whose checks a pipeline reads. Tested by `test/cli/ci/report.test.ts`. */
import { flag } from '../program/spec.ts';
import type { FlagSpec } from '../program/spec.ts';

export const reportFormats = ['junit', 'sarif', 'github'] as const;

export const reportFlags = {
  report: flag.list(
    'FILE',
    'Also write the checks to this file: *.xml is JUnit, *.sarif is SARIF 2.1.0; repeatable',
  ),
  annotate: flag.on('Also annotate the job of GitHub Actions, and write its step summary'),
} as const satisfies Readonly<Record<string, FlagSpec>>;
