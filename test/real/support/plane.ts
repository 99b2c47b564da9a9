/**
 * A plane as its operator runs it: made and served by the tool in processes of their own, in a temporary folder.
 * For tests and scripts that want evidence on the whole way, not on parts of it.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Client, createClient } from '../../../src/client/index.ts';
import { emptyDirectory, gov, type Result, serving, type Serving } from '../../cli/support/tool.ts';

export interface PlaneProcess {
  /** Working directory of every command; the plane is in `plane` below it. */
  readonly folder: string;
  readonly dataDir: string;
  readonly baseUrl: string;
  /** The text of the trust file that `plane init` wrote. */
  readonly trust: string;
  /** Settings under which the tool finds this plane by itself. */
  readonly env: Readonly<Record<string, string>>;
  readonly client: Client;
  /** Runs the tool; an exit code other than `code` (default 0) throws what it said. */
  run(words: readonly string[], options?: { readonly code?: number }): Promise<Result>;
  /** Stops the plane as systemd does; throws unless it ends in order. */
  stop(): Promise<void>;
  /** Stops it and removes its folder. */
  end(): Promise<void>;
}

export async function startPlaneProcess(folder = emptyDirectory()): Promise<PlaneProcess> {
  const dataDir = join(folder, 'plane');
  const env = { GOV_CONFIG_DIR: join(folder, 'config'), XDG_STATE_HOME: join(folder, 'state') };
  mkdirSync(folder, { recursive: true });
  const run: PlaneProcess['run'] = async (words, { code = 0 } = {}) => {
    const result = await gov(words, { env, cwd: folder });
    if (result.code === code) return result;
    throw new Error(
      `gov ${words.join(' ')}: expected exit code ${code}, got ${result.code}: ${result.stderr}`,
    );
  };
  await run(['plane', 'init', '--data', dataDir, '--listen', '127.0.0.1:0', '--metrics-listen', 'off']);
  const { baseUrl, stop } = await servePlane(dataDir, { env, cwd: folder });
  const apiKey = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  const client = createClient({ baseUrl, apiKey });
  const stopAll = (): Promise<void> => {
    client.close();
    return stop();
  };
  return {
    folder,
    dataDir,
    baseUrl,
    trust: readFileSync(join(dataDir, 'trust'), 'utf8'),
    env,
    client,
    run,
    stop: stopAll,
    end: async () => {
      await stopAll();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts `gov plane serve` and waits for the line that says where. */
export const servePlane = (dataDir: string, options: Parameters<typeof serving>[1]): Promise<Serving> =>
  serving(['plane', 'serve', '--data', dataDir], options);

/** Records three linked events, proves them and writes their bundle with all contents; the file's path. */
export async function smallBundle(plane: PlaneProcess): Promise<string> {
  const event = { runId: 'small', actor: 'agent', action: 'act', timestamp: '2026-01-05T09:00:00Z' };
  const events = [
    { ...event, eventType: 'model.invoked', metadata: { toolCallIds: ['c1'] } },
    { ...event, eventType: 'tool.call', resource: 'ledger', metadata: { toolCallId: 'c1', amount: 12.5 } },
    { ...event, eventType: 'tool.result', metadata: { toolCallId: 'c1', text: 'Größe “ok”\n\u001f' } },
  ];
  writeFileSync(join(plane.folder, 'small.json'), JSON.stringify(events));
  await plane.run(['events', 'push', 'small.json']);
  const proof = await plane.run(['proofs', 'create', '--run', 'small', '-o', 'id']);
  const words = ['--bundle', '--events', 'disclosed', '--out', 'small.govproof.json'];
  await plane.run(['proofs', 'get', proof.stdout.trim(), ...words]);
  return join(plane.folder, 'small.govproof.json');
}

/** Calls `work` on each item, a few at a time, and keeps the order of the results. */
export async function eachOf<Item, Value>(
  items: readonly Item[],
  work: (item: Item) => Promise<Value>,
  lanes = 4,
): Promise<Value[]> {
  const results: Value[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let at = next++; at < items.length; at = next++) {
      const item = items[at];
      if (item !== undefined) results[at] = await work(item);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return results;
}
