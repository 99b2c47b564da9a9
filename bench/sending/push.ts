/**
 * Benchmark of `gov events push --from auto` with a session of 100 MB: the first push and the part of it that the balance
 * takes, the push of a session that grew by 1 %, and of one that did not change, each as a process, alternated in one run.
 * `node bench/sending/push.ts [rounds] [megabytes]`
 */
import { spawn } from 'node:child_process';
import { appendFileSync, closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { balanceFile } from '../../src/core/intake/balance-file.ts';
import { importRuns } from '../../src/core/intake/registry.ts';
import { decodeText, documents } from '../../src/core/intake/source.ts';
import {
  discard,
  entry,
  median,
  milliseconds,
  report,
  scratch,
  share,
  startPlane,
} from '../support/harness.ts';

const rounds = Number(process.argv[2] ?? 3);
const megabytes = Number(process.argv[3] ?? 100);
const words = 'the agent reads files, edits code and runs tests; ';

/** Lines of a session: prompts, six calls with results of 1 to 5 KB each, and an answer. */
function* turn(session: string, number: number): Generator<string> {
  let part = 0;
  const line = (type: string, message: object, more: object = {}): string => {
    part += 1;
    const uuid = `${session}-${number}-${part}`;
    const timestamp = new Date(Date.UTC(2026, 0, 5) + number * 10_000 + part).toISOString();
    return `${JSON.stringify({ type, sessionId: session, uuid, timestamp, version: '2.1.0', ...more, message })}\n`;
  };
  const said = (content: object[], reason: string): string =>
    line('assistant', {
      id: `${session}-m${number}-${part}`,
      role: 'assistant',
      model: 'm',
      stop_reason: reason,
      content,
    });
  yield line('user', { role: 'user', content: `Task ${number}. ${words}` });
  for (let call = 0; call < 6; call++) {
    const id = `${session}-t${number}-${call}`;
    const output = `${words.repeat(20 + ((number + call) % 80))}${id}`;
    yield said([{ type: 'tool_use', id, name: 'Bash', input: { command: `sed -n ${number}p` } }], 'tool_use');
    const content = [{ type: 'tool_result', tool_use_id: id, content: output }];
    yield line('user', { role: 'user', content }, { toolUseResult: { stdout: output, stderr: '' } });
  }
  yield said([{ type: 'text', text: `Done with ${number}.` }], 'end_turn');
}

function grow(
  path: string,
  { session, from, bytes }: { session: string; from: number; bytes: number },
): number {
  let number = from;
  for (let written = 0; written < bytes; number++) {
    const text = [...turn(session, number)].join('');
    appendFileSync(path, text);
    written += text.length;
  }
  return number;
}

const folder = scratch();
const plane = await startPlane();
const env = {
  ...process.env,
  GOV_BASE_URL: plane.baseUrl,
  GOV_API_KEY: plane.apiKey,
  XDG_STATE_HOME: join(folder, 'state'),
};

interface Push {
  readonly ms: number;
  readonly peakMb: number;
}

async function push(path: string): Promise<Push> {
  const start = performance.now();
  const child = spawn(process.execPath, [entry, 'events', 'push', '--from', 'auto', path, '--quiet'], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  let peakMb = 0;
  const timer = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      peakMb = Math.max(peakMb, Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
    } catch {
      // it has ended
    }
  }, 20);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearInterval(timer);
  if (code !== 0) throw new Error(`the push ended with ${code}`);
  return { ms: performance.now() - start, peakMb };
}

/** Milliseconds of the balance alone, for a file that an importer has read. */
async function balanceMs(path: string): Promise<number> {
  const bytes = readFileSync(path);
  const options = { format: 'auto', importedAt: 0, sourceName: 's.jsonl' } as const;
  const runs = [...importRuns(documents(decodeText(bytes).text, 's.jsonl'), options)];
  return milliseconds(() => balanceFile({ name: 's.jsonl', bytes, runs, refused: [] }));
}

const firsts: Push[] = [];
const balances: number[] = [];
const grown: Push[] = [];
const unchanged: Push[] = [];
for (let round = 0; round < rounds; round++) {
  const session = `bench-${round}`;
  const path = join(folder, `${session}.jsonl`);
  const file = openSync(path, 'w');
  let number = 0;
  for (let written = 0; written < megabytes * 1e6; number++)
    for (const line of turn(session, number)) written += writeSync(file, line);
  closeSync(file);
  firsts.push(await push(path));
  balances.push(await balanceMs(path));
  grow(path, { session, from: number, bytes: megabytes * 1e4 });
  grown.push(await push(path));
  unchanged.push(await push(path));
}
await plane.stop();
discard(folder);

const ms = (pushes: readonly Push[]): number => median(pushes.map((each) => each.ms));
const mb = (pushes: readonly Push[]): number => median(pushes.map(({ peakMb }) => peakMb));
const first = ms(firsts);
const seconds = (value: number): string => `${(value / 1000).toFixed(2)} s`;
report(`events push of a session of ${megabytes} MB, median of ${rounds}`, [
  { ratio: '', figure: seconds(first), what: `the first push, ${mb(firsts).toFixed(0)} MB` },
  {
    ratio: `${(first / (first - median(balances))).toFixed(2)} x`,
    figure: seconds(median(balances)),
    what: 'its balance: with it against without it',
  },
  {
    ratio: share(ms(grown), first),
    figure: seconds(ms(grown)),
    what: `again, grown by 1 %, ${mb(grown).toFixed(0)} MB`,
  },
  {
    ratio: share(ms(unchanged), first),
    figure: seconds(ms(unchanged)),
    what: `again, unchanged, ${mb(unchanged).toFixed(0)} MB`,
  },
]);
