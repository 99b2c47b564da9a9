/** A bundle as a user exports it: recorded, proved and written by the tool, beside the plane's trust file. */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import type { Bundle } from '../../../src/core/proofs/bundle.ts';
import { startPlaneProcess, type PlaneProcess } from '../../real/support/plane.ts';
import { projectRoot } from '../../paths.ts';

export interface Exported {
  readonly plane: PlaneProcess;
  readonly file: string;
  readonly bundle: Bundle;
  /** The log's Ed25519 key as its trust file has it. */
  readonly vkey: string;
}

/** `run.govproof.json` in a plane's folder, of the recorded run that the tool ships. */
export async function exportBundle(): Promise<Exported> {
  const plane = await startPlaneProcess();
  write(plane, 'mixed.json', JSON.stringify(mixed()));
  await plane.run(['events', 'push', 'mixed.json', '--batch-size', '100']);
  const runId = 'payables-2026-11-20';
  const created = await plane.run(['proofs', 'create', '--run', runId, '-o', 'id']);
  const file = join(plane.folder, 'run.govproof.json');
  await plane.run(['proofs', 'get', created.stdout.trim(), '--bundle', '--out', file]);
  const vkey = /^log (\S+)$/m.exec(plane.trust)?.[1] ?? '';
  return { plane, file, bundle: JSON.parse(readFileSync(file, 'utf8')) as Bundle, vkey };
}

/** Events of another run between each and the next, so that the run is scattered over several tiles. */
function mixed(): unknown[] {
  const recording = readFileSync(join(projectRoot, 'test/interop/support/payables.json'), 'utf8');
  const events = JSON.parse(recording) as Record<string, unknown>[];
  const other = { ...events[0], clientEventId: undefined, causedBy: undefined, runId: 'other' };
  return events.flatMap((event, at) => [...Array.from({ length: at }, () => other), event]);
}

/** The text with one character of its alphabet replaced, `from` its end. */
function oneByte(text: string, from: number): string {
  const at = text.length - from;
  return `${text.slice(0, at)}${text[at] === '4' ? '5' : '4'}${text.slice(at + 1)}`;
}

type Path = readonly (string | number)[];

/** Places of a bundle where one changed byte must be seen: name, path to a text, place from its end. */
export const vitalBytes: readonly (readonly [string, Path, number])[] = [
  ['the proof hash', ['proof', 'proofHash'], 1],
  ['the preimage of the proof', ['proofPreimage'], 40],
  ['a layer statement', ['layerStatements', 'event_integrity'], 60],
  ['the record of the proof', ['proofLeaf', 'record'], 30],
  ['the path of the proof', ['proofLeaf', 'inclusion', 0], 1],
  ['the consistency path', ['consistency', 0], 1],
  ['the record of an event', ['events', 3, 'record'], 30],
  ['the path of the events', ['eventsInclusion', 0], 1],
];

/** The bundle with one byte changed, as the plane would write it. */
export function withOneByte(bundle: Bundle, path: Path, from: number): string {
  const copy = structuredClone(bundle) as unknown as Record<string | number, never>;
  let at: Record<string | number, never> = copy;
  for (const step of path.slice(0, -1)) at = at[step] ?? ({} as never);
  const last = path.at(-1) ?? '';
  at[last] = oneByte(at[last] ?? '', from) as never;
  return canonicalize(copy as unknown as Json);
}

/** The bundle with one byte of the text, or of the first signature, of a note changed. */
export function withSpoiledNote(
  bundle: Bundle,
  note: 'checkpoint' | 'proofCheckpoint',
  where: 'text' | 'signature',
): string {
  const text = bundle[note];
  const end = where === 'text' ? text.indexOf('\n\n') - 8 : text.indexOf('\n', text.indexOf('\n\n') + 2) - 20;
  const changed = `${oneByte(text.slice(0, end), 1)}${text.slice(end)}`;
  return canonicalize({ ...bundle, [note]: changed } as unknown as Json);
}

/** Whether a program is on this machine. */
export const has = (program: string): boolean =>
  spawnSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' }).status === 0;

export const write = (plane: PlaneProcess, name: string, text: string): string => {
  const file = join(plane.folder, name);
  writeFileSync(file, text);
  return file;
};
