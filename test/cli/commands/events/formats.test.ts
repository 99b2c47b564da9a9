import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatNames } from '../../../../src/core/intake/names.ts';
import { emptyDirectory, govHere } from '../../support/tool.ts';

describe('gov events formats', () => {
  it('gov events formats lists every format that --from takes', async () => {
    const { code, stdout } = await govHere(['events', 'formats', '-o', 'ndjson']);
    const listed = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect([code, listed.map(({ format }) => format)]).toEqual([0, [...formatNames]]);
  });

  it.each(formatNames)(
    'the example of %s in gov events formats is recognized and recorded whole by a push',
    async (name) => {
      const { stdout } = await govHere(['events', 'formats', name, '-o', 'json']);
      const { maps, example } = JSON.parse(stdout);
      expect(maps.length).toBeGreaterThan(2);
      const cwd = emptyDirectory();
      writeFileSync(join(cwd, 'example.json'), JSON.stringify(example));
      const words = ['events', 'push', 'example.json', '--from', 'auto', '--dry-run', '-o', 'json'];
      const pushed = await govHere(words, { cwd, env: {} });
      expect([pushed.code, JSON.parse(pushed.stdout).imports[0]]).toMatchObject([
        0,
        { format: name, changes: {} },
      ]);
      expect(pushed.stderr).toContain(`example.json: read as ${name} (`);
    },
  );

  it('gov events formats names the known formats when the format is unknown', async () => {
    const { code, stderr } = await govHere(['events', 'formats', 'telepathy']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('expected one of anthropic, auditd, claude-code'),
    ]);
  });
});
