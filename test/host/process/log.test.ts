import { describe, expect, it } from 'vitest';
import { randomBytes } from 'node:crypto';
import { createRunToken } from '../../../src/core/run-token.ts';
import { createLog, scrub } from '../../../src/host/process/log.ts';
import { createToken, keyKinds } from '../../../src/service/credentials/token-format.ts';

const lines: string[] = [];
const log = createLog('info', (line) => lines.push(line));
const last = (): string => lines.at(-1) ?? '';

describe('a log line', () => {
  it('a log line is one JSON object with level, time and message', () => {
    log.info({ baseUrl: 'http://x' }, 'serving');
    expect(JSON.parse(last())).toEqual({
      level: 'info',
      time: expect.any(String),
      baseUrl: 'http://x',
      msg: 'serving',
    });
    expect(last().endsWith('\n')).toBe(true);
  });

  it('a log line never contains a key, wherever the key was', () => {
    for (const kind of keyKinds) {
      const token = createToken(kind, randomBytes);
      log.warn(
        { headers: { authorization: `Bearer ${token}`, 'x-api-key': token, cookie: token } },
        'headers',
      );
      expect(last()).not.toContain(token);
      log.error({ err: new Error(`no ${token}`), nested: { deep: [token] } }, `message ${token}`);
      expect(last()).not.toContain(token);
      expect(last()).toContain(`gov_${kind}_[redacted]`);
    }
    const ofRun = createRunToken(
      { keyId: 'key_01jzzzzzzzzzzzzzzzzzzzzzzz', key: 'gov_live_x' },
      { runId: 'a', projectId: 'prj_a', expiresMs: 1, scopes: [] },
    );
    expect(scrub(`a ${ofRun} b`)).toBe('a gov_run_key_01jzzzzzzzzzzzzzzzzzzzzzzz.[redacted] b');
    const secret = `whsec_${randomBytes(32).toString('base64')}`;
    expect(scrub(`a ${secret} b`)).toBe('a whsec_[redacted] b');
  });

  it('a log line never contains an ID token or a session', () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const signature = randomBytes(64).toString('base64url');
    const token = `${part({ alg: 'ES256' })}.${part({ sub: 'ada' })}.${signature}`;
    log.warn({ err: new Error(`refused ${token}, sign in`) }, `got ${token}`);
    expect(last()).not.toContain(part({ sub: 'ada' }));
    expect(last()).not.toContain(signature);
    expect(scrub(`refused ${token}, sign in`)).toBe(`refused ${part({ alg: 'ES256' })}.[redacted], sign in`);
    const session = randomBytes(32).toString('base64url');
    expect(scrub(`a=b; gov_session_0a1b2c3d=${session}; c`)).toBe('a=b; gov_session_0a1b2c3d=[redacted]; c');
    expect(scrub(`cookie: a=b; __Host-gov_session=${session}; c`)).toBe(
      'cookie: a=b; __Host-gov_session=[redacted]; c',
    );
  });

  it('a log line escapes characters that could control a terminal', () => {
    log.info({ text: '\u001b[2J\n{"forged":true}' }, 'x');
    expect(last().split('\n').length).toBe(2);
    expect(last()).not.toContain('\u001b');
    const remote = { why: 'a\u009b31m\u202eb\u{e0041}\u2028c', [`k\u200b`]: 'Zürich' };
    log.warn(remote, 'x\u3164');
    expect(last().trimEnd()).toMatch(/^[ -~ü]+$/);
    expect(JSON.parse(last())).toMatchObject({ ...remote, msg: 'x\u3164' });
  });

  it('a log line below the level is not written', () => {
    const quiet: string[] = [];
    const silent = createLog('silent', (line) => quiet.push(line));
    silent.error({}, 'x');
    expect(quiet).toEqual([]);
  });
});
