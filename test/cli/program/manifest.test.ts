import { describe, expect, it } from 'vitest';
import { kebab } from '../../../src/cli/program/flags.ts';
import { globalFlags } from '../../../src/cli/program/globals.ts';
import { flagName, flagsOf, generatedSpecs } from '../../../src/cli/program/manifest.ts';
import { manifest } from '../../../src/cli/commands/commands/run.ts';
import { allSpecs } from '../../../src/cli/commands/specs.ts';
import { nouns } from '../../../src/cli/commands/nouns.ts';
import { viewOf } from '../../../src/cli/terminal/answer-view.ts';
import { table } from '../../../src/contract/table.ts';
import type { Operation } from '../../../src/contract/operation.ts';
import type { OperationId } from '../../../src/contract/table.ts';

const rows = Object.entries<Operation>(table);
const members = (schema: unknown): string[] =>
  Object.keys((schema as { properties?: Record<string, unknown> } | undefined)?.properties ?? {});

describe('generated commands', () => {
  it('a generated command exists for every contract row with a command, with all its inputs', () => {
    const specs = nouns.flatMap(([, noun]) => generatedSpecs(noun));
    for (const [id, row] of rows) {
      const spec = specs.find(({ operation }) => operation === id);
      expect(spec?.name).toBe(row.command);
      if (spec === undefined) continue;
      expect(spec.args?.map(({ name }) => name)).toEqual(members(row.params));
      expect(spec.changes === true).toBe(row.method !== 'GET');
      for (const member of [...members(row.query), ...members(row.body)]) {
        expect(spec.flags).toHaveProperty(flagName(member));
      }
    }
  });

  it('a generated command takes types, choices, limits and texts from the schema', () => {
    expect(flagsOf(table.listEvents)).toMatchObject({
      run: { type: 'string', required: true, maxLength: 128, pattern: expect.any(String) },
      order: { type: 'string', choices: ['asc', 'desc'] },
      since: { type: 'time' },
      limit: { type: 'integer', minimum: 1 },
      all: { type: 'boolean' },
    });
  });
});

describe('every command', () => {
  const specs = allSpecs();

  it('every command has a noun with a place in the help, a summary and its own example', () => {
    for (const { name, summary, examples } of specs) {
      expect(nouns.map(([, noun]) => noun)).toContain(name.split(' ')[0]);
      expect(summary).toMatch(/^[A-Z].*[^.]$/);
      expect(examples.length).toBeGreaterThan(0);
      for (const example of examples) expect(example).toContain(`gov ${name}`);
    }
  });

  it('no command has a flag that a global flag shadows', () => {
    const globals = Object.keys(globalFlags).map(kebab);
    for (const { flags = {} } of specs) {
      for (const flag of Object.keys(flags)) expect(globals).not.toContain(kebab(flag));
    }
  });
});

describe('views', () => {
  it.each(rows.map(([id]) => id as OperationId))(
    'the view of %s names members that the response has',
    (id) => {
      const view = viewOf(id);
      const names = view.wide.map(({ name }) => name);
      for (const { name } of view.columns) expect(names).toContain(name);
    },
  );

  it('a view knows the identifier of its resource', () => {
    const ids = ['listEvents', 'listRuns', 'listProofs', 'listJobs', 'getEvent', 'getJob'] as const;
    expect(ids.map((id) => viewOf(id).id)).toEqual([
      'eventId',
      'runId',
      'proofId',
      'jobId',
      'eventId',
      'jobId',
    ]);
  });
});

describe('the manifest', () => {
  it('the manifest describes every command with its flags, formats and response', () => {
    const { commands, exitCodes, globalFlags: flags } = manifest();
    expect(commands.map(({ name }) => name)).toEqual(allSpecs().map(({ name }) => name));
    expect(commands.find(({ name }) => name === 'events get')).toMatchObject({
      operation: 'getEvent',
      args: [{ name: 'eventId' }],
      output: { type: 'object' },
    });
    expect(commands.find(({ name }) => name === 'graphs get')?.formats).toContain('mermaid');
    const changes = (wanted: string) => commands.find(({ name }) => name === wanted)?.changes;
    expect(['events list', 'graphs commit', 'keys revoke', 'auth login'].map(changes)).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(changes('events push')).toEqual({ without: 'dryRun' });
    expect(flags.map(({ name }) => name)).toContain('--output');
    expect(exitCodes).toHaveProperty('10');
  });
});
