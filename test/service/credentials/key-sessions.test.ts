/** When codes and sessions of keys end, on an injected clock, and how many there may be. */
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { KeySessions } from '../../../src/service/credentials/key-sessions.ts';

const key = Buffer.alloc(32, 7);
const minute = 60_000;

function start() {
  const clock = { nowMs: 1_000_000 };
  return { clock, sessions: new KeySessions({ now: () => clock.nowMs, randomBytes }) };
}

describe('sessions of keys', () => {
  it('a code is good for consoleLinkSeconds, and once', () => {
    const { clock, sessions } = start();
    const [early, late] = [sessions.createLink(key), sessions.createLink(key)];
    clock.nowMs += limits.consoleLinkSeconds * 1000 - 1;
    expect(sessions.takeLink(early.code)).toBe(key);
    expect(sessions.takeLink(early.code)).toBeNull();
    clock.nowMs += 1;
    expect(sessions.takeLink(late.code)).toBeNull();
    expect(sessions.takeLink('unknown')).toBeNull();
  });

  it('a session ends sessionIdleMinutes after its last use', () => {
    const { clock, sessions } = start();
    const { token } = sessions.open(key);
    clock.nowMs += limits.sessionIdleMinutes * minute;
    expect(sessions.use(token)?.key).toBe(key);
    clock.nowMs += limits.sessionIdleMinutes * minute;
    expect(sessions.use(token)?.key).toBe(key);
    clock.nowMs += limits.sessionIdleMinutes * minute + 1;
    expect(sessions.use(token)).toBeNull();
    expect(sessions.use(token)).toBeNull();
  });

  it('a session ends sessionHours after it was opened, whatever uses it', () => {
    const { clock, sessions } = start();
    const { token, session } = sessions.open(key);
    for (let left = limits.sessionHours * 60; left > 1; left -= 1) {
      clock.nowMs += minute;
      expect(sessions.use(token)).not.toBeNull();
    }
    clock.nowMs += minute;
    expect(clock.nowMs).toBe(session.expiresMs);
    expect(sessions.use(token)).toBeNull();
  });

  it('a closed session is of no use, and closes once', () => {
    const { sessions } = start();
    const { token } = sessions.open(key);
    expect(sessions.close(token)?.key).toBe(key);
    expect(sessions.close(token)).toBeNull();
    expect(sessions.use(token)).toBeNull();
  });

  it('consoleSessions are held; one more ends the least recently used', () => {
    const { sessions } = start();
    const tokens = Array.from({ length: limits.consoleSessions }, () => sessions.open(key).token);
    const [first = '', second = ''] = tokens;
    expect(sessions.use(first)).not.toBeNull();
    sessions.open(key);
    expect(sessions.use(second)).toBeNull();
    expect(sessions.use(first)).not.toBeNull();
  });

  it('consoleLinks are held; one more drops the oldest', () => {
    const { sessions } = start();
    const codes = Array.from({ length: limits.consoleLinks }, () => sessions.createLink(key).code);
    const newest = sessions.createLink(key).code;
    expect(sessions.takeLink(codes[0] ?? '')).toBeNull();
    expect(sessions.takeLink(codes[1] ?? '')).toBe(key);
    expect(sessions.takeLink(newest)).toBe(key);
  });
});
