import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { filesBelow } from '../../../src/cli/push/folder.ts';
import { readChunks } from '../../../src/cli/push/source.ts';
import { balanceType, sumOf } from '../../../src/core/balance/statement.ts';
import { latestBalances } from '../../core/balance/sample.ts';
import type { JsonObject } from '../../../src/core/json/parse.ts';
import { Folder, push } from './harness.ts';
import { Listing } from './service.ts';

let folder: Folder;
let service: Listing;
beforeEach(() => {
  folder = new Folder();
  service = new Listing();
});
afterEach(() => folder.remove());

const jsonl = (lines: readonly object[]) => lines.map((each) => `${JSON.stringify(each)}\n`).join('');

/** A session of Claude Code with a call that starts a subagent, and the file of the subagent. */
const claude = (session: string) => {
  const line = (uuid: string, second: number, members: object) => ({
    uuid: `${session}-${uuid}`,
    sessionId: session,
    isSidechain: false,
    timestamp: `2026-11-20T10:00:0${second}Z`,
    ...members,
  });
  const said = (id: string, content: object[], stop: string | null = null) => ({
    type: 'assistant',
    message: { id: `${session}-${id}`, role: 'assistant', model: 'm', stop_reason: stop, content },
  });
  const use = (id: string, name: string) => said(`m-${id}`, [{ type: 'tool_use', id, name, input: { id } }]);
  const result = (id: string, more: object = {}) => ({
    type: 'user',
    message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: id }] },
    ...more,
  });
  const main = [
    line('u1', 0, { type: 'user', message: { role: 'user', content: 'Clean up.' } }),
    line('a1', 1, use('t1', 'Agent')),
    line('r1', 5, result('t1', { toolUseResult: { agentId: 'a1' } })),
    line('a2', 6, said('m2', [{ type: 'text', text: 'Cleaned.' }], 'end_turn')),
  ];
  const sub = [
    line('s1', 2, { type: 'user', message: { role: 'user', content: 'remove tmp' } }),
    line('s2', 3, use('t2', 'Bash')),
    line('s3', 4, result('t2')),
  ].map((each) => ({ ...each, isSidechain: true, agentId: 'a1' }));
  return { main, sub };
};

const importing = async (...files: string[]) => {
  const outcome = await push({ files, from: 'auto' }, { folder, service, output: 'json' });
  return { ...outcome, value: outcome.stdout === '' ? undefined : JSON.parse(outcome.stdout) };
};
const calls = () =>
  service.recorded
    .filter(({ eventType }) => eventType === 'tool.call')
    .map(({ runId, actor, resource }) => [
      runId,
      (actor as JsonObject)['name'],
      (resource as JsonObject)['name'],
    ]);

