import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { json, startServer } from '../../client/server.ts';
import { signedUp } from '../support/account.ts';
import { emptyDirectory, govHere } from '../support/tool.ts';

describe('the sandbox guard', () => {
  const commit = ['graphs', 'commit', 'run-1'];
  const guarded = async () => {
    const server = await startServer((_seen, response) => json(response, 200, {}));
    return { server, env: await signedUp(server.origin) };
  };

  it('the sandbox guard stops a change when nobody named production and nobody can answer', async () => {
    const { server, env } = await guarded();
    for (const argv of [commit, ['events', 'push', '-']]) {
      const { code, stderr } = await govHere(argv, { env, input: '{}\n' });
      expect(code).toBe(2);
      expect(stderr).toContain('this changes production (context acme); its sandbox is context acme-sandbox');
      expect(stderr).toContain('give -C acme or -C acme-sandbox, or --yes');
    }
    expect(server.seen).toEqual([]);
    await server.close();
  });

  it.each([
    [['-C', 'acme'], {}],
    [['--env', 'production'], {}],
    [['--yes'], {}],
    [[], { GOV_CONTEXT: 'acme' }],
    [[], { GOV_ENV: 'production' }],
    [['-C', 'acme-sandbox'], {}],
    [['--env', 'sandbox'], {}],
  ])('the sandbox guard allows a change with %j and %j', async (words, more) => {
    const { server, env } = await guarded();
    expect((await govHere([...commit, ...words], { env: { ...env, ...more } })).code).toBe(0);
    expect(server.seen).toHaveLength(1);
    await server.close();
  });

  it('the sandbox guard allows reads and dry runs', async () => {
    const { server, env } = await guarded();
    server.handle = (_seen, response) => json(response, 200, { count: 1, data: [], nextCursor: null });
    const dry = ['events', 'push', '-', '--dry-run'];
    expect((await govHere(['events', 'count'], { env })).code).toBe(0);
    expect((await govHere(['usage', 'thresholds'], { env })).code).toBe(0);
    expect((await govHere(dry, { env, input: '{}\n' })).stderr).not.toContain('this changes production');
    expect((await govHere(['usage', 'thresholds', '--set', '50'], { env })).code).toBe(2);
    await server.close();
  });

  it('the sandbox guard ignores a project file, and stops nothing without a paired sandbox', async () => {
    const { server, env } = await guarded();
    const cwd = emptyDirectory();
    writeFileSync(join(cwd, '.gov.json'), '{"env":"production"}');
    const sandboxed = await signedUp(server.origin, 'acme-sandbox');
    expect((await govHere(commit, { env: sandboxed, cwd })).code).toBe(2);
    await govHere(['context', 'delete', 'acme-sandbox', '-y'], { env });
    expect((await govHere(commit, { env })).code).toBe(0);
    await server.close();
  });

  it('the sandbox guard asks the person at the terminal', async () => {
    const { server, env } = await guarded();
    const answer = (input: string) => govHere(commit, { env, input, columns: 100, typed: true });
    for (const no of ['n\n', '\n', '', 'yess\n']) expect((await answer(no)).code).toBe(2);
    expect(server.seen).toHaveLength(0);
    const yes = await answer('y\n');
    expect(yes).toMatchObject({ code: 0, stderr: expect.stringMatching(/Continue\? \[y\/N\] /) });
    expect(server.seen).toHaveLength(1);
    await server.close();
  });
});
