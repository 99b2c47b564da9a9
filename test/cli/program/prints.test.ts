import { describe, expect, it } from 'vitest';
import { manifest } from '../../../src/cli/commands/commands/run.ts';
import { allSpecs } from '../../../src/cli/specs/all.ts';
import { schemaOfPrinted } from '../../../src/cli/program/prints.ts';
import { table } from '../../../src/contract/table.ts';
import { checkPrinted } from '../support/printed.ts';
import { govHere } from '../support/tool.ts';

describe('the stated output of a command', () => {
  it('every command states the JSON that it prints, or that it prints none', () => {
    const silent = allSpecs().filter(
      ({ prints, operation }) => prints === undefined && operation === undefined,
    );
    const message =
      'a handwritten command needs `prints` in its spec: its members with their types, or `none`';
    expect(
      silent.map(({ name }) => name),
      message,
    ).toEqual([]);
    const both = allSpecs().filter(
      ({ prints, operation }) => prints !== undefined && operation !== undefined,
    );
    expect(
      both.map(({ name }) => name),
      'a generated command prints the response of its row',
    ).toEqual([]);
    for (const { name, output } of manifest().commands) expect([name, output]).not.toEqual([name, undefined]);
  });

  it('names members, their types, and those that may be absent', () => {
    expect(schemaOfPrinted('file rows:integer|null sha256?')).toEqual({
      type: 'object',
      properties: {
        file: { type: 'string' },
        rows: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
        sha256: { type: 'string' },
      },
      required: ['file', 'rows'],
    });
    expect(schemaOfPrinted('none')).toBeNull();
    expect(schemaOfPrinted('ok:boolean | error')?.anyOf).toHaveLength(2);
    expect(() => schemaOfPrinted('file:text')).toThrow('expected a JSON type, got text');
  });

  it('refers to responses of operations, alone, as one of several, with more members, or in a list', () => {
    const [job] = Object.values<object>(table.getJob.success);
    expect(schemaOfPrinted('=getJob')).toBe(job);
    expect(schemaOfPrinted('=createProof')?.anyOf).toHaveLength(2);
    expect(schemaOfPrinted('data[] =getJob')?.properties?.['data']).toEqual({ type: 'array', items: job });
    const more = schemaOfPrinted('=getJob work');
    expect(more?.properties).toMatchObject({ jobId: {}, work: { type: 'string' } });
    expect(more?.required).toContain('work');
    expect(() => schemaOfPrinted('=getNothing')).toThrow('expected an operation of the contract');
  });

  it('a command that prints another member than it states is found', async () => {
    expect(() => checkPrinted(['version', '-o', 'json'], '{"version":"1"}')).toThrow(
      'member node is missing',
    );
    expect(() => checkPrinted(['config', 'path', '-o', 'json'], '{"path":"x","exists":"yes"}')).toThrow(
      'exists: expected boolean',
    );
    expect(() => checkPrinted(['context', 'use', 'a', '-o', 'json'], '{}')).toThrow('prints no JSON');
    expect(() => checkPrinted(['jobs', 'wait', 'a', '-o', 'json'], '{"jobs":[]}')).toThrow('member jobs');
  });

  it('commands that need no service print what they state', async () => {
    // `govHere` compares each answer
    for (const argv of [
      ['version'],
      ['commands'],
      ['config', 'list'],
      ['config', 'path'],
      ['config', 'explain', 'output'],
      ['context', 'list'],
      ['context', 'show'],
      ['events', 'formats'],
      ['policy', 'starter', 'list'],
      ['plane', 'telemetry', 'schema'],
    ]) {
      const { code, stdout } = await govHere([...argv, '-o', 'json']);
      expect([argv.join(' '), code, stdout === '']).toEqual([argv.join(' '), 0, false]);
    }
  });
});
