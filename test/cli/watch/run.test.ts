import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createClient } from '../../../src/client/create.ts';
import type { WatchNote } from '../../../src/cli/watch/report.ts';
import { watchFolder } from '../../../src/cli/watch/run.ts';
import { emptyDirectory } from '../support/tool.ts';
import { Listing, unreachable } from '../push/service.ts';

let service: Listing;
let folder: string;
let state: string;
const running = new Set<Running>();
beforeEach(() => {
  service = new Listing();
  folder = join(emptyDirectory(), 'x');
  mkdirSync(folder);
  state = emptyDirectory();
});
afterEach(async () => {
  for (const each of running) await each.end();
});

const line = (session: string, number: number) =>
  `${JSON.stringify({
    type: 'user',
    sessionId: session,
    uuid: `${session}-${number}`,
    timestamp: `2026-11-20T10:00:${String(number % 60).padStart(2, '0')}Z`,
    message: { role: 'user', content: `prompt ${number}` },
  })}\n`;
const add = (name: string, text: string) => {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  appendFileSync(join(folder, name), text);
};

/** A watch in this process. */
class Running {
  readonly notes: WatchNote[] = [];
  readonly #stop = new AbortController();
  readonly ended: Promise<number>;
  #heard: () => void = () => {};

  constructor({ once = false, has = true } = {}) {
    running.add(this);
    this.ended = watchFolder(
      {
        folder,
        from: 'auto',
        runPrefix: undefined,
        allowRemainder: false,
        once,
        pollMs: 100,
        retries: 0,
        keyPrefix: 'push-',
      },
      {
        now: Date.now,
        signal: this.#stop.signal,
        stateDirectory: state,
        target: () => 'http://127.0.0.1:7460/api/v1',
        openSink: async () => Object.assign(service, { has: async () => has }),
        openLog: async () => createClient({ baseUrl: 'http://127.0.0.1:9/api/v1' }),
        warn: async () => {},
        say: async (note) => {
          this.notes.push(note);
          this.#heard();
        },
      },
    );
  }

  /** Resolves with the first note, from now or before, that is wanted. */
  async note(isWanted: (note: WatchNote) => boolean): Promise<WatchNote> {
    for (;;) {
      const found = this.notes.find(isWanted);
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => (this.#heard = resolve));
    }
  }

  async end(): Promise<number> {
    running.delete(this);
    this.#stop.abort();
    return this.ended;
  }
}

const taken =
  (file: string, more: object = {}) =>
  (note: WatchNote) =>
    note.kind === 'taken' &&
    note.file === file &&
    Object.entries(more).every(([name, value]) => Reflect.get(note, name) === value);
const prompts = () =>
  service.recorded
    .filter(({ eventType }) => eventType === 'prompt.submitted')
    .map(({ clientEventId }) => clientEventId);

describe('a watch of a folder', () => {
  it('records sessions that are there, begin, grow and are renamed, each line once', async () => {
    add('p/one.jsonl', line('one', 1));
    const watch = new Running();
    await watch.note(taken('p/one.jsonl'));
    add('p/two.jsonl', line('two', 1).slice(0, 20));
    add('q/three.jsonl', line('three', 1) + line('three', 2));
    await watch.note(taken('q/three.jsonl'));
    add('p/two.jsonl', line('two', 1).slice(20));
    await watch.note(taken('p/two.jsonl'));
    renameSync(join(folder, 'p/one.jsonl'), join(folder, 'p/uno.jsonl'));
    await watch.note(({ kind }) => kind === 'renamed');
    add('p/uno.jsonl', line('one', 2));
    await watch.note(taken('p/uno.jsonl'));
    rmSync(join(folder, 'q'), { recursive: true });
    await watch.note(({ kind }) => kind === 'vanished');
    expect(await watch.end()).toBe(0);
    expect(prompts()).toEqual(['one:one-1', 'three:three-1', 'three:three-2', 'two:two-1', 'one:one-2']);
    expect(watch.notes[0]).toMatchObject({ kind: 'watching', files: 1 });
  });

  it('continues at its places after a restart, and reads nothing twice', async () => {
    add('one.jsonl', line('one', 1));
    const first = new Running();
    await first.note(taken('one.jsonl'));
    await first.end();
    const { length } = service.keys;
    add('two.jsonl', line('two', 1));
    const second = new Running();
    await second.note(taken('two.jsonl'));
    await second.end();
    expect(second.notes.filter(taken('one.jsonl'))).toEqual([]);
    expect(service.keys.length).toBe(length + 1);
  });

  it('reads all again where the service does not have what it recorded, and records nothing twice', async () => {
    add('one.jsonl', line('one', 1));
    const first = new Running();
    await first.note(taken('one.jsonl'));
    await first.end();
    service = new Listing();
    const second = new Running({ has: false });
    await second.note(taken('one.jsonl'));
    expect(second.notes[0]).toEqual({ kind: 'forgotten' });
    await second.end();
    expect(prompts()).toEqual(['one:one-1']);
  });

  it('waits for a service that cannot be reached, says so once, and loses nothing', async () => {
    service.before = (request) => {
      if (request < 3) throw unreachable();
    };
    add('one.jsonl', line('one', 1));
    const watch = new Running();
    await watch.note(({ kind }) => kind === 'waiting');
    add('one.jsonl', line('one', 2));
    await watch.note(taken('one.jsonl', { events: 2 }));
    await watch.end();
    expect(watch.notes.filter(({ kind }) => kind === 'waiting')).toHaveLength(1);
    expect(watch.notes.some(({ kind }) => kind === 'resumed')).toBe(true);
    expect(prompts()).toEqual(['one:one-1', 'one:one-2']);
  });

  it('with once it records what is there and ends, with 9 if a recording was refused', async () => {
    add('one.jsonl', line('one', 1));
    expect(await new Running({ once: true }).ended).toBe(0);
    add('bad.jsonl', `${line('two', 1)}no JSON\n`);
    add('half.jsonl', line('three', 1).slice(0, 30));
    const again = new Running({ once: true });
    expect(await again.ended).toBe(9);
    expect(again.notes.find(taken('bad.jsonl'))).toMatchObject({
      became: 'refused',
      refused: 1,
      refusal: expect.stringContaining('2: invalid_json'),
    });
    expect(prompts()).toEqual(['one:one-1', 'two:two-1']);
    expect(await new Running({ once: true }).ended).toBe(0);
  });

  it('a folder that is removed and made again is followed on', async () => {
    add('one.jsonl', line('one', 1));
    const watch = new Running();
    await watch.note(taken('one.jsonl'));
    rmSync(folder, { recursive: true });
    await watch.note(({ kind }) => kind === 'missing');
    mkdirSync(folder);
    writeFileSync(join(folder, 'two.jsonl'), line('two', 1));
    await watch.note(taken('two.jsonl'));
    await watch.end();
    expect(prompts()).toEqual(['one:one-1', 'two:two-1']);
  });

  it('names a link with the name of a recording once, and does not follow it', async () => {
    writeFileSync(join(state, 'secret.jsonl'), line('secret', 1));
    symlinkSync(join(state, 'secret.jsonl'), join(folder, 'link.jsonl'));
    const watch = new Running();
    expect(await watch.note(({ kind }) => kind === 'unread')).toEqual({ kind: 'unread', file: 'link.jsonl' });
    add('a.jsonl', line('a', 1));
    await watch.note(({ kind }) => kind === 'taken');
    expect(watch.notes.filter(({ kind }) => kind === 'unread')).toHaveLength(1);
    expect(service.recorded.map(({ runId }) => runId)).not.toContain('secret');
  });
});
