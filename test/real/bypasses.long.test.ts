/**
 * The known ways around hooks with the real clients and the hooks of a user, as `gov agents drill --bypasses` tries them. The
 * clients are large, and no dependency of the project, so those that are not on PATH are skipped. By hand:
 *
 *   PATH=/where/the/clients/are:$PATH GOV_TEST_LONG=1 scripts/with-node vitest run test/real/bypasses.long.test.ts
 *
 * A result that changes with a new version of a client belongs in the list, in `openSettings` and in the page
 * `docs/how-to/test-ways-around-hooks.md`. Files of the administrator, such as `/etc/claude-code`, change results too: run it
 * where there are none.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPlane, type TestPlane } from '../support/serving.ts';
import { emptyDirectory, gov } from '../cli/support/tool.ts';

const path = process.env['PATH'] ?? '';
const isOnPath = (name: string): boolean =>
  path.split(delimiter).some((folder) => existsSync(join(folder, name)));

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

interface Known {
  readonly client: string;
  readonly program: string;
  readonly folder: string;
  /** The others are open. */
  readonly shut: readonly string[];
  /** The key of this test is in a variable, and in no file. */
  readonly others?: Readonly<Record<string, string>>;
}

const clients: readonly Known[] = [
  {
    client: 'claude-code',
    program: 'claude',
    folder: '.claude',
    shut: ['background-shell', 'monitor', 'subagent', 'node-options'],
    others: { 'operator-key': 'not_shown' },
  },
  { client: 'codex', program: 'codex', folder: '.codex', shut: ['code-mode', 'bash-profile'] },
  { client: 'gemini', program: 'gemini', folder: '.gemini', shut: ['system-settings-env'] },
  { client: 'opencode', program: 'opencode', folder: '.config/opencode', shut: [] },
];

describe.each(clients)('the real $client', ({ client, program, folder, shut, others = {} }) => {
  it.skipIf(!isOnPath(program))(
    `${client} with the hooks of a user has the known ways around them, and doctor names the open ones`,
    { timeout: 400_000 },
    async () => {
      const home = emptyDirectory();
      mkdirSync(join(home, folder), { recursive: true });
      const env = {
        HOME: home,
        PATH: path,
        GOV_CONFIG_DIR: join(home, 'gov'),
        GOV_BASE_URL: plane.baseUrl,
        GOV_API_KEY: plane.key,
      };
      const agents = (...words: string[]) => gov(['agents', ...words, client, '-o', 'json'], { env });
      await agents('install', '--scope', 'user');
      const { code, stdout, stderr } = await agents('drill', '--bypasses');
      if (stdout === '') throw new Error(stderr);
      const { drills, bypasses } = JSON.parse(stdout);
      expect(drills).toMatchObject([{ client, passed: true }]);
      const known = bypasses.map(({ id }: { id: string }) => [
        id,
        others[id] ?? (shut.includes(id) ? 'shut' : 'open'),
      ]);
      expect(bypasses.map(({ id, result }: { id: string; result: string }) => [id, result])).toEqual(known);
      expect(code).toBe(3);
      const doctor = await agents('doctor');
      expect(doctor.code).toBe(3);
      const [{ problems }] = JSON.parse(doctor.stdout).clients;
      for (const [id, result] of known) expect(problems.join().includes(`(${id})`)).toBe(result === 'open');
    },
  );
});
