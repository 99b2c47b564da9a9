/**
 * What `gov quickstart` shows of a run: its record, its proof, the verification without network, and a changed copy that
 * fails. Tested by `test/cli/commands/quickstart/run.test.ts`.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '../../client/create.ts';
import type { Trust } from '../../core/note/trust.ts';
import type { ProofVerdict } from '../../core/proofs/verdict.ts';
import { verifyBundle } from '../../core/proofs/verify.ts';
import { CliError, exit } from '../program/exit.ts';
import { counted } from '../terminal/numbers.ts';
import type { Out } from '../terminal/out.ts';
import { safe, type Safe } from '../terminal/safe.ts';
import { treeLines } from '../terminal/tree.ts';
import { completenessLines } from '../terminal/verdict.ts';
import { wrapped } from '../terminal/width.ts';
import { tamper } from './tamper.ts';

/** Lines of the tree to show; the output counts the rest. */
const shownLines = 40;

/** Files of the kept folder. */
export const proofFile = 'run.govproof.json';
const tamperedFile = 'tampered.govproof.json';

export interface QuickstartProof {
  readonly runId: string;
  readonly events: number;
  readonly proofId: string;
  readonly proofHash: string;
  readonly verified: boolean;
  readonly authentic: boolean;
  readonly compliant: ProofVerdict['compliant'];
  readonly tamperedRefused: boolean;
}

interface Scene {
  readonly client: Client;
  readonly out: Out;
  readonly runId: string;
  readonly trust: Trust;
  readonly folder: string;
}

/** Prints a heading and its detail, wrapped to the terminal. */
export async function step(out: Out, what: string, detail: string): Promise<void> {
  if (out.isJson) return;
  const columns = out.settings.tty ? Math.min(out.settings.columns, 100) : 100;
  const [first = '', ...rest] = wrapped(`${what}  ${detail}`, columns);
  const isSplit = !first.startsWith(what);
  const head = isSplit ? safe`${first}` : safe`${out.styles.bold(what)}${first.slice(what.length)}`;
  await out.lines([safe``, head, ...rest.map((line) => safe`${line}`)]);
}

export async function proveRun(scene: Scene): Promise<QuickstartProof> {
  const { client, out, runId, trust, folder } = scene;
  const { body: recorded } = await client.countEvents({ query: { runId } });
  await step(out, 'Recorded', `${counted(recorded.count, 'event')} of run ${runId}. Who caused what:`);
  await tree(scene);
  const proof = (await client.createProof({ body: { runId } })).body;
  if (!('proofId' in proof)) throw new CliError(exit.error, `expected the proof of ${runId}, got a job`);
  const bundle = await client.getProofBundle({
    params: { proofId: proof.proofId },
    query: { events: 'disclosed' },
  });
  writeFileSync(join(folder, proofFile), bundle.bytes, { mode: 0o600 });
  const verdict = verifyBundle(bundle.bytes, trust);
  await step(out, 'Proved', `${proof.proofId}, verified without network or store:`);
  if (!out.isJson) await out.lines(verdictLines(verdict, out));
  const tamperedRefused = await refusal(scene, bundle.bytes);
  return {
    runId,
    events: recorded.count,
    proofId: proof.proofId,
    proofHash: proof.proofHash,
    verified: verdict.verified,
    authentic: verdict.authentic,
    compliant: verdict.compliant,
    tamperedRefused,
  };
}

/** The two questions, and whether events are missing. */
function verdictLines(verdict: ProofVerdict, { styles }: Out): Safe[] {
  const { green, red, yellow, bold } = styles;
  const governed = {
    yes: bold(green('compliant ✓')),
    no: bold(red('compliant ✗')),
    not_governed: yellow('compliant: not governed, no policy decided about this run'),
    not_checked: yellow('compliant: not checked'),
  };
  const authentic = verdict.authentic
    ? bold(green('authentic ✓'))
    : bold(red(`authentic ✗ ${verdict.code ?? ''}`));
  return [safe`  ${authentic}  ${governed[verdict.compliant]}`, ...completenessLines(verdict, styles)];
}

/** Returns whether verification rejects the changed copy, as it must. */
async function refusal({ out, trust, folder }: Scene, bytes: Uint8Array): Promise<boolean> {
  const tampered = tamper(bytes);
  if (tampered === null) throw new CliError(exit.error, 'expected a disclosed value to change, found none');
  writeFileSync(join(folder, tamperedFile), tampered.bytes, { mode: 0o600 });
  const verdict = verifyBundle(tampered.bytes, trust);
  await step(out, 'A tampered copy', tampered.change);
  const { red, bold } = out.styles;
  const word = verdict.verified ? 'accepted, which must never happen' : 'refused';
  if (!out.isJson) await out.line(safe`  ${bold(red(`✗ ${word}`))}  ${verdict.code ?? ''}`);
  return !verdict.verified;
}

async function tree({ client, out, runId }: Scene): Promise<void> {
  if (out.isJson) return;
  const { body } = await client.getGraph({ params: { runId } });
  const width = out.settings.tty ? out.settings.columns : Infinity;
  let count = 0;
  for (const line of treeLines(body, { styles: out.styles, width })) {
    count += 1;
    if (count <= shownLines) await out.line(line);
  }
  if (count > shownLines)
    await out.line(out.styles.dim(safe`… and ${counted(count - shownLines, 'line')} more`));
}
