import { existsSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { emptyDirectory, gov } from '../support/tool.ts';

const path = process.env['PATH'] ?? '';
const isOnPath = (name: string): boolean =>
  path.split(delimiter).some((folder) => existsSync(join(folder, name)));

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

/** The real clients are large, and no dependency of the project: the tests of those that are not on PATH are skipped. */
describe.each([
  ['claude-code', 'claude'],
  ['codex', 'codex'],
  ['gemini', 'gemini'],
])('the real %s', (client, name) => {
  it.skipIf(!isOnPath(name))(
    `${client} fails a drill without hooks, passes it with them, and fails again after uninstall`,
    { timeout: 120_000 },
    async () => {
      const home = emptyDirectory();
      mkdirSync(join(home, `.${client.split('-', 1)[0]}`));
      const env = {
        HOME: home,
        PATH: path,
        GOV_CONFIG_DIR: join(home, '.config/gov'),
        GOV_BASE_URL: plane.baseUrl,
        GOV_API_KEY: plane.key,
      };
      const agents = (verb: string, ...more: string[]) => gov(['agents', verb, client, ...more], { env });
      const drill = async () => JSON.parse((await agents('drill', '-o', 'json')).stdout).drills[0];
      expect(await drill()).toMatchObject({ passed: false, stopped: false });
      await agents('install', '--scope', 'user');
      expect(await drill()).toMatchObject({ passed: true, stopped: true, recorded: true });
      await agents('uninstall', '--scope', 'user');
      expect(await drill()).toMatchObject({ passed: false, stopped: false });
    },
  );
});
