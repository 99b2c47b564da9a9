/**
 * Settings files in JSON, in the form that Claude Code, Gemini CLI and Cursor share: lists of hooks by event, and members.
 * An edit replaces the smallest range: all that the user wrote stays as it is. Tested by `test/cli/agents/install.test.ts`.
 */
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../../../core/json/object.ts';
import { cannotEdit, isOwnLine } from './edit.ts';
import { jsonValue, valueIn, withoutValue, withValue } from './json-text.ts';

export type Settings = Record<string, unknown>;

/** A member of a settings file that an installation sets. */
export interface SettingMember {
  readonly path: readonly string[];
  readonly value: unknown;
  /** Another value that is there stays. */
  readonly keeps?: boolean;
  /** Other hooks need it. */
  readonly stays?: boolean;
}

export interface SettingsFile {
  readonly path: string;
  /** Whether the client reads comments and trailing commas. It ignores a whole file that it does not read. */
  readonly comments: boolean;
}

/** Returns the object of a file; an empty one for no file. Errors: exit 2. */
export function readSettings({ path, comments }: SettingsFile, text: string | null): Settings {
  const value = text === null || text.trim() === '' ? {} : valueOf(text, { path, comments });
  if (!isObject(value)) throw cannotEdit(path, 'a JSON object');
  return value;
}

function valueOf(text: string, { path, comments }: SettingsFile): unknown {
  let value: unknown;
  try {
    value = jsonValue(text);
  } catch (cause) {
    throw cannotEdit(path, `JSON, got an error: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  if (comments) return value;
  try {
    JSON.parse(text.replace(/^\ufeff/, ''));
    return value;
  } catch {
    throw cannotEdit(
      path,
      'JSON without comments and trailing commas, because the client ignores such a file',
    );
  }
}

/** What an installation adds to a file. */
export interface Additions {
  /** One entry for each event, at the end of its list. */
  readonly hooks: Readonly<Record<string, unknown>>;
  readonly members: readonly SettingMember[];
}

/** Returns the text with the additions. Errors: exit 2. */
export function addTo(file: SettingsFile, before: string | null, { hooks, members }: Additions): string {
  const lists = hooksIn(file.path, readSettings(file, before));
  let text = before === null || before.trim() === '' ? '{}\n' : before;
  for (const [event, entry] of Object.entries(hooks))
    text = withValue(text, ['hooks', event, lists[event]?.length ?? 0], entry);
  for (const { path, value, keeps } of members) {
    if (keeps === true && valueIn(text, path) !== undefined) continue;
    if (!isDeepStrictEqual(valueIn(text, path), value)) text = set(file.path, text, { path, value });
  }
  return text;
}

function set(file: string, text: string, { path, value }: SettingMember): string {
  try {
    return withValue(text, path, value);
  } catch (cause) {
    throw cause instanceof SyntaxError ? cannotEdit(file, cause.message.replace('expected ', '')) : cause;
  }
}

/** What an installation may have added, and what the file was before it; undefined: nobody knows. */
export interface Removal {
  readonly members: readonly SettingMember[];
  readonly original: string | null | undefined;
}

/** Returns the text without our hooks and members; null if nothing is left. Errors: exit 2. */
export function removeFrom(file: SettingsFile, now: string, { members, original }: Removal): string | null {
  const had = readSettings(file, original ?? null);
  const lists = hooksIn(file.path, readSettings(file, now));
  let text = now;
  for (const [event, list] of Object.entries(lists)) {
    if (!Array.isArray(list)) continue;
    for (let at = list.length - 1; at >= 0; at -= 1) text = withoutOwn(text, ['hooks', event, at], list[at]);
    if (text !== now) text = pruned(text, ['hooks', event], had);
  }
  if (text === now && original === undefined) return now;
  // hooks that were added since still need such a member
  const isNeeded = !isDeepStrictEqual(valueIn(text, ['hooks']), had['hooks']);
  for (const { path, value, stays } of members) {
    if (stays === true && isNeeded) continue;
    if (!isDeepStrictEqual(valueIn(text, path), value)) continue;
    const former = valueAt(had, path);
    if (isDeepStrictEqual(former, value)) continue;
    text =
      former === undefined
        ? pruned(withoutValue(text, path), path.slice(0, -1), had)
        : withValue(text, path, former);
  }
  const isEmpty = Object.keys(readSettings(file, text)).length === 0;
  return isEmpty && (original ?? null) === null ? null : text;
}

/** Removes empty objects and lists from a path upwards, unless the file had them before. */
function pruned(text: string, path: readonly string[], had: Settings): string {
  if (path.length === 0 || valueAt(had, path) !== undefined) return text;
  const value = valueIn(text, path);
  const isEmpty = typeof value === 'object' && value !== null && Object.keys(value).length === 0;
  return isEmpty ? pruned(withoutValue(text, path), path.slice(0, -1), had) : text;
}

/** Removes our commands from an entry, or the entry. Cursor has the command in the entry itself. */
function withoutOwn(text: string, path: readonly (string | number)[], entry: unknown): string {
  if (!isObject(entry)) return text;
  if (isOwnLine(entry['command'])) return withoutValue(text, path);
  const inner = entry['hooks'];
  if (!Array.isArray(inner)) return text;
  const own = inner.flatMap((each, at) => (isObject(each) && isOwnLine(each['command']) ? [at] : []));
  if (own.length === inner.length && own.length > 0) return withoutValue(text, path);
  return own.toReversed().reduce((left, at) => withoutValue(left, [...path, 'hooks', at]), text);
}

/** The value of a member at a path; undefined: none. */
export function valueAt(settings: unknown, path: readonly string[]): unknown {
  let value = settings;
  for (const name of path) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  return value;
}

/** Returns the lists of hooks by event. Errors: exit 2 if they have another form. */
function hooksIn(path: string, settings: Settings): Record<string, unknown[]> {
  const hooks = settings['hooks'] ?? {};
  if (!isObject(hooks)) throw cannotEdit(path, 'an object in hooks');
  const isListed = Object.values(hooks).every((value) => Array.isArray(value) || !isHookEvent(value));
  if (!isListed) throw cannotEdit(path, 'a list for each event in hooks');
  return hooks as Record<string, unknown[]>;
}

/** Gemini CLI has switches beside the events. */
const isHookEvent = (value: unknown): boolean => typeof value === 'object';

/** Our hooks of an event, flat. */
export function ownHooks(path: string, settings: Settings, event: string): Settings[] {
  const list = hooksIn(path, settings)[event] ?? [];
  return list
    .flatMap((entry) => (isObject(entry) && Array.isArray(entry['hooks']) ? entry['hooks'] : [entry]))
    .filter((each): each is never => isObject(each) && isOwnLine((each as Settings)['command']));
}
