/**
 * A known way around the hooks of a client, as data: what to write into the copies of its settings and into a project, and
 * what the model then asks for. Each way leaves a mark, a file, if it works. Tested by `test/cli/agents/bypasses.test.ts`.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { makeFolder } from '../../../../files/make-folder.ts';
import { quotedWord } from '../../../../core/shell-word.ts';
import { openSettings } from '../../open-settings.ts';
import type { ModelCall, Script } from '../model.ts';
import { forbidden } from '../policy.ts';

/** The folders of one attempt. All of them are removed after it. */
export interface Place {
  /** A copy of the home of the user, with the settings of the client alone. */
  readonly home: string;
  /** The folder in which the client works. */
  readonly project: string;
  /** The file that the way makes. */
  readonly mark: string;
  /** The words of a shell that run this gov as the user of the drill. */
  readonly gov: string;
  /** The file with the key that this gov uses; null: none. */
  readonly keyFile: string | null;
  /** Where a program is on PATH; null: nowhere. */
  find(program: string): string | null;
}

interface Attempt extends Script {
  readonly env?: Readonly<Record<string, string>>;
  /** Arguments of the client. */
  readonly flags?: readonly string[];
  /** Members of --settings (Claude Code). */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Null: the default of the client. */
  readonly model?: string | null;
}

export interface Bypass {
  /** Stable: events and reports name it. */
  readonly id: string;
  readonly title: string;
  /** The row of `openSettings` that says what closes it; absent: `closes` says it. */
  readonly setting?: string;
  readonly closes?: string;
  /** It hides behind a call that policies allow, and shows nothing where they refuse that call. */
  readonly isBehindCall?: true;
  /** The call itself makes the mark, and a policy allows it: only its refusal shuts this way. */
  readonly isTheCall?: true;
  /** A text says why this machine cannot try it. */
  prepare(place: Place): Attempt | string;
  /** After an attempt that left no mark: why it says nothing; null if it was really made. */
  premise?(place: Place): string | null;
}

/** What closes a way, for people. Errors: a setting that the table does not have, a bug. */
export function closingText({ id, setting, closes }: Bypass): string {
  const found = setting === undefined ? closes : openSettings.find((each) => each.id === setting)?.closes;
  if (found === undefined) throw new Error(`${id}: expected what closes it, got none`);
  return found;
}

/** Makes the mark by a command that the policy of the drill denies. */
export const deniedCommand = ({ mark }: Pick<Place, 'mark'>): string =>
  `touch ${quotedWord(mark)} # ${forbidden}`;

export const denied = (place: Place): ModelCall => ({ shell: deniedCommand(place) });

/** A call that policies allow. */
export const allowed: ModelCall = { shell: 'true' };

export function write(path: string, text: string, mode = 0o600): string {
  makeFolder(dirname(path));
  writeFileSync(path, text, { mode });
  return path;
}

/** Changes a copy of a file of settings; `null`: there is none. */
export function change(path: string, text: (before: string | null) => string): string {
  return write(path, text(existsSync(path) ? readFileSync(path, 'utf8') : null));
}
