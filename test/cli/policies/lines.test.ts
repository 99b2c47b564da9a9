import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parsePolicyText } from '../../../src/cli/policies/text-form.ts';
import { starters } from '../../../src/cli/policies/starters.ts';
import { withAction } from '../../../src/core/action/recorded.ts';
import { compile } from '../../../src/core/policies/evaluate/compile.ts';
import { decide } from '../../../src/core/policies/evaluate/decision.ts';

const policies = starters.map(({ id, text }) => {
  const { action, onIndeterminate, node } = parsePolicyText(text);
  return { id, action, onIndeterminate, compiled: compile(node) };
});
const facts = {
  cwd: '/srv/app',
  home: '/home/a',
  workspace: '/srv/app',
  plane: '127.0.0.1:7460',
  remotes: { origin: 'github.com' },
  client: { name: 'claude-code' },
};

/** One line of a shell in each line, with `\n` for a line end. */
const linesOf = (name: string): string[] =>
  readFileSync(join(import.meta.dirname, 'lines', name), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.replaceAll('\\n', '\n'));

/** The starters that deny a line or ask about it. */
function stopping(command: string): string[] {
  const { context } = withAction({ tool: { name: 'Bash' }, arguments: { command }, facts });
  return policies
    .filter(
      ({ action, onIndeterminate, compiled }) =>
        decide(action, compiled.evaluate({ context }), onIndeterminate).decision !== 'allow',
    )
    .map(({ id }) => id);
}

describe('lines of an afternoon', () => {
  it('all starters together stop at most 1 in 20 ordinary lines', () => {
    const stopped = linesOf('ordinary.txt').filter((line) => stopping(line).length > 0);
    expect(stopped).toEqual([
      'git worktree add ../app-fix fix/login',
      "docker compose exec db psql -U app -c 'select 1'",
      'psql "$DATABASE_URL" -c \'\\d orders\'',
      "perl -pi -e 's/foo/bar/g' src/a.txt",
    ]);
  });

  it.each(linesOf('bad.txt'))('a starter denies or asks about %j', (line) => {
    expect(stopping(line)).not.toEqual([]);
  });
});
