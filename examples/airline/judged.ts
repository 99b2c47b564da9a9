/**
 * Findings on calls where policies and tasks disagree, from `judged.json`. A person read each call in its
 * conversation. A missing or superfluous call is an error, so the findings cannot become outdated.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Decided } from './decide.ts';
import { isStopped, isWrite, type Table } from './figures.ts';

interface Verdict {
  /** Stopped although expected, or passed although not expected so. */
  readonly calls: 'stopped' | 'passed';
  readonly verdict: string;
  readonly meaning: string;
  readonly findings: readonly { readonly why: string; readonly calls: readonly string[] }[];
}

const verdicts = JSON.parse(
  readFileSync(join(import.meta.dirname, 'judged.json'), 'utf8'),
) as readonly Verdict[];

const kinds = {
  stopped: 'Stopped, and expected by the task',
  passed: 'Passed, and not expected so by the task',
} as const;

/** The findings, one table for each direction. */
export function byHand(decided: readonly Decided[]): Table[] {
  const writes = decided.filter(isWrite);
  const disagree = {
    stopped: writes.filter((each) => isStopped(each) && each.label === 'as expected'),
    passed: writes.filter((each) => !isStopped(each) && each.label !== 'as expected'),
  };
  return (['stopped', 'passed'] as const).map((kind) => {
    const of = verdicts.filter(({ calls }) => calls === kind);
    check(
      disagree[kind].map(({ call }) => `${call.runId}#${call.number}`),
      of.flatMap(({ findings }) => findings.flatMap(({ calls }) => calls)),
    );
    const rows = of.flatMap(({ verdict, findings }) =>
      findings.map(({ why, calls }) => [verdict, why, calls.length, calls[0] ?? ''] as const),
    );
    const title = `${kinds[kind]}: ${disagree[kind].length} calls, read one by one`;
    return { title, head: ['verdict', 'finding', 'calls', 'such as'], rows };
  });
}

function check(found: readonly string[], judged: readonly string[]): void {
  const missing = found.filter((call) => !judged.includes(call));
  const extra = judged.filter((call, at) => !found.includes(call) || judged.indexOf(call) !== at);
  if (missing.length + extra.length > 0) {
    throw new Error(
      `judged.json: expected ${missing.join(', ') || 'no more'}; too many ${extra.join(', ') || 'none'}`,
    );
  }
}
