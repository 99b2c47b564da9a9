/**
 * Real events for load: the recorded tau-bench runs through the importer, with new ids per round.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { importRuns } from '../../src/core/intake/registry.ts';
import { documents } from '../../src/core/intake/source.ts';
import type { EventInput } from '../../src/contract/events.ts';
import { dataRoot } from './harness.ts';
import type { LoadOptions, LoadResult } from './load.ts';

/** All events of the 200 airline runs. `round` becomes part of run ids. `keyed` keeps clientEventIds. */
export function recordedEvents(round: string, { keyed = false } = {}): EventInput[] {
  const file = join(dataRoot, 'tau-bench/gpt-4o-airline.json');
  const options = {
    format: 'openai-chat',
    sourceName: 'gpt-4o-airline.json',
    importedAt: 1_767_225_600_000,
    runPrefix: `r${round}`,
  } as const;
  const all: EventInput[] = [];
  for (const run of importRuns(documents(readFileSync(file, 'utf8'), file), options)) {
    for (const event of run.events) {
      const { clientEventId: _id, causedBy: _causes, ...rest } = event;
      all.push(keyed ? event : rest);
    }
  }
  return all;
}

/** Runs bench/support/load.ts as a process of its own. */
export function load(options: LoadOptions): Promise<LoadResult> {
  const script = fileURLToPath(new URL('./load.ts', import.meta.url));
  const child = spawn(process.execPath, [script, JSON.stringify(options)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => {
      if (code === 0) resolve(JSON.parse(text) as LoadResult);
      else reject(new Error(`the load client stopped with ${code}`));
    });
  });
}
