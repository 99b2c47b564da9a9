/** A process that writes is killed at random moments; `GOV_KILL_ROUNDS` asks for more of them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { projectRoot } from '../../paths.ts';

const rounds = process.env['GOV_KILL_ROUNDS'] ?? '2';

it(`the store loses no acknowledged event over ${rounds} kills`, { timeout: 600_000 }, async () => {
  const script = join(projectRoot, 'test/faults/kill9.ts');
  const child = spawn(process.execPath, [script, rounds, '7'], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  expect(text).toContain(`over ${rounds} kills, none lost`);
  expect(code).toBe(0);
});
