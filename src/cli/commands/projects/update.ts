/** `gov projects update ID`: what may be set, and of which type, is read from the contract. */
import type { CallInput } from '../../../client/create.ts';
import { table } from '../../../contract/table.ts';
import type { Table } from '../../../contract/table.ts';
import type { Run } from '../../program/command.ts';
import { usage } from '../../program/exit.ts';
import { schemaOf } from '../../program/schema.ts';
import type { Schema } from '../../program/schema.ts';
import type { projectsUpdate as spec } from './spec.ts';
import { viewOf } from '../../terminal/answer-view.ts';

type Body = CallInput<Table['updateProject']>['body'];

export const run: Run<typeof spec> = async ({ args, flags, out, session }) => {
  const { name, set } = flags;
  if (name === undefined && set.length === 0)
    throw usage('expected something to change: --name NAME or --set KEY=VALUE');
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(set.length === 0 ? {} : { settings: settingsOf(set) }),
  };
  const client = await session.client();
  // of these names by the check below; the service checks what they hold, and says where
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

/** Text where the setting is one; else JSON, of which words and numbers are the simplest. */
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
