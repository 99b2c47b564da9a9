import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startPlane, type TestPlane } from '../../../support/serving.ts';
import { cleanEnv, emptyDirectory, ended, govHere, runner, underNohup } from '../../support/tool.ts';

let plane: TestPlane;
let env: Record<string, string>;
let cwd: string;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());
beforeEach(() => {
  cwd = emptyDirectory();
  mkdirSync(join(cwd, 'x'));
  env = {
    GOV_BASE_URL: plane.baseUrl,
    GOV_API_KEY: plane.key,
    XDG_STATE_HOME: join(cwd, 'state'),
    GOV_RETRIES: '0',
  };
});

const line = (session: string, number: number): string =>
  `${JSON.stringify({
    type: 'user',
    sessionId: session,
    uuid: `${session}-${number}`,
    timestamp: '2026-11-20T10:00:00Z',
    message: { role: 'user', content: `prompt ${number}` },
  })}\n`;
const promptsOf = async (runId: string): Promise<string[]> => {
  const { body } = await plane.call('GET', `/events?runId=${runId}&limit=1000`);
  return body.events
    .filter(({ eventType }: { eventType: string }) => eventType === 'prompt.submitted')
    .map(({ metadata }: { metadata: { content: string } }) => metadata.content);
};

describe('gov events watch, against a plane', () => {
  it('gov events watch prints a line for each session on a terminal, and a record in a pipe', async () => {
    writeFileSync(join(cwd, 'x/one.jsonl'), line('watched-1', 1));
    writeFileSync(join(cwd, 'x/notes.md'), '');
    const words = ['events', 'watch', 'x', '--once'];
    const { code, stdout } = await govHere([...words, '--color', 'never'], { env, cwd, columns: 80 });
    expect(code).toBe(0);
    expect(stdout).toContain('1 recording; 1 other file\n');
    expect(stdout).toMatch(/^\d\d:\d\d:\d\d one.jsonl: claude-code, run watched-1, 3 events$/m);
    appendFileSync(join(cwd, 'x/one.jsonl'), line('watched-1', 2));
    const again = await govHere(words, { env, cwd });
    expect(
      again.stdout
        .trimEnd()
        .split('\n')
        .map((each) => JSON.parse(each)),
    ).toMatchObject([
      { kind: 'watching', files: 1, others: 1 },
      { kind: 'taken', file: 'one.jsonl', runs: ['watched-1'], became: 'recorded', events: 2, known: 2 },
    ]);
    expect(await promptsOf('watched-1')).toEqual(['prompt 1', 'prompt 2']);
  });

  it('gov events watch refuses a file, and an output that needs an end', async () => {
    writeFileSync(join(cwd, 'x/one.jsonl'), '{}');
    expect(await govHere(['events', 'watch', 'x/one.jsonl'], { env, cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected a folder'),
    });
    expect(await govHere(['events', 'watch', 'x', '-o', 'json'], { env, cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected ndjson or table for a stream'),
    });
  });

  it('gov events watch that nohup started lives on at SIGHUP', async () => {
    appendFileSync(join(cwd, 'x/one.jsonl'), line('nohup-1', 1));
    const child = underNohup(['events', 'watch', 'x'], { env, cwd });
    const end = ended(child);
    await expect.poll(() => promptsOf('nohup-1'), { timeout: 10_000 }).toEqual(['prompt 1']);
    child.kill('SIGHUP');
    appendFileSync(join(cwd, 'x/one.jsonl'), line('nohup-1', 2));
    await expect.poll(() => promptsOf('nohup-1'), { timeout: 10_000 }).toEqual(['prompt 1', 'prompt 2']);
    child.kill('SIGINT');
    expect(await end).toMatchObject({ code: 130, stderr: '' });
  });

  it('gov events watch, killed at any moment and started again, records each line once', async () => {
    const sessions = Array.from({ length: 6 }, (_, n) => `killed-${n}`);
    const start = () => {
      const child = spawn(process.execPath, [runner, 'events', 'watch', 'x'], { env: cleanEnv(env), cwd });
      const first = new Promise<void>((resolve) =>
        child.stdout.on('data', (chunk: Buffer) => {
          if (chunk.includes('"taken"')) resolve();
        }),
      );
      return { child, first, end: ended(child) };
    };
    for (let round = 0; round < 3; round++) {
      for (const session of sessions)
        appendFileSync(join(cwd, `x/${session}.jsonl`), line(session, round) + line(session, round + 10));
      const { child, first, end } = start();
      await first;
      for (const session of sessions)
        appendFileSync(join(cwd, `x/${session}.jsonl`), line(session, round + 20));
      child.kill('SIGKILL');
      await end;
    }
    const { child, end } = start();
    const wanted = [0, 10, 20, 1, 11, 21, 2, 12, 22].map((number) => `prompt ${number}`);
    for (const session of sessions)
      await expect.poll(() => promptsOf(session), { timeout: 10_000 }).toEqual(wanted);
    child.kill('SIGINT');
    expect(await end).toMatchObject({ code: 130, stderr: '' });
  });
});
