/** A command has a spec, `src/cli/specs/`, and a file of its verb that runs it. */
import { globSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { load } from '../../../src/cli/commands/loaders.ts';
import { allSpecs } from '../../../src/cli/specs/all.ts';
import { projectRoot } from '../../paths.ts';

const handMade = allSpecs().filter(({ operation }) => operation === undefined);

/** File of a command below `src/cli/commands/`. */
function fileOf(name: string): string {
  const [noun = '', ...verb] = name.split(' ');
  return `${noun}/${verb.join('-') || 'run'}.ts`;
}

describe('the folder of commands', () => {
  it('the commands folder contains a file for each handwritten command and no other file', () => {
    const verbs = globSync('*/*.ts', { cwd: `${projectRoot}/src/cli/commands` });
    const message =
      'each handwritten command needs `<noun>/<verb>.ts`, and each such file a spec in `src/cli/specs/` (see CONTRIBUTING.md)';
    expect(verbs.sort(), message).toEqual(handMade.map(({ name }) => fileOf(name)).sort());
  });

  it('src/cli/specs/by-noun.ts lists every spec', async () => {
    const files = globSync('src/cli/specs/*/*.ts', { cwd: projectRoot });
    const modules = await Promise.all(
      files.map(async (path): Promise<object> => import(`${projectRoot}/${path}`)),
    );
    const declared = modules.flatMap((module) => Object.values(module) as { name: string }[]);
    expect(declared.map(({ name }) => name).sort()).toEqual(handMade.map(({ name }) => name).sort());
  });

  it.each(handMade.map(({ name }) => name))(
    'the loader loads a module with a run function for gov %s',
    async (name) => {
      expect(await load(name)).toHaveProperty('run', expect.any(Function));
    },
  );
});
