import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createRunToken, isRunToken, readRunToken, runKeyOf } from '../../src/core/run-token.ts';

const keyId = 'key_01jzzzzzzzzzzzzzzzzzzzzzzz';
const key = 'gov_live_00000000000000000000000000000000abcdef';
const claims = { runId: 'nightly-7', projectId: 'prj_a', expiresMs: 1000, scopes: ['events:write'] };
const token = createRunToken({ keyId, key }, claims);

/** A token over any claims, with a right MAC. */
const over = (value: unknown): string => {
  const encoded = Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString(
    'base64url',
  );
  const mac = createHmac('sha256', createHmac('sha256', key).update('gov.runkey/1').digest()).update(
    `gov.runtoken/1\n${keyId}\n${encoded}`,
  );
  return `gov_run_${keyId}.${encoded}.${mac.digest('base64url')}`;
};

describe('a run token', () => {
  it('is the key id, claims in base64url, and an HMAC under the run key', () => {
    expect(token).toBe(over({ e: 1000, p: 'prj_a', r: 'nightly-7', s: ['events:write'] }));
    expect(isRunToken(token)).toBe(true);
    const read = readRunToken(token);
    expect(read).toMatchObject({ ...claims, keyId });
    expect([read?.isOf(runKeyOf(key)), read?.isOf(runKeyOf('other'))]).toEqual([true, false]);
    expect(token).not.toContain(key.slice(9));
  });

  it('is refused where any character of it was changed', () => {
    for (let at = 0; at < token.length; at += 1) {
      const changed = `${token.slice(0, at)}${token[at] === 'B' ? 'C' : 'B'}${token.slice(at + 1)}`;
      expect(readRunToken(changed)?.isOf(runKeyOf(key)) ?? false, changed).toBe(false);
    }
  });

  it('has no scope beyond those of runs', () => {
    const read = readRunToken(
      over({ r: 'a', p: 'b', e: 1, s: ['*', 'governance:manage', 'tools:evaluate'] }),
    );
    expect(read?.scopes).toEqual(['tools:evaluate']);
  });

  it('names a run as any client may name one', () => {
    const runId = `a.b:c_${'d'.repeat(122)}`;
    expect(readRunToken(over({ r: runId, p: 'b', e: 1, s: [] }))?.runId).toBe(runId);
  });

  it.each([
    'gov_run_',
    `gov_run_${keyId}`,
    `${token}.x`,
    over('no JSON'),
    over([]),
    over({ p: 'b', e: 1, s: [] }),
    over({ r: '', p: 'b', e: 1, s: [] }),
    over({ r: 'a', p: 'b', e: 1.5, s: [] }),
    over({ r: 'a', p: 'b', e: '1', s: [] }),
    over({ r: 'a', e: 1, s: [] }),
    over({ r: 'a', p: 'b', e: 1, s: 'events:write' }),
    over({ r: 'a'.repeat(129), p: 'b', e: 1, s: [] }),
    over({ r: '../a', p: 'b', e: 1, s: [] }),
    over({ r: 'a\nb', p: 'b', e: 1, s: [] }),
    over({ r: 'Gov.system', p: 'b', e: 1, s: [] }),
  ])('other text is none: %s', (text) => {
    expect(readRunToken(text)).toBeNull();
  });
});
