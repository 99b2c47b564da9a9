/**
 * The name of a server, if nobody gave one: from the command or URL that the operator typed, never from what the server says
 * of itself. Tested by `test/cli/mcp/server-name.test.ts`.
 */
import { basename } from 'node:path';
import { limits } from '../../contract/limits.ts';

/** Programs that run another one: the name of the server is in a later word. */
const runners = new Set(
  'node npx bunx bun deno uv uvx pipx python python3 docker podman sh bash env'.split(' '),
);
/** Words of runners before the name of what they run. */
const verbs = new Set('run exec tool dlx x'.split(' '));

/** `npx -y @scope/server-filesystem@1.0 /srv` gives `server-filesystem`. */
export function serverNameOf(command: readonly string[]): string {
  const [first = '', ...rest] = command;
  const isRunner = runners.has(basename(first));
  const named = isRunner ? rest.find((word) => !word.startsWith('-') && !verbs.has(word)) : first;
  const file = basename(named ?? first).replace(/\.(?:[cm]?[jt]s|py|exe)$/, '');
  return spelledName(file.replace(/(?<=.)@.*$/, ''));
}

export const serverNameAt = (url: URL): string => spelledName(`${url.host}${url.pathname}`);

/** A name that policies and pins accept. */
export const spelledName = (text: string): string =>
  text
    .replace(/[^A-Za-z0-9._-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+|-+$/g, '')
    .slice(0, limits.mcpServerNameChars) || 'server';
