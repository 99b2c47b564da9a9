/**
 * `gov projects update ID`: the contract defines settings and their types.
 * Tested by `test/cli/commands/projects/create.test.ts`.
 */
import type { CallInput } from '../../../client/create.ts';
import { table } from '../../../contract/table.ts';
import type { Table } from '../../../contract/table.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { schemaOf } from '../../program/schema.ts';
import type { Schema } from '../../program/schema.ts';
import type { projectsUpdate as spec } from '../../specs/account/projects.ts';
import { viewOf } from '../../terminal/answer-view.ts';

type Body = CallInput<Table['updateProject']>['body'];

export const run: Run<typeof spec> = async ({ args, flags, out, session }) => {
  const { name, set } = flags;
  if (name === undefined && set.length === 0)
    throw usage('expected a change: --name NAME or --set KEY=VALUE');
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(set.length === 0 ? {} : { settings: settingsOf(set) }),
  };
  const client = await session.client();
  // the check below covers the names; the service checks the values and says where an error is
  const { body: project } = await client.updateProject({ params: args, body: body as Body });
  await out.one(project, viewOf('updateProject'));
};

function settingsOf(assignments: readonly string[]): Record<string, unknown> {
  const schemas = schemaOf(schemaOf(table.updateProject.body).properties?.['settings']).properties ?? {};
  const settings: Record<string, unknown> = {};
  for (const assignment of assignments) {
    const [, key = '', text = ''] = /^([^=]*)=(.*)$/s.exec(assignment) ?? [];
    const schema = Object.hasOwn(schemas, key) ? schemas[key] : undefined;
    if (schema === undefined)
      throw usage(
        `--set: expected KEY=VALUE with one of ${Object.keys(schemas).join(', ')}, got ${JSON.stringify(assignment.slice(0, 64))}`,
      );
    if (Object.hasOwn(settings, key)) throw usage(`--set: expected ${key} once, got it twice`);
    settings[key] = valueOf(key, text, schema);
  }
  return settings;
}

/** Returns text if the setting accepts text; else parses JSON, including plain words and numbers. */
function valueOf(key: string, text: string, schema: Schema): unknown {
  const isText =
    schema.type === 'string' || schema.anyOf?.some(({ const: word }) => typeof word === 'string');
  if (isText === true) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw usage(
      `--set ${key}: expected JSON such as 365, true, null or ["/a"], got ${JSON.stringify(text.slice(0, 64))}`,
    );
  }
}
