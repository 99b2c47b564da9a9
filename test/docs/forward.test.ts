/** docs/how-to/forward-to-a-siem.md is followed line by line. The configurations of receivers run in `test/interop/syslog.ts`. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { emptyDirectory, shell } from '../cli/support/tool.ts';
import { projectRoot } from '../paths.ts';

const folder = emptyDirectory();
const at = {
  cwd: folder,
  env: { GOV_CONFIG_DIR: join(folder, 'config'), XDG_STATE_HOME: join(folder, 'state') },
};
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('every command of the page about forwarding does what the page says', async () => {
  const text = readFileSync(join(projectRoot, 'docs/how-to/forward-to-a-siem.md'), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n([^]*?)^```/gm)].map(([, block = '']) => block);
  expect(blocks.length).toBeGreaterThanOrEqual(5);
  for (const line of blocks.join('').trim().split('\n')) {
    expect(await shell(line, at), line).toMatchObject({ code: 0 });
  }
  const { forwards } = JSON.parse(readFileSync(join(folder, 'forwarding/plane.json'), 'utf8')) as {
    forwards: { name: string }[];
  };
  expect(forwards.map(({ name }) => name)).toEqual(['siem', 'rsyslog', 'syslog-ng', 'splunk', 'archive']);
});
