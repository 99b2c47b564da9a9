/** The built tool in a real terminal: tmux. */
import { execFileSync, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { startPolicyPlane, type PolicyPlane } from '../support/policy-plane.ts';
import { cleanEnv, emptyDirectory, runner } from '../support/tool.ts';

const hasTmux = spawnSync('tmux', ['-V']).status === 0;

describe.skipIf(!hasTmux)('a screen in tmux', () => {
  const socket = join(emptyDirectory(), 'tmux');
  let plane: PolicyPlane;
  const tmux = (...words: string[]): string =>
    execFileSync('tmux', ['-S', socket, '-f', '/dev/null', ...words], {
      encoding: 'utf8',
      env: cleanEnv({
        GOV_BASE_URL: plane.baseUrl,
        GOV_API_KEY: plane.key,
        LANG: 'C.UTF-8',
        TERM: 'xterm-256color',
      }),
    });
  const type = (...keys: string[]): string => tmux('send-keys', '-t', 's', ...keys);
  const state = (): string => tmux('display', '-p', '-t', 's', '#{alternate_on} #{cursor_flag}').trim();
  const shows = async (pattern: RegExp): Promise<string> => {
    const look = (): string => {
      const text = tmux('capture-pane', '-t', 's', '-p');
      if (pattern.test(text)) return text;
      throw new Error(`expected ${String(pattern)}, tmux shows:\n${text}`);
    };
    return vi.waitFor(look, { timeout: 30_000, interval: 100 });
  };
  beforeAll(async () => {
    plane = await startPolicyPlane();
    tmux('new-session', '-d', '-s', 's', '-x', '100', '-y', '24', 'bash --norc --noprofile');
    tmux('set', '-g', 'status', 'off');
    type(`PS1='ready$ '; gov() { '${process.execPath}' '${runner}' "$@"; }; clear`, 'Enter');
    await shows(/^ready\$/m);
  });
  afterAll(async () => {
    spawnSync('tmux', ['-S', socket, 'kill-server']);
    await plane.end();
  });

  it.each([
    ['q', 'q', 0],
    ['ctrl-c', 'C-c', 130],
  ])('%s restores the terminal and gives its exit code', async (_, key, code) => {
    type(`clear; gov top; echo "code=$?"`, 'Enter');
    await shows(/leaves\/s/);
    expect(state()).toBe('1 0');
    type(key);
    const text = await shows(/^code=\d/m);
    expect(text).toMatch(new RegExp(`^code=${code}$`, 'm'));
    expect(state()).toBe('0 1');
    expect(text).not.toContain('ingest');
  });

  it('SIGTERM restores the terminal and gives exit code 143, also after the window has changed', async () => {
    type('clear; gov top; echo "code=$?"', 'Enter');
    await shows(/leaves\/s/);
    tmux('resize-window', '-t', 's', '-x', '60', '-y', '12');
    await shows(/^ +ingest/m);
    tmux('resize-window', '-t', 's', '-x', '110', '-y', '30');
    await shows(/╭ ingest/);
    const shell = tmux('display', '-p', '-t', 's', '#{pane_pid}').trim();
    const child = execFileSync('pgrep', ['-P', shell], { encoding: 'utf8' }).trim().split('\n')[0];
    process.kill(Number(child), 'SIGTERM');
    const text = await shows(/^code=143$/m);
    expect(state()).toBe('0 1');
    expect(text).not.toMatch(/ingest|╭|│/);
    tmux('resize-window', '-t', 's', '-x', '100', '-y', '24');
  });

  it('ctrl-z stops the screen, and fg shows it again', async () => {
    type('clear; gov top', 'Enter');
    await shows(/leaves\/s/);
    type('C-z');
    await shows(/Stopped/);
    expect(state()).toBe('0 1');
    type('fg', 'Enter');
    await shows(/leaves\/s/);
    expect(state()).toBe('1 0');
    type('q');
    await shows(/^ready\$ *$/m);
    expect(state()).toBe('0 1');
  });
});
