/**
 * The runs that `gov quickstart FILE` records, in any importer's format.
 * Tested by `test/cli/commands/quickstart/run.test.ts`.
 */
import { readFileSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import type { EventInput } from '../../contract/events.ts';
import { unreadable } from '../program/flags.ts';
import { importRuns, isOwnEvents } from '../../core/intake/registry.ts';
import type { FormatName } from '../../core/intake/names.ts';
import { documents } from '../../core/intake/source.ts';

export interface SourceRun {
  readonly runId: string;
  readonly events: readonly EventInput[];
}

/** Returns the runs of a file. Errors: exit 2 naming file and line. */
export function runsOf(path: string, format: FormatName | 'auto'): SourceRun[] {
  let text: string;
  let importedAt: number;
  try {
    text = readFileSync(path, 'utf8');
    importedAt = Math.floor(statSync(path).mtimeMs);
  } catch (cause) {
    throw unreadable(path, cause);
  }
  const values = [...documents(text, path)];
  if (format === 'auto' && values.every((each) => 'value' in each && isOwnEvents(each.value)))
    return byRun(values.map((each) => ('value' in each ? each.value : null)));
  return [...importRuns(values, { format, sourceName: basename(path), importedAt })];
}

/** Groups events, as `events push` accepts them, by run. */
function byRun(documents: readonly unknown[]): SourceRun[] {
  // isOwnEvents has checked runId; the plane checks the rest
  const events = documents.flat() as EventInput[];
  return [...Map.groupBy(events, ({ runId }) => runId)].map(([runId, of]) => ({ runId, events: of }));
}
