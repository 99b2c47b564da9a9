/**
 * Makes commands from contract rows. Path parameters become arguments; query and body members become flags. Only the few
 * names that are shorter on a command line are declared here.
 * Tested by `test/cli/program/manifest.test.ts` for every row.
 */
import type { Operation } from '../../contract/operation.ts';
import { table } from '../../contract/table.ts';
import type { OperationId } from '../../contract/table.ts';
import { exit, exitMeanings, exitOf } from './exit.ts';
import type { ExitCode } from './exit.ts';
import type { ArgSpec, CommandSpec, FlagSpec } from './spec.ts';
import { schemaOf } from './schema.ts';
import type { Schema } from './schema.ts';

/** Contract member → its flag, if the names differ. */
const shorter: Readonly<Record<string, string>> = {
  runId: 'run',
  eventType: 'type',
  startTime: 'since',
  endTime: 'until',
  aiSystemId: 'aiSystem',
};
export const flagName = (member: string): string => shorter[member] ?? member;

/** Flags of every list, added to those of the row's query. */
const listFlags = {
  limit: {
    type: 'integer',
    minimum: 1,
    value: 'N',
    description: 'At most this many; default: one page on a terminal, all in a pipe',
  },
  all: { type: 'boolean', description: 'All pages, also on a terminal' },
  cursor: { type: 'string', value: 'CURSOR', description: 'Continue after an earlier page' },
} as const satisfies Record<string, FlagSpec>;

const upper = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

function flagOf(member: string, schema: Schema, required: boolean): FlagSpec {
  const description = schema.description ?? '';
  const more = required ? ({ required: true } as const) : {};
  const value = upper(flagName(member));
  const options = schema.anyOf?.map((each) => each.const).filter((each) => typeof each === 'string') ?? [];
  if (options.length > 0) return { type: 'string', choices: options, value, description, ...more };
  if (schema.type === 'boolean') return { type: 'boolean', description };
  if (schema.type === 'integer') {
    const { minimum = 0, maximum } = schema;
    return {
      type: 'integer',
      value: 'N',
      minimum,
      description,
      ...(maximum === undefined ? {} : { maximum }),
      ...more,
    };
  }
  if (schema.format === 'date-time') return { type: 'time', value: 'TIME', description, ...more };
  if (schema.type === 'array' && schema.items?.type === 'string')
    return { type: 'strings', value, description, ...more };
  if (schema.type !== 'string') return { type: 'json', value: 'JSON|@FILE', description, ...more };
  const { pattern, maxLength } = schema;
  const bounds = {
    ...(pattern === undefined ? {} : { pattern }),
    ...(maxLength === undefined ? {} : { maxLength }),
  };
  return { type: 'string', value, description, ...bounds, ...more };
}

/** The flags of a row's query and body, and of its pages. */
export function flagsOf(row: Operation): Record<string, FlagSpec> {
  const flags: Record<string, FlagSpec> = {};
  for (const part of [row.query, row.body]) {
    const schema = schemaOf(part);
    for (const [member, each] of Object.entries(schema.properties ?? {})) {
      flags[flagName(member)] = flagOf(member, each, schema.required?.includes(member) ?? false);
    }
  }
  const isList = schemaOf(row.query).properties?.['cursor'] !== undefined;
  return isList ? { ...flags, ...listFlags } : flags;
}

/** Prefix of a TypeID in the pattern of a path parameter. */
const typeIdPrefix = ({ pattern }: Schema): string | undefined => /^\^([a-z]{3}_)/.exec(pattern ?? '')?.[1];

const argsOf = (row: Operation): ArgSpec[] =>
  Object.entries(schemaOf(row.params).properties ?? {}).map(([name, schema]) => {
    const prefix = typeIdPrefix(schema);
    return { name, description: prefix ? `Id, such as ${prefix}…` : (schema.description ?? '') };
  });

/** Values of examples for path parameters that are names. */
const exampleNames: Readonly<Record<string, string>> = { runId: 'checkout-42', policyId: 'no-shell' };

function exampleWords(row: Operation): string[] {
  return Object.entries(schemaOf(row.params).properties ?? {}).map(([name, schema]) => {
    const prefix = typeIdPrefix(schema);
    return prefix ? `${prefix}01jq3v5k8hf7wb3c9x2m4n6p8r` : (exampleNames[name] ?? name);
  });
}

/** A call with every required argument and flag, for `--help`. */
function exampleOf(name: string, row: Operation, flags: Readonly<Record<string, FlagSpec>>): string {
  const words = ['gov', name, ...exampleWords(row)];
  for (const [flag, spec] of Object.entries(flags))
    if (spec.required) words.push(`--${flag}`, spec.value ?? 'VALUE');
  return words.join(' ');
}

/** The statuses of the row as exit codes. A success status may mean no, such as 503 of a health check. */
function exitCodesOf({ statuses, success }: Operation): Record<number, string> {
  const isNo = Object.keys(success).some((status) => Number(status) >= 400);
  const codes: ExitCode[] = [
    ...(isNo ? [exit.checkFailed] : []),
    ...statuses.map((status) => exitOf('', status)),
    exit.network,
  ];
  return Object.fromEntries(codes.map((code) => [code, exitMeanings[code]]));
}

function specOf(id: OperationId, name: string): CommandSpec {
  const row: Operation = table[id];
  const args = argsOf(row);
  const flags = flagsOf(row);
  const example = exampleOf(name, row, flags);
  const more = flags['all'] === undefined ? [] : [`${example} --all -o ndjson`];
  const changes = row.method === 'GET' ? {} : ({ changes: true } as const);
  return {
    name,
    summary: row.summary,
    args,
    flags,
    operation: id,
    examples: [example, ...more],
    exitCodes: exitCodesOf(row),
    ...changes,
  };
}

/** Returns the commands that rows make under one noun. */
export const generatedSpecs = (noun: string): CommandSpec[] =>
  Object.entries<Operation>(table).flatMap(([id, { command }]) =>
    // the key comes from the table
    command?.split(' ')[0] === noun ? [specOf(id as OperationId, command)] : [],
  );
