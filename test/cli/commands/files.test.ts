/** A command is one entry in the folder of its noun: `spec.ts` declares it and the file of its verb runs it. */
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { load } from '../../../src/cli/commands/loaders.ts';
import { allSpecs } from '../../../src/cli/commands/specs.ts';
import { projectRoot } from '../../paths.ts';

const handMade = allSpecs().filter(({ operation }) => operation === undefined);

/** File of a command below `src/cli/commands/`. */
function fileOf(name: string): string {
  const [noun = '', ...verb] = name.split(' ');
  return `${noun}/${verb.join('-') || 'run'}.ts`;
}

describe('the folder of commands', () => {
  it('the commands folder contains a file for each handwritten command and no other file except specs', () => {
    const files = globSync('*/*.ts', { cwd: `${projectRoot}/src/cli/commands` });
    const verbs = files.filter((path) => !/(?:\/|-)spec\.ts$/.test(path));
    const message =
      'each handwritten command needs `<noun>/<verb>.ts`, and each such file a spec in `<noun>/spec.ts` (see CONTRIBUTING.md)';
    expect(verbs.sort(), message).toEqual(handMade.map(({ name }) => fileOf(name)).sort());
  });

  it.each(handMade.map(({ name }) => name))(
    'the loader loads a module with a run function for gov %s',
    async (name) => {
      expect(await load(name)).toHaveProperty('run', expect.any(Function));
    },
  );
});
