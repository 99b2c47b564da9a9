/**
 * Raw recordings of a verifier: each is counted again and compared with the events of a proof.
 * Tested by `test/cli/commands/proofs/recording.test.ts`.
 */
import { readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { limits } from '../../contract/limits.ts';
import type { BundleEvent } from '../../core/proofs/bundle.ts';
import { openEventDisclosures } from '../../core/proofs/disclosed.ts';
import { EventReader, FrameReader } from '../../core/proofs/read-bundle.ts';
import { readStatement } from '../../core/proofs/statement.ts';
import { openEvent } from '../../core/events/record.ts';
import type { ShownEvent, ShownRun } from '../../core/intake/repeat.ts';
import { isUnread, type CheckResult, type ProofVerdict } from '../../core/proofs/verdict.ts';
import { exit, usage } from '../program/exit.ts';
import { unreadable } from '../program/flags.ts';
import type { RepeatableSource } from '../terminal/spool.ts';
import { exitOfVerdict, type ShownVerdict } from '../terminal/verdict.ts';

/** Errors: exit 2 for a file that cannot be read, or is too large for an import. */
export function readRecording(path: string): Buffer {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (cause) {
    throw unreadable(path, cause);
  }
  if (bytes.length <= limits.importBytes) return bytes;
  throw usage(`${path}: expected at most ${limits.importBytes} bytes, got ${bytes.length}`);
}

/** Adds a check for each recording. One that fails takes the verdict back. Errors: exit 2 for an unreadable file. */
export async function withRecordings(
  verdict: ProofVerdict & ShownVerdict,
  {
    read,
    files,
    cwd,
  }: { readonly read: RepeatableSource['read']; readonly files: readonly string[]; readonly cwd: string },
): Promise<ShownVerdict & ProofVerdict> {
  const { runId, code } = verdict;
  if (files.length === 0 || runId === null || isUnread(code)) return verdict;
  const fault = faultUnder(verdict);
  const run = fault === null ? await shownRun(read) : null;
  const { repeatRecording } = await import('../../core/intake/repeat.ts');
  const checks = files.map((file): CheckResult => {
    const bytes = readRecording(resolve(cwd, file));
    if (run === null) return { ...notChecked, detail: `${file}: ${fault ?? ''}` };
    const found = repeatRecording({ name: basename(file), bytes, runId }, run);
    const detail = `${file}: ${found.detail}`;
    if (found.code === null) return { id: 'recording', result: 'passed', detail };
    return { id: 'recording', result: 'failed', code: found.code, detail };
  });
  const all = { ...verdict, checks: [...verdict.checks, ...checks] };
  const failed = checks.find(({ result }) => result !== 'passed');
  if (failed === undefined) return all;
  // what failed before stays the reason, but for a broken policy, which has an exit code of its own
  const isOther = !verdict.verified && exitOfVerdict(verdict) !== exit.notCompliant;
  return { ...all, verified: false, code: isOther ? code : (failed.code ?? 'RECORDING_NOT_SHOWN') };
}

const notChecked = { id: 'recording', result: 'not_checked' } as const;

/** What the comparison rests on, and does not have; null where it can be made. */
function faultUnder({ checks }: ProofVerdict): string | null {
  const failed = checks.find(
    ({ id, result }) => (id === 'events' || id === 'disclosures') && result === 'failed',
  );
  return failed === undefined ? null : `it rests on ${failed.id}, which failed`;
}

async function shownRun(read: RepeatableSource['read']): Promise<ShownRun> {
  const repeat = await import('../../core/intake/repeat.ts');
  const run = new repeat.ShownRun();
  const frame = new FrameReader();
  let enclosed = 0;
  const events = new EventReader((event) => {
    enclosed += 1;
    run.add(shownOf(event));
  });
  for await (const chunk of read()) frame.push(chunk);
  for await (const chunk of read()) events.push(chunk);
  events.end();
  const [statement = ''] = Object.values(frame.end().layerStatements);
  run.hidden += Math.max(0, (readStatement(statement)?.evidence.runEvents ?? 0) - enclosed);
  return run;
}

/** Null for an event that the bundle does not show whole. */
function shownOf(event: BundleEvent): ShownEvent | null {
  const { bodies } = openEventDisclosures(event);
  return bodies === null ? null : openEvent(event.index, event.record, bodies);
}
