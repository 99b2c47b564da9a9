/** Commands of the noun projects, as data. Tested by `test/cli/commands/projects/create.test.ts`. */
import { environments } from '../../../contract/auth-words.ts';
import { limits } from '../../../contract/limits.ts';
import { command, flag } from '../../program/spec.ts';

const projectId = { name: 'projectId', description: 'Project, such as prj_…' } as const;

export const projectsCreate = command({
  name: 'projects create',
  prints: '=createProject',
  summary: 'Create a project in the organization',
  changes: true,
  args: [{ name: 'name', description: 'Unique in the organization and environment' }],
  flags: {
    environment: flag.text('ENV', 'Environment of the project; default: that of the address', {
      choices: environments,
    }),
  },
  examples: ['gov projects create checkout', 'gov projects create checkout --environment sandbox -o id'],
});

export const projectsUpdate = command({
  name: 'projects update',
  prints: '=updateProject',
  summary: 'Change the name or settings of a project; other settings stay',
  changes: true,
  args: [projectId],
  flags: {
    name: flag.text('NAME', 'New name', { maxLength: limits.projectNameChars }),
    set: flag.list('KEY=VALUE', 'Set a setting to a word, a number, true, false, null or JSON; repeatable'),
  },
  examples: [
    'gov projects update prj_01jq3v5k8hf7wb3c9x2m4n6p8r --set retentionDays=365 --set timezone=UTC',
    'gov projects update prj_01jq3v5k8hf7wb3c9x2m4n6p8r --set redactionKeys=\'["/metadata/email"]\'',
  ],
});

export const projectsDelete = command({
  name: 'projects delete',
  prints: '=deleteProject id',
  summary: 'Delete a project: its keys stop working, its data stay',
  changes: true,
  args: [projectId],
  flags: {
    confirm: flag.text('NAME', 'Name of the project, instead of a question'),
  },
  examples: ['gov projects delete prj_01jq3v5k8hf7wb3c9x2m4n6p8r --confirm checkout'],
});
