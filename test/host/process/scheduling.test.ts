import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { schedulingOf, type SchedulingFile } from '../../../src/host/process/scheduling.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'gov-scheduling-'));
const secret = 'a'.repeat(32);
const read = (file: SchedulingFile = {}, env: Record<string, string> = {}) =>
  schedulingOf(file, { dataDir, path: 'plane.json', env });

describe('the scheduler of an installation', () => {
  it('is the timer of the process by default, and no call is accepted', () => {
    const { hasTimer, cronSecret } = read();
    expect([hasTimer, cronSecret.isSet, cronSecret.matches(''), cronSecret.matches(secret)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
  });

  it('accepts calls beside the timer where a secret is set', () => {
    const { hasTimer, cronSecret } = read({}, { GOV_CRON_SECRET: secret });
    expect([hasTimer, cronSecret.matches(secret), cronSecret.matches(`${secret}a`)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('takes the secret from a file that its owner alone reads', () => {
    const file = join(dataDir, 'cron.secret');
    writeFileSync(file, `${secret}\n`, { mode: 0o600 });
    const settings = { scheduler: 'cron', cronSecretFile: 'cron.secret' } as const;
    expect(read(settings)).toMatchObject({ hasTimer: false });
    expect(read(settings).cronSecret.matches(secret)).toBe(true);
    expect(read({}, { GOV_CRON_SECRET_FILE: file }).cronSecret.matches(secret)).toBe(true);
    chmodSync(file, 0o644);
    expect(() => read(settings)).toThrow('to be readable by its owner only');
  });

  it('refuses cron without a secret, since nothing would ever run', () => {
    expect(() => read({ scheduler: 'cron' })).toThrow(
      'plane.json /scheduler: expected a secret in GOV_CRON_SECRET',
    );
    expect(() => read({}, { GOV_SCHEDULER: 'cron' })).toThrow('GOV_SCHEDULER: expected a secret');
  });

  it('refuses another scheduler', () => {
    expect(() => read({}, { GOV_SCHEDULER: 'systemd' })).toThrow('one of timer, cron, got systemd');
  });

  it.each(['a'.repeat(31), `${'a'.repeat(32)} b`, `${'ä'.repeat(40)}`])(
    'refuses a short or unprintable secret, and does not show it (case %#)',
    (value) => {
      expect(() => read({}, { GOV_CRON_SECRET: value })).toThrow('at least 32 visible ASCII characters');
      try {
        read({}, { GOV_CRON_SECRET: value });
      } catch (error) {
        expect(String(error)).not.toContain(value);
      }
    },
  );
});
