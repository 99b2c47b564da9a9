/**
 * `gov quickstart`: runs the main job: starts a plane as a child process, records a run over HTTP, creates its signed
 * proof, verifies it offline, and rejects a tampered copy. Tested by `test/cli/commands/quickstart/run.test.ts`.
 */
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, relative, resolve } from 'node:path';
import { createClient, type Client } from '../../../client/create.ts';
import { limits } from '../../../contract/limits.ts';
import { parseTrust } from '../../../core/note/trust.ts';
import type { Trust } from '../../../core/note/trust.ts';
import { isVacuous, vacuousCodes, type ProofVerdict } from '../../../core/proof/verdict.ts';
import { verifyBundle } from '../../../core/proof/verify.ts';
import type { Invocation, Run } from '../../program/command.ts';
import { updateUserConfig } from '../../context/config-write.ts';
import { CliError, exit } from '../../program/exit.ts';
import type { Out } from '../../terminal/out.ts';
import { startPlane, type DemoPlane } from '../../quickstart/plane.ts';
import { runsOf, shippedRun, type SourceRun } from '../../quickstart/source.ts';
import { tamper } from '../../quickstart/tamper.ts';
import { safe, Safe } from '../../terminal/safe.ts';
import type { quickstart as spec } from './spec.ts';
import { treeLines } from '../../terminal/tree.ts';
import { completenessLine } from '../../terminal/verdict.ts';
import { plainView } from '../../terminal/view.ts';
import { makeFolder } from '../../../client/sending/make-folder.ts';

type Call = Invocation<typeof spec>;

/** Lines of a stream or tree to show; the output counts the rest. */
const shownLines = 40;

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, signal, out } = call;
  const runs = args.file === undefined ? [shippedRun()] : runsOf(args.file, flags.from ?? 'auto');
  const folder = newFolder(flags.data);
  const dataDir = join(folder, 'plane');
  const { planeInit } = await import('../../../../plane/data/init.ts');
  await planeInit({ dataDir, name: 'quickstart', listen: '127.0.0.1:0', metricsListen: 'off' });
  const plane = await startPlane(dataDir, signal);
  let kept = false;
  try {
    const code = await show(call, { folder, dataDir, plane, runs });
    if (flags.keep) {
      await keep(call, { dataDir, plane });
      kept = true;
    }
    if (!out.isJson) await next(call, { folder, dataDir, runId: runs[0]?.runId ?? '' });
    return code;
  } finally {
    if (!kept) await plane.stop();
  }
};

function newFolder(given: string | undefined): string {
  if (given === undefined) return mkdtempSync(join(tmpdir(), 'gov-quickstart-'));
  const folder = resolve(given);
  makeFolder(folder);
  chmodSync(folder, 0o700);
  return folder;
}

interface Scene {
  readonly folder: string;
  readonly dataDir: string;
  readonly plane: DemoPlane;
  readonly runs: readonly SourceRun[];
}

async function show(call: Call, scene: Scene): Promise<number> {
  const { out, signal } = call;
  const title = heading(out);
  const { plane, dataDir, folder, runs } = scene;
  await title(
    'A data plane',
    `serves at ${plane.baseUrl} after ${plane.startedInMs.toFixed(0)} ms, in ${dataDir}`,
  );
  const apiKey = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  const client = createClient({ baseUrl: plane.baseUrl, apiKey, signal });
  try {
    const recorded = await record(client, runs);
    const runId = runs[0]?.runId ?? '';
    await title(
      'Recorded',
      `${recorded} events of ${runs.length === 1 ? `run ${runId}` : `${runs.length} runs`}`,
    );
    await stream(client, { runId, out });
    const proof = (await client.createProof({ body: { runId } })).body;
    if (!('proofId' in proof)) throw new CliError(exit.error, `expected the proof of ${runId}, got a job`);
    const bundle = await client.getProofBundle({
      params: { proofId: proof.proofId },
      query: { events: 'disclosed' },
    });
    const file = join(folder, 'run.govproof.json');
    writeFileSync(file, bundle.bytes, { mode: 0o600 });
    await title('Proved', `${proof.proofId}, ${proof.proofHash}`);
    const trust = parseTrust(readFileSync(join(dataDir, 'trust'), 'utf8'));
    const verdict = await verdictOf(out, { bytes: bundle.bytes, trust, file });
    const refused = await refusal(out, { bytes: bundle.bytes, trust, folder });
    await tree(client, { runId, out });
    if (out.isJson) {
      const told = {
        runId,
        events: recorded,
        proof,
        verified: verdict.verified,
        tamperedRefused: refused,
        folder,
      };
      await out.one(told, plainView(Object.keys(told)));
    }
    return verdict.verified && refused ? exit.ok : exit.checkFailed;
  } finally {
    client.close();
  }
}

const heading =
  (out: Out) =>
  async (what: string, detail: string): Promise<void> => {
    if (!out.isJson) await out.lines([safe``, safe`${out.styles.bold(what)}  ${detail}`]);
  };

async function record(client: Client, runs: readonly SourceRun[]): Promise<number> {
  const events = runs.flatMap((source) => source.events);
  for (let from = 0; from < events.length; from += limits.batchEvents) {
    const { body } = await client.createEvents({
      body: { events: events.slice(from, from + limits.batchEvents) },
    });
    const at = body.results.findIndex(({ status }) => status === 'rejected');
    const reason = body.results[at]?.reason;
    if (at !== -1) throw new CliError(exit.partial, `event ${from + at + 1} was rejected: ${reason ?? ''}`);
  }
  return events.length;
}