describe('a folder of sessions', () => {
  it('a folder is pushed as one, with subagents in the run of their session, caused by its call', async () => {
    for (const session of ['one', 'two']) {
      const { main, sub } = claude(session);
      folder.write(`projects/x/${session}.jsonl`, jsonl(main));
      folder.write(`projects/x/${session}/subagents/agent-a1.jsonl`, jsonl(sub));
    }
    const { code, value, stderr } = await importing('projects');
    expect(code).toBe(0);
    expect(value.rejected).toBe(0);
    expect(calls()).toEqual([
      ['one', 'claude-code', 'Agent'],
      ['two', 'claude-code', 'Agent'],
      ['one', 'claude-code/a1', 'Bash'],
      ['two', 'claude-code/a1', 'Bash'],
    ]);
    for (const session of ['one', 'two'])
      expect(
        service.recorded.find(({ clientEventId }) => clientEventId === `${session}:${session}-s1`),
      ).toMatchObject({ causedBy: [`${session}:${session}-a1.call`] });
    expect(value.files).toHaveLength(4);
    expect(stderr).toContain('projects/x/one.jsonl: claude-code, run one, 8 events\n');
    expect(stderr).toContain('4 files, 4 recorded\n');
    expect((await importing('projects')).value).toMatchObject({ accepted: 0, rejected: 0 });
  });

  it('a folder can be pushed again and again while its sessions grow, line by line', async () => {
    const { main, sub } = claude('one');
    const lines: (readonly [string, object])[] = main.map((line) => ['one.jsonl', line]);
    lines.splice(2, 0, ...sub.map((line) => ['one/subagents/agent-a1.jsonl', line] as const));
    const files = new Map<string, object[]>();
    for (const [name, line] of lines) {
      files.set(name, [...(files.get(name) ?? []), line]);
      for (const [each, content] of files) folder.write(`x/${each}`, jsonl(content));
      expect(await importing('x')).toMatchObject({ code: 0, value: { rejected: 0 } });
    }
    const grown = service.recorded
      .filter(({ eventType }) => eventType !== 'gov.balance/1' && eventType !== 'event.completed')
      .map(({ clientEventId }) => clientEventId)
      .toSorted();
    service = new Listing();
    await importing('x');
    const once = service.recorded
      .filter(({ eventType }) => eventType !== 'gov.balance/1')
      .map(({ clientEventId }) => clientEventId)
      .toSorted();
    expect(grown).toEqual(once);
  });

  it('one odd file is named, does not stop the others, and the exit code says so', async () => {
    folder.write('x/b.jsonl', jsonl(claude('one').main));
    folder.write('x/a.jsonl', '{"type":"user","sessionId":"s","uu');
    folder.write('x/c.jsonl', 'no JSON at all');
    folder.write('x/d.json', JSON.stringify([{ role: 'alien', calls: [{ id: '1', name: 'f', input: {} }] }]));
    folder.write('x/e.ndjson', jsonl([{ runId: 'r', eventType: 'tool.call' }]));
    folder.write('x/f.jsonl.gz', Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0));
    folder.write('x/opencode.db', 'SQLite format 3\0');
    const { code, value, stderr } = await importing('x');
    expect(code).toBe(9);
    expect(value.files.map(({ file, became }: JsonObject) => [file, became])).toEqual([
      ['x/a.jsonl', 'refused'],
      ['x/b.jsonl', 'recorded'],
      ['x/c.jsonl', 'refused'],
      ['x/d.json', 'refused'],
      ['x/e.ndjson', 'refused'],
      ['x/f.jsonl.gz', 'refused'],
      ['x/opencode.db', 'refused'],
    ]);
    expect(calls()).toEqual([['one', 'claude-code', 'Agent']]);
    expect(stderr).toContain('x/e.ndjson:1: rejected: validation_error: expected one of');
    expect(stderr).toContain('got events: push them without --from');
    expect(stderr).toContain('compressed with gzip');
    expect(stderr).toContain('a database of SQLite: let its program export the session');
    expect(stderr).toContain('7 files, 6 refused, 1 recorded\n');
  });

  it('files that are no recordings are named, and are no failure', async () => {
    folder.write('x/one.jsonl', jsonl(claude('one').main));
    folder.write('x/sessions-index.json', '{"version": 1, "entries": [{"sessionId": "one"}]}');
    folder.write('x/memory/MEMORY.md', 'be kind');
    folder.write('x/empty.jsonl', '');
    const { code, value, stderr } = await importing('x');
    expect(code).toBe(0);
    expect(value.others).toEqual(['x/memory/MEMORY.md']);
    expect(stderr).toContain('not read, because of their names: x/memory/MEMORY.md\n');
    expect(stderr).toContain('x/sessions-index.json: no recording: it has no calls, results or messages\n');
    expect(stderr).toContain('x/empty.jsonl: nothing to record\n');
    expect(stderr).toContain('3 files, 1 empty, 1 recorded, 1 no recording\n');
  });

  it('a file that cannot be read is refused alone', async () => {
    folder.write('x/one.jsonl', jsonl(claude('one').main));
    const path = folder.write('x/two.jsonl', jsonl(claude('two').main));
    chmodSync(path, 0);
    const isRoot = process.getuid?.() === 0;
    const { code, value } = await importing('x');
    expect(code).toBe(isRoot ? 0 : 9);
    expect(value.files[1].became).toBe(isRoot ? 'recorded' : 'refused');
  });

  it('a folder without --from is refused, and the message says how to push it', async () => {
    folder.write('x/one.jsonl', '{}');
    const { code, failure } = await push({ files: ['x'] }, { folder, service });
    expect(code).toBe(2);
    expect(failure).toContain('expected a file, got a directory');
    expect(failure).toContain('gov events push --from auto x');
  });
});

