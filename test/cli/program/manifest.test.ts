import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { exitMeanings } from '../../../src/cli/program/exit.ts';
import { projectRoot } from '../../paths.ts';
import { govHere } from '../support/tool.ts';
import { kebab } from '../../../src/cli/program/flags.ts';
import { globalFlags } from '../../../src/cli/program/globals.ts';
import { flagName, flagsOf, generatedSpecs } from '../../../src/cli/program/manifest.ts';
import { manifest } from '../../../src/cli/commands/commands/run.ts';
import { allSpecs } from '../../../src/cli/specs/all.ts';
import { nouns } from '../../../src/cli/specs/nouns.ts';
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

  it('every command names its exit codes in the manifest, its help and the reference', async () => {
    const page = readFileSync(join(projectRoot, 'docs/reference/cli.md'), 'utf8');
    for (const { name, exitCodes, operation } of manifest().commands) {
      const codes = Object.keys(exitCodes);
      expect(codes).toEqual(expect.arrayContaining(['0', '1', '2']));
      for (const each of codes) expect(exitMeanings).toHaveProperty(each);
      if (operation !== undefined) expect(codes).toContain('10');
      const heading = name.includes(' ') ? `### gov ${name}\n` : `## gov ${name}\n`;
      const section = page.slice(page.indexOf(heading)).split('\nExit codes: ')[1]?.split('\n')[0] ?? '';
      for (const each of codes)
        expect(section, `docs/reference/cli.md, gov ${name}: run npm run docs`).toContain(`\`${each}\``);
    }
    const { stdout } = await govHere(['jobs', 'get', '--help']);
    for (const each of ['0', '1', '2', '4', '5', '10'])
      expect(stdout).toMatch(new RegExp(`^  ${each} `, 'm'));
  });

  it('a generated command takes its exit codes from the statuses of its row', () => {
    const codes = (wanted: string) =>
      Object.keys(manifest().commands.find(({ name }) => name === wanted)?.exitCodes ?? {});
    expect(codes('jobs retry')).toEqual(['0', '1', '2', '4', '5', '6', '7', '10']);
    expect(codes('health')).toEqual(['0', '1', '2', '3', '10']);
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
