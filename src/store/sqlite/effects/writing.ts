/**
 * Runs the writes that both engines share (`src/store/write/`) in the transaction of their request. Each statement is
 * prepared at its first use.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import type { Value } from '../../file/connection.ts';
import type { Prepare } from '../../file/statement.ts';
import { valuesOf, type Write } from '../../write/statement.ts';

/** Runs a write of the project with this number; returns how many rows it changed. */
export type Run = <Values extends object>(
  project: number,
  made: Write<Values>,
  values: NoInfer<Values>,
) => number;

type Ready = (values: readonly Value[]) => number;

export function runner(prepare: Prepare): Run {
  const prepared = new Map<string, Ready>();
  return (project, made, values) => {
    const { name } = made.statement;
    let ready = prepared.get(name);
    if (ready === undefined) prepared.set(name, (ready = readyOf(prepare, made)));
    return ready(valuesOf(made, project, values));
  };
}

function readyOf(
  prepare: Prepare,
  { name, statement: { sqlite } }: Pick<Write<never>, 'name' | 'statement'>,
): Ready {
  if (sqlite === null || sqlite === undefined) throw new Error(`expected a write of SQLite, got ${name}`);
  const { text, places } = sqlite;
  const statement = prepare(name, text);
  return (values) => statement.run(...places.map((place) => values[place] ?? null)).changes;
}
