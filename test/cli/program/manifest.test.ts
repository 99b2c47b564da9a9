import { describe, expect, it } from 'vitest';
import { kebab } from '../../../src/cli/program/flags.ts';
import { globalFlags } from '../../../src/cli/program/globals.ts';
import { flagName, generatedSpecs } from '../../../src/cli/program/manifest.ts';
import { loaders } from '../../../src/cli/commands/loaders.ts';
import { manifest } from '../../../src/cli/commands/tool/list.ts';
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
  it('stand for every row that names one, with every member of its input', () => {
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

  it('take types, choices, bounds and texts from the schema', () => {
    const list = generatedSpecs('events').find(({ name }) => name === 'events list');
    expect(list?.flags).toMatchObject({
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

  it('has a noun with a place in the help, a summary, an example that is its own', () => {
    for (const { name, summary, examples } of specs) {
      expect(nouns.map(([, noun]) => noun)).toContain(name.split(' ')[0]);
      expect(summary).toMatch(/^[A-Z].*[^.]$/);
      expect(examples.length).toBeGreaterThan(0);
      for (const example of examples) expect(example).toContain(`gov ${name}`);
    }
  });

  it('has no flag that a global flag shadows', () => {
    const globals = Object.keys(globalFlags).map(kebab);
    for (const { flags = {} } of specs) {
      for (const flag of Object.keys(flags)) expect(globals).not.toContain(kebab(flag));
    }
  });

  it('has something that runs it', async () => {
    for (const { name, operation } of specs) {
      const load = loaders[name];
      if (load === undefined) expect(operation, name).toBeDefined();
      else expect(await load()).toHaveProperty('run', expect.any(Function));
    }
  });
});

describe('views', () => {
  it.each(rows.map(([id]) => id as OperationId))('of %s name members that the answer has', (id) => {
    const view = viewOf(id);
    const names = view.wide.map(({ name }) => name);
    for (const { name } of view.columns) expect(names).toContain(name);
  });

  it('know what identifies a resource', () => {
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
  it('describes every command, its flags, formats and answer', () => {
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
