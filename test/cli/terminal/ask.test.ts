import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { confirm, confirmName } from '../../../src/cli/terminal/ask.ts';
import { Writer } from '../../../src/cli/terminal/io.ts';
import { Out } from '../../../src/cli/terminal/out.ts';
import { resolveSettings, type GivenFlags } from '../../../src/cli/context/settings.ts';

interface Sitting {
  readonly typed?: string;
  readonly flags?: GivenFlags;
  readonly terminal?: boolean;
  readonly env?: Record<string, string>;
}

function sit({ typed, flags = {}, terminal = true, env = {} }: Sitting) {
  const stdin = Object.assign(new PassThrough(), { isTTY: terminal });
  if (typed !== undefined) stdin.end(typed);
  const stderr = Object.assign(new PassThrough(), { isTTY: terminal });
  let shown = '';
  stderr.on('data', (chunk: Buffer) => (shown += chunk.toString()));
  const io = { stdin, stdout: new PassThrough(), stderr, env, cwd: '/', now: Date.now };
  const stop = new AbortController();
  const streams = { stdout: new Writer(io.stdout), stderr: new Writer(stderr) };
  const out = new Out(streams, resolveSettings({ output: 'table', ...flags }, io), Date.now);
  return { asking: { out, io, signal: stop.signal }, stop, shown: () => shown };
}
const asked = async (sitting: Sitting) => {
  const { asking, shown } = sit(sitting);
  await confirm('this deletes \u001b[2Jeverything', '--yes', asking);
  return shown();
};

describe('a question', () => {
  it.each(['y\n', 'Y\n', 'yes\n', ' yes \n', 'y'])('a question is answered with yes by %j', async (typed) => {
    expect(await asked({ typed })).toBe('this deletes \\u001b[2Jeverything. Continue? [y/N] ');
  });

  it.each(['\n', 'n\n', 'no\n', 'yess\n', '', 'y y\n', '\ny\n'])(
    'a question is answered with no by %j',
    async (typed) => {
      await expect(asked({ typed })).rejects.toMatchObject({ exit: 2, code: 'DECLINED' });
    },
  );

  it('a question is not asked when a flag answers it', async () => {
    expect(await asked({ flags: { yes: true }, terminal: false })).toBe('');
  });

  it.each([
    { terminal: false },
    { flags: { noInput: true } },
    { env: { CI: '1' } },
    { env: { GOV_NO_INPUT: '1' } },
  ])('a question is not asked with %j, and the error names the flag to give', async (sitting) => {
    await expect(asked({ typed: 'y\n', ...sitting } as Sitting)).rejects.toMatchObject({
      exit: 2,
      hint: 'nobody can answer here: give --yes',
    });
  });

  it('a question is asked also with --quiet', async () => {
    expect(await asked({ typed: 'y\n', flags: { quiet: true } })).toContain('Continue?');
  });

  it('a question ends with the signal and reads nothing afterwards', async () => {
    const { asking, stop } = sit({});
    const waiting = confirm('this waits', '--yes', asking);
    setImmediate(() => stop.abort(new Error('interrupted')));
    await expect(waiting).rejects.toThrow('interrupted');
    await expect(confirm('this waits', '--yes', asking)).rejects.toThrow('interrupted');
  });
});

describe('a name', () => {
  const named = (sitting: Sitting, given?: string) =>
    confirmName({ fact: 'this deletes it', name: 'acme', given }, sit(sitting).asking);

  it('a name to confirm must be typed or given exactly', async () => {
    await named({ typed: 'acme\n' });
    await named({ terminal: false }, 'acme');
    await named({ terminal: false, flags: { yes: true } });
    for (const typed of ['Acme\n', 'y\n', 'yes\n', '', 'acme2\n'])
      await expect(named({ typed })).rejects.toMatchObject({ exit: 2 });
    await expect(named({ typed: 'acme\n' }, 'other')).rejects.toThrow(
      /--confirm: expected "acme", got "other"/,
    );
    await expect(named({ terminal: false })).rejects.toMatchObject({
      hint: 'nobody can answer here: give --confirm acme, or --yes',
    });
  });
});
