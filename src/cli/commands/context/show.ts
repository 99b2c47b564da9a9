/**
 * `gov context show`: the settings in use and their sources. Never shows a secret.
 * Tested by `test/cli/context/config.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { configPath } from '../../context/config.ts';
import { masked } from '../../context/credentials.ts';
import { failureOf } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { Session } from '../../context/session.ts';
import type { contextShow as spec } from '../../specs/tool/context.ts';
import { plainView } from '../../terminal/view.ts';

function told<Value>(read: () => Value): Value | { error: string } {
  try {
    return read();
  } catch (cause) {
    return { error: failureOf(cause).message };
  }
}

function describe(session: Session) {
  const context = session.context();
  const key = told(() => {
    const found = session.apiKey();
    return found === null ? null : { key: masked(found.value), from: found.from };
  });
  return {
    name: context?.name ?? null,
    kind: context?.context.kind ?? null,
    baseUrl: told(() => session.baseUrl()),
    environment: told(() => session.environment() ?? null),
    project: told(() => session.project()),
    apiKey: key,
    trustFile: told(() => session.trustFile() ?? null),
  };
}

export const run: Run<typeof spec> = async ({ out, io, session }) => {
  const value = { ...describe(session), configFile: configPath(io.env) };
  if (!out.isHuman) return out.one(value, plainView(Object.keys(value)));
  const { name, kind, baseUrl, environment, project, apiKey, trustFile, configFile } = value;
  const rows: readonly (readonly [string, string])[] = [
    ['context', name === null ? 'none' : `${name} (${kind ?? ''})`],
    ['address', 'error' in baseUrl ? baseUrl.error : `${baseUrl.value}, from ${baseUrl.from}`],
    ['environment', typeof environment === 'string' ? environment : (environment?.error ?? 'unknown')],
    [
      'project',
      project === null
        ? 'that of the key'
        : 'error' in project
          ? project.error
          : `${project.value}, from ${project.from}`,
    ],
    [
      'key',
      apiKey === null ? 'none' : 'error' in apiKey ? apiKey.error : `${apiKey.key}, from ${apiKey.from}`,
    ],
    ['trust', typeof trustFile === 'string' ? trustFile : (trustFile?.error ?? 'none')],
    ['config', configFile],
  ];
  await out.lines(rows.map(([label, text]) => safe`${out.styles.bold(label.padEnd(11))}  ${text}`));
};
