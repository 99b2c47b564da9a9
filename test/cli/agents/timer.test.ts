import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cronLines, plist, systemdUnits } from '../../../src/cli/agents/drill/timer-text.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { emptyDirectory, gov } from '../support/tool.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

let home = '';
let keyFile = '';
beforeEach(() => {
  home = emptyDirectory();
  mkdirSync(join(home, 'bin'));
  keyFile = join(home, 'key');
  writeFileSync(keyFile, plane.key, { mode: 0o600 });
});

/** Schedulers of the machine that runs the tests must not get a timer: these keep what they are given in files. */
function scheduler(name: string, script: string): void {
  writeFileSync(join(home, 'bin', name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(home, 'bin', name), 0o755);
}
const withCron = (): void =>
  scheduler(
    'crontab',
    'PATH=/usr/bin:/bin; T="$HOME/table"; case $1 in -l) cat "$T";; -r) rm "$T";; -) cat >"$T";; esac',
  );
const withSystemd = (): void => {
  scheduler('systemctl', 'echo "$*" >>"$HOME/said"');
  mkdirSync(join(home, 'run/systemd'), { recursive: true });
};
const agents = (line: string, more: Record<string, string> = {}) =>
  gov(['agents', ...line.split(' ')], {
    env: {
      HOME: home,
      GOV_CONFIG_DIR: join(home, '.config/gov'),
      XDG_RUNTIME_DIR: join(home, 'run'),
      // nothing of this machine: it may have schedulers
      PATH: join(home, 'bin'),
      GOV_BASE_URL: plane.baseUrl,
      GOV_API_KEY_FILE: keyFile,
      ...more,
    },
  });
const at = (path: string): string => readFileSync(join(home, path), 'utf8');
const units = '.config/systemd/user';

describe.skipIf(process.platform === 'darwin')('gov agents drill --every', () => {
  it('installs a timer of systemd, shows it first, and uninstall removes it', async () => {
    withSystemd();
    const shown = await agents('drill --every 24h --dry-run');
    expect([shown.code, existsSync(join(home, units)), existsSync(join(home, 'said'))]).toEqual([
      0,
      false,
      false,
    ]);
    expect(shown.stdout).toContain('+OnUnitActiveSec=86400s');
    expect((await agents('drill --bypasses --every 24h --dry-run')).stdout).toMatch(/"drill" "--bypasses"/);
    expect((await agents('drill --every 24h')).code).toBe(0);
    expect(at(`${units}/gov-drill.timer`)).toContain('OnUnitActiveSec=86400s\n');
    const service = at(`${units}/gov-drill.service`);
    expect(service).toContain(`Environment="GOV_API_KEY_FILE=${keyFile}"\n`);
    expect(service).toMatch(/ExecStart=".*" ".*gov\.cjs" "agents" "drill"\n/);
    expect(service).not.toContain(plane.key);
    expect(at('said')).toBe('--user daemon-reload\n--user enable --now gov-drill.timer\n');
    expect((await agents('uninstall --scope user')).code).toBe(0);
    expect(existsSync(join(home, `${units}/gov-drill.timer`))).toBe(false);
    expect(at('said')).toContain('--user disable --now gov-drill.timer\n');
  });

  it('adds a line to cron where there is no systemd, keeps the other lines, and uninstall removes it', async () => {
    withCron();
    writeFileSync(join(home, 'table'), '5 4 * * * backup\n');
    for (let times = 0; times < 2; times += 1) expect((await agents('drill --every 6h')).code).toBe(0);
    expect(at('table')).toMatch(
      /^5 4 \* \* \* backup\n# >>> gov.*\n\d+ \*\/6 \* \* \* env .* 'agents' 'drill' >\/dev\/null 2>&1\n# <<< .*\n$/,
    );
    expect((await agents('uninstall --scope user')).code).toBe(0);
    expect(at('table')).toBe('5 4 * * * backup\n');
  });

  it('refuses a machine without a scheduler, a key in a variable, and a time below an hour', async () => {
    expect(await agents('drill --every 24h')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('found none'),
    });
    withCron();
    expect(await agents('drill --every 24h', { GOV_API_KEY: plane.key })).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('GOV_API_KEY_FILE'),
    });
    expect(await agents('drill --every 5m')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('1h'),
    });
    expect((await agents('drill --dry-run')).code).toBe(2);
  });

  it('says what the scheduler said if it refuses the timer', async () => {
    withSystemd();
    scheduler('systemctl', 'echo "no bus" >&2; exit 1');
    expect(await agents('drill --every 24h')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no bus'),
    });
  });
});

describe('the texts of timers', () => {
  const odd = {
    everyMs: 3_600_000,
    words: ['/opt/my node', `it's 100% "$HOME"\\`],
    variables: { PATH: '/a b:/c%d' },
    machine: 'build-7',
  };

  it('quotes words for systemd, launchd and cron', () => {
    const { service } = systemdUnits(odd);
    expect(service).toContain(`ExecStart="/opt/my node" "it's 100%% \\"$$HOME\\"\\\\"\n`);
    expect(service).toContain('Environment="PATH=/a b:/c%%d"\n');
    expect(plist({ ...odd, words: ['a<b&c'] })).toContain('<string>a&lt;b&amp;c</string>');
    expect(cronLines('', odd)).toContain(`env PATH='/a b:/c\\%d' '/opt/my node' 'it'\\''s 100\\% "$HOME"\\'`);
  });

  it.each([
    [1, /^\d+ \* \* \* \*/],
    [5, /^\d+ \*\/4 \* \* \*/],
    [24, /^\d+ \d+ \* \* \*/],
    [100, /^\d+ \d+ \* \* \*/],
  ])('rounds %i hours down to what cron can say', (hours, expected) => {
    const [, line = ''] = cronLines('', { ...odd, everyMs: hours * 3_600_000 }).split('\n');
    expect(line).toMatch(expected);
  });
});
