/**
 * `gov projects delete ID`: asks for the project's name first. Tested by `test/cli/commands/projects/create.test.ts`.
 */
import { confirmName } from '../../terminal/ask.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { projectsDelete as spec } from '../../specs/account/projects.ts';
import { viewOf } from '../../terminal/answer-view.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session } = call;
  const client = await session.client();
  const { body: project } = await client.getProject({ params: args });
  const { name, environment } = project;
  const fact = `this deletes the ${environment} project ${JSON.stringify(name)}; its keys stop working, and only the operator can restore it`;
  await confirmName({ fact, name, given: flags.confirm }, call);
  const { body } = await client.deleteProject({ params: args });
  await out.one({ id: project.id, ...body }, viewOf('deleteProject'));
  await out.note(safe`deleted ${project.id}; its data stay`);
};
