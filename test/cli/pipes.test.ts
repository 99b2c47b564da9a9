import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, startServer } from '../client/server.ts';
import type { TestServer } from '../client/server.ts';
import { cleanEnv, ended, gov, runner, shell } from './support/tool.ts';

/** 200 runs with names of 2,000 characters: more than a pipe holds. */
const runs = Array.from({ length: 200 }, (_, at) => ({ runId: `run-${at}-${'x'.repeat(2000)}`, events: at }));

let server: TestServer;
let env: Record<string, string>;
beforeAll(async () => {
  server = await startServer((seen, response) => {
    const from = Number(new URL(seen.url, 'http://x').searchParams.get('cursor') ?? '0');
    if (seen.url.includes('/events/count')) return;
    json(response, 200, { data: runs, nextCursor: from < 20 ? String(from + 1) : null });
  });
  env = { GOV_BASE_URL: server.baseUrl, GOV_API_KEY: 'gov_live_x' };
});
afterAll(() => server.close());

describe('a pipe', () => {
  it('a pipe whose reader leaves early ends the tool quietly with 0', async () => {
    const line = 'gov runs list --all | head -1 | cut -c1-8; echo "codes ${PIPESTATUS[0]}"';
    const { stdout, stderr } = await shell(`set -o pipefail; ${line}`, { env });
    expect(stdout).toMatch(/^run-0-xx\ncodes 0\n$/);
    expect(stderr).toBe('');
    const code = await shell('gov runs list --all | head -1 > /dev/null; echo "${PIPESTATUS[0]}"', { env });
    expect(code).toMatchObject({ stdout: '0\n', stderr: '' });
  });

  it('a pipe gets all of a large output, also with a slow reader', async () => {
    const { stdout } = await shell('gov runs list --all -o ndjson | (sleep 0.3; wc -l)', { env });
    expect(Number(stdout)).toBe(21 * 200);
    const whole = await gov(['runs', 'list', '--all', '-o', 'json'], { env });
    expect(JSON.parse(whole.stdout).data).toHaveLength(21 * 200);
  });

  it.skipIf(!existsSync('/dev/full'))(
    'a pipe that cannot take the output makes the command fail',
    async () => {
      const commands = [
        'runs list',
        'runs list -o json',
        'runs list --help',
        'help exit-codes',
        'completion bash',
        'commands -o json',
        'version',
        '--version',
      ];
      for (const command of commands) {
        const { stdout, stderr } = await shell(`gov ${command} > /dev/full; echo $?`, { env });
        expect([command, stdout]).toEqual([command, '1\n']);
        expect(stderr).toContain('standard output: the disk is full');
        expect(stderr).not.toContain('    at ');
      }
    },
  );

  it('a closed standard error does not end the work', async () => {
    expect(await shell('gov runs list -o id 2>&- | wc -l; exit ${PIPESTATUS[0]}', { env })).toMatchObject({
      code: 0,
      stdout: `${21 * 200}\n`,
    });
  });
});

describe('a signal', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)('%s ends a waiting request with %i and without text', async (signal, code) => {
    const child = spawn(process.execPath, [runner, 'events', 'count', '--debug=http'], {
      env: cleanEnv(env),
    });
    child.stderr.once('data', () => child.kill(signal));
    const result = await ended(child);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).not.toContain('error');
  });
});
