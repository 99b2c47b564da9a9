/** Runs a push in this process, with its own streams, directory and service. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PassThrough, Readable, Writable } from 'node:stream';
import { createClient } from '../../../src/client/create.ts';
import { failureOf } from '../../../src/cli/program/exit.ts';
import { Writer } from '../../../src/cli/terminal/io.ts';
import { Out } from '../../../src/cli/terminal/out.ts';
import { eventsPush, type PushOptions } from '../../../src/cli/push/run.ts';
import type { Sink } from '../../../src/client/sending/deliver.ts';
import { resolveSettings } from '../../../src/cli/context/settings.ts';
import { FakeService } from './service.ts';

const options: PushOptions = {
  files: [],
  format: 'auto',
  from: undefined,
  run: undefined,
  runPrefix: undefined,
  importedAt: undefined,
  batchSize: 10,
  concurrency: 1,
  spool: undefined,
  resume: false,
  dryRun: false,
  allowRemainder: false,
  failOn: 'rejected',
  retries: 0,
  keyPrefix: 'push-',
};

export class Folder {
  readonly path = mkdtempSync(join(tmpdir(), 'gov-push-'));

  write(name: string, content: string | Uint8Array): string {
    const path = join(this.path, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    return path;
  }

  read(path: string): string {
    return readFileSync(path, 'utf8');
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

class Collected extends Writable {
  text = '';
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString('utf8');
    done();
  }
}

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** The message and hint of what was thrown. */
  readonly failure: string;
}

interface World {
  readonly folder: Folder;
  readonly service?: Sink;
  readonly output?: string;
  readonly stdin?: Readable | string;
  readonly signal?: AbortSignal;
  readonly stdout?: Writable;
  readonly target?: string;
}

/** Pushes and collects what was written. A thrown failure becomes its exit code. */
export async function push(given: Partial<PushOptions>, world: World): Promise<Outcome> {
  const stdout = world.stdout ?? new Collected();
  const stderr = new Collected();
  const stdin =
    typeof world.stdin === 'string'
      ? Readable.from([Buffer.from(world.stdin)])
      : (world.stdin ?? new PassThrough());
  const env = { NO_COLOR: '1' };
  const io = { stdin, stdout, stderr, env, cwd: world.folder.path, now: Date.now };
  const settings = resolveSettings(world.output === undefined ? {} : { output: world.output }, io);
  const out = new Out({ stdout: new Writer(stdout), stderr: new Writer(stderr) }, settings, Date.now);
  let code: number;
  let failure = '';
  try {
    code = await eventsPush(
      { ...options, ...given },
      {
        out,
        stdin,
        cwd: world.folder.path,
        now: Date.now,
        signal: world.signal ?? new AbortController().signal,
        tell: async (text) => void stderr.write(`${text}\n`),
        progress: { at: () => {}, stop: () => {} },
        stateDirectory: join(world.folder.path, 'state'),
        target: () => world.target ?? 'http://127.0.0.1:7460/api/v1',
        openSink: async () => world.service ?? new FakeService(),
        openLog: async () => createClient({ baseUrl: 'http://127.0.0.1:9/api/v1' }),
      },
    );
  } catch (thrown) {
    const told = failureOf(thrown);
    code = told.exit;
    failure = [told.message, told.hint ?? ''].join(' | ');
  }
  return { code, failure, stdout: stdout instanceof Collected ? stdout.text : '', stderr: stderr.text };
}