const partyName = (party: unknown): string =>
  typeof party === 'object' && party !== null && 'name' in party ? String(party.name) : String(party ?? '');

async function stream(client: Client, { runId, out }: { runId: string; out: Out }): Promise<void> {
  if (out.isJson) return;
  const { body } = await client.listEvents({ query: { runId, limit: shownLines } });
  const { cyan, dim } = out.styles;
  for (const event of body.events) {
    const target = event.resource === null ? '' : ` → ${partyName(event.resource)}`;
    const type = cyan(event.eventType.padEnd(20));
    const hash = dim(event.leafHash.slice(7, 19));
    await out.line(
      safe`  ${dim(`#${event.sequence}`.padStart(5))} ${hash} ${type} ${partyName(event.actor)}${target}`,
    );
  }
  if (body.nextCursor !== null) await out.line(dim(safe`        … and more`));
}

interface Offline {
  readonly bytes: Uint8Array;
  readonly trust: Trust;
}

async function verdictOf(
  out: Out,
  { bytes, trust, file }: Offline & { file: string },
): Promise<ProofVerdict> {
  const verdict = verifyBundle(bytes, trust);
  if (out.isJson) return verdict;
  const { green, red, yellow, bold } = out.styles;
  const head = verdict.verified ? green('✓ verified') : red(`✗ not verified: ${verdict.code ?? ''}`);
  await heading(out)('Verified offline', `${file}, without network or store`);
  await out.line(safe`  ${bold(head)}`);
  for (const check of verdict.checks) {
    if (check.id === 'completeness') await out.line(completenessLine(check, out.styles));
  }
  for (const { name, passed, basis, code } of verdict.layers) {
    const vacuous = isVacuous(code);
    const sign = vacuous ? yellow('!') : passed ? green('✓') : red('✗');
    const note = vacuous ? yellow(`${vacuousCodes[code]}: nothing was governed`) : safe`${code ?? ''}`;
    await out.line(safe`  ${sign} ${name.padEnd(20)} ${basis.replace('_', ' ').padEnd(11)} ${note}`);
  }
  return verdict;
}

/** Returns whether verification rejects the tampered copy, as it must. */
async function refusal(out: Out, { bytes, trust, folder }: Offline & { folder: string }): Promise<boolean> {
  const tampered = tamper(bytes);
  if (tampered === null) throw new CliError(exit.error, 'expected a disclosed value to change, found none');
  const file = join(folder, 'tampered.govproof.json');
  writeFileSync(file, tampered.bytes, { mode: 0o600 });
  const verdict = verifyBundle(tampered.bytes, trust);
  if (out.isJson) return !verdict.verified;
  await heading(out)('A tampered copy', tampered.change);
  const { red, bold } = out.styles;
  const word = verdict.verified ? red('✗ accepted, which must never happen') : red('✗ refused');
  await out.line(safe`  ${bold(word)}  ${verdict.code ?? ''}`);
  return !verdict.verified;
}

async function tree(client: Client, { runId, out }: { runId: string; out: Out }): Promise<void> {
  if (out.isJson) return;
  await heading(out)('Who caused what', '');
  const { body } = await client.getGraph({ params: { runId } });
  const width = out.settings.tty ? out.settings.columns : Infinity;
  let count = 0;
  for (const line of treeLines(body, { styles: out.styles, width })) {
    count += 1;
    if (count <= shownLines) await out.line(line);
  }
  if (count > shownLines) await out.line(out.styles.dim(safe`… and ${count - shownLines} more`));
}

async function keep({ io }: Call, { dataDir, plane }: { dataDir: string; plane: DemoPlane }): Promise<void> {
  await updateUserConfig(io.env, (config) => ({
    currentContext: 'quickstart',
    contexts: { ...config.contexts, quickstart: { kind: 'plane', dataDir } },
  }));
  plane.release();
}

async function next(call: Call, scene: { folder: string; dataDir: string; runId: string }): Promise<void> {
  const { flags, out } = call;
  const { folder, dataDir, runId } = scene;
  const offline = `gov proofs verify ${folder}/run.govproof.json --trust ${dataDir}/trust --explain`;
  const lines = flags.keep
    ? ['gov events tail', `gov graphs lineage ${runId}`, 'gov events push FILE', offline, 'gov plane status']
    : [
        offline,
        `gov log fsck --data ${dataDir} --deep`,
        'gov plane init --data ./my-plane',
        'gov plane serve --data ./my-plane',
        'gov events push --from openai-chat FILE',
      ];
  const tool = toolName(call.io);
  const typed = lines.map((line) => safe`  ${Safe.clean(line.replace(/^gov/, () => tool))}`);
  await out.lines([safe``, out.styles.bold('Next'), ...typed]);
  const state = flags.keep
    ? `the plane keeps running; see gov plane status; SIGTERM stops it`
    : 'no process is left running';
  await out.note(safe`${state}; all files are in ${folder}`);
}

/** Returns how to call this tool: its name if it is on PATH, else its path. */
function toolName({ env, cwd }: Call['io']): string {
  const onPath = (env['PATH'] ?? '').split(delimiter).some((folder) => existsSync(join(folder, 'gov')));
  const launcher = resolve(dirname(process.argv[1] ?? ''), '../bin/gov');
  if (onPath || !existsSync(launcher)) return 'gov';
  const near = relative(cwd, launcher);
  return near.startsWith('..') ? launcher : `./${near}`;
}
