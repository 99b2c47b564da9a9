/** `gov config edit`. Tested by `test/cli/context/explain.test.ts`. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { configPath, readUserConfig, storable } from '../../context/config.ts';
import type { UserConfig } from '../../context/config.ts';
import { replaceUserConfig } from '../../context/config-write.ts';
import { readSetting } from '../../context/stored.ts';
import type { Run } from '../../context/command.ts';
import { CliError, exit, usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { configEdit as spec } from '../../specs/tool/config.ts';

export const run: Run<typeof spec> = async ({ out, io }) => {
  const editor = ['GOV_EDITOR', 'VISUAL', 'EDITOR'].map((name) => io.env[name]).find(Boolean);
  if (editor === undefined)
    throw usage('expected an editor in GOV_EDITOR, VISUAL or EDITOR, found none', 'gov config set KEY VALUE');
  const path = configPath(io.env);
  const before = existsSync(path) ? readFileSync(path, 'utf8') : '{\n  "contexts": {}\n}\n';
  const folder = mkdtempSync(join(tmpdir(), 'gov-config-'));
  const copy = join(folder, 'config.json');
  try {
    writeFileSync(copy, before, { mode: 0o600 });
    // as git does: the variable may hold a program with flags
    const line = ['-c', `${editor} "$1"`, 'sh', copy];
    const { exitCode } = await execa('/bin/sh', line, { stdio: 'inherit', reject: false });
    if (exitCode !== 0)
      throw new CliError(exit.error, `the editor ended with ${exitCode ?? 'a signal'}; nothing was changed`);
    const edited = readFileSync(copy, 'utf8');
    if (edited === before) return out.note(safe`nothing was changed`);
    checkSettings(readUserConfig({ GOV_CONFIG_DIR: folder }), io.now());
    await replaceUserConfig(io.env, edited);
    await out.note(safe`changed ${path}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

/** Errors: exit 2 for a value that no command would use. */
function checkSettings({ settings = {} }: UserConfig, now: number): void {
  for (const key of storable) {
    const text = settings[key];
    if (text !== undefined) readSetting(key, text, now);
  }
}
