/** Flags and formats of commands whose checks a pipeline reads. Tested by `test/cli/ci/report.test.ts`. */
import type { FlagSpec } from '../program/spec.ts';

export const reportFormats = ['junit', 'sarif', 'github'] as const;

export const reportFlags = {
  report: {
    type: 'strings',
    value: 'FILE',
    description: 'Also write the checks to this file: *.xml is JUnit, *.sarif is SARIF 2.1.0; repeatable',
  },
  annotate: {
    type: 'boolean',
    description: 'Also annotate the job of GitHub Actions, and write its step summary',
  },
} as const satisfies Readonly<Record<string, FlagSpec>>;