describe('the balance of a session that grows', () => {
  it('a session pushed again has one balance, which counts the whole file', async () => {
    const { main } = claude('one');
    for (let lines = 1; lines <= main.length; lines++) {
      const text = jsonl(main.slice(0, lines));
      folder.write('x/one.jsonl', text);
      for (const _ of ['new', 'unchanged']) expect((await importing('x')).code).toBe(0);
      const all = service.recorded.filter(({ eventType }) => eventType === balanceType);
      expect(all).toHaveLength(lines);
      const [balance, ...others] = latestBalances(
        service.recorded.map(({ eventType, metadata }) => ({ eventType: String(eventType), metadata })),
      );
      expect(others).toEqual([]);
      expect(balance).toMatchObject({ source: { bytes: text.length }, leftOut: { parts: 0 } });
      expect(sumOf([balance!.recorded])).toEqual(balance!.found);
    }
    const { found } = latestBalances(
      service.recorded.map(({ eventType, metadata }) => ({ eventType: String(eventType), metadata })),
    )[0]!;
    expect(found).toEqual({ calls: 1, results: 1, prompts: 1, outputs: 1 });
  });
});

describe('the files below a folder', () => {
  it('are listed in the order of their names, without links', () => {
    for (const name of ['b.jsonl', 'a/c.json', 'a/d.md', 'e.jsonl.gz', 'f']) folder.write(name, 'xy');
    symlinkSync(folder.path, join(folder.path, 'again'));
    symlinkSync('nowhere.jsonl', join(folder.path, 'broken.jsonl'));
    symlinkSync('b.jsonl', join(folder.path, 'link.jsonl'));
    const { files, others } = filesBelow(folder.path);
    expect(files.map(({ name, size }) => [name, size])).toEqual([
      ['a/c.json', 2],
      ['b.jsonl', 2],
      ['e.jsonl.gz', 2],
    ]);
    expect(others).toEqual(['a/d.md', 'again', 'broken.jsonl', 'f', 'link.jsonl']);
  });

  it('are read only where they are still files of it: what became a link or a pipe leads nowhere', async () => {
    folder.write('secret.jsonl', '{"a":1}\n');
    symlinkSync('secret.jsonl', join(folder.path, 'link.jsonl'));
    execFileSync('mkfifo', [join(folder.path, 'pipe.jsonl')]);
    const read = async (name: string) => {
      const chunks: Uint8Array[] = [];
      const source = { name, path: join(folder.path, name), size: 8, isFound: true } as const;
      const of = { stdin: Readable.from([]), signal: new AbortController().signal, counted: () => {} };
      for await (const chunk of readChunks(source, of)) chunks.push(chunk);
      return chunks;
    };
    expect(await read('secret.jsonl')).toHaveLength(1);
    await expect(read('link.jsonl')).rejects.toThrow('cannot read link.jsonl');
    expect(await read('pipe.jsonl')).toEqual([]);
  });

  it('has a limit of files and of levels', () => {
    for (const name of ['a.jsonl', 'b.jsonl', 'c/d/e.jsonl']) folder.write(name, '');
    expect(filesBelow(folder.path, { mostFiles: 3, mostDepth: 2 }).files).toHaveLength(3);
    expect(() => filesBelow(folder.path, { mostFiles: 2 })).toThrow('at most 2 recordings');
    expect(() => filesBelow(folder.path, { mostDepth: 1 })).toThrow('at most 1 levels');
    mkdirSync(join(folder.path, 'empty'));
    expect(() => filesBelow(join(folder.path, 'missing'))).toThrow('cannot read');
  });
});
